// Browser sessions, as the gate keeps them: begun and confirmed by a passkey, refreshed by cookies that are good once, ended at will or by
// time.
// Invariants: a challenge begins one session at most, for the session's id comes from it; a challenge confirms once, for it is bound to the
// confirmation before; a number of a cookie is given once; one that comes back late ends its session; a confirmation leaves one cookie.

import type { CredentialRow, PasskeyRow, Refresh } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { revision } from '../../../gate/commit';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import type { Plan } from '../../../gate/plan';
import type { Call, Operation } from '../../../gate/types';
import { addition, type PasskeyInput } from '../../passkeys/gate/operations';
import { mayFollow, type Used } from '../../passkeys/webauthn';
import { sessionOut } from '../wire';
import { beginBrowser, begunOf, ending, IDLE, sessionsOf, surplus, TOTAL, turn } from './sessions';

/** For how long a cookie that was used may come again: its reply may have been lost. */
const FORGIVEN = 10_000;
/** Cookies of one session that may be good at once. */
const MOST_LIVE = 32;

/** Whether a challenge has begun a session before. */
const isSpent = ({ core }: Call<unknown>, id: string) => core.rows.get('credential', id) !== null || core.rows.isBuried('credential', id);

/** The change that an assertion makes to its passkey, if any. */
const advanced = (call: Call<unknown>, passkey: PasskeyRow, { counter, backed_up }: Used) =>
  passkey.counter === counter && passkey.backed_up === backed_up ? [] : [revision(call, 'passkey', passkey, { counter, backed_up })];

interface LoginInput {
  session: string;
  passkey: { id: string; credential_id: string } & Used;
}

const login: Operation<LoginInput> = {
  subject: ({ input }) => ({ resource: input.session }),
  change: {
    before: async (call) => surplus(call).map(({ id }) => id),
    locks: (call) => [
      ...[turn(call.caller.id), call.caller.id, call.input.passkey.id, call.input.session],
      ...surplus(call).map(({ id }) => id),
    ],
    plan(call, now, { fetched: over }) {
      const { core, caller, input } = call;
      const member = core.rows.get('member', caller.id);
      const passkey = core.rows.get('passkey', input.passkey.id);
      const isIts = passkey && passkey.member_id === caller.id && passkey.credential_id === input.passkey.credential_id;
      if (!member || !isIts || isSpent(call, input.session)) return refuse('UNAUTHENTICATED');
      // The Worker has judged it by what D1 holds.
      if (!mayFollow(passkey.counter, input.passkey.counter)) return refuse('UNAUTHENTICATED');
      const puts = beginBrowser(call, input.session, passkey.id, over as string[], now);
      puts.push(...advanced(call, passkey, input.passkey));
      return { status: 200, data: begunOf(puts[0]?.row as CredentialRow, member), puts };
    },
  },
};

interface EnrolInput {
  session: string;
  enrolment: string;
  passkey: PasskeyInput;
}

const enrol: Operation<EnrolInput> = {
  subject: ({ caller }) => ({ resource: caller.id }),
  change: {
    before: async (call) => surplus(call).map(({ id }) => id),
    locks: (call) => [
      ...[turn(call.caller.id), call.caller.id, call.input.passkey.id, call.input.session],
      ...surplus(call).map(({ id }) => id),
    ],
    plan(call, now, { fetched: over }): Plan | Refusal {
      const { core, caller, input } = call;
      const member = core.rows.get('member', caller.id);
      if (member?.enrolment_hash !== input.enrolment || (member.enrolment_ends_at ?? 0) <= now || isSpent(call, input.session))
        return refuse('ENROLMENT_GONE');
      const added = addition(call, input.passkey, member.id, now);
      if ('code' in added) return added;
      const enrolled = revision(call, 'member', member, {
        enrolled_at: member.enrolled_at ?? now,
        enrolment_hash: null,
        enrolment_made_at: null,
        enrolment_ends_at: null,
      });
      const puts = beginBrowser(call, input.session, input.passkey.id, over as string[], now);
      return {
        status: 200,
        data: begunOf(puts[0]?.row as CredentialRow, member),
        puts: [...puts, added, enrolled],
        events: [{ type: 'MEMBER_ENROLLED', data: { member_id: member.id, passkey_id: (added.row as PasskeyRow).id } }],
      };
    },
  },
};

const own = ({ core, caller }: Call<unknown>): CredentialRow | null => core.rows.get('credential', caller.credential);

const ownSession = ({ caller }: Call<unknown>) => ({ resource: caller.credential });

/** Takes a number that is good and gives the next: of a cookie, of a refresh token, or of the device code that a terminal signs in with. */
const refresh: Operation<{ n: number }> = {
  subject: ownSession,
  change: {
    locks: ({ caller }) => [turn(caller.id), caller.credential],
    plan(call, now): Plan | Refusal {
      const row = own(call);
      const member = call.core.rows.get('member', call.caller.id);
      if (!row?.refresh || !member) return refuse('UNAUTHENTICATED');
      const { n } = call.input;
      const { live, last } = row.refresh;
      const used = row.refresh.used.filter(([, at]) => at > now - FORGIVEN);
      const isGood = live.includes(n);
      const isForgiven = used.some(([number]) => number === n);
      // Genuine, and neither: it was used, and whoever has it now is not who used it.
      if (!isGood && !isForgiven) return { status: 401, data: null, puts: [ending(call, row, now)] };
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
      return { status: 200, data: begunOf(put.row as CredentialRow, member), puts: [put] };
    },
  },
};

