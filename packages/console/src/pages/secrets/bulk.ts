// What an edit of several secrets changes in each. Pure. Invariant: a field that the member leaves as it is
// is not sent, and a secret that stays as it is gets no request.
import type { components } from '@secrets-vault/client';
import { linesOf } from '../../globs';

type Patch = components['schemas']['SecretPatch'];
type Secret = Pick<components['schemas']['Secret'], 'tags' | 'expires_at' | 'rotate_every_seconds'>;

/** `keep`, `none`, or `days` with a number. */
export type Choice = 'keep' | 'none' | 'days';

export interface Draft {
  /** Lines of `key: value`, added or replaced. */
  tags: Record<string, string>;
  /** Keys, one per line, removed. */
  untag: string;
  lifetime: Choice;
  lifetimeDays: string;
  rotation: Choice;
  rotationDays: string;
}

const DAY = 86_400;
const secondsOf = (choice: Choice, days: string): number | null =>
  choice === 'none' ? null : Math.round(Number(days) * DAY);

/** The fields of a secret that an edit changes; none if it stays as it is. */
export function patchOf(secret: Secret, draft: Draft): Patch {
  const removed = new Set(linesOf(draft.untag));
  const tags = Object.fromEntries(
    Object.entries({ ...secret.tags, ...draft.tags }).filter(([key]) => !removed.has(key)),
  );
  const sorted = (all: Record<string, string>) => JSON.stringify(Object.entries(all).sort());
  const rotation = secondsOf(draft.rotation, draft.rotationDays);
  // A lifetime is counted from now, so it is always a change, unless there is none to remove.
  const changesLifetime =
    draft.lifetime === 'days' || (draft.lifetime === 'none' && secret.expires_at !== null);
  return {
    ...(sorted(tags) !== sorted(secret.tags) && { tags }),
    ...(changesLifetime && { ttlSeconds: secondsOf(draft.lifetime, draft.lifetimeDays) }),
    ...(draft.rotation !== 'keep' &&
      rotation !== secret.rotate_every_seconds && { rotate_every_seconds: rotation }),
  };
}
