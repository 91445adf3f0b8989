// Who asks: the credential behind a request, all that it descends from, and what it may do now. For a browser session that is a member,
// with the member's role and grants as they stand.
// Invariants: a credential whose ancestor, member, passkey or device is gone has ended; what a lineage may do is what its first link holds,
// bounded in time and address by all of them, and in all else by the agents and trusts among them, which may have been narrowed meanwhile.
import QuickLRU from 'quick-lru';
import { type Caller, ended, type Lifetime, nobody, overlap, type PermissionSet, standsAlone } from '../auth/authorize';
import { roleScopes } from '../auth/scopes';
import { fromD1, macOf } from '../db/rows';
import {
  type CredentialRow,
  credentials,
  type DeviceRow,
  type GrantRow,
  isMadeByOwner,
  isTerminal,
  type MemberRow,
  type OrgRow,
  parentIdOf,
} from '../db/schema';
import { type Refusal, refuse, UNKNOWN_TOKEN } from '../errors';
import { isConfirmed, isRefused } from './confirmation';
import type { Core } from './core';
import { reportViolation } from './integrity';
import { type Identity, lineageOf } from './lineage';
import type { Allowance } from './rate-limit';
import type { Ask } from './types';

/** Requests a minute under one token that nobody knows. */
const UNKNOWN_RATE = 60;

const bootstrap: Caller = {
  ...nobody,
  id: 'bootstrap',
  name: 'bootstrap token',
  credential: 'bootstrap',
  root: 'bootstrap',
  permissions: [{ scopes: ['*'], environments: null, secrets: null, expires_at: null }],
};

/** The service itself, which does what a schedule or a policy asks for. */
const system: Caller = { ...bootstrap, id: 'system', name: null, credential: 'system', root: 'system' };

/** For how long it is remembered what D1 said of a token that the gate does not know, in milliseconds. */
const REMEMBERED_FOR = 60_000;

/** Finds whose token it is. A token that the gate does not know may have ended long ago: `lookUp` asks D1, once a minute. */
export function identify(core: Core, ask: Ask): Identity {
  const { bearer } = ask;
  if (bearer === 'bootstrap' || bearer === 'system')
    return { caller: bearer === 'system' ? system : bootstrap, refusal: null, allowances: [], links: [] };
  if ('member' in bearer) return vouched(core, ask, bearer.member);
  if ('link' in bearer) return holderOf(ask, bearer);
  if ('trust' in bearer) return exchanging(core, ask, bearer);
  const { hash, kind } = bearer;
  // safety: deleted-org
  const over = core.rows.get('org', ask.org)?.deleted_at !== null ? refuse('TOKEN_REVOKED') : null;
  const row = core.rows.find('credential', kind, hash);
  if (row) {
    const lineage = lineageOf(core, row);
    const caller = confirmable(core, ask.org, lineage, bearer.jwt);
    return {
      caller,
      refusal: over ?? endOf(core, ask.org, lineage) ?? (isRefused(row, bearer.jwt) ? refuse('TOKEN_REVOKED') : null),
      allowances: allowancesOf(lineage),
      links: [ask.org, ...lineage.map(({ id }) => id), ...peopleLinks(row, caller), ...givenTo(core, row), ...deviceLinks(core, caller)],
    };
  }
  const caller: Caller = { ...nobody, kind: kind === 'browser' ? 'member' : kind, root: hash };
  // A refresh cookie is refused in the words of every refused sign-in.
  const isToken = kind !== 'browser' || bearer.jwt !== undefined;
  // safety: unknown-token-message
  const refusal = refuse('UNAUTHENTICATED', isToken ? { message: UNKNOWN_TOKEN } : {});
  const unknown = { caller, allowances: [{ id: `hash:${hash}`, limit: UNKNOWN_RATE }], links: [], refusal };
  const { keys } = ask;
  if (over || !keys) return { ...unknown, refusal: refuse('TOKEN_REVOKED') };
  const before = core.strangers.get(hash);
  if (before && before.until > core.now()) return before.identity;
  return {
    ...unknown,
    async lookUp() {
      const identity = await stranger(core, ask, unknown, hash, keys.row);
      // safety: unknown-token-remembered
      core.strangers.set(hash, { identity, until: core.now() + REMEMBERED_FOR });
      return identity;
    },
  };
}

