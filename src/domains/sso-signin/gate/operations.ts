// Sign-in by single sign-on in the gate: one operation decides who a person is and begins the session. The
// Worker has verified what the provider says. Invariants: a state serves once, whatever came of it; all
// refusals have the same response, and the reason is in the audit log; a sign-in does not confirm, except of
// a session that asked for it, by the identity that began it.
import type { CredentialRow, MemberRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { bringers, withTies } from '../../../gate/approvals/ties';
import { isAlive } from '../../../gate/identity/lifetime';
import { isStopped, linkIdOf, linkOf } from '../../../gate/identity/sso';
import type { Raised } from '../../../gate/outbox';
import type { Call, Operation } from '../../../gate/request/call';
import type { ListInput } from '../../../gate/request/listing';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import type { Plan, Proposal, Put } from '../../../gate/request/plan';
import { namedId, slugOf } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { mayFollow, type Used } from '../../passkeys/webauthn';
import {
  beginSso,
  begunOf,
  confirmedAgain,
  ending,
  isSpent,
  sessionsOf,
  surplus,
} from '../../signin/gate/sessions';
import { exchanged, type Spent } from '../../trusts/gate/exchanged';
import type { Person } from '../rules';
import { linkOut } from '../wire';
import { type Decision, decide } from './decide';
import { bringing, changed, places, positionOf } from './given';
import { logout } from './logout';
import { testOperations } from './tests';

/** What the Worker has verified of a sign-in. */
export interface SsoInput {
  connection: string;
  /** Of the connection, as the Worker used it. */
  revision: number;
  person: Person;
  /** The state, which serves once. Null for a link, which begins the same session once. */
  spent: Spent | null;
  /** The ids of what is made. */
  session: string;
  member: string;
  /** The passkey that was proved for a link. */
  passkey?: { id: string; credential_id: string; member: string } & Used;
}

const isProven = ({ core, input: { passkey } }: Call<SsoInput>): boolean => {
  if (!passkey) return false;
  const row = core.rows.get('passkey', passkey.id);
  return (
    row !== null &&
    row.member_id === passkey.member &&
    row.credential_id === passkey.credential_id &&
    mayFollow(row.counter, passkey.counter)
  );
};

/** Whether another request has used the state. */
const isUsed = ({ core, ask }: Call<unknown>, spent: Spent | null): boolean =>
  spent !== null && exchanged(core).times(spent.digest, ask.request.id) > 0;

/** The decision on this sign-in now. */
function decided(call: Call<SsoInput>): Decision {
  const { core, input } = call;
  // safety: sso-state-once
  if (isUsed(call, input.spent) || isSpent(call, input.session))
    return { is: 'refused', reason: 'the state was used before' };
  const proven = isProven(call);
  if (input.passkey && !proven) return { is: 'refused', reason: 'the passkey was not accepted' };
  const decision = decide(core, input, proven);
  return proven && decision.is === 'member' && decision.member.id !== input.passkey?.member
    ? { is: 'refused', reason: 'the passkey is of another member' }
    : decision;
}

const subject = (call: Call<SsoInput>) => {
  const { input } = call;
  const decision = decided(call);
  if (decision.is === 'refused') return { resource: input.connection, reason: decision.reason };
  if (decision.is === 'asked')
    return { resource: input.connection, reason: 'the member is asked for a passkey' };
  // Nobody is the actor yet.
  if (decision.is === 'new') return { resource: input.member, reason: 'a member was made' };
  return { resource: input.session, ...(!decision.link && { reason: 'a member was linked' }) };
};

/** What the Worker answers with. */
export type SignedIn = { is: 'begun'; begun: ReturnType<typeof begunOf> } | { is: 'asked'; member: string };

const signIn: Operation<SsoInput> = {
  subject,
  change: {
    before: async (call) => surplus(call).map(({ id }) => id),
    plan(call, now, { fetched: over }): Proposal {
      const { core, ask, input } = call;
      const decision = decided(call);
      // Even a refused one: a state that comes again is somebody else's.
      // safety: sso-state-spent
      if (input.spent) exchanged(core).note(input.spent, ask.request.id, now);
      if (decision.is === 'refused') return refuse('UNAUTHENTICATED');
      if (decision.is === 'asked')
        return { status: 200, data: { is: 'asked', member: decision.member.id } satisfies SignedIn };
      return decision.is === 'new' ? made(call, decision, now) : letIn(call, decision, over as string[], now);
    },
  },
};

const linkFields = ({ ask, input: { connection, person } }: Call<SsoInput>, member: string, now: number) => ({
  org_id: ask.org,
  id: linkIdOf(connection, person.issuer, person.subject),
  member_id: member,
  connection_id: connection,
  issuer: person.issuer,
  subject: person.subject,
  created_at: now,
});

/** The plan that begins a session of a member. */
function begun(
  call: Call<SsoInput>,
  member: MemberRow,
  over: string[],
  now: number,
  plan: Required<Pick<Plan, 'writes' | 'deletes' | 'events'>>,
): Plan {
  const { core, input } = call;
  const { connection, person, passkey } = input;
  const sso = { connection, link: linkIdOf(connection, person.issuer, person.subject), sid: person.sid };
  const passkeyId = passkey?.id ?? null;
  const session = beginSso(call, input.session, { member: member.id, sso, passkey: passkeyId }, over, now);
  const row = session[0]?.row as CredentialRow;
  return {
    status: 200,
    data: { is: 'begun', begun: begunOf(core, row, member) } satisfies SignedIn,
    ...plan,
    writes: [...session, ...plan.writes],
    resource: input.session,
  };
}

/** A member who is linked, or becomes so. */
function letIn(
  call: Call<SsoInput>,
  { connection, member, link }: Decision & { is: 'member' },
  over: string[],
  now: number,
): Plan {
  const { core, input } = call;
  const { groups } = input.person;
  const given = groups && places(call, connection, member.id, groups, now);
  const how = { gains: given?.gains ?? false, isLinking: link === null, isProven: isProven(call) };
  const fields = changed(call, connection, member, groups, how, now);
  const put = Object.keys(fields).length ? revision(call, 'member', member, fields) : null;
  const after = (put?.row as MemberRow | undefined) ?? member;
  const own = link ? [] : [insertion(call, 'sso_link', linkFields(call, member.id, now))];
  // Links of deleted connections have served: the member has proved a passkey.
  const dead = link ? [] : core.rows.within('sso_link', member.id).map(({ id }) => id);
  return begun(call, after, over, now, {
    writes: [...own, ...(put ? [put] : []), ...(given?.writes ?? []), ...advanced(call)],
    deletes: [
      ...dead.filter((id) => id !== own[0]?.row.id).map((id) => ({ kind: 'sso_link' as const, id })),
      ...(given?.deletes ?? []),
    ],
    events: link ? [] : [toldOwners(call, member)],
  });
}

const toldOwners = (
  { core, input }: Call<SsoInput>,
  { id, name, role, environments }: MemberRow,
): Raised => ({
  type: 'MEMBER_CHANGED',
  data: {
    member_id: id,
    name,
    role,
    environments: environments?.map((one) => slugOf(core, one)) ?? null,
    former_role: role,
    linked: { connection_id: input.connection },
  },
});

/** The change that the assertion makes to the passkey, if any. */
function advanced(call: Call<SsoInput>): Put[] {
  const { core, input } = call;
  const row = input.passkey ? core.rows.get('passkey', input.passkey.id) : null;
  if (!row || !input.passkey) return [];
  const { counter, backed_up } = input.passkey;
  return row.counter === counter && row.backed_up === backed_up
    ? []
    : [revision(call, 'passkey', row, { counter, backed_up })];
}

/** A new member, whom the connection makes. */
function made(
  call: Call<SsoInput>,
  { connection, email }: Decision & { is: 'new' },
  now: number,
): Plan | Refusal {
  const { ask, core, input } = call;
  const { name, groups } = input.person;
  const held = groups ?? [];
  if (core.rows.get('member', input.member)) return refuse('UNAUTHENTICATED');
  const put = insertion(call, 'member', {
    org_id: ask.org,
    id: input.member,
    email,
    name: name ?? email.slice(0, email.lastIndexOf('@')),
    ...positionOf(call, connection, held),
    created_at: now,
    invited_by: connection.id,
    enrolled_at: now,
    provisioned: { made: true, connection: connection.id, role: true, groups: held, scim: null },
    // safety: provider-makes-no-decider
    connections: bringing(connection, now).map((one) => [one, now]),
  });
  const given = places(call, connection, input.member, held, now);
  return begun(call, put.row as MemberRow, [], now, {
    writes: [put, insertion(call, 'sso_link', linkFields(call, input.member, now)), ...given.writes],
    deletes: given.deletes,
    events: [],
  });
}

// ---------------------------------------------------------------- what the Worker refused

export interface RefusedInput {
  connection: string;
  reason: string;
  spent: Spent;
}

/** A sign-in that the Worker refused: spends the state, and writes the audit entry. */
const refused: Operation<RefusedInput> = {
  subject: ({ input }) => ({ resource: input.connection, reason: input.reason }),
  read({ core, ask, input }): Outcome {
    exchanged(core).note(input.spent, ask.request.id, core.now());
    return fail(refuse('UNAUTHENTICATED'));
  },
};

// ---------------------------------------------------------------- confirming a session

/** How old an authentication at the provider may be that confirms a session, in milliseconds. */
const CONFIRMS_FOR = 300_000;
const SKEW = 30_000;

/** The session that calls, if it is of single sign-on and its member has no passkey. */
function confirmable({ core, caller }: Call<unknown>, id: string): CredentialRow | Refusal {
  const row = core.rows.get('credential', id);
  if (!row?.sso || !row.refresh || row.refresh.by === 'token')
    return refuse('CONFLICT', {
      message: 'This session was not begun by single sign-on. Confirm it with a passkey.',
    });
  // safety: sso-confirms-without-passkey
  if (core.rows.within('passkey', caller.id).length > 0)
    return refuse('CONFLICT', { message: 'You have a passkey. Confirm the session with it.' });
  // safety: sso-confirms-no-owner
  return core.rows.get('member', caller.id)?.role === 'owner'
    ? refuse('CONFLICT', {
        message: 'Owners confirm with a passkey. Another owner can create an enrolment link for you.',
      })
    : row;
}

/** Of a confirmation that begins: by which connection, and for which session. */
export interface Confirmable {
  session: string;
  connection: string;
}

const confirmStart: Operation<Record<string, never>> = {
  subject: ({ caller }) => ({ resource: caller.credential }),
  read(call): Outcome {
    const row = confirmable(call, call.caller.credential);
    if ('code' in row) return fail(row);
    return ok({ session: row.id, connection: row.sso?.connection as string } satisfies Confirmable);
  },
};

/** Why a session is not confirmed; null if it is. */
function unconfirmed(call: Call<SsoInput>, now: number): string | null {
  const { core, input, caller } = call;
  if (isUsed(call, input.spent)) return 'the state was used before';
  const connection = core.rows.get('sso_connection', input.connection);
  if (!connection || connection.revision !== input.revision) return 'the connection was changed or deleted';
  // safety: sso-stopped-confirms-nothing
  if (isStopped(connection)) return 'a panic stopped the connection, until an owner changes it';
  const link = linkOf(core, { connection: input.connection, subject: input.person, email: null });
  const row = core.rows.get('credential', input.session);
  // safety: sso-confirms-same-identity
  if (
    !link ||
    !row?.sso ||
    row.sso.link !== link.id ||
    row.member_id !== link.member_id ||
    row.member_id !== caller.id
  )
    return 'the session is of another identity';
  if (!isAlive(core, row)) return 'the session has ended';
  if ('code' in confirmable(call, row.id)) return 'the member has a passkey or needs one';
  const at = (input.person.auth_time ?? 0) * 1000;
  // safety: sso-confirmation-recent
  return at > now + SKEW || at < now - CONFIRMS_FOR ? 'the authentication is too old' : null;
}

const confirm: Operation<SsoInput> = {
  subject(call) {
    const reason = unconfirmed(call, call.core.now());
    return { resource: call.input.session, ...(reason !== null && { reason }) };
  },
  change: {
    plan(call, now): Proposal {
      const { core, ask, input, caller } = call;
      const problem = unconfirmed(call, now);
      if (input.spent) exchanged(core).note(input.spent, ask.request.id, now);
      const row = core.rows.get('credential', input.session);
      const member = core.rows.get('member', caller.id);
      if (problem !== null || !row?.refresh || !member) return refuse('UNAUTHENTICATED');
      const put = confirmedAgain(call, row, row.refresh, now);
      return {
        status: 200,
        data: { is: 'begun', begun: begunOf(core, put.row as CredentialRow, member) } satisfies SignedIn,
        writes: [put],
      };
    },
  },
};

// ---------------------------------------------------------------- links of a member

/** The identities that a member is linked to, in order of their ids. */
const links: Operation<ListInput> = {
  read({ core, ask, input: { limit, after } }): Outcome {
    const member = core.rows.get('member', namedId(ask, 'member'));
    if (!member) return fail(refuse('NOT_FOUND'));
    const rows = core.rows
      .within('sso_link', member.id)
      .filter(({ id }) => after === null || id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const page = rows.slice(0, limit);
    return ok({
      items: page.map((row) => linkOut(row, core.rows.get('sso_connection', row.connection_id) !== null)),
      next: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
    });
  },
};

/** Frees a member's links: the member links anew by e-mail, as if for the first time. */
const unlink: Operation<Record<string, never>> = {
  change: {
    plan(call, now): Plan | Refusal {
      const member = call.core.rows.get('member', namedId(call.ask, 'member'));
      if (!member) return refuse('NOT_FOUND');
      const links = call.core.rows.within('sso_link', member.id);
      if (links.length === 0) return { status: 204, data: null };
      return {
        status: 204,
        data: null,
        describes: `free the links of ${member.name} to identity providers`,
        writes: [
          // Whoever has the address is the member at the next sign-in.
          // safety: unlinking-ties
          revision(call, 'member', member, {
            connections: withTies(member.connections, bringers(call), now),
          }),
          // The same identity gets the same link again, and its earlier sessions would count.
          // safety: unlinking-ends-sessions
          ...sessionsOf(call, member.id)
            .filter(({ sso }) => sso)
            .map((row) => ending(call, row, now)),
        ],
        deletes: links.map(({ id }) => ({ kind: 'sso_link', id })),
      };
    },
  },
};

export const ssoSigninOperations = {
  'auth.sso': signIn,
  'auth.sso_refused': refused,
  'auth.sso_confirm_start': confirmStart,
  'auth.sso_confirm': confirm,
  'auth.sso_logout': logout,
  'member.links': links,
  'member.unlink': unlink,
  ...testOperations,
};
