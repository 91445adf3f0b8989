// Tokens that the service got for upstreams, in the gate's own storage and sealed by the Worker: the gate
// cannot open them, and they are in no other place. Invariants: a token serves the very `auth` and versions
// of secrets that it was got with; of calls that need one at the same time, one gets it and the others wait.
import { tuple } from '../../../crypto/bytes';
import { sha256 } from '../../../crypto/digest';
import type { Core } from '../../../gate/core';
import { part } from '../../../gate/part';
import type { Intent } from './intents';

/** A token that ends sooner is renewed. In milliseconds. */
const MARGIN = 60_000;
/** How long getting one may take: what calls the token endpoint waits no longer. */
const GETTING = 15_000;
/** However long it lasts, a token is renewed once a day. */
const MOST_KEPT = 86_400_000;

/** What a call has: a sealed token, nothing yet (it gets one), or why another call got none. */
export type Kept = { sealed: string } | { failed: string } | null;

const keyOf = ({ user, draft }: Intent, index: number): string =>
  sha256(
    tuple(
      user.direction,
      String(index),
      ...(draft.use?.secrets ?? []).map(({ id, version }) => `${id}.${version}`),
    ),
  );

function createTokens({ storage: { sql } }: Pick<Core, 'storage'>) {
  sql.exec(
    'create table if not exists use_tokens (upstream text primary key, key text not null, sealed text not null, until integer not null) without rowid',
  );
  const getting = new Map<string, { promise: Promise<Kept>; end(kept: Kept): void }>();
  const find = (upstream: string, key: string, now: number): Kept => {
    const [row] = sql
      .exec<{ sealed: string }>(
        'select sealed from use_tokens where upstream = ? and key = ? and until > ?',
        ...[upstream, key, now + MARGIN],
      )
      .toArray();
    return row ?? null;
  };
  return {
    /** A token for a call; null for the one call that gets it, and says what came of that. */
    async take(intent: Intent, index: number, now: number): Promise<Kept> {
      const key = keyOf(intent, index);
      const found = find(intent.upstream, key, now);
      if (found) return found;
      const other = getting.get(key);
      // safety: one-call-gets-token
      if (other) return other.promise;
      const { promise, resolve } = Promise.withResolvers<Kept>();
      const end = (kept: Kept) => {
        clearTimeout(timer);
        getting.delete(key);
        resolve(kept);
      };
      const timer = setTimeout(end, GETTING, null);
      getting.set(key, { promise, end });
      return null;
    },
    /** What came of getting one. */
    put(
      intent: Intent,
      index: number,
      got: { sealed: string; until: number } | { failed: string },
      now: number,
    ) {
      const key = keyOf(intent, index);
      if ('sealed' in got)
        sql.exec(
          'insert or replace into use_tokens values (?, ?, ?, ?)',
          ...[intent.upstream, key, got.sealed, Math.min(got.until, now + MOST_KEPT)],
        );
      getting.get(key)?.end('sealed' in got ? { sealed: got.sealed } : got);
    },
    /** The upstream takes it no more, or has changed. */
    drop: (upstream: string) => void sql.exec('delete from use_tokens where upstream = ?', upstream),
    sweep: (now: number) => void sql.exec('delete from use_tokens where until <= ?', now),
    clear: () => void sql.exec('delete from use_tokens'),
  };
}

export const tokens = part(createTokens);
