// Who asks: the caller behind the bearer of a request, why it is refused, and the rate limits that it counts
// against. Invariants: what D1 says of a token that the gate does not know changes the words of its refusal,
// and nothing else; a request that has waited is judged by the rows as they stand; a confirmation voids every
// earlier cookie, so a JWT with its number or a later one was issued to whoever confirmed.

import QuickLRU from 'quick-lru';
import {
  BINDING_RATES,
  bindingRoot,
  boundWorkload,
  isBinding,
  MOST_NAMES,
  UNKNOWN_BINDING,
} from '../../auth/authentication/bindings';
import type { TokenRef } from '../../auth/authentication/token';
import { refusedBy } from '../../auth/authentication/trusts';
import { type Caller, ended, nobody } from '../../auth/authorize';
import { fromD1, macOf } from '../../db/rows';
import { type CredentialRow, credentials } from '../../db/schema';
import { type Refusal, refuse, UNKNOWN_TOKEN } from '../../errors';
import { reportViolation } from '../audit/integrity';
import type { Core } from '../core';
import { type Allowance, allowancesOf, WINDOW } from '../limits/rate-limit';
import { part } from '../part';
import type { Ask, Bound, SsoIdentity } from '../request/call';
import { lineageOf } from '../rows/ends-with-parent';
import { callerOf, memberOf } from './caller';
import { formerSessions } from './former-sessions';
import { endOf, isEndedByPanic } from './lifetime';
import { actingMember } from './members';
import { isOwnerByProvider, memberBehind } from './sso';

/** The identified caller of a request, and why it is refused, if it is. */
export interface Identity {
  caller: Caller;
  refusal: Refusal | null;
  allowances: Allowance[];
  /** Asks D1 about a token that the gate does not know. Only within the rate limit. */
  lookUp?(): Promise<Identity>;
}

/** D1's answers about tokens unknown to the gate. */
export const unknownTokens = part(
  () => new QuickLRU<string, { identity: Identity; until: number }>({ maxSize: 2500 }),
);

/** The number of requests per minute with one unknown token. */
const UNKNOWN_RATE = 60;

const bootstrap: Caller = {
  ...nobody,
  id: 'bootstrap',
  name: 'bootstrap token',
  credential: 'bootstrap',
  root: 'bootstrap',
  permissions: [{ scopes: ['*'], environments: null, secrets: null, upstreams: null, expires_at: null }],
};

/** The service itself, for scheduled work and policies. */
const system: Caller = { ...bootstrap, id: 'system', name: null, credential: 'system', root: 'system' };

/** For how long the result from D1 for a token that the gate does not know is cached, in milliseconds. */
const REMEMBERED_FOR = 60_000;

/**
 * Finds the owner of a token. A token that the gate does not know may have ended long ago: `lookUp` queries
 * D1, once a minute.
 */
export const identify = (core: Core, ask: Ask): Identity =>
  known(core, ask, ({ kind, hash, aws }) =>
    aws ? core.rows.get('credential', aws.id) : core.rows.find('credential', kind, hash),
  ) ?? unknown(core, ask, ask.bearer as TokenRef);

/**
 * The current state of the caller, and why it is no longer accepted: for a request that has waited since it
 * was admitted.
 */
export const identifyAgain = (core: Core, ask: Ask, before: Caller): Pick<Identity, 'caller' | 'refusal'> =>
  known(core, ask, () => core.rows.get('credential', before.credential)) ?? {
    caller: before,
    refusal: refuse('TOKEN_REVOKED'),
  };

/**
 * The caller behind any kind of bearer; null for a token without a credential here. `find`: the credential of
 * a token.
 */
