// Session tokens, created by an API key, or by a session token for a client of Vault. Invariants: a session
// token holds no more than its parent and is revoked together with it; a key has a limited number of live
// session tokens, those of its session tokens among them.
import { type CredentialRow, parentColumn } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { accountableFor } from '../../../gate/identity/accountable';
import { descendants } from '../../../gate/identity/descendants';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import type { Proposal } from '../../../gate/request/plan';
import { insertion } from '../../../gate/request/writes';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { isoOrNull } from '../../../http/wire';
import { awsSessionOut } from '../wire';
import { aboutToken, fresh, RATES, unknownEnvironment, unusable, wanted, within } from './create';
import { endIn, shown, type TokenInput } from './credential';

/** The most live session tokens of an API key, and of a session token. */
const MOST_SESSIONS = 1000;
const MOST_CHILDREN = 50;

interface MintInput {
  token: TokenInput;
  ttlSeconds: number;
  scopes: string[] | null;
  environments: string[] | null;
  secrets: string[] | null;
  upstreams: string[] | null;
  allowed_addresses: string[] | null;
  device_id: string | null;
}

const session = (call: Call<MintInput>, now: number) => {
  const { scopes, environments, secrets, upstreams, ttlSeconds, allowed_addresses, device_id } = call.input;
  return wanted(call, {
    scopes: scopes ?? call.caller.permissions[0].scopes,
    environments,
    secrets,
    upstreams,
    allowed_addresses,
    expires_at: endIn(ttlSeconds, now),
    device_id,
  });
};

/** 409 if the caller, or the API key or trust that it descends from, has as many session tokens as it can. */
function tooMany({ core, caller }: Call<unknown>, now: number): Refusal | null {
  // safety: child-sessions-bounded
  if (caller.kind === 'session' && descendants(core).hasSessions(caller.id, MOST_CHILDREN, now))
    return refuse('LIMIT_REACHED', {
      message: 'A session token can have at most 50 live session tokens of its own. Revoke some.',
    });
  const row = core.rows.get('credential', caller.credential);
  const top = row && lineageOf(core, row).find(({ kind }) => kind !== 'session');
  return descendants(core).hasSessions(top?.id ?? caller.id, MOST_SESSIONS, now)
    ? refuse('LIMIT_REACHED', {
        message:
          'An API key can have at most 1,000 live session tokens. Revoke some, or wait until they expire.',
      })
    : null;
}

export const mint: Operation<MintInput> = {
  subject: aboutToken,
  authorize: (call, now) => within(call, session(call, now)),
  change: {
    plan(call, now, { judged }) {
      const { core, ask, input, caller } = call;
      const { scopes, environments, secrets, upstreams, allowed_addresses, expires_at, device_id } =
        judged as ReturnType<typeof session>;
      const unknown = unknownEnvironment(input.environments, environments) ?? unusable(core, input.device_id);
      if (unknown) return unknown;
      const full = tooMany(call, now);
      if (full) return full;
      const put = insertion(call, 'credential', {
        ...fresh(core, ask.org, input.token, now),
        kind: 'session',
        name: caller.name,
        scopes: [...scopes],
        environments,
        secrets,
        upstreams,
        expires_at,
        device_id,
        allowed_addresses: allowed_addresses && [...allowed_addresses],
        rate_limit: RATES.session,
        created_by: caller.id,
        accountable: accountableFor(core, caller),
        ...parentColumn(caller.id),
      });
      const about = { expires_at: isoOrNull(expires_at) };
      return {
        status: 201,
        data: shown(call, put.row as CredentialRow),
        writes: [put],
        resource: input.token.id,
        audit: about,
      };
    },
  },
};

/** A call for a session token that ends with its key at the latest. */
const withinKey = <I extends MintInput>(call: Call<I>, now: number): Call<I> => {
  const left = call.caller.expires_at === null ? null : Math.floor((call.caller.expires_at - now) / 1000);
  const { ttlSeconds } = call.input;
  return { ...call, input: { ...call.input, ttlSeconds: Math.min(ttlSeconds, left ?? ttlSeconds) } };
};

interface LoginInput extends MintInput {
  /** The API key or the organisation that the client names beside the token; null if it names none. */
  role: string | null;
}

/** A session token for a client that takes the lifetime that it gets. */
export const login: Operation<LoginInput> = {
  subject: aboutToken,
  authorize(call, now) {
    const { core, caller, input } = call;
    // safety: login-names-its-key
    if (input.role !== null && input.role !== core.org && input.role !== caller.id)
      return refuse('UNAUTHENTICATED');
    return within(call, session(withinKey(call, now), now));
  },
  change: {
    plan: (call, now, found) => (mint.change as Minting).plan(withinKey(call, now), now, found),
  },
};

/**
 * A session token below the caller, which holds what the caller holds and ends with it at the latest. Of an
 * API key, it is a session token as any other.
 */
export const child: Operation<MintInput> = {
  subject: aboutToken,
  authorize: (call, now) => within(call, session(withinKey(call, now), now)),
  change: {
    plan: (call, now, found) => (mint.change as Minting).plan(withinKey(call, now), now, found),
  },
};

/** A session for clients of AWS: its answer has the places of what the Worker shows once. */
export const loginAws: Operation<LoginInput> = {
  ...login,
  change: {
    plan(call, now, found) {
      const plan = (login.change as Minting).plan(call as Call<MintInput>, now, found) as Proposal;
      if (isRefusal(plan) || 'wants' in plan) return plan;
      return { ...plan, data: awsSessionOut(plan.writes?.[0]?.row as CredentialRow) };
    },
  },
};

type Minting = NonNullable<Operation<MintInput>['change']>;
