// Users: members as an identity provider sees and changes them. Invariants: SCIM gives whom it makes the
// default role of its token's connection, else viewer, and changes no role here; it lifts only suspensions
// of SCIM; of an owner it sets `active`, `externalId` and `userName` alone, and removes none; it changes the
// address only of members that it made.

import { idStart } from '../../../db/ids';
import type { MemberRow, Provisioned, ScimToken, ScimUser, SsoConnectionRow } from '../../../db/schema';
import { type CredentialRow, isSuspended } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { withTies } from '../../../gate/approvals/ties';
import type { Core } from '../../../gate/core';
import { actingMembers } from '../../../gate/identity/members';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import type { Plan, Put } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { formerAt, mayAdd, remembering } from '../../members/gate/former';
import { leaving, madeBy } from '../../members/gate/left';
import { isTaken } from '../../members/gate/member';
import { belongings, keptTies } from '../../members/gate/remove';
import { resuming, suspending } from '../../members/gate/suspend';
import { bringing, positionOf } from '../../sso-signin/gate/given';
import { badRequest, immutable } from '../problems';
import type { FilterTerm, UserChange } from '../reading';

/** What the Worker renders a user from. */
export interface UserFacts {
  id: string;
  user_name: string;
  external_id: string | null;
  given: string;
  family: string;
  display: string;
  email: string;
  active: boolean;
  created_at: number;
  changed_at: number;
  groups: { id: string; name: string }[];
}

/** For whom the calling token works. */
export const tokenOf = ({ core, caller }: Call<unknown>): ScimToken =>
  (core.rows.get('credential', caller.credential) as CredentialRow).scim as ScimToken;

/** The connection of the calling token; null for a token without one. */
export const connectionOf = (call: Call<unknown>): SsoConnectionRow | null => {
  const { connection } = tokenOf(call);
  return connection === null ? null : call.core.rows.get('sso_connection', connection);
};

/** The connection whose people a member belongs to; null for none, or for one that was deleted. */
const ownerOf = ({ rows }: Core, { provisioned }: MemberRow): string | null =>
  provisioned?.connection != null && rows.get('sso_connection', provisioned.connection)
    ? provisioned.connection
    : null;

/**
 * Whether a token sees a member: its connection's people, those of no connection, and, whatever connection
 * they have signed in by since, those whom a token without one made.
 */
export const isSeen = (core: Core, { connection }: ScimToken, member: MemberRow): boolean => {
  const owner = ownerOf(core, member);
  // safety: people-of-own-connection
  return owner === null || owner === connection || (connection === null && isMadeWithout(member));
};

/** Whether a token without a connection made a member. */
const isMadeWithout = ({ provisioned }: MemberRow): boolean =>
  provisioned?.made === true && provisioned.scim?.connection === null;

