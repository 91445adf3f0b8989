// Creating credentials; session tokens are in `mint.ts`. Invariants: no one creates a credential with more
// permissions than their own; a credential created by a session token or an agent is revoked together with
// it; only an owner creates an API key that acts as an owner.
import { type Caller, mustBeConfirmed } from '../../../auth/authorize';
import { type Wanted, withinPermissions } from '../../../auth/delegation';
import { covers, type ProviderScope, providerScopes } from '../../../auth/scopes';
import { idStart } from '../../../db/ids';
import type { McpLimits } from '../../../db/mcp-limits';
import { forms } from '../../../db/names';
import { DAY } from '../../../db/rows';
import { type CredentialRow, madeByOwnerColumn, parentColumn } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { accountableFor } from '../../../gate/identity/accountable';
import { countLive, isAlive, isBlocked } from '../../../gate/identity/lifetime';
import { wholeQuotas } from '../../../gate/limits/quotas';
import type { Call, Operation } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { environmentOf } from '../../../gate/request/target';
import { insertion, type New } from '../../../gate/request/writes';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { endIn, shown, type TokenInput } from './credential';

const AGENT_LIVES = 30 * DAY;
const MOST_BREAK_GLASS = 5;
/** The longest chain from a credential to the top of its lineage. */
const MOST_LINKS = 16;
/** Default rate limits, in requests per minute. */
export const RATES = {
  api_key: 1200,
  session: 600,
  agent: 120,
  provider: 600,
  break_glass: 60,
  trust: 1200,
  scim: 1800,
} as const;
/** The scopes of a break-glass token. */
const EMERGENCY = [
  'secrets:list',
  'secrets:read',
  'secrets:write',
  'secrets:rotate',
  'secrets:delete',
  'audit:read',
] as const;

/** What a request asks for. Null means the same as the creator holds. */
interface Asked {
  scopes: readonly string[];
  environments: readonly string[] | null;
  secrets: readonly string[] | null;
  upstreams?: readonly string[] | null;
  allowed_addresses: readonly string[] | null;
  expires_at: number | null;
  /** The device to bind the credential to. */
  device_id?: string | null;
  mcp_limits?: McpLimits | null;
}

const earliest = (...times: (number | null)[]): number | null => {
  const ends = times.filter((time) => time !== null);
  return ends.length ? Math.min(...ends) : null;
};

/** What a new credential would hold. An environment that does not exist becomes an empty id. */
export function wanted(
  { core, caller }: Call<unknown>,
  asked: Asked,
): Wanted & Pick<CredentialRow, 'environments' | 'secrets' | 'upstreams' | 'device_id' | 'mcp_limits'> {
  const from =
    caller.permissions.find(({ scopes }) => asked.scopes.every((scope) => covers(scopes, scope))) ??
    caller.permissions[0];
  const copy = (list: readonly string[] | null | undefined) => (list ? [...list] : null);
  return {
    scopes: [...asked.scopes],
    environments:
      asked.environments?.map((ref) => environmentOf(core, ref)?.id ?? '') ?? copy(from.environments),
    secrets: copy(asked.secrets ?? from.secrets),
    // safety: created-with-upstreams-of-creator
    upstreams: copy(asked.upstreams ?? from.upstreams),
    allowed_addresses: copy(asked.allowed_addresses ?? caller.addresses[0]),
    expires_at: asked.expires_at ?? earliest(caller.expires_at, from.expires_at),
    // safety: created-bound-to-device-of-creator
    device_id: asked.device_id ?? caller.device,
    // safety: created-with-mcp-limits-of-creator
    mcp_limits: asked.mcp_limits ?? caller.mcp_limits,
  };
}

/** Why a credential cannot be bound to a device; null if it can. */
export function unusable(core: Core, device_id: string | null | undefined): Refusal | null {
  if (device_id == null) return null;
  const device = core.rows.get('device', device_id);
  if (!device) return refuse('NOT_FOUND', { message: 'The device in device_id does not exist.' });
  // safety: device-usable
  if (isBlocked(core, device))
    return invalid('device_id', 'must be a device that is not blocked and whose member was not removed');
  return device.public_key ? null : invalid('device_id', 'must be a device with a public key');
}

/** 404 for a requested environment that does not exist. */
export function unknownEnvironment(
  asked: readonly string[] | null,
  held: readonly string[] | null,
): Refusal | null {
  const at = held?.indexOf('') ?? -1;
  if (at < 0) return null;
  const ref = asked?.[at] ?? '';
  return refuse('NOT_FOUND', {
    message: forms.environment(ref)
      ? `There is no environment ${ref}.`
      : `The environment in environments.${at} does not exist.`,
  });
}

