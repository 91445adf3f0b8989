// Operations on members in the gate. Invariants: there is always an owner; an email address is unique in an organisation, ignoring case; a
// removed member leaves no passkey, membership or grant behind, and their browser sessions are refused because the row is gone. Operations
// that create or change anything of a member lock the member's id.

import { mustBeConfirmed, type PermissionSet, reasons } from '../../../auth/authorize';
import { mayChangeMember, mayGiveRole, mayRemoveMember } from '../../../auth/roles';
import { covers, roleScopes } from '../../../auth/scopes';
import { idStart } from '../../../db/ids';
import { DAY, type RowKind } from '../../../db/rows';
import { type CredentialRow, type MemberRow, type Role, roles } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { bringers, connected, isKeeperFull, keeperOf, kept } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import type { Raised } from '../../../gate/events/outbox';
import { memberOf } from '../../../gate/identity/caller';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Plan, Put } from '../../../gate/journal/plan';
import { insertion, portion, removal, revision } from '../../../gate/journal/writes';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, found, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf } from '../../../gate/request/target';
import { descendants } from '../../../gate/rows/descendants';
import { type ListInput, listed } from '../../../gate/rows/listing';
import { type Status, statusOf } from '../rules';
import { memberOut } from '../wire';

/** A member as shown to callers. */
export const shown = (core: Core, row: MemberRow): object => memberOut(row, core.rows.within('passkey', row.id).length, core.now());

/** The fields of a new enrolment, by the hash of its token. It is valid for 24 hours. */
export const enrolment = (enrolment_hash: string, now: number) => ({
  enrolment_hash,
  enrolment_made_at: now,
  enrolment_ends_at: now + DAY,
});

const noEnrolment = { enrolment_hash: null, enrolment_made_at: null, enrolment_ends_at: null };

/** The owner with the oldest row, or with the given email; null if there is none. */
export function ownerOf(core: Core, email: string | null): MemberRow | null {
  const owners = ownersOf(core).filter((row) => email === null || keyOf(row.email) === keyOf(email));
  return owners.sort((a, b) => (a.id < b.id ? -1 : 1))[0] ?? null;
}

export const ownersOf = (core: Core) => core.rows.within('member', '').filter(({ role }) => role === 'owner');
// safety: email-case-insensitive
const keyOf = (email: string) => email.toLowerCase();
const emailLock = (email: string) => `email:${keyOf(email)}`;
const isTaken = (core: Core, email: string, by: string) => {
  const other = core.rows.find('member', '', keyOf(email));
  return other !== null && other.id !== by;
};

const find = ({ core, ask }: Call<unknown>): MemberRow | null => core.rows.get('member', ask.named.member as string);

/** Locks the caller: two members who demote each other are serialised. */
// safety: caller-locked
const askers = ({ caller }: Call<unknown>) => [caller.credential, caller.id];

const listRoles: Operation = {
  read: (): Outcome => ok({ data: roles.map((role) => ({ role, scopes: roleScopes[role] })) }),
};

const list: Operation<ListInput & { status: Status | null }> = {
  read: ({ core, input }) =>
    listed(core, 'member', idStart('member'), input, (row) =>
      input.status === null || statusOf(row, core.now()) === input.status ? shown(core, row) : null,
    ),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call.core, row)),
};

interface NewInput {
  id: string;
  email: string;
  name: string;
  role: Role;
  enrolment: string;
}

const create: Operation<NewInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  authorize: ({ caller, input }) => mayGiveRole(caller, input.role) ?? (input.role === 'owner' ? mustBeConfirmed(caller) : null),
  change: {
    // safety: email-locked
    locks: (call) => ['members', emailLock(call.input.email), call.input.id, ...askers(call)],
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const { enrolment: hash, ...fields } = input;
      if (isTaken(core, input.email, input.id)) return refuse('EMAIL_TAKEN');
      if (isKeeperFull(core, now))
        return refuse('LIMIT_REACHED', {
          message: 'Too many members were invited and removed in the last seven days. Wait some days before you invite more.',
        });
      const put = insertion(call, 'member', {
        org_id: ask.org,
        ...fields,
        created_at: now,
        invited_by: caller.id,
        connections: connected(null, bringers(call), now),
        ...enrolment(hash, now),
      });
      const describes = `invite ${input.name} as ${input.role}`;
      return { status: 201, data: shown(core, put.row as MemberRow), puts: [put], resource: input.id, describes };
    },
  },
};

