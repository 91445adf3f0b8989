// Form fields: label, control, hint and error, linked for screen readers. Invariant: an error says what to
// do, and the first field with an error gets the focus when a form is refused.
import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { useDrop } from '../../changes/unsaved';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string;
  optional?: boolean;
  /** Receives the attributes that label the control. */
  children: (props: {
    id: string;
    'aria-describedby'?: string;
    'aria-invalid'?: boolean;
  }) => ComponentChildren;
}

export function Field({ label, hint, error, optional, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
  return (
    <div class="field">
      <label for={id}>
        {label} {optional && <span class="dim">optional</span>}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

type Common = Omit<FieldProps, 'children'> & { value: string; onValue: (value: string) => void };
/** `secret`: the text is a value, token or passphrase, which is dropped soon after the session has ended. */
type Typed = Common & { secret?: boolean };

/**
 * Empties a secret field when its text is dropped. Then it must be typed again, or the form would store an
 * empty value.
 */
function useSecret({ secret, value, onValue, error }: Typed): { error?: string; required?: true } {
  const [isDropped, setDropped] = useState(false);
  useDrop('typed', () => {
    if (!secret || !value) return;
    setDropped(true);
    onValue('');
  });
  return isDropped && !value
    ? { error: 'Removed because your session had ended. Enter it again.', required: true }
    : { error };
}

export function TextField(props: Typed & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'label' | 'value'>) {
  const { label, hint, error: _, optional, value, onValue, secret: __, ...rest } = props;
  const { error, ...needed } = useSecret(props);
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(named) => (
        <input
          autocomplete="off"
          {...rest}
          {...needed}
          {...named}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextArea(
  props: Typed & Omit<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, 'label' | 'value'>,
) {
  const { label, hint, error: _, optional, value, onValue, secret: __, ...rest } = props;
  const { error, ...needed } = useSecret(props);
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(named) => (
        <textarea
          rows={4}
          autocomplete="off"
          {...rest}
          {...needed}
          {...named}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Choice {
  value: string;
  label: string;
}

export function SelectField({
  label,
  hint,
  error,
  optional,
  value,
  onValue,
  choices,
  ...rest
}: Common & { choices: Choice[] } & Omit<JSX.SelectHTMLAttributes<HTMLSelectElement>, 'label' | 'value'>) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(props) => (
        <select {...rest} {...props} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Checkbox({
  label,
  hint,
  checked,
  onChecked,
}: {
  label: string;
  hint?: string;
  checked: boolean;
  onChecked: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint && `${id}-hint`}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}
