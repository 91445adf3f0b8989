// Operations on credentials in the gate.

import { type Caller, enters } from '../../../auth/authorize';
import type { CredentialKind } from '../../../db/credential-kinds';
import { idStart } from '../../../db/ids';
import { type CredentialRow, parentIdOf } from '../../../db/schema';
import { endOf } from '../../../gate/identity/lifetime';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found, type Outcome, ok } from '../../../gate/request/outcome';
import { environmentOf, slugOf } from '../../../gate/request/target';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { createAgent, createBreakGlass, createKey, createProvider } from './create';
import { find, shown } from './credential';
import { child, login, loginAws, mint } from './mint';
import { lookup, revokeToken } from './own';
import { revoke, rotateKey, update } from './update';

/** A credential as the list of its kind shows it; null if the list leaves it out, because it has ended. */
export function listedIn(call: Call<unknown>, kind: CredentialKind, row: CredentialRow): object | null {
  const lineage = row.kind === kind ? lineageOf(call.core, row) : [];
  return lineage[0] && endOf(call.core, lineage) === null ? shown(call, lineage[0]) : null;
}

/**
 * Lists the live credentials of one kind from the gate's own rows: only the gate knows which are live, and
 * until when.
 */
export const list = (kind: CredentialKind): Operation<ListInput> => ({
  read(call) {
    const { core, input } = call;
    return listed(core, 'credential', idStart(kind), input, (row) => listedIn(call, kind, row));
  },
});

function read(kind: CredentialKind): Operation<Record<string, never>> {
  return {
    read: (call) => found(find(call, kind), (row) => shown(call, row)),
  };
}

const whoami: Operation<Record<string, never>> = {
  byReplica: true,
  read({ core, ask, caller }): Outcome {
    const [{ scopes, environments, secrets, upstreams }, ...granted] = caller.permissions;
    const slugsOf = (ids: readonly string[] | null) => ids?.map((id) => slugOf(core, id)) ?? null;
    const usual = environmentOf(core, null);
    const reachesUsual = usual && caller.permissions.some((permissionSet) => enters(permissionSet, usual.id));
    return ok({
      kind: caller.kind,
      id: caller.id,
      org_id: ask.org,
      name: caller.name,
      scopes,
      ...(caller.kind === 'member' && {
        granted_scopes: [...new Set(granted.flatMap((permissionSet) => permissionSet.scopes))],
        granted: granted.map((one) => ({
          scopes: one.scopes,
          environments: slugsOf(one.environments),
          secrets: one.secrets,
          upstreams: one.upstreams,
        })),
      }),
      environments: slugsOf(environments),
      default_environment: reachesUsual ? usual.slug : null,
      secrets,
      upstreams,
      expires_at: caller.expires_at === null ? null : new Date(caller.expires_at).toISOString(),
      parent_id: caller.parent_id,
      rate_limit: caller.rate_limit,
      device_id: caller.device,
      ...(caller.kind === 'agent' && { mcp_limits: caller.mcp_limits }),
      ...(caller.kind === 'workload' && { claimed_name: caller.name }),
    });
  },
};

const isSelf = (row: CredentialRow, caller: Caller) => row.id === caller.credential;

export const credentialOperations = {
  'caller.read': whoami,
  'caller.lookup': lookup,
  'api_key.list': list('api_key'),
  'api_key.read': read('api_key'),
  'api_key.create': createKey,
  'api_key.update': update('api_key'),
  'api_key.rotate': rotateKey,
  'api_key.revoke': revoke('api_key', isSelf),
  'access_token.create': mint,
  'access_token.login': login,
  'access_token.create_child': child,
  'access_token.create_aws': loginAws,
  'access_token.revoke_token': revokeToken,
  'access_token.list': list('session'),
  'access_token.revoke': revoke(
    'session',
    (row, caller) => isSelf(row, caller) || parentIdOf(row) === caller.id,
  ),
  'agent.list': list('agent'),
  'agent.read': read('agent'),
  'agent.create': createAgent,
  'agent.update': update('agent'),
  'agent.revoke': revoke('agent', isSelf),
  'provider_token.list': list('provider'),
  'provider_token.create': createProvider,
  'provider_token.revoke': revoke('provider', () => false),
  'break_glass.list': list('break_glass'),
  'break_glass.create': createBreakGlass,
  'break_glass.revoke': revoke('break_glass', () => false),
};
