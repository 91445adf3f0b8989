// A test of a connection in the gate: what a sign-in would do, without doing it. Invariants: only an owner's
// session that is still alive is told; nothing is written but the audit entry, and that the state has served.
import type { TokenRef } from '../../../auth/authentication/token';
import type { MemberRow, SsoConnectionRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId, slugOf } from '../../../gate/request/target';
import { exchanged, type Spent } from '../../trusts/gate/exchanged';
import { type Person, teamsOf } from '../rules';
import { type Decision, decide } from './decide';
import { deciding, MOST_TEAMS, positionOf, repositioned } from './given';

/** Of a test that begins: the session that sees the result, and the connection. */
export interface Testable {
  tests: TokenRef;
  connection: string;
}

/** `auth.sso_test` answers the browser that this operation sent to the provider. */
const start: Operation<Record<string, never>> = {
  read({ core, ask }): Outcome {
    const row = core.rows.get('sso_connection', namedId(ask, 'sso_connection'));
    if (!row) return fail(refuse('NOT_FOUND'));
    const { kind, org, hash, jwt } = ask.bearer as TokenRef;
    const tests: TokenRef = { kind, org, hash, ...(jwt !== undefined && { jwt }) };
    return ok({ tests, connection: row.id } satisfies Testable);
  },
};

export interface TestInput {
  connection: string;
  /** Of the connection, as the Worker used it. */
  revision: number;
  /** Null if the Worker refused what the provider sent. */
  person: Person | null;
  /** Why it did. */
  problem: string | null;
  spent: Spent;
}

/** What a sign-in would do. */
export interface TestResult {
  is: Decision['is'];
  reason: string | null;
  member: { id: string; name: string; email: string } | null;
  /** Whether the member is linked to this identity already. */
  isLinked: boolean;
  role: string | null;
  /** Slugs; null means all. */
  environments: string[] | null;
  teams: string[];
}

const nothing = { member: null, isLinked: false, role: null, environments: null, teams: [] };

/** The decision on what the provider said, as a sign-in would make it. */
function decided({ core, input }: Call<TestInput>): Decision {
  const { person, problem, connection, revision } = input;
  return person
    ? decide(core, { connection, revision, person }, false)
    : { is: 'refused', reason: problem ?? 'the provider names nobody' };
}

/** The names of the teams that somebody would be in. */
function teamsAfter(
  { core }: Call<unknown>,
  connection: SsoConnectionRow,
  member: MemberRow | null,
  groups: readonly string[] | null,
): string[] {
  const has = member ? core.rows.within('team_member', member.id) : [];
  const mapped = new Set(connection.team_mappings.map(({ team_id }) => team_id));
  const wanted = groups ? teamsOf(connection.team_mappings, groups) : new Set<string>();
  const leaves = ({ team_id, held_by }: (typeof has)[number]) =>
    groups !== null && mapped.has(team_id) && !wanted.has(team_id) && held_by?.join() === 'claim';
  const stays = has.filter((row) => !leaves(row)).map(({ team_id }) => team_id);
  return [...new Set([...stays, ...wanted])]
    .slice(0, MOST_TEAMS)
    .flatMap((id) => core.rows.get('team', id)?.name ?? [])
    .sort();
}

function resultOf(call: Call<TestInput>, decision: Decision): TestResult {
  const { core, input } = call;
  if (decision.is === 'refused') return { ...nothing, is: 'refused', reason: decision.reason };
  const { connection } = decision;
  const member = decision.is === 'new' ? null : decision.member;
  const groups = input.person?.groups ?? null;
  const moved = member
    ? groups && repositioned(call, connection, member, deciding(call, connection, member, groups))
    : positionOf(call, connection, groups ?? []);
  const { role, environments } = moved ?? (member as MemberRow);
  return {
    is: decision.is,
    reason: null,
    member: member && { id: member.id, name: member.name, email: member.email },
    isLinked: decision.is === 'member' && decision.link !== null,
    role,
    environments: environments?.map((id) => slugOf(core, id)) ?? null,
    teams: teamsAfter(call, connection, member, groups),
  };
}

/** What the audit entry says of a sign-in that would be let in. */
const WOULD = {
  member: 'a member would be signed in',
  asked: 'a member would be asked for a passkey',
  new: 'a member would be made',
} as const;

const finish: Operation<TestInput> = {
  subject(call) {
    const decision = decided(call);
    return {
      resource: call.input.connection,
      action: 'sso_connection.test',
      reason: decision.is === 'refused' ? decision.reason : WOULD[decision.is],
    };
  },
  read(call): Outcome {
    const { core, ask, caller, input } = call;
    // safety: sso-test-shown-to-owner
    if (caller.kind !== 'member' || core.rows.get('member', caller.id)?.role !== 'owner')
      return fail(refuse('UNAUTHENTICATED'));
    // safety: sso-test-once
    if (exchanged(core).times(input.spent.digest, ask.request.id) > 0) return fail(refuse('UNAUTHENTICATED'));
    exchanged(core).note(input.spent, ask.request.id, core.now());
    return ok(resultOf(call, decided(call)));
  },
};

export const testOperations = { 'sso_connection.test': start, 'auth.sso_test': finish };
