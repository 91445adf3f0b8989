// Filters for lists: segments, a select, and a text field.
import { useEffect, useState } from 'preact/hooks';
import { tokenIn } from '../../navigation/router';
import type { Choice } from '../forms/field';
import { warn } from '../toast';

/** @param label the accessible name of the choice */
export const Segments = ({
  label,
  value,
  onValue,
  choices,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  choices: Choice[];
}) => (
  <div class="segments" role="group" aria-label={label}>
    {choices.map((choice) => (
      <button
        key={choice.value}
        type="button"
        aria-pressed={choice.value === value}
        onClick={() => onValue(choice.value)}
      >
        {choice.label}
      </button>
    ))}
  </div>
);

/** The filter of a list that has only one. @param choices the statuses and their labels */
export const StatusFilter = ({
  value,
  onValue,
  choices,
}: {
  value: string;
  onValue: (value: string) => void;
  choices: Record<string, string>;
}) => (
  <search class="filters">
    <Segments
      label="Status"
      value={value}
      onValue={onValue}
      choices={Object.entries({ '': 'All', ...choices }).map(([status, label]) => ({ value: status, label }))}
    />
  </search>
);

/** @param all the label for no choice */
export const FilterSelect = ({
  label,
  all,
  value,
  onValue,
  choices,
  wordsOf = (choice) => choice.charAt(0).toUpperCase() + choice.slice(1).replaceAll('_', ' '),
}: {
  label: string;
  all: string;
  value: string;
  onValue: (value: string) => void;
  choices: readonly string[];
  wordsOf?: (choice: string) => string;
}) => (
  <select aria-label={label} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
    <option value="">{all}</option>
    {choices.map((choice) => (
      <option key={choice} value={choice}>
        {wordsOf(choice)}
      </option>
    ))}
  </select>
);

const onTokenElsewhere = () =>
  warn('A token is not searched for', 'Incident response finds the credential of a token.');

/**
 * What was typed into a search field. A token does not stay in the field, because what is searched for is in
 * addresses.
 * @param value what the field held before
 * @param onToken what to do with a token
 */
export function typedIn(
  field: HTMLInputElement,
  value: string,
  onValue: (value: string) => void,
  onToken: (token: string) => void = onTokenElsewhere,
): void {
  const token = tokenIn(field.value);
  if (token === undefined) onValue(field.value);
  else {
    field.value = value;
    onToken(token);
  }
}

/** @param onToken what to do with a token, which is never a value */
export const FilterText = ({
  label,
  value,
  onValue,
  onToken,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  onToken?: (token: string) => void;
}) => (
  <input
    type="search"
    aria-label={label}
    placeholder={`${label}…`}
    value={value}
    spellcheck={false}
    autocomplete="off"
    onInput={(event) => typedIn(event.currentTarget, value, onValue, onToken)}
  />
);

/** The debounce time for typing, in milliseconds. */
const SETTLED_AFTER = 150;

/** The debounced text; an empty text applies immediately. */
export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), text ? SETTLED_AFTER : 0);
    return () => clearTimeout(timer);
  }, [text]);
  return text ? settled : '';
}
