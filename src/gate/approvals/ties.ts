// The ties between people, read from the rows that record them: see auth/policies/ties.ts. A member's row
// records who invited, re-enrolled or promoted the member; a membership records who added them to a team.
// Invariants: nothing cuts a tie before it ends: what a removed member's rows recorded moves to the row of an
// owner; a call for which nobody is accountable counts as one of the owners.

import { TIED_FOR, type Tie, type Ties, tiesAt } from '../../auth/policies/ties';
import { idPrefixes } from '../../db/ids';
import type { ApprovalConfig, MemberRow, SsoConnectionRow, StoredTie, TeamMemberRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import type { Core } from '../core';
import { accountableFor, accountableOf } from '../identity/accountable';
import { membersOfTeam } from '../identity/team-members';
import type { Call } from '../request/call';

type Rows = Pick<Core, 'rows'>;

const isRecent = (at: number, now: number) => at + TIED_FOR > now;

/** Who is tied to those whom a caller brings in: whoever is accountable for the caller, else the owners. */
export function bringers({ core, caller }: Call<unknown>): string[] {
  const accountable = accountableFor(core, caller);
  // safety: unaccountable-ties-owners
  return accountable.length > 0
    ? accountable
    : core.rows.within('member', '').flatMap(({ id, role }) => (role === 'owner' ? [id] : []));
}

/** The ties that a row records with new ones, without those that have ended. */
export const withTies = (
  before: readonly StoredTie[] | null,
  by: readonly string[],
  now: number,
): StoredTie[] => [
  ...(before ?? []).filter(
    ([member, at, other]) => isRecent(at, now) && (other !== undefined || !by.includes(member)),
  ),
  ...by.map((member): StoredTie => [member, now]),
];

/**
 * The ties of a member who enrols again. Whoever made the link may use it long after, and act as the member
 * from then on.
 */
export const tiesOfLink = (
  { connections, enrolled_at, enrolment_made_at }: MemberRow,
  now: number,
): StoredTie[] | null =>
  enrolled_at === null || enrolment_made_at === null
    ? connections
    : (connections ?? []).map(
        ([by, at, other]): StoredTie =>
          // safety: used-link-takes-over
          other === undefined ? [by, at >= enrolment_made_at ? now : at] : [by, at, other],
      );

/** Who is named by ties that have not ended. */
export const recentlyTied = (ties: readonly StoredTie[] | null, now: number): string[] =>
  (ties ?? []).flatMap(([member, at]) => (isRecent(at, now) ? [member] : []));

/**
 * Whether somebody else may act as a member since a time, by a link to enrol again, another address, freed
 * links, or what a connection takes for the member. What else ties people, such as a role, counts alike.
 */
export function isTakenOverSince({ rows }: Rows, { id, connections }: MemberRow, since: number): boolean {
  const own = (connections ?? []).filter(([, , other]) => other === undefined);
  const changes = rows
    .within('sso_link', id)
    .flatMap(({ connection_id }) => rows.get('sso_connection', connection_id)?.changed_by ?? []);
  // safety: changed-connection-takes-over
  return [...own, ...changes].some(([by, at]) => by !== id && at > since);
}

/**
 * Whether a provider lately made, linked or resumed a member, or gave them a role or a place in an approving
 * team, by single sign-on or SCIM: it is nobody's second person.
 */
export const isBroughtByProvider = ({ connections }: MemberRow, now: number): boolean =>
  recentlyTied(
    // Those of removed members, which the row of an owner keeps, say nothing of the owner.
    // safety: kept-ties-are-of-others
    connections?.filter(([, , other]) => other === undefined) ?? null,
    now,
  ).some((id) => PROVIDERS.test(id));
const PROVIDERS = new RegExp(`^(${idPrefixes.sso_connection}|${idPrefixes.scim})_`);

/**
 * The ties that a member's row records: its own, and those that it keeps of removed members. Those whom the
 * same provider brought in are tied through it.
 */
const recordedBy = ({ id, connections }: MemberRow): Tie[] =>
  (connections ?? []).map(([one, at, other]): Tie => [one, other ?? id, at]);

/** The ties that a membership records. One of a release before 0.5.0 names the caller alone. */
const addedBy = ({ accountable, added_by, member_id, created_at }: TeamMemberRow): Tie[] =>
  (accountable?.length ? accountable : [added_by]).map((by): Tie => [by, member_id, created_at]);

/** The teams whose members decide for an approval policy, enabled or not. */
const approvingTeams = ({ rows }: Rows): Set<string> =>
  new Set(
    rows.within('policy', '').flatMap(({ config }) => {
      const { approvers } = config as Partial<ApprovalConfig>;
      return approvers && 'team_id' in approvers ? [approvers.team_id] : [];
    }),
  );

/** Whether the members of a team decide for an approval policy. */
export const isApprovingTeam = (core: Rows, team: string): boolean => approvingTeams(core).has(team);

/** Who changed a connection, and when: also of a deleted one, as an owner's row keeps it. */
function changersOf({ rows }: Rows, connection: string): readonly StoredTie[] {
  const row = rows.get('sso_connection', connection);
  if (row) return row.changed_by ?? [];
  return rows
    .within('member', '')
    .flatMap(({ connections }) => connections?.filter(([, , other]) => other === connection) ?? []);
}

/** Who changed a deleted connection lately. */
export const formerChangers = (core: Rows, connection: string, now: number): string[] =>
  recentlyTied(changersOf(core, connection), now);

/** The ties of whoever made or changed a connection to the members who belong to it. */
function* changedBy(core: Rows, members: readonly MemberRow[]): Generator<Tie> {
  const known = new Map<string, readonly StoredTie[]>();
  for (const { id, provisioned } of members) {
    const connection = provisioned?.connection;
    if (!connection) continue;
    const changers = known.get(connection) ?? changersOf(core, connection);
    known.set(connection, changers);
    // safety: connection-changer-tied
    for (const [by, at] of changers) yield [by, id, at];
  }
}

/**
 * The ties of whoever made a SCIM token to the token, and so to those whom it brings in. They need no edits
 * of credentials: a token ties nobody before it writes a member.
 */
function* scimMakers(core: Rows): Generator<Tie> {
  // safety: scim-token-ties-its-maker
  for (const row of core.rows.within('credential', 'scim'))
    for (const by of accountableOf(core, row)) yield [by, row.id, row.created_at];
}

function* recorded(core: Rows): Generator<Tie> {
  const { rows } = core;
  for (const member of rows.within('member', '')) yield* recordedBy(member);
  for (const team of approvingTeams(core)) for (const row of membersOfTeam(core, team)) yield* addedBy(row);
  yield* changedBy(core, rows.within('member', ''));
  yield* scimMakers(core);
}

/** The computed ties, by the rows of a gate. */
const computed = new WeakMap<Core['rows'], { edits: string; ties: Ties }>();

/** The ties between people now, computed again when a row that records one was written or a tie has ended. */
export function tiesOf(core: Rows, now: number): Ties {
  const edits = (['member', 'team_member', 'policy', 'sso_connection'] as const)
    .map((kind) => core.rows.edits(kind))
    .join('.');
  const known = computed.get(core.rows);
  // safety: ties-computed-again
  if (known?.edits === edits && known.ties.since <= now && now < known.ties.until) return known.ties;
  const ties = tiesAt(recorded(core), now);
  computed.set(core.rows, { edits, ties });
  return ties;
}

// ---------------------------------------------------------------- removed members

/**
 * The ties that would be lost with a member's rows: recorded there, and by memberships of approving teams.
 */
function lost(core: Rows, row: MemberRow, now: number): Tie[] {
  const { rows } = core;
  const teams = approvingTeams(core);
  const added = rows
    .within('team_member', row.id)
    .flatMap((one) => (teams.has(one.team_id) ? addedBy(one) : []));
  const latest = new Map<string, Tie>();
  // safety: removal-keeps-changers-tied
  for (const tie of [...recordedBy(row), ...added, ...changedBy(core, [row])]) {
    const key = `${tie[0]} ${tie[1]}`;
    if (isRecent(tie[2], now) && (latest.get(key)?.[2] ?? 0) < tie[2]) latest.set(key, tie);
  }
  return [...latest.values()];
}

/**
 * The owner whose row keeps the ties of removed members: the oldest other one. There is always one, since the
 * last owner stays.
 */
export const keeperOf = (core: Rows, removed: string | null): MemberRow | null =>
  core.rows
    .within('member', '')
    .filter(({ id, role }) => role === 'owner' && id !== removed)
    .sort((a, b) => (a.id < b.id ? -1 : 1))[0] ?? null;

/** Whether a member never acted, and is tied to one other alone: nobody else is tied through them. */
const isAlone = ({ id, enrolled_at }: MemberRow, ties: readonly Tie[]): boolean =>
  enrolled_at === null &&
  ties.every(([, other]) => other === id) &&
  new Set(ties.map(([one]) => one)).size <= 1;

/** The keeper's ties to those who changed a connection that is being deleted; null if none counts. */
export function keptOfConnection(
  { rows }: Rows,
  keeper: MemberRow,
  { id, changed_by }: SsoConnectionRow,
  now: number,
): StoredTie[] | null {
  const changers = (changed_by ?? []).filter(([, at]) => isRecent(at, now));
  const isOfSomebody = rows.within('member', '').some(({ provisioned }) => provisioned?.connection === id);
  // safety: deletion-keeps-changers-tied
  return changers.length > 0 && isOfSomebody
    ? [...withTies(keeper.connections, [], now), ...changers.map(([one, at]): StoredTie => [one, at, id])]
    : null;
}

/** The keeper's connections with the ties of a member who is being removed; null if there are none. */
export function kept(core: Rows, keeper: MemberRow, removed: MemberRow, now: number): StoredTie[] | null {
  const ties = lost(core, removed, now);
  // safety: removal-cuts-no-tie
  return ties.length === 0 || isAlone(removed, ties)
    ? null
    : [
        ...withTies(keeper.connections, [], now),
        ...ties.map(([one, other, at]): StoredTie => [one, at, other]),
      ];
}

/** The most ties of removed members that are kept: past them nobody is invited until some have ended. */
const MOST_KEPT = 1000;

/** Whether so many new members were removed lately that nobody else can be invited. */
// safety: kept-ties-bounded
const isKeeperFull = (core: Rows, now: number): boolean =>
  (keeperOf(core, null)?.connections ?? []).filter(
    ([, at, other]) => other !== undefined && isRecent(at, now),
  ).length >= MOST_KEPT;

/** 409 while nobody else can be brought in. */
export const mayBringIn = (core: Rows, now: number): Refusal | null =>
  isKeeperFull(core, now)
    ? refuse('LIMIT_REACHED', {
        message:
          'Too many members were added and removed in the last seven days. Wait some days before you add more.',
      })
    : null;

// ---------------------------------------------------------------- grants

/**
 * The members accountable for a grant. A grant of a release before 0.5.0 names its creator alone, who is
 * followed as far as rows exist.
 */
export function granters(
  core: Rows,
  { accountable, created_by }: { accountable: string[] | null; created_by: string },
): string[] {
  if (accountable?.length) return accountable;
  const credential = core.rows.get('credential', created_by);
  return credential ? accountableOf(core, credential) : [created_by];
}
