// Rows of members' sessions: how a session begins, what the Worker is given for it, and which sessions end to
// make room. Invariant: a browser session has cookies; a terminal session has refresh tokens and never counts
// as confirmed.
import { DAY } from '../../../db/rows';
import type { CredentialRow, MemberRow, Refresh, SsoSession } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { descendants } from '../../../gate/identity/descendants';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Call } from '../../../gate/request/call';
import type { Put } from '../../../gate/request/plan';
import { slugOf } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
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
  Partial<Pick<CredentialRow, 'name' | 'created_in' | 'sso' | 'member_id'>>;

/** Whether a challenge or state has already begun a session. */
export const isSpent = ({ core }: Call<unknown>, id: string): boolean =>
  core.rows.get('credential', id) !== null || core.rows.isBuried('credential', id);

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
  const { member_id = caller.id } = fields;
  const put = insertion(call, 'credential', {
    ...fresh(core, ask.org, { id, hash: id, hint: '' }, now),
    kind: 'browser',
    scopes: [],
    rate_limit: RATE,
    created_by: member_id ?? '',
    member_id,
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

/**
 * A browser session that single sign-on began. It is confirmed only if the member has just proved a passkey
 * too.
 */
export const beginSso = (
  call: Call<unknown>,
  id: string,
  { member, sso, passkey }: { member: string; sso: SsoSession; passkey: string | null },
  over: string[],
  now: number,
) =>
  begin(call, id, passkey, over, now, {
    member_id: member,
    sso,
    refresh: { live: [1], used: [], last: 1, ...(passkey !== null && { confirmed: 1 }) },
    confirmed_at: passkey === null ? null : now,
    expires_at: now + IDLE,
  });

/** A session that has just been confirmed: it has one valid cookie. */
export function confirmedAgain(call: Call<unknown>, row: CredentialRow, refresh: Refresh, now: number): Put {
  const n = refresh.last + 1;
  return revision(call, 'credential', row, {
    // No reuse is tolerated: the holder of an earlier cookie need not be the one who confirmed.
    // safety: confirmation-ends-used-cookies, confirmation-ends-live-cookies, confirmation-keeps-jwts-refused
    refresh: { live: [n], used: [], last: n, confirmed: n, ...(refresh.jwts && { jwts: [n, null] }) },
    confirmed_at: now,
    expires_at: Math.min(now + IDLE, row.created_at + TOTAL),
  });
}

/** How a terminal signs in. */
export interface Terminal {
  session: string;
  client_name: string;
  /** When the device code expires, and with it a session that no terminal has fetched. */
  ends_at: number;
}

/** What the session that confirms a terminal hands on: the terminal's ends with the same. */
type Confirming = Pick<CredentialRow, 'passkey_id' | 'sso'>;

/** A terminal session. Its device code is its first refresh token, with the number 0. */
export const beginTerminal = (
  call: Call<unknown>,
  terminal: Terminal,
  { passkey_id, sso }: Confirming,
  over: string[],
  now: number,
) =>
  begin(call, terminal.session, passkey_id, over, now, {
    // safety: sso-terminal-ends-with-identity
    sso,
    name: terminal.client_name,
    // A containment of the confirming browser session also ends this one.
    // safety: terminal-contained-with-browser
    created_in: call.caller.credential,
    refresh: { by: 'token', live: [0], used: [], last: 0 },
    confirmed_at: null,
    expires_at: terminal.ends_at,
  });