/**
 * The parent of a credential that this caller creates: the credential it is revoked together with, or null.
 */
// safety: created-ends-with-creator
export const parentOf = (caller: Caller): string | null => (caller.isDependent ? caller.credential : null);

/** Who created it; for a member, also in which browser session. */
export const maker = ({ kind, id, credential }: Caller) => ({
  created_by: id,
  created_in: kind === 'member' ? credential : null,
});

type Made = Pick<New<'credential'>, 'kind' | 'name' | 'rate_limit' | 'reason' | 'trust' | 'scim'> & {
  scopes: readonly string[];
};

/** The plan for a new credential whose permissions have been checked. */
export function issue(
  call: Call<unknown>,
  token: TokenInput,
  made: Made,
  permissions: Wanted,
  asked: Asked,
  now: number,
): Plan | Refusal {
  const { core, ask, caller } = call;
  const unknown =
    unknownEnvironment(asked.environments, permissions.environments) ?? unusable(core, asked.device_id);
  if (unknown) return unknown;
  if (countLive(core, now) >= wholeQuotas.credentials)
    return refuse('LIMIT_REACHED', {
      message:
        'An organisation can have at most 10,000 live credentials. Revoke some that you no longer need.',
    });
  const parentId = parentOf(caller);
  const parent = parentId === null ? null : core.rows.get('credential', parentId);
  if (parent && lineageOf(core, parent).length >= MOST_LINKS)
    return refuse('LIMIT_REACHED', {
      message:
        'A credential can have at most 16 ancestors. Create this one with a credential closer to the top.',
    });
  const put = insertion(call, 'credential', {
    ...fresh(core, ask.org, token, now),
    ...(permissions as Pick<
      CredentialRow,
      | 'environments'
      | 'secrets'
      | 'upstreams'
      | 'allowed_addresses'
      | 'expires_at'
      | 'device_id'
      | 'mcp_limits'
    >),
    ...made,
    scopes: [...made.scopes],
    ...maker(caller),
    ...madeByOwnerColumn(made.kind !== 'api_key' || caller.isOwner),
    accountable: accountableFor(core, caller),
    ...(caller.workload && { workload: caller.workload }),
    ...parentColumn(parentId),
  });
  const row = put.row as CredentialRow;
  return { status: 201, data: shown(call, row), writes: [put], resource: token.id };
}

/** Fields of every new credential. */
export const fresh = (core: Core, org_id: string, token: TokenInput, created_at: number) => ({
  org_id,
  id: token.id,
  token_hash: token.hash,
  hint: token.hint,
  aws: token.aws ?? null,
  created_at,
  generation: core.rows.get('org', org_id)?.generation ?? null,
});

export const aboutToken = ({ input }: Call<{ token: TokenInput }>) => ({ resource: input.token.id });

/**
 * The first API key of an organisation, or of one whose keys were lost or revoked: it has all permissions.
 * `fields` overrides defaults.
 */
export const firstKey = (
  call: Call<unknown>,
  token: TokenInput,
  name: string,
  createdBy: string,
  now: number,
  fields: Partial<Pick<CredentialRow, 'generation' | 'created_in' | 'accountable'>> = {},
) =>
  insertion(call, 'credential', {
    ...fresh(call.core, call.ask.org, token, now),
    kind: 'api_key',
    name,
    scopes: ['*'],
    rate_limit: RATES.api_key,
    created_by: createdBy,
    accountable: createdBy.startsWith(idStart('member'))
      ? [createdBy]
      : accountableFor(call.core, call.caller),
    ...fields,
  });

interface NewInput extends Asked {
  token: TokenInput;
  name: string;
}

/** For API keys and agents: a lifetime in seconds instead of an expiry; null for neither. */
interface LastingInput extends NewInput {
  ttlSeconds: number | null;
}

/** What is requested, with the lifetime converted to an expiry. */
const lasting = ({ input }: Call<LastingInput>, now: number): Asked => ({
  ...input,
  expires_at: endIn(input.ttlSeconds, now) ?? input.expires_at,
});

/**
 * Whether an API key with these permissions would act as an owner. A member must then confirm its creation.
 */
export const wouldOwn = (caller: Caller, { scopes, environments, secrets, upstreams }: Wanted): boolean =>
  caller.isOwner && scopes.includes('*') && environments === null && secrets === null && upstreams === null;