function known(core: Core, ask: Ask, find: (token: TokenRef) => CredentialRow | null): Identity | null {
  const { bearer } = ask;
  if (bearer === 'bootstrap' || bearer === 'system')
    return { caller: bearer === 'system' ? system : bootstrap, refusal: null, allowances: [] };
  if ('member' in bearer) return authenticatedMember(core, bearer.member);
  if ('link' in bearer) return holderOf(bearer);
  if ('workload' in bearer) return boundWorker(core, bearer);
  if ('trust' in bearer) return exchanging(core, bearer);
  if ('sso' in bearer) return signingIn(core, bearer.sso);
  const row = find(bearer);
  // safety: signed-with-current-key
  if (!row || (bearer.aws && !isSignedBy(row, bearer))) return null;
  const lineage = lineageOf(core, row);
  const caller = confirmable(core, lineage, bearer.jwt);
  return {
    caller,
    // safety: refused-jwt
    refusal:
      over(core) ?? endOf(core, lineage) ?? (isRefused(row, bearer.jwt) ? refuse('TOKEN_REVOKED') : null),
    allowances: allowancesOf(lineage),
  };
}

/** Whether a credential has the access key of a signed request: not since it was switched off or replaced. */
const isSignedBy = (row: CredentialRow, { kind, aws }: TokenRef): boolean =>
  row.kind === kind && row.aws !== null && row.aws === aws?.mark;

/** The refusal of every token once the organisation is deleted. */
function over({ rows, org }: Core): Refusal | null {
  // safety: deleted-org
  return rows.get('org', org)?.deleted_at !== null ? refuse('TOKEN_REVOKED') : null;
}

/** A token that the gate does not know. */
function unknown(core: Core, ask: Ask, { kind, hash, jwt }: TokenRef): Identity {
  const caller: Caller = { ...nobody, kind: kind === 'browser' ? 'member' : kind, root: hash };
  // A refresh cookie is refused with the same message as every refused sign-in.
  const isToken = kind !== 'browser' || jwt !== undefined;
  // safety: unknown-token-message
  const refusal = refuse('UNAUTHENTICATED', isToken ? { message: UNKNOWN_TOKEN } : {});
  const found = { caller, allowances: [{ id: `hash:${hash}`, limit: UNKNOWN_RATE }], refusal };
  const { keys } = ask;
  if (over(core) || !keys) return { ...found, refusal: refuse('TOKEN_REVOKED') };
  const left = formerSessions(core).find('token_hash', hash);
  if (left) return endedAs(core, found, left);
  const before = unknownTokens(core).get(hash);
  if (before && before.until > core.now()) return before.identity;
  return {
    ...found,
    async lookUp() {
      const identity = await inDatabase(core, ask, found, hash, keys.row);
      // safety: unknown-token-remembered
      unknownTokens(core).set(hash, { identity, until: core.now() + REMEMBERED_FOR });
      return identity;
    },
  };
}

/**
 * Looks up a token that the gate does not know in D1: which credential it belonged to, and how that ended.
 */
async function inDatabase(
  core: Core,
  ask: Ask,
  unknown: Identity,
  hash: string,
  rowKey: Uint8Array,
): Promise<Identity> {
  const found = await core.database.all<Record<string, unknown>>({
    sql: 'select * from credentials where org_id = ? and token_hash = ?',
    params: [ask.org, hash],
  });
  const stored = found[0] && fromD1<CredentialRow>(credentials, found[0]);
  if (!stored) return unknown;
  const by = { request_id: ask.request.id, ip: ask.request.ip, user_agent: ask.request.user_agent };
  // safety: fetched-credential-mac
  if (stored.mac !== macOf(rowKey, 'credential', stored)) {
    reportViolation(core, { event: 'credential_altered', resource: stored.id, status: 401 }, by);
    return unknown;
  }
  const identity = endedAs(core, unknown, stored);
  if (identity.refusal === unknown.refusal)
    reportViolation(core, { event: 'credential_put_back', resource: stored.id, status: 401 }, by);
  return identity;
}

