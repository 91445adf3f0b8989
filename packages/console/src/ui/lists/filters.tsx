// Filters for lists: segments, a select, and a text field.
import { useEffect, useState } from 'preact/hooks';
import type { Choice } from '../forms/field';

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

export const FilterText = ({
  label,
  value,
  onValue,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
}) => (
  <input
    type="search"
    aria-label={label}
    placeholder={`${label}…`}
    value={value}
    spellcheck={false}
    autocomplete="off"
    onInput={(event) => onValue(event.currentTarget.value)}
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
