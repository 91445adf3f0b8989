// When a secret needs a new value, and what asks for it: a policy, or the secret's own period. Invariant:
// what is shown is what the service counts by, so a secret that the report calls overdue is due here too.
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Time } from '../../ui/parts';
import type { Secret } from './secret';

const DAY = 86_400;
const UNITS: [number, string][] = [
  [DAY, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
];

/** The policy by its name, or that it is the secret's own period. */
function By({ secret: { rotation } }: { secret: Secret }) {
  const policy = rotation?.policy;
  if (!policy) return <>as set for this secret</>;
  return (
    <>
      by the policy{' '}
      {may('policies:read') ? (
        <Link href={`/policies/${policy.id}`}>{policy.name}</Link>
      ) : (
        <strong>{policy.name}</strong>
      )}
    </>
  );
}

/** A period in the largest unit of which it is a whole number, because the API takes seconds. */
const periodOf = (seconds: number): string => {
  const [size, unit] = UNITS.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  const count = seconds / size;
  return count === 1 ? `Every ${unit}` : `Every ${counted(count, unit)}`;
};

/** How often the value is to be replaced, and what says so. */
export function Schedule({ secret }: { secret: Secret }) {
  const { rotation } = secret;
  if (!rotation)
    return (
      <span class="dim">
        {secret.rotate_every_seconds
          ? `${periodOf(secret.rotate_every_seconds)}, while active`
          : 'No policy or period applies'}
      </span>
    );
  return (
    <>
      {rotation.cron ? `At ${rotation.cron} (UTC)` : periodOf(rotation.every_seconds ?? DAY)}{' '}
      <span class="dim">
        <By secret={secret} />
      </span>
    </>
  );
}

/** That the value should have been replaced. @param onRotate absent if the member may not */
export function Due({ secret, onRotate }: { secret: Secret; onRotate?: () => void }) {
  return (
    <div class="note warn row">
      <p class="grow">
        A new value has been due since <Time at={secret.rotation?.due_at} /> <By secret={secret} />.
        {!onRotate && ' Ask somebody who can rotate it.'}
      </p>
      {onRotate && (
        <Button small onPress={onRotate}>
          Rotate now
        </Button>
      )}
    </div>
  );
}
