// What a caller may do now: a credential by its lineage, or a member with the member's role and grants as
// they stand. Invariant: what a lineage may do is what its first link holds, bounded in time and address by
// all of them, and in all else by the agents and trusts among them, which may have been narrowed meanwhile.
import QuickLRU from 'quick-lru';
import { bindingScopes, isBinding } from '../../auth/authentication/bindings';
import { type Caller, nobody, overlap, type PermissionSet } from '../../auth/authorize';
import { standsAlone } from '../../auth/delegation';
import { commonMcp } from '../../auth/mcp-limits';
import { permissionsOfRole } from '../../auth/roles';
import type { McpLimits } from '../../db/mcp-limits';
import {
  type CredentialRow,
  type GrantRow,
  isMadeByOwner,
  isSuspended,
  isTerminal,
  type MemberRow,
  parentIdOf,
} from '../../db/schema';
import type { Core } from '../core';
import { part } from '../part';
import { isGrantAlive } from './lifetime';

/**
 * The intersection of the permissions of a credential and the agents above it, by revision: comparing
 * patterns is expensive.
 */
export const overlaps = part(() => new QuickLRU<string, PermissionSet>({ maxSize: 1000 }));

/** Callers that depend on only one row. A row object is never modified: a changed row is a new object. */
const alone = new WeakMap<CredentialRow, Caller>();

/** The permissions of a lineage: those of its first credential, limited in time and address by all. */
export function callerOf(core: Core, lineage: readonly CredentialRow[]): Caller {
  const row = lineage[0] as CredentialRow;
  if (row.member_id !== null) {
    const member = memberOf(core, row.member_id, core.rows.get('member', row.member_id));
    // safety: terminal-known
    return {
      ...member,
      parent_id: row.id,
      credential: row.id,
      rate_limit: row.rate_limit,
      isTerminal: isTerminal(row),
    };
  }
  const caller = (lineage.length > 1 ? null : alone.get(row)) ?? credentialCaller(core, row, lineage);
  if (lineage.length === 1) alone.set(row, caller);
  if (!takesGrants(lineage)) return caller;
  const given = grantsOf(core, row.id);
  return given.length ? { ...caller, permissions: [permissionsOf(row), ...given] } : caller;
}

/**
 * Whether a credential may be given grants: an agent without an agent among its ancestors. Credentials that
 * it creates do not inherit them.
 */
export const takesGrants = ([row, ...above]: readonly CredentialRow[]): boolean =>
  // safety: grants-within-agents-above
  row?.kind === 'agent' && above.every(({ kind }) => kind !== 'agent');

function credentialCaller(core: Core, row: CredentialRow, lineage: readonly CredentialRow[]): Caller {
  const ends = lineage.flatMap(({ expires_at }) => (expires_at === null ? [] : [expires_at]));
  const caller: Caller = {
    ...nobody,
    kind: row.kind as Exclude<CredentialRow['kind'], 'browser'>,
    id: row.id,
    name: row.name,
    parent_id: parentIdOf(row),
    credential: row.id,
    root: rootOfLineage(lineage),
    permissions: [permissionsOf(row)],
    // safety: allowed-addresses-of-lineage
    addresses: lineage.flatMap(({ allowed_addresses }) => (allowed_addresses ? [allowed_addresses] : [])),
    expires_at: ends.length ? Math.min(...ends) : null,
    device: row.device_id,
    // safety: mcp-limits-of-lineage
    mcp_limits: lineage.reduce<McpLimits | null>((limits, link) => commonMcp(limits, link.mcp_limits), null),
    isDependent: row.kind === 'session' || row.kind === 'agent' || parentIdOf(row) !== null,
    rate_limit: row.rate_limit,
  };
  // safety: narrowed-trust-narrows-sessions
  const above = lineage.slice(1).filter(({ kind }) => kind === 'agent' || kind === 'trust');
  if (above.length) return narrowed(core, caller, [row, ...above]);
  return {
    ...caller,
    isOwner: row.kind === 'api_key' && isMadeByOwner(row) && row.scopes.includes('*') && standsAlone(caller),
  };
}

/**
 * What approvals and Idempotency-Keys of a lineage belong to: the API key or trust of a session token. Below
 * the session token of a workload, it is that one: other workloads of the trust have roots of their own.
 */
