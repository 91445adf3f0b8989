// Explaining what a member may do. Invariant: what is explained is what is decided.

import { type Caller, type PermissionSet, reasons, USING, usesThrough } from '../../../auth/authorize';
import { isSuspended, type MemberRow, type UpstreamRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { memberOf } from '../../../gate/identity/caller';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf } from '../../../gate/request/target';
import { isVisible, usableBy } from '../../upstreams/gate/permission';
import { find } from './member';

interface AccessInput {
  scope: string;
  environment: string | null;
  secret: string | null;
  upstream: string | null;
}

export const access: Operation<AccessInput> = {
  read(call): Outcome {
    const { core, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    const member = memberOf(core, row.id, row);
    if (input.scope === 'secrets:use') return use(call, row, member);
    const found = aimed(call, member, [input.scope]);
    return found ? ok(answer(row, found)) : noEnvironment;
  },
};

const noEnvironment = fail(refuse('NOT_FOUND', { message: 'The environment does not exist.' }));

/** What gives one of these scopes where the question aims; null for an unknown environment. */
function aimed({ core, input }: Call<AccessInput>, { permissions }: Caller, scopes: readonly string[]) {
  const isAimed = input.environment !== null || input.secret !== null;
  const environment = isAimed ? environmentOf(core, input.environment) : null;
  if (isAimed && !environment) return null;
  const target = environment && {
    environment: environment.id,
    ...(input.secret !== null && { name: input.secret }),
  };
  return reasons(permissions, scopes, target);
}

/** Whether the member may use secrets, and through which upstreams. */
function use(call: Call<AccessInput>, row: MemberRow, member: Caller): Outcome {
  const { core, caller, input } = call;
  const usable = usableBy(core, caller, member);
  const upstreams = (all: readonly UpstreamRow[]) => all.map(({ id, name }) => ({ id, name }));
  if (input.upstream === null) {
    const found = aimed(call, member, USING);
    return found ? ok({ ...answer(row, found), upstreams: upstreams(usable) }) : noEnvironment;
  }
  const upstream = core.rows.find('upstream', '', input.upstream);
  if (!upstream || !isVisible(caller, upstream))
    return fail(refuse('NOT_FOUND', { message: 'The upstream does not exist.' }));
  const one = usable.filter(({ id }) => id === upstream.id);
  const giving = one.length ? member.permissions.filter((set) => givesSome(set, member, upstream)) : [];
  return ok({ ...answer(row, giving), upstreams: upstreams(one) });
}

/** Whether a permission set gives the use of a secret that an upstream places. */
const givesSome = (
  set: PermissionSet,
  member: Caller,
  { name, environment_id, secrets }: UpstreamRow,
): boolean =>
  secrets.some((secret) => usesThrough({ ...member, permissions: [set] }, name, environment_id, secret));

const answer = (row: MemberRow, found: readonly PermissionSet[]) => ({
  allowed: found.length > 0,
  suspended: isSuspended(row),
  reasons: found.map((permissionSet) => reasonOut(permissionSet, row)),
});

const reasonOut = ({ grant }: PermissionSet, { role }: MemberRow) =>
  grant ? { source: 'grant', grant_id: grant.id, grantee: grant.grantee } : { source: 'role', role };