/** What D1 says of a token that the gate does not know: which credential it was, and how that ended. */
async function stranger(core: Core, ask: Ask, unknown: Identity, hash: string, rowKey: Uint8Array): Promise<Identity> {
  const found = await core.database.all<Record<string, unknown>>({
    sql: 'select * from credentials where org_id = ? and token_hash = ?',
    params: [ask.org, hash],
  });
  const stored = found[0] && fromD1<CredentialRow>(credentials, found[0]);
  if (!stored) return unknown;
  const met = { request_id: ask.request.id, ip: ask.request.ip, user_agent: ask.request.user_agent };
  // safety: fetched-credential-mac
  if (stored.mac !== macOf(rowKey, 'credential', stored)) {
    reportViolation(core, ask.org, { event: 'credential_altered', resource: stored.id }, met);
    return unknown;
  }
  const end = ended(
    // safety: panic-ends-removed-sessions
    [{ ...stored, revoked_at: stored.revoked_at ?? (isPast(core.rows.get('org', ask.org), stored) ? 0 : null) }],
    core.now(),
  );
  if (!end) reportViolation(core, ask.org, { event: 'credential_put_back', resource: stored.id }, met);
  return { ...unknown, caller: callerOf(core, ask.org, [stored]), refusal: end ?? unknown.refusal };
}

/** The rows that say what a member may do. */
const peopleLinks = ({ member_id, passkey_id }: CredentialRow, caller: Caller): string[] =>
  member_id === null
    ? []
    : [
        member_id,
        passkey_id ?? member_id,
        ...caller.permissions.flatMap(({ grant }) =>
          grant ? [grant.id, ...(grant.grantee.type === 'team' ? [`${grant.grantee.id}.${member_id}`] : [])] : [],
        ),
      ];

/** The grants of an agent. */
const givenTo = (core: Core, { kind, id }: CredentialRow): string[] =>
  kind === 'agent' ? grantRows(core, id).map((grant) => grant.id) : [];

/** The rows that say whether the device of a caller is good. */
// safety: device-in-doubt
const deviceLinks = ({ rows }: Core, { device }: Caller): string[] =>
  device === null ? [] : [device, rows.get('device', device)?.member_id ?? device];

/** A member for whom the Worker vouches: they have just proved who they are, and have no session yet. */
function vouched(core: Core, ask: Ask, id: string): Identity {
  const member = core.rows.get('member', id);
  const isHere = member !== null && core.rows.get('org', ask.org)?.deleted_at === null;
  return {
    caller: { ...memberOf(core, ask.org, id, member), credential: id, confirmed: true },
    refusal: isHere ? null : refuse('UNAUTHENTICATED'),
    allowances: [],
    links: [id],
  };
}

/** Views a minute of one link, refused ones included. What is asked with one key counts together, whatever id it comes with. */
const VIEW_RATE = 200;

/** Whoever has the key of a link. The operation judges whether the link is live: the answer to one that is not is the same for every reason. */
const holderOf = ({ org }: Ask, { link, hash }: { link: string; hash: string }): Identity => ({
  caller: { ...nobody, id: link, credential: link, root: hash },
  refusal: null,
  // safety: views-limited-by-key
  allowances: [{ id: `hash:${hash}`, limit: VIEW_RATE }],
  links: [org],
});

/** Refused exchanges a minute of one trust that are recorded one by one. They take nothing from what the trust's workloads may do. */
const REFUSED_RATE = 60;

