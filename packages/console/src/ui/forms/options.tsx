// Choice groups: radio buttons with descriptions, and checkboxes. Invariant: a group is a fieldset with a
// legend, and its error is below it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import '../../styles/options.css';

interface GroupProps {
  label: string;
  hint?: ComponentChildren;
  error?: string;
}

const Group = ({ label, hint, error, children }: GroupProps & { children: ComponentChildren }) => {
  const id = useId();
  return (
    <fieldset class="field" aria-describedby={error ? `${id}-error` : undefined}>
      <legend>{label}</legend>
      {children}
      {hint && <p class="hint">{hint}</p>}
      {error && (
        <p id={`${id}-error`} class="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
};

export interface Option {
  value: string;
  label: string;
  /** A short description. */
  hint?: ComponentChildren;
}

/** A single choice. */
export function RadioField({
  value,
  onValue,
  options,
  ...group
}: GroupProps & { value: string; onValue: (value: string) => void; options: readonly Option[] }) {
  const name = useId();
  return (
    <Group {...group}>
      <div class="radios">
        {options.map((option) => (
          <label key={option.value} class="radio">
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              aria-invalid={group.error ? true : undefined}
              onChange={() => onValue(option.value)}
            />
            <span>
              {option.label}
              {option.hint && <span class="hint">{option.hint}</span>}
            </span>
          </label>
        ))}
      </div>
    </Group>
  );
}

/** A multiple choice. */
export function ChecksField({
  value,
  onValue,
  options,
  ...group
}: GroupProps & {
  value: readonly string[];
  onValue: (value: string[]) => void;
  options: readonly Option[];
}) {
  const flip = (one: string) =>
    onValue(value.includes(one) ? value.filter((each) => each !== one) : [...value, one]);
  return (
    <Group {...group}>
      <div class="checks">
        {options.map((option) => (
          <label key={option.value} class="chip-check">
            <input
              type="checkbox"
              checked={value.includes(option.value)}
              aria-invalid={group.error ? true : undefined}
              onChange={() => flip(option.value)}
            />
            <span>
              {option.label}
              {option.hint && <span class="hint">{option.hint}</span>}
            </span>
          </label>
        ))}
      </div>
    </Group>
  );
}
