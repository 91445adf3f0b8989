// Rows of members' sessions: how a session begins, what the Worker is given for it, and which sessions end to
// make room. Invariant: a browser session has cookies; a terminal session has refresh tokens and never counts
// as confirmed.
import { DAY } from '../../../db/rows';
import type { CredentialRow, MemberRow, Refresh } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { isAlive } from '../../../gate/identity/lifetime';
import { insertion, revision } from '../../../gate/journal/writes';
import type { Call } from '../../../gate/request/call';
import { slugOf } from '../../../gate/request/target';
import { descendants } from '../../../gate/rows/descendants';
import { fresh } from '../../credentials/gate/create';
import { signedInMember } from '../wire';

/** How long a session lasts without a refresh, and in total. */
export const IDLE = DAY / 2;
export const TOTAL = 7 * DAY;
/** The most sessions of a member: one more ends the oldest. */
const MOST_SESSIONS = 20;
const RATE = 600;

/** What the Worker creates a JWT and a cookie or refresh token from. */
export interface Begun {
  session: { id: string; expires_at: number; ends_at: number; n: number };
  member: ReturnType<typeof signedInMember>;
}

export const begunOf = (core: Core, row: CredentialRow, member: MemberRow): Begun => ({
  session: {
    id: row.id,
    expires_at: row.expires_at as number,
    ends_at: row.created_at + TOTAL,
    n: (row.refresh as Refresh).last,
  },
  member: signedInMember(member, member.environments?.map((id) => slugOf(core, id)) ?? null),
});

/** A member's live sessions, oldest first. */
export const sessionsOf = ({ core }: Call<unknown>, member: string): CredentialRow[] =>
  descendants(core)
    .browserSessions(member)
    .flatMap((id) => {
      const row = core.rows.get('credential', id);
      return row && isAlive(core, row) ? [row] : [];
    });

/** The lock that serialises beginning and ending sessions of a member. */
export const turn = (member: string) => `sessions:${member}`;

export const ending = (call: Call<unknown>, row: CredentialRow, now: number) =>
  revision(call, 'credential', row, { revoked_at: now });

/** The oldest sessions, which must end to make room for one more; never the calling one. */
export function surplus(call: Call<unknown>): CredentialRow[] {
  const all = sessionsOf(call, call.caller.id);
  const others = all.filter(({ id }) => id !== call.caller.credential);
  return others.slice(0, Math.max(0, all.length + 1 - MOST_SESSIONS));
}

type Begin = Pick<CredentialRow, 'refresh' | 'confirmed_at' | 'expires_at'> &
  Partial<Pick<CredentialRow, 'name' | 'created_in'>>;

/** The rows that a new session changes: its own, and those of the oldest sessions if there are too many. */
function begin(
  call: Call<unknown>,
  id: string,
  passkey: string | null,
  over: string[],
  now: number,
  fields: Begin,
) {
  const { core, ask, caller } = call;
  const put = insertion(call, 'credential', {
    ...fresh(core, ask.org, { id, hash: id, hint: '' }, now),
    kind: 'browser',
    scopes: [],
    rate_limit: RATE,
    created_by: caller.id,
    member_id: caller.id,
    passkey_id: passkey,
    ...fields,
  });
  const oldest = sessionsOf(call, caller.id).filter((row) => over.includes(row.id));
  return [put, ...oldest.map((row) => ending(call, row, now))];
}

/** A browser session whose member has just authenticated with a passkey. */
export const beginBrowser = (call: Call<unknown>, id: string, passkey: string, over: string[], now: number) =>
  begin(call, id, passkey, over, now, {
    refresh: { live: [1], used: [], last: 1, confirmed: 1 },
    confirmed_at: now,
    expires_at: now + IDLE,
  });

/** How a terminal signs in. */
export interface Terminal {
  session: string;
  client_name: string;
  /** When the device code expires, and with it a session that no terminal has fetched. */
  ends_at: number;
}

/** A terminal session. Its device code is its first refresh token, with the number 0. */
export const beginTerminal = (
  call: Call<unknown>,
  terminal: Terminal,
  passkey: string | null,
  over: string[],
  now: number,
) =>
  begin(call, terminal.session, passkey, over, now, {
    name: terminal.client_name,
    // A containment of the confirming browser session also ends this one.
    // safety: terminal-contained-with-browser
    created_in: call.caller.credential,
    refresh: { by: 'token', live: [0], used: [], last: 0 },
    confirmed_at: null,
    expires_at: terminal.ends_at,
  });
