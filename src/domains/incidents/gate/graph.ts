// A credential's parent and children, its permissions, and the secrets that it can reach now.

import { type Caller, namesHeld, type PermissionSet, reaches, reachesEnvironment, stepsFor } from '../../../auth/authorize';
import { type ProviderScope, providerScopes } from '../../../auth/scopes';
import { credentialKindOf } from '../../../db/ids';
import { type CredentialRow, parentIdOf } from '../../../db/schema';
import { refuse } from '../../../errors';
import { callerOf } from '../../../gate/caller';
import type { Core } from '../../../gate/core';
import { endOf, isAlive } from '../../../gate/lifetime';
import { lineageOf } from '../../../gate/lineage';
import { MOST_ENVIRONMENTS, slugOf } from '../../../gate/named';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import type { Call, Operation } from '../../../gate/types';
import { isoOrNull } from '../../../http/wire';

const MOST_CHILDREN = 1000;
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
  return kind ? { kind, id, name: null, relation } : { kind: 'member', id, name: rows.get('member', id)?.name ?? null, relation };
}

function parentOf(core: Core, row: CredentialRow) {
  const { member_id, created_in, created_by } = row;
  const above = parentIdOf(row) ?? member_id;
  return above === null ? nodeOf(core, created_in ?? created_by, 'created_by') : nodeOf(core, above, 'dies_with');
}

/** Children per step and in total. Some live children of a key with very many ended ones may be missing. */
const STEP = 500;
const LOOKED_AT = 20_000;

function childrenOf(core: Core, org: string, id: string) {
  const found: ReturnType<typeof nodeOf>[] = [];
  let after = '';
  for (let looked = 0; looked < LOOKED_AT; looked += STEP) {
    const ids = core.descendants.children([id], after, STEP);
    for (const child of ids) {
      const row = core.rows.get('credential', child);
      if (!row || !isAlive(core, org, row)) continue;
      if (found.length === MOST_CHILDREN) return found;
      found.push(nodeOf(core, child, parentIdOf(row) === id ? 'dies_with' : 'created_by'));
    }
    if (ids.length < STEP) break;
    after = ids.at(-1) as string;
  }
  return found;
}

/** The source of its permissions: the credential itself, or its member's role and grants. */
function grantsOf(core: Core, { member_id }: CredentialRow, { permissions, expires_at }: Caller) {
  const role = member_id === null ? null : (core.rows.get('member', member_id)?.role ?? null);
  return permissions.map((permissionSet: PermissionSet) => ({
    source: permissionSet.grant ? 'grant' : member_id === null ? 'credential' : 'role',
    ...(permissionSet.grant ? { grant_id: permissionSet.grant.id, grantee: permissionSet.grant.grantee } : member_id !== null && { role }),
    scopes: [...permissionSet.scopes],
    environments: permissionSet.environments?.map((id) => slugOf(core, id)) ?? null,
    secrets: permissionSet.secrets && [...permissionSet.secrets],
    expires_at: isoOrNull(permissionSet.expires_at ?? (member_id === null ? expires_at : null)),
  }));
}

/** The scopes of a provider token, as ordinary scopes. */
const plain = (caller: Caller): Caller =>
  caller.kind === 'provider'
    ? {
        ...caller,
        permissions: [
          { ...caller.permissions[0], scopes: caller.permissions[0].scopes.map((scope) => providerScopes[scope as ProviderScope]) },
        ],
      }
    : caller;

function reachOf(core: Core, alive: boolean, caller: Caller) {
  if (!alive) return { alive, scopes: [], environments: [] };
  const touching = plain(caller);
  const steps = stepsFor(touching, TOUCHING, MOST_STEPS);
  const environments = core.rows
    .after('environment', '', MOST_ENVIRONMENTS)
    .filter(({ id }) => reachesEnvironment(touching, TOUCHING, id))
    .map(({ id, slug }) => {
      const names = core.rows.names(id);
      if (namesHeld(touching, TOUCHING, id) === null) return { environment: slug, secrets: names.length };
      let secrets = 0;
      for (const name of names) {
        // safety: graph-steps-bounded
        if (!steps.take(id, name)) return { environment: slug, secrets, incomplete: true };
        if (reaches(touching, TOUCHING, id, name)) secrets++;
      }
      return { environment: slug, secrets };
    });
  return { alive, scopes: [...new Set(caller.permissions.flatMap(({ scopes }) => scopes))], environments };
}

export const graph: Operation<Record<string, never>> = {
  read({ core, ask }: Call<Record<string, never>>): Outcome {
    const id = ask.named.credential as string;
    const row = core.rows.get('credential', id);
    if (!row) return fail(refuse('NOT_FOUND'));
    const lineage = lineageOf(core, row);
    const caller = callerOf(core, ask.org, lineage);
    return ok({
      ...{ kind: row.kind, id, name: row.name, parent: parentOf(core, row) },
      children: childrenOf(core, ask.org, id),
      grants: grantsOf(core, lineage[0] ?? row, caller),
      reach: reachOf(core, endOf(core, ask.org, lineage) === null, caller),
    });
  },
};