/** What a new credential would hold; 403 if that exceeds its creator's permissions. */
export const within = <W extends Wanted>({ caller }: Call<unknown>, permissions: W): Refusal | W =>
  withinPermissions(caller, permissions) ?? permissions;

export const createKey: Operation<LastingInput> = {
  subject: aboutToken,
  authorize(call, now) {
    const { caller } = call;
    const permissions = wanted(call, lasting(call, now));
    const unconfirmed = wouldOwn(caller, permissions) ? mustBeConfirmed(caller) : null;
    return withinPermissions(caller, permissions) ?? unconfirmed ?? permissions;
  },
  change: {
    plan(call, now, { judged }) {
      const { token, name, scopes } = call.input;
      return issue(
        call,
        token,
        { kind: 'api_key', name, scopes, rate_limit: RATES.api_key },
        judged as Wanted,
        call.input,
        now,
      );
    },
  },
};

interface AgentInput extends LastingInput {
  rate_limit: number | null;
  device_id: string | null;
  mcp_limits: McpLimits | null;
}

/** Without a lifetime, an agent expires after 30 days, or with its creator if that is sooner. */
function agent(call: Call<AgentInput>, now: number) {
  const asked = lasting(call, now);
  const permissions = wanted(call, asked);
  return asked.expires_at === null
    ? { ...permissions, expires_at: earliest(permissions.expires_at, now + AGENT_LIVES) }
    : permissions;
}

export const createAgent: Operation<AgentInput> = {
  subject: aboutToken,
  authorize: (call, now) => within(call, agent(call, now)),
  change: {
    plan(call, now, { judged }) {
      const { token, name, scopes, rate_limit } = call.input;
      const made = { kind: 'agent', name, scopes, rate_limit: rate_limit ?? RATES.agent } as const;
      return issue(call, token, made, judged as Wanted, call.input, now);
    },
  },
};

/**
 * A provider token has no expiry of its own. It holds the scopes that its creator would need to do the same
 * through other routes.
 */
const provided = (input: NewInput): Asked => ({
  ...input,
  scopes: input.scopes.map((scope) => providerScopes[scope as ProviderScope]),
});

export const createProvider: Operation<NewInput> = {
  subject: aboutToken,
  authorize: (call) => within(call, { ...wanted(call, provided(call.input)), expires_at: null }),
  change: {
    plan(call, now, { judged }) {
      const { token, name, scopes } = call.input;
      return issue(
        call,
        token,
        { kind: 'provider', name, scopes, rate_limit: RATES.provider },
        judged as Wanted,
        call.input,
        now,
      );
    },
  },
};

interface BreakGlassInput {
  token: TokenInput;
  reason: string;
  ttlSeconds: number;
}

/**
 * 403 for an API key below an agent, a session token or a trust: these cannot issue a break-glass token
 * themselves.
 */
const mayIssue = ({ caller }: Call<unknown>): Refusal | null =>
  // safety: break-glass-by-independent-callers
  caller.isDependent
    ? refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
        message:
          'An API key that is revoked together with another credential cannot issue a break-glass token. Use a browser session, or an API key that a member created.',
      })
    : null;

export const createBreakGlass: Operation<BreakGlassInput> = {
  subject: ({ input }) => ({ resource: input.token.id, reason: input.reason }),
  reach: mayIssue,
  authorize: (call, now) => within(call, emergency(call, now)),
  change: {
    plan(call, now, { judged }) {
      const { core, input } = call;
      if (
        core.rows.within('credential', 'break_glass').filter((row) => isAlive(core, row)).length >=
        MOST_BREAK_GLASS
      )
        return refuse('LIMIT_REACHED', {
          message:
            'An organisation can have at most 5 live break-glass tokens. Revoke one that you no longer need.',
        });
      const made = {
        kind: 'break_glass',
        name: null,
        reason: input.reason,
        scopes: EMERGENCY,
        rate_limit: RATES.break_glass,
      } as const;
      const permissions = judged as Wanted;
      return issue(call, input.token, made, permissions, permissions, now);
    },
  },
};

/** Access to the whole organisation for a limited time. */
const emergency = ({ caller, input }: Call<BreakGlassInput>, now: number): Wanted => ({
  scopes: EMERGENCY,
  environments: null,
  secrets: null,
  upstreams: null,
  allowed_addresses: caller.addresses[0] ?? null,
  expires_at: now + input.ttlSeconds * 1000,
  device_id: caller.device,
});