/** The users that the calling token sees, in order of id. */
export function seen(call: Call<unknown>): MemberRow[] {
  const token = tokenOf(call);
  return [...call.core.rows.within('member', '')]
    .filter((row) => isSeen(call.core, token, row))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function findUser(call: Call<unknown>, id = namedId(call.ask, 'member')): MemberRow | null {
  const row = call.core.rows.get('member', id);
  return row && isSeen(call.core, tokenOf(call), row) ? row : null;
}

/** A name in two parts: providers ask for both. */
function partsOf(name: string): { given: string; family: string } {
  const [given = name, ...rest] = name.trim().split(/\s+/);
  return { given, family: rest.join(' ') || given };
}

export function factsOf({ core }: Call<unknown>, row: MemberRow): UserFacts {
  const scim = row.provisioned?.scim ?? null;
  const parts = partsOf(row.name);
  return {
    id: row.id,
    user_name: scim?.user_name ?? row.email,
    external_id: scim?.external_id ?? null,
    given: scim?.given_name ?? parts.given,
    family: scim?.family_name ?? parts.family,
    display: row.name,
    email: row.email,
    active: !isSuspended(row),
    created_at: row.created_at,
    changed_at: Math.max(row.created_at, row.enrolled_at ?? 0, row.suspended_at ?? 0, row.resumed_at ?? 0),
    groups: core.rows.within('team_member', row.id).flatMap(({ team_id }) => {
      const team = core.rows.get('team', team_id);
      return team ? [{ id: team.id, name: team.name }] : [];
    }),
  };
}

const same = (a: string | null, b: unknown) => typeof b === 'string' && a?.toLowerCase() === b.toLowerCase();

function matches(facts: UserFacts, { attribute, value }: FilterTerm): boolean {
  switch (attribute) {
    case 'id':
      return facts.id === value;
    case 'externalid':
      return facts.external_id === value;
    case 'username':
      return same(facts.user_name, value);
    case 'emails':
      return same(facts.email, value);
    case 'displayname':
      return same(facts.display, value);
    case 'active':
      return facts.active === (typeof value === 'string' ? value.toLowerCase() === 'true' : value);
    default:
      return false;
  }
}

export interface ListInput {
  terms: FilterTerm[];
  start: number;
  count: number;
}

export const listUsers: Operation<ListInput> = {
  read(call): Outcome {
    const { terms, start, count } = call.input;
    const found = seen(call).filter((row) => {
      if (terms.length === 0) return true;
      const facts = factsOf(call, row);
      return terms.every((term) => matches(facts, term));
    });
    const page = found.slice(start - 1, start - 1 + count);
    return ok({ total: found.length, start, resources: page.map((row) => factsOf(call, row)) });
  },
};

export const readUserById: Operation<Record<string, never>> = {
  read(call): Outcome {
    const row = findUser(call);
    return row ? ok(factsOf(call, row)) : fail(refuse('NOT_FOUND'));
  },
};

const MOST_NAME = 100;
const nameFrom = ({ display, given, family }: UserChange, otherwise: string): string =>
  (display ?? ([given, family].filter(Boolean).join(' ') || otherwise)).slice(0, MOST_NAME).toWellFormed();

/** Whether a name or an address belongs to somebody else, seen or not. */
function isInUse(call: Call<unknown>, { user_name, email }: UserChange, by: string): boolean {
  const isOther = (name: string) =>
    isTaken(call.core, name, by) ||
    call.core.rows
      .within('member', '')
      .some(({ id, provisioned }) => id !== by && same(provisioned?.scim?.user_name ?? null, name));
  return [user_name, email].some((name) => name !== undefined && isOther(name));
}

const IN_USE = refuse('EMAIL_TAKEN', { message: 'Another user has this userName or email address.' });

// safety: scim-removed-not-made-anew
const isRemoved = (core: Call<unknown>['core'], email: string) => formerAt(core, email) !== null;
const REMOVED = refuse('EMAIL_TAKEN', {
  message: 'A person removed the member with this address. An owner has to readmit the address first.',
});

export const createUser: Operation<{ id: string; change: UserChange }> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    plan(call, now) {
      const { ask, caller, input } = call;
      const { change, id } = input;
      const { user_name, email, external_id = null, given = null, family = null, active } = change;
      if (user_name === undefined) return badRequest('invalidValue', 'userName is required.');
      if (email === undefined)
        return badRequest('invalidValue', 'emails is required: the user needs an address.');
      if (isInUse(call, change, id)) return IN_USE;
      if (isRemoved(call.core, email)) return REMOVED;
      // safety: scim-kept-ties-bounded
      const full = mayAdd(call.core, now);
      if (full) return full;
      const connection = connectionOf(call);
      const by = connection?.id ?? null;
      const scim: ScimUser = {
        user_name,
        external_id,
        given_name: given,
        family_name: family,
        connection: by,
        created_at: now,
      };
      const role = connection !== null;
      const makers = [caller.id, ...(connection ? bringing(connection, now) : [])];
      const provisioned: Provisioned = { made: true, connection: by, role, groups: [], scim };
      const isActive = active !== false;
      const put = insertion(call, 'member', {
        org_id: ask.org,
        id,
        email,
        name: nameFrom(change, user_name),
        ...(connection ? positionOf(call, connection, []) : { role: 'viewer' }),
        created_at: now,
        invited_by: caller.id,
        // safety: provisioned-marked
        connections: withTies(null, makers, now),
        provisioned,
        ...(isActive ? {} : { suspended_at: now, suspended_by: caller.id }),
      });
      return { status: 201, data: factsOf(call, put.row as MemberRow), writes: [put], resource: id };
    },
  },
};

/** Whether another owner would remain who has a passkey: one without could only sign in by the provider. */
const hasAnotherOwner = ({ core }: Call<unknown>, { id }: MemberRow): boolean =>
  actingMembers(core).some(
    (one) =>
      one.id !== id &&
      one.role === 'owner' &&
      one.enrolled_at !== null &&
      // safety: scim-keeps-an-owner-with-passkey
      core.rows.within('passkey', one.id).length > 0,
  );

/** Whether a person suspended a member: SCIM neither resumes them nor makes them anew. */
const isSuspendedByPerson = (row: MemberRow): boolean =>
  isSuspended(row) && !row.suspended_by?.startsWith(idStart('scim'));

