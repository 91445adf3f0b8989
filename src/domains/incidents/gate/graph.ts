// A credential's parent, everything below it, its permissions, and the secrets that it can reach now.

import {
  type Caller,
  namesHeld,
  type PermissionSet,
  reaches,
  reachesEnvironment,
  stepsFor,
} from '../../../auth/authorize';
import { type ProviderScope, providerScopes } from '../../../auth/scopes';
import { credentialKindOf } from '../../../db/ids';
import { type CredentialRow, parentIdOf } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { callerOf } from '../../../gate/identity/caller';
import { endOf } from '../../../gate/identity/lifetime';
import { limitsShown } from '../../../gate/identity/limits-shown';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { MOST_ENVIRONMENTS } from '../../../gate/request/target';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { isoOrNull } from '../../../http/wire';
import { usableBy } from '../../upstreams/gate/permission';
import { endingOf, isLiving, target } from './descent';

/** The most descendants in a response. */
const MOST_CHILDREN = 10_000;
/** The most matching steps over all environments; names beyond the limit are not counted. */
const MOST_STEPS = 20_000_000;

/** Scopes to read or write a secret. */
const TOUCHING = ['secrets:read', 'secrets:write', 'secrets:rotate', 'secrets:delete'];

type Relation = 'dies_with' | 'created_by';

/** A credential, member or system actor by id, even if it is gone. */
function nodeOf({ rows }: Core, id: string, relation: Relation) {
  const row = rows.get('credential', id);
  if (row) return { kind: row.kind, id, name: row.name, relation };
  if (id === 'bootstrap') return { kind: 'system', id, name: 'bootstrap token', relation };
  const kind = credentialKindOf(id);
  return kind
    ? { kind, id, name: null, relation }
    : { kind: 'member', id, name: rows.get('member', id)?.name ?? null, relation };
}

function parentOf(core: Core, row: CredentialRow) {
  const { member_id, created_in, created_by } = row;
  const above = parentIdOf(row) ?? member_id;
  return above === null
    ? nodeOf(core, created_in ?? created_by, 'created_by')
    : nodeOf(core, above, 'dies_with');
}

/** Live credentials below this one, and which of them a containment by the caller would end. */
async function childrenOf(call: Call<unknown>) {
  const { core } = call;
  const { all, ending } = await endingOf(call);
  const living = [...all.found].filter(([child, { live }]) => live && isLiving(call, child));
  const children = living.slice(0, MOST_CHILDREN).map(([child, { via, depth }]) => {
    const dies_with = parentIdOf(core.rows.get('credential', child) as CredentialRow);
    const node = nodeOf(core, child, dies_with === via ? 'dies_with' : 'created_by');
    return { ...node, parent_id: via, depth, dies_with, ended_by_contain: ending.has(child) };
  });
  const omitted = living.length - children.length + (all.isCut ? 1 : 0);
  return { children, ...(omitted && { omitted }) };
}

/** The source of its permissions: the credential itself, or its member's role and grants. */
function grantsOf(call: Call<unknown>, { member_id }: CredentialRow, { permissions, expires_at }: Caller) {
  const { core } = call;
  const role = member_id === null ? null : (core.rows.get('member', member_id)?.role ?? null);
  return permissions.map((permissionSet: PermissionSet) => ({
    source: permissionSet.grant ? 'grant' : member_id === null ? 'credential' : 'role',
    ...(permissionSet.grant
      ? { grant_id: permissionSet.grant.id, grantee: permissionSet.grant.grantee }
      : member_id !== null && { role }),
    scopes: [...permissionSet.scopes],
    ...limitsShown(call, permissionSet),
    expires_at: isoOrNull(permissionSet.expires_at ?? (member_id === null ? expires_at : null)),
  }));
}

/** The scopes of a provider token, as ordinary scopes. */
const plain = (caller: Caller): Caller =>
  caller.kind === 'provider'
    ? {
        ...caller,
        permissions: [
          {
            ...caller.permissions[0],
            scopes: caller.permissions[0].scopes.map((scope) => providerScopes[scope as ProviderScope]),
          },
        ],
      }
    : caller;

/** What a credential reaches of what the caller reaches. */
function reachOf({ core, caller: asker, need }: Call<unknown>, alive: boolean, caller: Caller) {
  if (!alive) return { alive, scopes: [], environments: [], upstreams: [] };
  const touching = plain(caller);
  const steps = stepsFor(touching, TOUCHING, MOST_STEPS / 2);
  const own = stepsFor(asker, need.scopes, MOST_STEPS / 2);
  const environments = core.rows
    .after('environment', '', MOST_ENVIRONMENTS)
    // safety: graph-within-environments
    .filter(
      ({ id }) => reachesEnvironment(touching, TOUCHING, id) && reachesEnvironment(asker, need.scopes, id),
    )
    .map(({ id, slug }) => {
      const names = core.rows.names(id);
      const isAll = namesHeld(touching, TOUCHING, id) === null && namesHeld(asker, need.scopes, id) === null;
      if (isAll) return { environment: slug, secrets: names.length };
      let secrets = 0;
      for (const name of names) {
        // safety: graph-steps-bounded
        if (!steps.take(id, name) || !own.take(id, name))
          return { environment: slug, secrets, incomplete: true };
        // safety: graph-within-names
        if (reaches(touching, TOUCHING, id, name) && reaches(asker, need.scopes, id, name)) secrets++;
      }
      return { environment: slug, secrets };
    });
  const upstreams = usableBy(core, asker, touching).map(({ id, name }) => ({ id, name }));
  const scopes = [...new Set(caller.permissions.flatMap((permissionSet) => permissionSet.scopes))];
  return { alive, scopes, environments, upstreams };
}

export const graph: Operation<Record<string, never>> = {
  readsLog: true,
  async read(call: Call<Record<string, never>>): Promise<Outcome> {
    const { core } = call;
    const id = target(call);
    const row = core.rows.get('credential', id);
    if (!row) return fail(refuse('NOT_FOUND'));
    const below = await childrenOf(call);
    const lineage = lineageOf(core, row);
    const caller = callerOf(core, lineage);
    return ok({
      kind: row.kind,
      id,
      name: row.name,
      parent: parentOf(core, row),
      ...below,
      grants: grantsOf(call, lineage[0] ?? row, caller),
      reach: reachOf(call, endOf(core, lineage) === null, caller),
    });
  },
};
