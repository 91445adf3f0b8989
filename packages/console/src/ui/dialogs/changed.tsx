// What someone else changed after the member opened a dialog. Invariant: the member's own changes are applied
// to the new state only after they have said so here.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ChangedError, Difference } from '../../changes/changed-error';
import { Button } from '../controls/button';
import { intoView } from '../parts';

const Row = ({ label, before, now }: Difference) => (
  <li>
    <strong>{label}:</strong> <del>{before}</del> → <ins>{now}</ins>
  </li>
);

export function Changed({ error }: { error: ChangedError }) {
  const [isKept, setKept] = useState(false);
  const { differences } = error;
  // The button that had the focus is gone.
  const kept = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => kept.current?.focus(), [isKept]);
  const keep = () => {
    error.accept();
    setKept(true);
  };
  return (
    <div ref={intoView} class="note warn stack" role="alert">
      <p>
        <strong>{error.message}.</strong> Nothing was saved.{' '}
        {!differences.length && 'Nothing that you can see is different.'}
      </p>
      {differences.length > 0 && (
        <ul class="bullets">
          {differences.map((difference) => (
            <Row key={difference.label} {...difference} />
          ))}
        </ul>
      )}
      {isKept ? (
        <p ref={kept} role="status" tabIndex={-1}>
          Do it again to apply your change to the current state.
        </p>
      ) : (
        <Button small onPress={keep}>
          Keep my change
        </Button>
      )}
    </div>
  );
}