/** The fields that a change of names and addresses gives a member, or why it may not. */
function detailsOf(call: Call<unknown>, row: MemberRow, change: UserChange, now: number) {
  const isOwner = row.role === 'owner';
  const before = row.provisioned?.scim ?? null;
  const isSame = change.email === undefined || same(row.email, change.email);
  // safety: address-of-own-members
  if (!isSame && !isOwner && !row.provisioned?.made)
    return badRequest('mutability', 'SCIM changes the address only of users that it made.');
  // Somebody could be made anew at the address that it leaves.
  // safety: suspended-by-person-keeps-address
  if (!isSame && isSuspendedByPerson(row))
    return badRequest('mutability', 'A person suspended this user, whose address stays until they resume.');
  if (isInUse(call, { ...change, ...((isSame || isOwner) && { email: row.email }) }, row.id)) return IN_USE;
  if (!isSame && !isOwner && isRemoved(call.core, change.email as string)) return REMOVED;
  const facts = factsOf(call, row);
  const scim: ScimUser = {
    user_name: change.user_name ?? facts.user_name,
    external_id: change.external_id === undefined ? facts.external_id : change.external_id,
    given_name: change.given === undefined || isOwner ? (before?.given_name ?? null) : change.given,
    family_name: change.family === undefined || isOwner ? (before?.family_name ?? null) : change.family,
    connection: before ? (before.connection ?? null) : tokenOf(call).connection,
    created_at: before?.created_at ?? now,
  };
  const isRenamed = [change.display, change.given, change.family].some((one) => typeof one === 'string');
  const whole = { given: scim.given_name ?? facts.given, family: scim.family_name ?? facts.family };
  const provisioned: Provisioned = {
    ...(row.provisioned ?? { made: false, role: false, groups: [], connection: null }),
    connection: ownerOf(call.core, row) ?? tokenOf(call).connection,
    scim,
  };
  return {
    provisioned,
    // safety: owner-keeps-name-and-address
    ...(isRenamed &&
      !isOwner && {
        name: nameFrom({ display: change.display ?? undefined, ...whole } as UserChange, row.name),
      }),
    ...(!isSame && !isOwner && { email: change.email as string }),
  };
}

/** What suspends or resumes a user; null where nothing changes. */
function activityOf(call: Call<unknown>, row: MemberRow, active: boolean | undefined, now: number) {
  if (active === false && !isSuspended(row)) {
    // safety: scim-keeps-an-owner
    if (row.role === 'owner' && !hasAnotherOwner(call, row)) return refuse('LAST_OWNER');
    return suspending(call, row, now);
  }
  // What people suspended, only people resume.
  // safety: scim-lifts-its-own
  if (active === true && isSuspended(row) && !isSuspendedByPerson(row)) return [resuming(call, row, now)];
  return null;
}

/** Whether whoever has a member's address is the member: nothing else tells who signs in. */
const isByAddress = ({ rows }: Core, { id }: MemberRow): boolean =>
  rows.within('passkey', id).length === 0 && rows.within('sso_link', id).length === 0;

interface UpdateInput {
  change: UserChange;
  end_credentials: boolean;
}

/** Ends what a person left, where the token or the request asks for it. */
const ending = (call: Call<{ end_credentials: boolean }>, member: string, now: number): Put[] => {
  const revoke = call.input.end_credentials || tokenOf(call).end_credentials;
  return leaving({ ...call, input: { revoke } }, madeBy(call.core, member), now).writes;
};

export const updateUser: Operation<UpdateInput> = {
  change: {
    plan(call, now): Plan | Refusal {
      const row = findUser(call);
      if (!row) return refuse('NOT_FOUND');
      const { change } = call.input;
      const details = detailsOf(call, row, change, now);
      if (isRefusal(details)) return details;
      const moved = activityOf(call, row, change.active, now);
      if (moved && isRefusal(moved)) return moved;
      const [put, ...sessions] = moved ?? [];
      const state = (put?.row as MemberRow | undefined) ?? row;
      const { suspended_at, suspended_by, resumed_at } = state;
      // safety: address-by-scim-ties
      const by = 'email' in details && isByAddress(call.core, row) ? [call.caller.id] : [];
      const connections = withTies(state.connections, by, now);
      const { enrolment_hash, enrolment_made_at, enrolment_ends_at } = state;
      const after = revision(call, 'member', row, {
        ...details,
        suspended_at,
        suspended_by,
        resumed_at,
        connections,
        enrolment_hash,
        enrolment_made_at,
        enrolment_ends_at,
      });
      const ended = moved && change.active === false ? ending(call, row.id, now) : [];
      return {
        status: 200,
        data: factsOf(call, after.row as MemberRow),
        writes: [after, ...sessions, ...ended],
        resource: row.id,
      };
    },
  },
};

export const deleteUser: Operation<{ end_credentials: boolean }> = {
  change: {
    plan(call, now) {
      const row = findUser(call);
      if (!row) return refuse('NOT_FOUND');
      // safety: scim-removes-no-owner
      if (row.role === 'owner') return immutable('An owner is removed by an owner, in the console.');
      return {
        status: 204,
        data: null,
        writes: [
          ...ending(call, row.id, now),
          ...keptTies(call, row, now),
          // safety: suspended-by-person-not-made-anew
          ...(isSuspendedByPerson(row) ? [remembering(call, row, now)] : []),
        ],
        deletes: belongings(call.core, row),
        resource: row.id,
        destroyed: [row.id],
      };
    },
  },
};
