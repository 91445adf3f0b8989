// Form fields: label, control, hint and error, linked for screen readers. Invariant: an error says what to do, and the first field with an
// error gets the focus when a form is refused.
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string;
  optional?: boolean;
  /** Receives the attributes that label the control. */
  children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ComponentChildren;
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

export function TextField({
  label,
  hint,
  error,
  optional,
  value,
  onValue,
  ...rest
}: Common & Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'label' | 'value'>) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(props) => <input autocomplete="off" {...rest} {...props} value={value} onInput={(event) => onValue(event.currentTarget.value)} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  error,
  optional,
  value,
  onValue,
  ...rest
}: Common & Omit<JSX.TextareaHTMLAttributes<HTMLTextAreaElement>, 'label' | 'value'>) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(props) => (
        <textarea rows={4} autocomplete="off" {...rest} {...props} value={value} onInput={(event) => onValue(event.currentTarget.value)} />
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