/** A trust, for a workload whose token the Worker has verified; or nobody, where it refused the token. The operation judges whether the trust is live. */
function exchanging(core: Core, { org }: Ask, bearer: { trust: string; refused?: true }): Identity {
  const row = core.rows.get('org', org)?.deleted_at === null ? core.rows.get('credential', bearer.trust) : null;
  if (row?.kind !== 'trust')
    return { caller: { ...nobody, kind: 'trust' }, refusal: refuse('UNAUTHENTICATED'), allowances: [], links: [org] };
  const lineage = lineageOf(core, row);
  const links = [org, ...lineage.map(({ id }) => id)];
  // safety: refused-exchange-acts-as-nobody
  if (bearer.refused) {
    const caller: Caller = { ...nobody, kind: 'trust', name: row.name };
    return { caller, refusal: null, allowances: [{ id: `refused:${row.id}`, limit: REFUSED_RATE }], links };
  }
  // From which addresses, the operation judges: that refusal looks like every other.
  const caller: Caller = { ...callerOf(core, org, lineage), addresses: [] };
  return { caller, refusal: null, allowances: allowancesOf(lineage), links };
}

/** The caller as it stands now, and why it is one no more: for a request that has waited since it was admitted. */
export function identifyAgain(core: Core, ask: Ask, before: Caller): { caller: Caller; refusal: Refusal | null } {
  const { bearer } = ask;
  if (bearer === 'bootstrap' || bearer === 'system' || 'link' in bearer) return { caller: before, refusal: null };
  if ('member' in bearer) return vouched(core, ask, bearer.member);
  if ('trust' in bearer) return exchanging(core, ask, bearer);
  const row = core.rows.get('credential', before.credential);
  if (!row || core.rows.get('org', ask.org)?.deleted_at !== null) return { caller: before, refusal: refuse('TOKEN_REVOKED') };
  const lineage = lineageOf(core, row);
  return {
    caller: confirmable(core, ask.org, lineage, bearer.jwt),
    // safety: refused-jwt
    refusal: endOf(core, ask.org, lineage) ?? (isRefused(row, bearer.jwt) ? refuse('TOKEN_REVOKED') : null),
  };
}

/** 401 if a lineage has ended by now, in any of the ways in which one can. */
export function endOf(core: Core, org: string, lineage: readonly CredentialRow[]): Refusal | null {
  const orgRow = core.rows.get('org', org);
  return ended(
    lineage.map((row) => lifetimeOf(core, orgRow, row)),
    core.now(),
  );
}

function lifetimeOf(core: Core, org: OrgRow | null, row: CredentialRow): Lifetime {
  const isGone =
    isPast(org, row) ||
    (row.member_id !== null && !core.rows.get('member', row.member_id)) ||
    (row.passkey_id !== null && !core.rows.get('passkey', row.passkey_id)) ||
    (row.device_id !== null && isBlocked(core, core.rows.get('device', row.device_id)));
  return { expires_at: row.expires_at, revoked_at: row.revoked_at ?? (isGone ? 0 : null) };
}

/**
 * Whether a device is good for nothing any more, for good: it is gone or blocked, or the member it is assigned to is gone. Neither ids of members
 * nor of devices are used again, and a blocked device is assigned to nobody else: so what ended with it stays ended.
 */
export const isBlocked = ({ rows }: Core, device: DeviceRow | null): boolean =>
  // safety: blocked-device-ends-credentials
  device === null || device.blocked_at !== null || (device.member_id !== null && !rows.get('member', device.member_id));

/** Whether a panic ended it. */
export const isPast = (
  org: Pick<OrgRow, 'generation' | 'keys_generation' | 'spared'> | null,
  { id, kind, generation }: Pick<CredentialRow, 'id' | 'kind' | 'generation'>,
): boolean =>
  (generation ?? 0) < ((kind === 'api_key' || kind === 'trust' ? org?.keys_generation : org?.generation) ?? 0) && org?.spared !== id;

/** Whether a credential, by its whole lineage, may be used. */
export const isAlive = (core: Core, org: string, row: CredentialRow): boolean => endOf(core, org, lineageOf(core, row)) === null;

/** How many credentials were alive, by the rows of a gate. What ends by time alone may count for so long after it. */
const counted = new WeakMap<Core['rows'], { n: number; edits: number; until: number }>();
const COUNTED = 5000;

