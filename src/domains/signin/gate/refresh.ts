// Refreshing a browser or terminal session, and reuse of a refresh token. Invariants: a refresh token (by its
// number) is issued once; reuse ends the session, since somebody else may hold the token; for a few seconds
// it is accepted again, because the response may have been lost.
import type { CredentialRow, Refresh } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Call, Operation } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { revision } from '../../../gate/request/writes';
import { begunOf, ending, IDLE, TOTAL } from './sessions';

/** How long a used cookie is accepted again: its response may have been lost. */
const FORGIVEN = 10_000;
/** The most valid cookies of one session at a time. */
const MOST_LIVE = 32;

/** The session that calls. */
export const own = ({ core, caller }: Call<unknown>): CredentialRow | null =>
  core.rows.get('credential', caller.credential);

export const ownSession = ({ caller }: Call<unknown>) => ({ resource: caller.credential });

/**
 * Accepts a valid number and issues the next: of a cookie, a refresh token, or the device code of a terminal.
 */
export const refresh: Operation<{ n: number }> = {
  subject: ownSession,
  change: {
    plan(call, now): Plan | Refusal {
      const row = own(call);
      const member = call.core.rows.get('member', call.caller.id);
      if (!row?.refresh || !member) return refuse('UNAUTHENTICATED');
      const { n } = call.input;
      const { live, last } = row.refresh;
      const used = row.refresh.used.filter(([, at]) => at > now - FORGIVEN);
      const isGood = live.includes(n);
      const isForgiven = used.some(([number]) => number === n);
      // A genuine number that is neither: it was used before, possibly by someone else.
      if (!isGood && !isForgiven) return { status: 401, data: null, writes: [ending(call, row, now)] };
      if (isForgiven && live.length >= MOST_LIVE)
        return refuse('RATE_LIMITED', {
          message: 'This session is refreshed too often at the same time.',
          retry_after: FORGIVEN / 1000,
        });
      const next: Refresh = {
        ...row.refresh,
        live: [...live.filter((number) => number !== n), last + 1],
        used: isGood ? [...used, [n, now]] : used,
        last: last + 1,
      };
      const put = revision(call, 'credential', row, {
        refresh: next,
        expires_at: Math.min(now + IDLE, row.created_at + TOTAL),
      });
      return { status: 200, data: begunOf(call.core, put.row as CredentialRow, member), writes: [put] };
    },
  },
};
