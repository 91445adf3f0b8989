// A group of checkboxes with a label, a hint and an error, like the fields in field.tsx.
import { useId } from 'preact/hooks';
import '../../styles/choices.css';
import type { Choice } from './field';

interface ChoicesProps {
  label: string;
  hint?: string;
  error?: string;
  optional?: boolean;
  choices: readonly Choice[];
  value: readonly string[];
  onValue: (value: string[]) => void;
}

/** The selected values are in the order of `choices`. */
export function Choices({ label, hint, error, optional, choices, value, onValue }: ChoicesProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
  const toggle = (chosen: string, isOn: boolean) =>
    onValue(
      choices.map((choice) => choice.value).filter((one) => (one === chosen ? isOn : value.includes(one))),
    );
  return (
    <fieldset class="field" aria-describedby={described}>
      <legend>
        {label} {optional && <span class="dim">optional</span>}
      </legend>
      <div class="choices">
        {choices.map((choice) => (
          <label key={choice.value}>
            <input
              type="checkbox"
              checked={value.includes(choice.value)}
              aria-invalid={error ? true : undefined}
              onChange={(event) => toggle(choice.value, event.currentTarget.checked)}
            />
            {choice.label}
          </label>
        ))}
      </div>
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
    </fieldset>
  );
}