/** Who presented a token whose row has left the gate, and how that ended. */
function endedAs(core: Core, unknown: Identity, row: CredentialRow): Identity {
  const isGone = isEndedByPanic(core.rows.get('org', core.org), row);
  // safety: panic-ends-removed-sessions
  const end = ended([{ ...row, revoked_at: row.revoked_at ?? (isGone ? 0 : null) }], core.now());
  return { ...unknown, caller: callerOf(core, [row]), refusal: end ?? unknown.refusal };
}

/** A member whom the Worker has just authenticated and who has no session yet. */
function authenticatedMember(core: Core, id: string): Identity {
  const member = actingMember(core, id);
  const isHere = member !== null && core.rows.get('org', core.org)?.deleted_at === null;
  return {
    caller: { ...memberOf(core, id, member), credential: id, confirmed: true },
    refusal: isHere ? null : refuse('UNAUTHENTICATED'),
    allowances: [],
  };
}

/**
 * The number of views per minute of one link, including refused ones. Requests with the same key are counted
 * together, whatever id they name.
 */
const VIEW_RATE = 200;

/**
 * The holder of a link's key. The operation checks whether the link is active: if not, the response is the
 * same for every reason.
 */
const holderOf = ({ link, hash }: { link: string; hash: string }): Identity => ({
  caller: { ...nobody, id: link, credential: link, root: hash },
  refusal: null,
  // safety: views-limited-by-key
  allowances: [{ id: `hash:${hash}`, limit: VIEW_RATE }],
});

/**
 * The number of refused exchanges per minute of one trust that are recorded individually. They do not count
 * against the rate limit of the trust's workloads.
 */
const REFUSED_RATE = 60;

/**
 * A trust, for a workload whose token the Worker has verified, or nobody if it refused the token. The
 * operation checks whether the trust is active.
 */
function exchanging(core: Core, bearer: { trust: string; refused?: true }): Identity {
  const { org } = core;
  const row =
    core.rows.get('org', org)?.deleted_at === null ? core.rows.get('credential', bearer.trust) : null;
  if (row?.kind !== 'trust')
    return {
      caller: { ...nobody, kind: 'trust' },
      refusal: refuse('UNAUTHENTICATED'),
      allowances: [],
    };
  const lineage = lineageOf(core, row);
  // safety: refused-exchange-acts-as-nobody
  if (bearer.refused) {
    const caller: Caller = { ...nobody, kind: 'trust', name: row.name };
    return { caller, refusal: null, allowances: [{ id: `refused:${row.id}`, limit: REFUSED_RATE }] };
  }
  // The operation checks the address, so that this refusal looks like every other.
  const caller: Caller = { ...callerOf(core, lineage), addresses: [] };
  return { caller, refusal: null, allowances: allowancesOf(lineage) };
}

/** The names of each trust with requests in the last minute, and when the last was. */
const namesOfTrusts = part(({ auditLog }) => {
  const all = new Map<string, Map<string, number>>();
  const now = Date.now();
  // Newest first: the last request of each name.
  for (const { actor, at, worker } of auditLog.since(now - WINDOW, now)) {
    if (worker === null) continue;
    const names = all.get(actor) ?? new Map<string, number>();
    // safety: names-of-binding-restored
    if (!names.has(worker)) all.set(actor, names.set(worker, at));
  }
  return all;
});

/** Whether a trust has no room for requests of another name in this minute. */
function hasTooManyNames(core: Core, trust: string, name: string): boolean {
  const all = namesOfTrusts(core);
  const names = all.get(trust) ?? new Map<string, number>();
  const now = core.now();
  for (const [other, at] of names) if (at <= now - WINDOW || at > now) names.delete(other);
  // safety: names-of-binding-bounded
  if (!names.has(name) && names.size >= MOST_NAMES) return true;
  all.set(trust, names.set(name, now));
  return false;
}

/**
 * A Worker that is bound to the service. It ends with its trust. A trust that does not exist, is of another
 * kind or does not take the name is refused alike.
 */
