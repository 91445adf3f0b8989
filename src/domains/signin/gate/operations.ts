// Browser sessions in the gate: begun and confirmed with a passkey, refreshed with single-use cookies, ended
// on request or by expiry. Invariants: a challenge begins at most one session, because the session's id comes
// from it; a challenge confirms once, because it is bound to the previous confirmation; a cookie's number is
// issued once, and late reuse ends its session; a confirmation leaves one valid cookie.

import type { CredentialRow, PasskeyRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { tiesOfLink } from '../../../gate/approvals/ties';
import { mustUseSso } from '../../../gate/identity/sso';
import { lastUsed } from '../../../gate/limits/last-used';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok, wants } from '../../../gate/request/outcome';
import type { Plan } from '../../../gate/request/plan';
import { revision } from '../../../gate/request/writes';
import { addition, type PasskeyInput } from '../../passkeys/gate/operations';
import { mayFollow, type Used } from '../../passkeys/webauthn';
import { sessionOut } from '../wire';
import { own, ownSession, refresh } from './refresh';
import { beginBrowser, begunOf, confirmedAgain, ending, isSpent, sessionsOf, surplus } from './sessions';

/** The change that an assertion makes to its passkey, if any. */
const advanced = (call: Call<unknown>, passkey: PasskeyRow, { counter, backed_up }: Used) =>
  passkey.counter === counter && passkey.backed_up === backed_up
    ? []
    : [revision(call, 'passkey', passkey, { counter, backed_up })];

interface LoginInput {
  session: string;
  passkey: { id: string; credential_id: string } & Used;
}

const login: Operation<LoginInput> = {
  subject: ({ input }) => ({ resource: input.session }),
  change: {
    before: async (call) => surplus(call).map(({ id }) => id),
    plan(call, now, { fetched: over }) {
      const { core, caller, input } = call;
      const member = core.rows.get('member', caller.id);
      const passkey = core.rows.get('passkey', input.passkey.id);
      const isIts =
        passkey && passkey.member_id === caller.id && passkey.credential_id === input.passkey.credential_id;
      if (!member || !isIts || isSpent(call, input.session)) return refuse('UNAUTHENTICATED');
      // The Worker compared it only with D1.
      if (!mayFollow(passkey.counter, input.passkey.counter)) return refuse('UNAUTHENTICATED');
      // safety: enforce-refuses-passkeys
      if (mustUseSso(core, member)) return refuse('SSO_REQUIRED');
      const writes = beginBrowser(call, input.session, passkey.id, over as string[], now);
      writes.push(...advanced(call, passkey, input.passkey));
      return { status: 200, data: begunOf(call.core, writes[0]?.row as CredentialRow, member), writes };
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
    plan(call, now, { fetched: over }): Plan | Refusal {
      const { core, caller, input } = call;
      const member = core.rows.get('member', caller.id);
      if (
        member?.enrolment_hash !== input.enrolment ||
        (member.enrolment_ends_at ?? 0) <= now ||
        isSpent(call, input.session)
      )
        return refuse('ENROLMENT_GONE');
      // safety: enforce-refuses-enrolment
      if (mustUseSso(core, member)) return refuse('SSO_REQUIRED');
      const added = addition(call, input.passkey, member.id, now);
      if ('code' in added) return added;
      const enrolled = revision(call, 'member', member, {
        enrolled_at: member.enrolled_at ?? now,
        enrolment_hash: null,
        enrolment_made_at: null,
        enrolment_ends_at: null,
        connections: tiesOfLink(member, now),
      });
      const writes = beginBrowser(call, input.session, input.passkey.id, over as string[], now);
      return {
        status: 200,
        data: begunOf(call.core, writes[0]?.row as CredentialRow, member),
        writes: [...writes, added, enrolled],
        events: [
          {
            type: 'MEMBER_ENROLLED',
            data: { member_id: member.id, passkey_id: (added.row as PasskeyRow).id },
          },
        ],
      };
    },
  },
};

/** The number of the last confirmation. A challenge to confirm is bound to it and so works once. */
const confirmationOf = (row: CredentialRow): number => row.refresh?.confirmed ?? 0;

/** What the Worker builds the options of a confirmation from, and later verifies the response against. */
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
  /** The passkey that the Worker verified the response with; null if verification failed. */
  passkey: LoginInput['passkey'] | null;
}

/** The first call tells the Worker which challenge to expect; the second checks the Worker's result. */
const confirm: Operation<ConfirmInput> = {
  subject: ownSession,
  change: {
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const row = own(call);
      const member = core.rows.get('member', caller.id);
      if (!row?.refresh || !member) return refuse('UNAUTHENTICATED');
      const since = confirmationOf(row);
      if (!ask.again)
        return wants('value', { session: row.id, member: caller.id, since } satisfies Confirming);
      // Of two requests with the same challenge, the second comes after another confirmation.
      // safety: challenge-used-once
      if (input.since !== since || !input.passkey) return refuse('UNAUTHENTICATED');
      const { id, credential_id, counter } = input.passkey;
      const passkey = core.rows.get('passkey', id);
      const isTheirs = passkey && passkey.member_id === caller.id && passkey.credential_id === credential_id;
      // safety: passkey-counter
      if (!isTheirs || !mayFollow(passkey.counter, counter)) return refuse('UNAUTHENTICATED');
      const put = confirmedAgain(call, row, row.refresh, now);
      const used = advanced(call, passkey, input.passkey);
      return {
        status: 200,
        data: begunOf(call.core, put.row as CredentialRow, member),
        writes: [put, ...used],
      };
    },
  },
};

const logout: Operation<Record<string, never>> = {
  subject: ownSession,
  change: {
    plan(call, now) {
      const row = own(call);
      if (!row) return refuse('UNAUTHENTICATED');
      return { status: 204, data: null, writes: [ending(call, row, now)] };
    },
  },
};

const list: Operation<{ limit: number; after: string | null }> = {
  read(call): Outcome {
    const { core, caller, input } = call;
    const rows = sessionsOf(call, caller.id).filter(({ id }) => id > (input.after ?? ''));
    const items = rows.slice(0, input.limit);
    const out = items.map((row) => sessionOut(row, lastUsed(core).of(row.id), row.id === caller.credential));
    return ok({ items: out, next: rows.length > input.limit ? items.at(-1)?.id : null });
  },
};

/** Ends one session of the member, or all. A repeat returns the same response. */
const end: Operation<Record<string, never>> = {
  change: {
    plan(call, now) {
      const { credential } = call.ask.named;
      const known =
        credential === undefined ||
        call.core.rows.get('credential', credential)?.member_id === call.caller.id;
      if (!known) return refuse('NOT_FOUND');
      return { status: 204, data: null, writes: endable(call).map((row) => ending(call, row, now)) };
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
