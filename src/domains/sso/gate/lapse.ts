// Domains that no longer have to sign in by single sign-on, because their connection or their proof is gone.
// Invariant: the sessions by passkey that this ended stay ended: the organisation's row records until when.
import { DAY } from '../../../db/rows';
import type { OrgRow, SsoConnectionRow } from '../../../db/schema';
import { enforcedAt } from '../../../gate/identity/sso';
import type { Call } from '../../../gate/request/call';
import type { Put } from '../../../gate/request/plan';
import { revision } from '../../../gate/request/writes';

/** No session is older: see domains/signin/gate/sessions.ts. */
const OLDEST = 7 * DAY;
/** Past so many domains the time counts for all. */
const MOST = 200;

/** Until when connections have ended sessions by passkey of their members. */
const endedBy = (connections: readonly SsoConnectionRow[], now: number): number =>
  Math.max(0, ...connections.map((one) => (one.enforce === 1 ? now : enforcedAt(one))));

/** What remembers the sessions that some connections have ended, as they leave some domains. */
export function lapsing(
  call: Call<unknown>,
  connections: readonly SsoConnectionRow[],
  domains: readonly string[],
  now: number,
): Put[] {
  const { rows, org } = call.core;
  const at = endedBy(connections, now);
  const names = domains.flatMap((id) => rows.get('domain', id)?.domain ?? []);
  const row = rows.get('org', org) as OrgRow;
  if (at <= now - OLDEST || names.length === 0) return [];
  const known = Object.entries(row.passkeys_ended ?? {}).filter(([, time]) => time > now - OLDEST);
  const ended = new Map(known);
  for (const name of names) ended.set(name, Math.max(at, ended.get(name) ?? 0));
  const kept = ended.size > MOST ? [['*', now] as const] : ended;
  return [revision(call, 'org', row, { passkeys_ended: Object.fromEntries(kept) })];
}

/** The connections of a domain. */
export const connectionsWith = ({ core }: Call<unknown>, domain: string): SsoConnectionRow[] =>
  core.rows.within('sso_connection', '').filter(({ domains }) => domains.includes(domain));