/** The credentials, session tokens apart, that are alive by their own row and ended with their device: how many, by device and parent. */
export const endedWithDevices = (core: Core, org: OrgRow, now: number) =>
  core.bound.live(now, org).filter(({ device }) => isBlocked(core, core.rows.get('device', device)));

/** How many credentials are alive, brief ones apart: by their own rows, and those that end with others by theirs too. */
export function countLive(core: Core, org: string, now: number): number {
  const edits = core.rows.edits();
  const before = counted.get(core.rows);
  if (before?.edits === edits && now < before.until && now >= before.until - COUNTED) return before.n;
  const orgRow = core.rows.get('org', org);
  if (!orgRow) return 0;
  // Each is judged once, however many end with it.
  const known = new Map<string, boolean>();
  const hasLivingParent = (row: CredentialRow): boolean => {
    const parent = parentIdOf(row);
    return parent === null || lives(parent);
  };
  const lives = (id: string): boolean => {
    const judged = known.get(id);
    if (judged !== undefined) return judged;
    const row = core.rows.get('credential', id);
    const alive = row !== null && endOf(core, org, [row]) === null && hasLivingParent(row);
    known.set(id, alive);
    return alive;
  };
  // safety: count-by-lineage
  const below = core.rows.liveBelow(now, orgRow).reduce((sum, { parent, n }) => (parent === null || lives(parent) ? sum + n : sum), 0);
  // safety: count-by-device
  const n = endedWithDevices(core, orgRow, now).reduce((sum, { parent, n }) => (parent === null || lives(parent) ? sum - n : sum), below);
  counted.set(core.rows, { n, edits, until: now + COUNTED });
  return n;
}

/** The rate limits that a request counts against: that of each link of the lineage, so that nobody multiplies theirs by making credentials that end with it. */
// safety: rate-limit-of-lineage
const allowancesOf = (lineage: readonly CredentialRow[]): Allowance[] => lineage.map(({ id, rate_limit }) => ({ id, limit: rate_limit }));

/** The caller behind a token. Not copied: a copy would work out at once what the caller holds, which may cost much. */
const confirmable = (core: Core, org: string, lineage: readonly CredentialRow[], jwt: number | undefined): Caller =>
  // safety: permissions-computed-once
  Object.assign(callerOf(core, org, lineage), { confirmed: isConfirmed(lineage[0] as CredentialRow, jwt, core.now()) });

/** Callers by the one row that says who they are. A row object is never changed: another state of the row is another object. */
const alone = new WeakMap<CredentialRow, Caller>();

/** What a lineage may do: its first credential, bounded in time and address by all. */
export function callerOf(core: Core, org: string, lineage: readonly CredentialRow[]): Caller {
  const row = lineage[0] as CredentialRow;
  if (row.member_id !== null) {
    const member = memberOf(core, org, row.member_id, core.rows.get('member', row.member_id));
    // safety: terminal-known
    return { ...member, parent_id: row.id, credential: row.id, rate_limit: row.rate_limit, isTerminal: isTerminal(row) };
  }
  const caller = (lineage.length > 1 ? null : alone.get(row)) ?? credentialCaller(core, row, lineage);
  if (lineage.length === 1) alone.set(row, caller);
  if (!takesGrants(lineage)) return caller;
  const given = grantsOf(core, org, row.id);
  return given.length ? { ...caller, permissions: [permissionsOf(row), ...given] } : caller;
}

/** Whether a credential may be given grants: an agent that ends with no other agent. What it makes holds none of them. */
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
    root: row.kind === 'session' ? (parentIdOf(row) ?? row.id) : row.id,
    permissions: [permissionsOf(row)],
    // safety: allowed-addresses-of-lineage
    addresses: lineage.flatMap(({ allowed_addresses }) => (allowed_addresses ? [allowed_addresses] : [])),
    expires_at: ends.length ? Math.min(...ends) : null,
    device: row.device_id,
    isDependent: row.kind === 'session' || row.kind === 'agent' || parentIdOf(row) !== null,
    rate_limit: row.rate_limit,
  };
  // safety: narrowed-trust-narrows-sessions
  const above = lineage.slice(1).filter(({ kind }) => kind === 'agent' || kind === 'trust');
  if (above.length) return narrowed(core, caller, [row, ...above]);
  return { ...caller, isOwner: row.kind === 'api_key' && isMadeByOwner(row) && row.scopes.includes('*') && standsAlone(caller) };
}