function rootOfLineage(lineage: readonly CredentialRow[]): string {
  const [row] = lineage as [CredentialRow];
  const top = lineage.findIndex(({ kind }) => kind !== 'session');
  if (top < 0) return parentIdOf(lineage.at(-1) as CredentialRow) ?? row.id;
  // safety: child-of-workload-has-its-root
  if (lineage[top]?.kind === 'trust' && top > (isBinding(lineage[top]) ? 0 : 1))
    return (lineage[top - 1] as CredentialRow).id;
  return (lineage[top] as CredentialRow).id;
}

const permissionsOf = (row: CredentialRow): PermissionSet => ({
  scopes: isBinding(row) ? bindingScopes(row.scopes) : row.scopes,
  environments: row.environments,
  secrets: row.secrets,
  upstreams: row.upstreams,
  expires_at: null,
});

/**
 * A caller limited to the permissions of the agents and trusts above it. They are computed on first use, so
 * that a caller that has ended or is over its rate limit costs nothing.
 */
function narrowed(core: Core, caller: Caller, [row, ...above]: [CredentialRow, ...CredentialRow[]]): Caller {
  const common = (): PermissionSet => {
    const key = [row, ...above].map(({ id, revision }) => `${id}.${revision}`).join(' ');
    const known = overlaps(core).get(key);
    if (known) return known;
    // safety: permissions-within-ancestors
    const permissionSet = above.reduce(
      (narrower, link) => overlap(narrower, permissionsOf(link)),
      permissionsOf(row),
    );
    overlaps(core).set(key, permissionSet);
    return permissionSet;
  };
  return Object.defineProperty(caller, 'permissions', {
    get: () => [common()],
    enumerable: true,
    configurable: true,
  });
}

/** The permissions of a member, from role and grants. A removed or suspended member has none. */
export function memberOf(core: Core, id: string, row: MemberRow | null): Caller {
  // safety: suspended-member-holds-nothing
  const member = row && !isSuspended(row) ? row : null;
  // safety: role-within-environments
  const role: PermissionSet = member ? permissionsOfRole(member) : nobody.permissions[0];
  return {
    ...nobody,
    kind: 'member',
    id,
    name: row?.name ?? null,
    credential: id,
    root: id,
    permissions: [role, ...(member ? grantsOf(core, id) : [])],
    member_addresses: core.rows.get('org', core.org)?.member_addresses ?? null,
    isOwner: member?.role === 'owner',
  };
}

/** The permissions from grants to a member and the member's teams, or to an agent. */
function grantsOf(core: Core, grantee: string): PermissionSet[] {
  return grantRows(core, grantee)
    .filter((grant) => isGrantAlive(core, grant))
    .map(permissionsOfGrant);
}

/** Cached grants of members, by the rows of a gate: valid until a row other than a secret is written. */
const granted = new WeakMap<Core['rows'], { edits: number; of: QuickLRU<string, GrantRow[]> }>();
/**
 * The number of members whose grants are cached, and of grants per member: a grant may contain 4 kB of
 * patterns.
 */
const MOST_GRANTED = 100;
const FEW = 20;

/** The grants to a member or to one of the member's teams. */
export function grantRows({ rows }: Core, member: string): GrantRow[] {
  let known = granted.get(rows);
  if (known?.edits !== rows.edits()) {
    known = { edits: rows.edits(), of: new QuickLRU({ maxSize: MOST_GRANTED }) };
    granted.set(rows, known);
  }
  const before = known.of.get(member);
  if (before) return before;
  const teams = rows.within('team_member', member).map(({ team_id }) => team_id);
  const found = [member, ...teams].flatMap((grantee) => rows.within('grant', grantee));
  if (found.length <= FEW) known.of.set(member, found);
  return found;
}

/** The permissions of a grant. */
export const permissionsOfGrant = (grant: GrantRow): PermissionSet => ({
  scopes: grantScopes[grant.permission],
  environments: grant.environments,
  secrets: grant.secrets,
  upstreams: grant.upstreams,
  expires_at: grant.expires_at,
  grant: { id: grant.id, grantee: { type: grant.grantee_type, id: grant.grantee_id } },
});

/** The scopes of each permission of a grant. */
export const grantScopes = {
  read: ['secrets:list', 'secrets:read'],
  write: ['secrets:list', 'secrets:read', 'secrets:write', 'secrets:rotate'],
  use: ['secrets:list', 'secrets:use'],
} as const;