function boundWorker(core: Core, bearer: Bound): Identity {
  const row = core.rows.get('credential', bearer.workload);
  const workload = boundWorkload(bearer.name);
  // safety: binding-by-its-trust
  if (row?.kind !== 'trust' || !row.trust || !isBinding(row) || refusedBy(row.trust, workload) !== null)
    return {
      caller: { ...nobody, kind: 'workload', root: bindingRoot('', bearer.name) },
      refusal: over(core) ?? refuse('UNAUTHENTICATED', { message: UNKNOWN_BINDING }),
      allowances: [{ id: 'unknown binding', limit: UNKNOWN_RATE }],
    };
  const lineage = lineageOf(core, row);
  const caller: Caller = {
    ...callerOf(core, lineage),
    kind: 'workload',
    name: bearer.name,
    root: bindingRoot(row.id, bearer.name),
    isDependent: true,
    rate_limit: BINDING_RATES.name,
    workload,
  };
  const refusal = over(core) ?? endOf(core, lineage);
  const isOver = !refusal && hasTooManyNames(core, row.id, bearer.name);
  return {
    caller,
    refusal: isOver ? refuse('RATE_LIMITED', { retry_after: WINDOW / 1000 }) : refusal,
    allowances: [
      { id: caller.root, limit: BINDING_RATES.name },
      { id: row.id, limit: BINDING_RATES.trust },
      ...allowancesOf(lineage).slice(1),
    ],
  };
}

/** The number of sign-ins per minute by one connection, and of those that the Worker refused. */
const SIGN_IN_RATE = 600;
const REFUSED_SIGN_IN_RATE = 60;

/**
 * Whoever a provider has signed in: the member, as far as there is one. The operation decides whether they
 * are let in. Never confirmed: a provider is not the member's passkey.
 */
function signingIn(core: Core, identity: SsoIdentity): Identity {
  const member = memberBehind(core, identity);
  const connection = core.rows.get('sso_connection', identity.connection);
  return {
    caller: member
      ? { ...memberOf(core, member.id, member), credential: member.id }
      : { ...memberOf(core, '', null), name: connection?.name ?? null, credential: identity.connection },
    refusal: over(core) ?? (connection ? null : refuse('UNAUTHENTICATED')),
    allowances: [
      !identity.refused
        ? { id: `sso:${identity.connection}`, limit: SIGN_IN_RATE }
        : { id: `refused:${identity.connection}`, limit: REFUSED_SIGN_IN_RATE },
    ],
  };
}

/**
 * The caller of a token. Not copied: a copy would compute the caller's permissions immediately, which may be
 * expensive.
 */
const confirmable = (core: Core, lineage: readonly CredentialRow[], jwt: number | undefined): Caller =>
  // safety: permissions-computed-once
  Object.assign(callerOf(core, lineage), {
    confirmed:
      isConfirmed(lineage[0] as CredentialRow, jwt, core.now()) &&
      // safety: provider-confirms-no-owner
      !isOwnerByProvider(core, lineage[0] as CredentialRow),
  });

/** How long a confirmation is valid, in milliseconds. */
export const CONFIRMED_FOR = 300_000;

type Session = Pick<CredentialRow, 'confirmed_at' | 'refresh'>;

/**
 * Whether a request with this JWT counts as confirmed. `jwt` is undefined for other credentials and for the
 * refresh cookie.
 */
export const isConfirmed = (
  { confirmed_at, refresh }: Session,
  jwt: number | undefined,
  now: number,
): boolean =>
  confirmed_at !== null &&
  refresh?.confirmed !== undefined &&
  jwt !== undefined &&
  // safety: confirmation-of-this-jwt
  jwt >= refresh.confirmed &&
  // safety: confirmation-expires
  now <= confirmed_at + CONFIRMED_FOR;

/** Whether a panic refused this JWT of a session that it spared. A cookie is checked by its own number. */
export function isRefused({ refresh }: Session, jwt: number | undefined): boolean {
  if (jwt === undefined || !refresh?.jwts) return false;
  const [first, last] = refresh.jwts;
  return jwt < first || (last !== null && jwt > last);
}