const permissionsOf = ({ scopes, environments, secrets }: CredentialRow): PermissionSet => ({
  scopes,
  environments,
  secrets,
  expires_at: null,
});

/** A caller that holds what the agents and trusts above it hold too. It is worked out when it is asked for: a caller that has ended or is over its rate limit costs nothing. */
function narrowed(core: Core, caller: Caller, [row, ...above]: [CredentialRow, ...CredentialRow[]]): Caller {
  const common = (): PermissionSet => {
    const key = [row, ...above].map(({ id, revision }) => `${id}.${revision}`).join(' ');
    const known = core.overlaps.get(key);
    if (known) return known;
    // safety: permissions-within-ancestors
    const permissionSet = above.reduce((narrower, link) => overlap(narrower, permissionsOf(link)), permissionsOf(row));
    core.overlaps.set(key, permissionSet);
    return permissionSet;
  };
  return Object.defineProperty(caller, 'permissions', { get: () => [common()], enumerable: true, configurable: true });
}

/** What a member may do: role and grants. One who is gone may do nothing. */
export function memberOf(core: Core, org: string, id: string, member: MemberRow | null): Caller {
  const role: PermissionSet = { scopes: member ? roleScopes[member.role] : [], environments: null, secrets: null, expires_at: null };
  return {
    ...nobody,
    kind: 'member',
    id,
    name: member?.name ?? null,
    credential: id,
    root: id,
    permissions: [role, ...(member ? grantsOf(core, org, id) : [])],
    member_addresses: core.rows.get('org', org)?.member_addresses ?? null,
    isOwner: member?.role === 'owner',
  };
}

/** What grants give a member, and the teams that the member is in; or an agent. */
function grantsOf(core: Core, org: string, grantee: string): PermissionSet[] {
  return grantRows(core, grantee)
    .filter((grant) => isGrantAlive(core, org, grant))
    .map(permissionsOfGrant);
}

/** The grants of members, as they were found in the rows of a gate: right while none of these but secrets has been written. */
const granted = new WeakMap<Core['rows'], { edits: number; of: QuickLRU<string, GrantRow[]> }>();
/** Members whose grants are remembered, and how many of each: a grant may hold 4 kB of patterns. */
const MOST_GRANTED = 100;
const FEW = 20;

/** The rows of what is granted to a member, or to a team of theirs. */
function grantRows({ rows }: Core, member: string): GrantRow[] {
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

/** What a grant gives. */
export const permissionsOfGrant = (grant: GrantRow): PermissionSet => ({
  scopes: grantScopes[grant.permission],
  environments: grant.environments,
  secrets: grant.secrets,
  expires_at: grant.expires_at,
  grant: { id: grant.id, grantee: { type: grant.grantee_type, id: grant.grantee_id } },
});

/** What each permission of a grant gives. */
export const grantScopes = {
  read: ['secrets:list', 'secrets:read'],
  write: ['secrets:list', 'secrets:read', 'secrets:write', 'secrets:rotate'],
} as const;

export function isGrantAlive(core: Core, org: string, grant: GrantRow): boolean {
  if (grant.expires_at !== null && grant.expires_at <= core.now()) return false;
  const agent = grant.grantee_type === 'agent' ? core.rows.get('credential', grant.grantee_id) : undefined;
  if (agent === null || (agent && !isAlive(core, org, agent))) return false;
  const parentId = parentIdOf(grant);
  if (parentId === null) return true;
  const parent = core.rows.get('credential', parentId);
  return parent !== null && isAlive(core, org, parent);
}