interface UpdateInput {
  email: string | null;
  name: string | null;
  role: Role | null;
}

const update: Operation<UpdateInput> = {
  reach(call) {
    const row = find(call);
    return row && row.id !== call.caller.id ? mayChangeMember(call.caller, row.role) : null;
  },
  authorize(call) {
    const { caller, input } = call;
    const role = find(call)?.role;
    if (input.role === null || input.role === role) return null;
    // safety: owner-demotion-confirmed
    return mayGiveRole(caller, input.role) ?? ([input.role, role].includes('owner') ? mustBeConfirmed(caller) : null);
  },
  change: {
    locks: (call) => [
      call.ask.named.member as string,
      ...(call.input.email === null ? [] : [emailLock(call.input.email)]),
      ...(call.input.role === null ? [] : ['owners']),
      ...askers(call),
    ],
    revises: find,
    plan(call, now) {
      const { core, caller } = call;
      const { email, name, role } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (email !== null && isTaken(core, email, row.id)) return refuse('EMAIL_TAKEN');
      // safety: last-owner
      if (role !== null && role !== 'owner' && isLastOwner(core, row)) return refuse('LAST_OWNER');
      const put = revision(call, 'member', row, {
        ...(email !== null && { email }),
        ...(name !== null && { name }),
        ...(role !== null && { role }),
        ...(role !== null && role !== row.role && { connections: connected(row.connections, bringers(call), now) }),
        // The inviter may still have the URL, so it stays valid only for the role they gave.
        // safety: enrolment-for-given-role
        ...(role !== null && role !== row.role && row.invited_by !== caller.id && noEnrolment),
      });
      const describes = `change the role of ${row.name} from ${row.role} to ${role}`;
      return { status: 200, data: shown(core, put.row as MemberRow), puts: [put], describes };
    },
  },
};

const isLastOwner = (core: Core, row: MemberRow) => row.role === 'owner' && ownersOf(core).length === 1;

const enrol: Operation<{ enrolment: string }> = {
  change: {
    locks: (call) => [call.ask.named.member as string, ...askers(call)],
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const { core, caller, input } = call;
      const connections = connected(row.connections, bringers(call), now);
      const put = revision(call, 'member', row, { ...enrolment(input.enrolment, now), connections });
      const describes = `create an enrolment link for ${row.name}`;
      const events: Raised[] = [{ type: 'ENROLMENT_CREATED', data: { member_id: row.id, by: caller.id } }];
      return { status: 201, data: shown(core, put.row as MemberRow), puts: [put], events, resource: row.id, describes };
    },
  },
};

// ---------------------------------------------------------------- removing

/** Live credentials that a member created, without session tokens and browser sessions. */
function madeBy(core: Core, org: string, member: string): CredentialRow[] {
  return descendants(core)
    .madeBy([member], core.now())
    .flatMap(({ id, live }) => {
      const row = live ? core.rows.get('credential', id) : null;
      return row && row.kind !== 'browser' && isAlive(core, org, row) ? [row] : [];
    });
}

/** A removed member may have left more credentials than one request can revoke. */
const isLeft = ({ core, ask, input }: Call<{ revoke: boolean }>, made: readonly CredentialRow[]) =>
  input.revoke && made.length > 0 && core.rows.isBuried('member', ask.named.member as string);

