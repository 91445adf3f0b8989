// What someone else changed after the member opened a dialog. Invariant: the member's own changes are applied to the new state only after
// they have said so here.
import { useState } from 'preact/hooks';
import type { ChangedError, Difference } from '../differences';
import { Button } from './button';
import { intoView } from './parts';

const LONGEST = 200;

/** A value of the API in words. */
function inWords(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'not set';
  if (Array.isArray(value)) return value.length ? value.map(inWords).join(', ') : 'none';
  const text = typeof value === 'object' ? JSON.stringify(value) : typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The label of a field: `rate_limit` becomes `Rate limit`. */
const labelOf = (field: string): string => {
  const words = field.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const Row = ({ field, before, now }: Difference) => (
  <li>
    <strong>{labelOf(field)}:</strong> <del>{inWords(before)}</del> → <ins>{inWords(now)}</ins>
  </li>
);

export function Changed({ error }: { error: ChangedError }) {
  const [isKept, setKept] = useState(false);
  const { differences } = error;
  const keep = () => {
    error.accept();
    setKept(true);
  };
  return (
    <div ref={intoView} class="note warn stack" role="alert">
      <p>
        <strong>{error.message}.</strong> Nothing was saved. {!differences.length && 'Nothing that you can see is different.'}
      </p>
      {differences.length > 0 && (
        <ul class="bullets">
          {differences.map((difference) => (
            <Row key={difference.field} {...difference} />
          ))}
        </ul>
      )}
      {isKept ? (
        <p role="status">Do it again to apply your change to the current state.</p>
      ) : (
        <Button small onPress={keep}>
          Keep my change
        </Button>
      )}
    </div>
  );
}