/** The number of the last confirmation. A challenge to confirm is bound to it, and so serves once. */
const confirmationOf = (row: CredentialRow): number => row.refresh?.confirmed ?? 0;

/** What the Worker makes the options of a confirmation from, and later judges the response by. */
export interface Confirming {
  session: string;
  member: string;
  since: number;
}

const confirmOptions: Operation<Record<string, never>> = {
  subject: ownSession,
  read(call): Outcome {
    const { core, caller } = call;
    const row = own(call);
    if (!row) return fail(refuse('UNAUTHENTICATED'));
    const passkeys = core.rows.within('passkey', caller.id).map(({ credential_id }) => credential_id);
    return ok({ session: row.id, member: caller.id, since: confirmationOf(row), passkeys });
  },
};

interface ConfirmInput {
  since: number;
  /** The passkey that the Worker has verified the response by; null if it does not verify. */
  passkey: LoginInput['passkey'] | null;
}

/** The first call tells the Worker which challenge to look for; the second judges what the Worker found. */
const confirm: Operation<ConfirmInput> = {
  subject: ownSession,
  change: {
    locks: ({ caller, input }) => [turn(caller.id), caller.id, caller.credential, ...(input.passkey ? [input.passkey.id] : [])],
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const row = own(call);
      const member = core.rows.get('member', caller.id);
      if (!row?.refresh || !member) return refuse('UNAUTHENTICATED');
      const since = confirmationOf(row);
      if (!ask.again) return { more: { session: row.id, member: caller.id, since } satisfies Confirming };
      // Of two with the same challenge the second comes after another confirmation.
      // safety: challenge-used-once
      if (input.since !== since || !input.passkey) return refuse('UNAUTHENTICATED');
      const { id, credential_id, counter } = input.passkey;
      const passkey = core.rows.get('passkey', id);
      const isTheirs = passkey && passkey.member_id === caller.id && passkey.credential_id === credential_id;
      // safety: passkey-counter
      if (!isTheirs || !mayFollow(passkey.counter, counter)) return refuse('UNAUTHENTICATED');
      const n = row.refresh.last + 1;
      const put = revision(call, 'credential', row, {
        // Nothing is forgiven: whoever has an earlier cookie need not be who has confirmed.
        // safety: confirmation-ends-used-cookies, confirmation-ends-live-cookies, confirmation-keeps-jwts-refused
        refresh: { live: [n], used: [], last: n, confirmed: n, ...(row.refresh.jwts && { jwts: [n, null] }) },
        confirmed_at: now,
        expires_at: Math.min(now + IDLE, row.created_at + TOTAL),
      });
      const used = advanced(call, passkey, input.passkey);
      return { status: 200, data: begunOf(put.row as CredentialRow, member), puts: [put, ...used] };
    },
  },
};

const logout: Operation<Record<string, never>> = {
  subject: ownSession,
  change: {
    locks: ({ caller }) => [turn(caller.id), caller.credential],
    plan(call, now) {
      const row = own(call);
      if (!row) return refuse('UNAUTHENTICATED');
      return { status: 204, data: null, puts: [ending(call, row, now)] };
    },
  },
};

const list: Operation<{ limit: number; after: string | null }> = {
  read(call): Outcome {
    const { core, caller, input } = call;
    const rows = sessionsOf(call, caller.id).filter(({ id }) => id > (input.after ?? ''));
    const items = rows.slice(0, input.limit);
    const out = items.map((row) => sessionOut(row, core.lastUsed.of(row.id), row.id === caller.credential));
    return ok({ items: out, next: rows.length > input.limit ? items.at(-1)?.id : null });
  },
};

/** Ends the session that is named, or all of the member's; again is the same answer. */
const end: Operation<Record<string, never>> = {
  change: {
    before: async (call) => endable(call).map(({ id }) => id),
    locks: (call) => [turn(call.caller.id), ...endable(call).map(({ id }) => id)],
    plan(call, now, { fetched: ids }) {
      const { credential } = call.ask.named;
      const known = credential === undefined || call.core.rows.get('credential', credential)?.member_id === call.caller.id;
      if (!known) return refuse('NOT_FOUND');
      const rows = endable(call).filter(({ id }) => (ids as string[]).includes(id));
      return { status: 204, data: null, puts: rows.map((row) => ending(call, row, now)) };
    },
  },
};

const endable = (call: Call<unknown>) => {
  const { credential } = call.ask.named;
  return sessionsOf(call, call.caller.id).filter(({ id }) => credential === undefined || id === credential);
};

export const signinOperations = {
  'auth.login': login,
  'auth.enrol': enrol,
  'auth.refresh': refresh,
  'auth.device_token': refresh,
  'auth.confirm_options': confirmOptions,
  'auth.confirm': confirm,
  'auth.logout': logout,
  'auth.session_list': list,
  'auth.session_end': end,
};