const remove: Operation<{ revoke: boolean }> = {
  reach(call) {
    const row = find(call);
    return row && (mayRemoveMember(call.caller, row.role) ?? (row.role === 'owner' ? mustBeConfirmed(call.caller) : null));
  },
  authorize({ caller, input }): Refusal | null {
    // safety: revocation-needs-scope
    if (!input.revoke || caller.permissions.some(({ scopes }) => covers(scopes, 'tokens:write'))) return null;
    return refuse('INSUFFICIENT_SCOPE', { message: 'With revoke_credentials=true, this request needs the scope tokens:write.' });
  },
  change: {
    locks: (call) => [
      call.ask.named.member as string,
      // safety: owner-removal-locked
      'owners',
      ...(call.input.revoke ? madeBy(call.core, call.ask.org, call.ask.named.member as string).map(({ id }) => id) : []),
      // That owner's row keeps the ties of the removed member.
      ...[keeperOf(call.core, call.ask.named.member as string)].flatMap((owner) => owner?.id ?? []),
      ...askers(call),
    ],
    revises: find,
    plan(call, now) {
      const { core, ask, input } = call;
      const row = find(call);
      // All of them are locked: a credential created while this waited made it wait for that one too.
      const made = madeBy(core, ask.org, ask.named.member as string);
      if (!row && !isLeft(call, made)) return refuse('NOT_FOUND');
      if (row && isLastOwner(core, row)) return refuse('LAST_OWNER');
      const named = portion(made);
      const remaining = made.length - named.length;
      const ended = input.revoke ? named : [];
      const plan: Plan = {
        status: 200,
        data: {
          credentials: named.map(({ kind, id, name }) => ({ kind, id, name })),
          ...(remaining && { remaining }),
        },
        puts: [
          ...ended.map((credential) => revision(call, 'credential', credential, { revoked_at: now })),
          ...(row ? keptTies(call, row, now) : []),
        ],
        describes: `remove the member ${row?.name ?? ''}`,
      };
      return row ? { ...plan, ...removal(ask.org, belongings(core, row)), resource: row.id, destroyed: [row.id] } : plan;
    },
  },
};

/** The change of an owner's row that keeps the ties of a member who is removed. */
function keptTies(call: Call<unknown>, row: MemberRow, now: number): Put[] {
  const keeper = keeperOf(call.core, row.id);
  const connections = keeper && kept(call.core, keeper, row, now);
  return keeper && connections ? [revision(call, 'member', keeper, { connections })] : [];
}

/** A member's row and everything that is removed with it. */
function belongings({ rows }: Core, { id }: MemberRow): { kind: RowKind; id: string }[] {
  // safety: member-removal-removes-grants
  const kinds = ['passkey', 'team_member', 'grant'] as const;
  return [{ kind: 'member', id }, ...kinds.flatMap((kind) => rows.within(kind, id).map((row) => ({ kind, id: row.id })))];
}

// ---------------------------------------------------------------- explaining

interface AccessInput {
  scope: string;
  environment: string | null;
  secret: string | null;
}

const access: Operation<AccessInput> = {
  read(call): Outcome {
    const { core, ask, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    const isAimed = input.environment !== null || input.secret !== null;
    const environment = isAimed ? environmentOf(core, ask.org, input.environment) : null;
    if (isAimed && !environment) return fail(refuse('NOT_FOUND', { message: 'The environment does not exist.' }));
    const target = environment && { environment: environment.id, ...(input.secret !== null && { name: input.secret }) };
    const found = reasons(memberOf(core, ask.org, row.id, row).permissions, [input.scope], target);
    return ok({ allowed: found.length > 0, reasons: found.map((permissionSet) => reasonOut(permissionSet, row)) });
  },
};

const reasonOut = ({ grant }: PermissionSet, { role }: MemberRow) =>
  grant ? { source: 'grant', grant_id: grant.id, grantee: grant.grantee } : { source: 'role', role };

export const memberOperations = {
  'role.list': listRoles,
  'member.list': list,
  'member.read': read,
  'member.create': create,
  'member.update': update,
  'member.enrol': enrol,
  'member.delete': remove,
  'member.access': access,
};
