// What can be done with credentials, as the gate does it. Tokens are made by the Worker; here are their hashes.
// Invariants: nobody makes or changes a credential to hold more than they hold; what a session token or an agent makes ends with it; a
// revoked credential, and all that descends from it, is refused from the turn in which its row changes.
import { type Caller, isNarrower, type Wanted, withinHolding } from '../../auth/authorize';
import { covers, type ProviderScope, providerScopes } from '../../auth/scopes';
import { type CredentialKind, type CredentialRow, credentials } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import { environmentOf, slugOf } from '../../gate/call';
import { areAlive, isAlive, lineageOf } from '../../gate/callers';
import { insertion, type New, type Plan, revision, rowKey } from '../../gate/commit';
import type { Core } from '../../gate/core';
import { type ListInput, listed } from '../../gate/listing';
import type { Raised } from '../../gate/outbox';
import { fromD1, macOf } from '../../gate/rows';
import type { Call, Operation, Outcome } from '../../gate/types';
import { accessTokenOut, agentOut, apiKeyOut, breakGlassOut, providerTokenOut, type Shown } from './wire';

const MOST_CREDENTIALS = 10_000;
const MOST_BREAK_GLASS = 5;
/** Links that a credential may be away from the one at the top. */
const MOST_LINKS = 16;
/** Requests a minute, where nothing else is asked for. */
const RATES = { api_key: 1200, session: 600, agent: 120, provider: 600, break_glass: 60 } as const;
/** All that a break-glass token may do. */
const EMERGENCY = ['secrets:list', 'secrets:read', 'secrets:write', 'secrets:rotate', 'secrets:delete', 'audit:read'] as const;

/** A token made by the Worker. */
export interface TokenInput {
  id: string;
  hash: string;
  hint: string;
}

const outs: Record<Exclude<CredentialKind, 'browser'>, (shown: Shown) => object> = {
  api_key: apiKeyOut,
  session: accessTokenOut,
  agent: agentOut,
  provider: providerTokenOut,
  break_glass: breakGlassOut,
};

/** A credential as it is shown: its row, its environments by slug, its last use. */
export const shown = (core: Core, row: CredentialRow): object =>
  outs[row.kind as keyof typeof outs]({
    row,
    environments: row.environments?.map((id) => slugOf(core, id)) ?? null,
    used: core.uses.of(row.id),
  });

const target = (call: Call<never>) => call.ask.named.credential as string;

function find(call: Call<never>, kind: CredentialKind): CredentialRow | null {
  const row = call.core.rows.get('credential', target(call));
  call.subject.resource = target(call);
  return row?.kind === kind ? row : null;
}

export const raised = (type: Raised['type'], { id, kind, name }: CredentialRow): Raised => ({
  type,
  data: { credential_id: id, kind, name },
});

/** The live credentials of a kind come from the gate's own rows, for it alone knows who is alive. */
const list = (kind: CredentialKind, prefix: string): Operation<ListInput> => ({
  read: ({ core, ask, input }) =>
    listed(core, 'credential', prefix, input, (row) => (row.kind === kind && isAlive(core, ask.org, row) ? shown(core, row) : null)),
});

function read(kind: CredentialKind): Operation<Record<string, never>> {
  return {
    read(call): Outcome {
      const row = find(call as never, kind);
      return row ? { ok: true, status: 200, data: shown(call.core, row) } : { ok: false, refusal: refuse('NOT_FOUND') };
    },
  };
}

// ---------------------------------------------------------------- making

/** What a request asks for in a new credential; null where it is silent: then what its creator holds. */
interface Asked {
  scopes: readonly string[];
  environments: readonly string[] | null;
  secrets: readonly string[] | null;
  allowed_addresses: readonly string[] | null;
  expires_at: number | null;
}

const earliest = (...times: (number | null)[]): number | null => {
  const ends = times.filter((time) => time !== null);
  return ends.length ? Math.min(...ends) : null;
};

/** What a new credential would hold. An environment that does not exist stands as an empty id. */
export function wanted({ core, ask, caller }: Call<never>, asked: Asked): Wanted & Pick<CredentialRow, 'environments' | 'secrets'> {
  const from = caller.holdings.find(({ scopes }) => asked.scopes.every((scope) => covers(scopes, scope))) ?? caller.holdings[0];
  const copy = (list: readonly string[] | null | undefined) => (list ? [...list] : null);
  return {
    scopes: [...asked.scopes],
    environments: asked.environments?.map((ref) => environmentOf(core, ask.org, ref)?.id ?? '') ?? copy(from.environments),
    secrets: copy(asked.secrets ?? from.secrets),
    allowed_addresses: copy(asked.allowed_addresses ?? caller.addresses[0]),
    expires_at: asked.expires_at ?? earliest(caller.expires_at, from.expires_at),
  };
}

/** 404 for an environment that a request names and that does not exist. */
export function unknownEnvironment(asked: readonly string[] | null, held: readonly string[] | null): Refusal | null {
  const at = held?.indexOf('') ?? -1;
  return at < 0 ? null : refuse('NOT_FOUND', { message: `There is no environment ${asked?.[at]}.` });
}

/** Whose end is also the end of what this caller makes. */
export const diesWith = (caller: Caller): string | null => (caller.isDependent ? caller.credential : null);

/** Who makes it; for a member, also in which browser session. */
const maker = ({ kind, id, credential }: Caller) => ({ created_by: id, created_in: kind === 'member' ? credential : null });

type Made = Pick<New<'credential'>, 'kind' | 'name' | 'rate_limit' | 'reason'> & { scopes: readonly string[] };

/** The plan of a new credential, whose holding has been judged. */
function issue(call: Call<never>, token: TokenInput, made: Made, holding: Wanted, asked: Asked, now: number): Plan | Refusal {
  const { core, ask, caller } = call;
  call.subject.resource = token.id;
  const unknown = unknownEnvironment(asked.environments, holding.environments);
  if (unknown) return unknown;
  const org = core.rows.get('org', ask.org);
  if (!org || (core.rows.liveCredentials(now, org) >= MOST_CREDENTIALS && areAlive(core, ask.org, MOST_CREDENTIALS)))
    return refuse('LIMIT_REACHED', { message: 'An organisation holds up to 10,000 live credentials.' });
  const dies_with = diesWith(caller);
  const parent = dies_with === null ? null : core.rows.get('credential', dies_with);
  if (parent && lineageOf(core, parent).length >= MOST_LINKS)
    return refuse('LIMIT_REACHED', { message: 'Credentials may descend from one another 16 times at most.' });
  const put = insertion(call, 'credential', {
    ...fresh(core, ask.org, token, now),
    ...(holding as Pick<CredentialRow, 'environments' | 'secrets' | 'allowed_addresses' | 'expires_at'>),
    ...made,
    scopes: [...made.scopes],
    ...maker(caller),
    below_owner: made.kind === 'api_key' ? belowOwner(caller) : null,
    dies_with,
  });
  const row = put.row as CredentialRow;
  const events = [raised(row.kind === 'break_glass' ? 'BREAK_GLASS_ISSUED' : 'CREDENTIAL_CREATED', row)];
  return { status: 201, data: shown(core, row), puts: [put], resource: token.id, events };
}

/** Nobody makes an owner of a key who is none. */
const belowOwner = (caller: Caller): 1 | null => (caller.isOwner ? null : 1);

/** What every new credential has. */
export const fresh = (core: Core, org_id: string, token: TokenInput, created_at: number) => ({
  org_id,
  id: token.id,
  token_hash: token.hash,
  hint: token.hint,
  created_at,
  generation: core.rows.get('org', org_id)?.generation ?? null,
});

/** While a credential is made, whoever makes it stays as it is: the credential that asks, and the member behind it. */
const makerLocks = ({ input, caller }: Call<{ token: TokenInput }>) => [input.token.id, caller.credential, caller.id];

/** The first key of an org, or of one whose keys are lost or ended: it may do everything. `fields` say what is not as usual. */
export const firstKey = (
  call: Call<never>,
  token: TokenInput,
  name: string,
  createdBy: string,
  now: number,
  fields: Partial<Pick<CredentialRow, 'generation' | 'created_in'>> = {},
) =>
  insertion(call, 'credential', {
    ...fresh(call.core, call.ask.org, token, now),
    kind: 'api_key',
    name,
    scopes: ['*'],
    rate_limit: RATES.api_key,
    created_by: createdBy,
    ...fields,
  });

interface NewInput extends Asked {
  token: TokenInput;
  name: string;
}

const createKey: Operation<NewInput> = {
  authorize: (call) => withinHolding(call.caller, wanted(call as never, call.input)),
  change: {
    locks: makerLocks,
    plan(call, now) {
      const { token, name, scopes } = call.input;
      const holding = wanted(call as never, call.input);
      return issue(call as never, token, { kind: 'api_key', name, scopes, rate_limit: RATES.api_key }, holding, call.input, now);
    },
  },
};

interface AgentInput extends NewInput {
  ttlSeconds: number | null;
  rate_limit: number | null;
}

/** When a lifetime that is asked for would end; null where none is. */
const endIn = (ttlSeconds: number | null, now: number) => (ttlSeconds === null ? null : now + ttlSeconds * 1000);

const agent = (call: Call<AgentInput>, now: number) =>
  wanted(call as never, { ...call.input, expires_at: endIn(call.input.ttlSeconds, now) });

const createAgent: Operation<AgentInput> = {
  authorize: (call) => withinHolding(call.caller, agent(call, call.core.now())),
  change: {
    locks: makerLocks,
    plan(call, now) {
      const { token, name, scopes, rate_limit } = call.input;
      const holding = agent(call, now);
      const made = { kind: 'agent', name, scopes, rate_limit: rate_limit ?? RATES.agent } as const;
      return issue(call as never, token, made, holding, call.input, now);
    },
  },
};

/** A provider token has no end of its own; it holds what its maker would need to do the same by other ways. */
const provided = (input: NewInput): Asked => ({ ...input, scopes: input.scopes.map((scope) => providerScopes[scope as ProviderScope]) });

const createProvider: Operation<NewInput> = {
  authorize(call) {
    const holding = wanted(call as never, provided(call.input));
    return withinHolding(call.caller, { ...holding, expires_at: null });
  },
  change: {
    locks: makerLocks,
    plan(call, now) {
      const { token, name, scopes } = call.input;
      const holding = { ...wanted(call as never, provided(call.input)), expires_at: null };
      return issue(call as never, token, { kind: 'provider', name, scopes, rate_limit: RATES.provider }, holding, call.input, now);
    },
  },
};

interface BreakGlassInput {
  token: TokenInput;
  reason: string;
  ttlSeconds: number;
}

const createBreakGlass: Operation<BreakGlassInput> = {
  authorize(call) {
    call.subject.reason = call.input.reason;
    return withinHolding(call.caller, emergency(call, call.core.now()));
  },
  change: {
    locks: (call) => [...makerLocks(call), 'break-glass'],
    plan(call, now) {
      const { core, ask, input } = call;
      if (core.rows.within('credential', 'break_glass').filter((row) => isAlive(core, ask.org, row)).length >= MOST_BREAK_GLASS)
        return refuse('LIMIT_REACHED', { message: 'At most 5 break-glass tokens may be alive: end one that is no longer needed.' });
      const made = { kind: 'break_glass', name: null, reason: input.reason, scopes: EMERGENCY, rate_limit: RATES.break_glass } as const;
      const holding = emergency(call, now);
      return issue(call as never, input.token, made, holding, holding, now);
    },
  },
};

/** The whole org, for so long. */
const emergency = ({ caller, input }: Call<BreakGlassInput>, now: number): Wanted => ({
  scopes: EMERGENCY,
  environments: null,
  secrets: null,
  allowed_addresses: caller.addresses[0] ?? null,
  expires_at: now + input.ttlSeconds * 1000,
});

// ---------------------------------------------------------------- changing

/** What a credential holds, as its row says. */
const held = ({ scopes, environments, secrets, allowed_addresses, expires_at }: CredentialRow): Wanted => ({
  scopes,
  environments,
  secrets,
  allowed_addresses,
  expires_at,
});

/** 403 if a caller who ends with another would hand on what does not end with it. */
function mayOutlive({ core, caller }: Call<never>, row: CredentialRow): Refusal | null {
  if (!caller.isDependent || lineageOf(core, row).some(({ id }) => id === caller.credential)) return null;
  return refuse('SCOPE_EXCEEDS_PARENT', { message: 'A credential that ends with another can widen only what ends with it.' });
}

/** 403 unless the caller may make a credential hold this. What only narrows, anyone may who may change it. */
const mayGive = (call: Call<never>, row: CredentialRow, after: Wanted): Refusal | null =>
  isNarrower(held(row), after) ? null : (mayOutlive(call, row) ?? withinHolding(call.caller, after));

/** 403 if a caller would raise a rate limit that it is under itself. */
function raisesOwn({ core, caller }: Call<never>, row: CredentialRow, rate_limit = 0): Refusal | null {
  const self = core.rows.get('credential', caller.credential);
  if (rate_limit <= row.rate_limit || !self || !lineageOf(core, self).some(({ id }) => id === row.id)) return null;
  return refuse('SCOPE_EXCEEDS_PARENT', { message: 'A credential cannot raise a rate limit that it is under itself.' });
}

interface UpdateInput {
  name: string | null;
  /** Undefined leaves them. */
  scopes?: string[];
  environments?: string[] | null;
  secrets?: string[] | null;
  allowed_addresses?: string[] | null;
  ttlSeconds?: number | null;
  rate_limit?: number;
}

/** The fields of a changed credential. An environment that does not exist stands as an empty id. */
function changed({ core, ask, input }: Call<UpdateInput>, now: number): Partial<CredentialRow> {
  const { scopes, environments, secrets, allowed_addresses, ttlSeconds, rate_limit } = input;
  return {
    ...(input.name !== null && { name: input.name }),
    ...(scopes && { scopes }),
    ...(environments !== undefined && {
      environments: environments?.map((ref) => environmentOf(core, ask.org, ref)?.id ?? '') ?? null,
    }),
    ...(secrets !== undefined && { secrets }),
    ...(allowed_addresses !== undefined && { allowed_addresses }),
    ...(ttlSeconds !== undefined && { expires_at: endIn(ttlSeconds, now) }),
    ...(rate_limit !== undefined && { rate_limit }),
  };
}

function update(kind: CredentialKind): Operation<UpdateInput> {
  return {
    authorize(call) {
      const row = find(call as never, kind);
      if (!row) return null;
      const after = { ...row, ...changed(call, call.core.now()) };
      return mayGive(call as never, row, held(after)) ?? raisesOwn(call as never, row, call.input.rate_limit);
    },
    change: {
      locks: (call) => [target(call as never)],
      plan(call, now) {
        const { core, ask, input } = call;
        const row = find(call as never, kind);
        if (!row || !isAlive(core, ask.org, row)) return refuse('NOT_FOUND');
        const fields = changed(call, now);
        const unknown = unknownEnvironment(input.environments ?? null, fields.environments ?? null);
        if (unknown) return unknown;
        const put = revision(call as never, 'credential', row, fields);
        return { status: 200, data: shown(core, put.row as CredentialRow), puts: [put] };
      },
    },
  };
}

interface RotateInput {
  token: TokenInput;
  overlap_seconds: number;
}

const rotateKey: Operation<RotateInput> = {
  reach(call) {
    // A successor would outlive whoever ends with another.
    const { caller } = call;
    if (caller.kind === 'session' || caller.kind === 'agent')
      return refuse('CREDENTIAL_KIND_NOT_ALLOWED', { message: 'A session token or an agent rotates no API key: use an API key.' });
    const row = find(call as never, 'api_key');
    return row && (mayOutlive(call as never, row) ?? withinHolding(caller, held(row)));
  },
  change: {
    locks: (call) => [target(call as never), call.input.token.id],
    plan(call, now) {
      const { core, ask, input } = call;
      const row = find(call as never, 'api_key');
      if (!row) return refuse('NOT_FOUND');
      if (!isAlive(core, ask.org, row)) return refuse('CONFLICT', { message: 'This key has ended: create a new one.' });
      if (row.successor_id !== null)
        return refuse('CONFLICT', { message: `This key has been rotated: its successor is ${row.successor_id}.` });
      const { kind, name, scopes, environments, secrets, allowed_addresses, rate_limit, dies_with, expires_at } = row;
      const successor = insertion(call as never, 'credential', {
        ...fresh(core, ask.org, input.token, now),
        ...{ kind, name, scopes, environments, secrets, allowed_addresses, rate_limit, dies_with, expires_at },
        ...maker(call.caller),
        below_owner: row.below_owner ?? belowOwner(call.caller),
      });
      const end = now + input.overlap_seconds * 1000;
      const old = revision(call as never, 'credential', row, {
        successor_id: input.token.id,
        ...(input.overlap_seconds === 0 ? { revoked_at: now } : { expires_at: Math.min(expires_at ?? end, end) }),
      });
      const made = successor.row as CredentialRow;
      return {
        status: 201,
        data: shown(core, made),
        puts: [successor, old],
        resource: input.token.id,
        events: [raised('CREDENTIAL_CREATED', made)],
      };
    },
  },
};

/** Ends a credential; again is the same answer. */
function revoke(kind: CredentialKind, isOwn: (row: CredentialRow, caller: Caller) => boolean): Operation<Record<string, never>> {
  return {
    exempt(call) {
      const row = call.core.rows.get('credential', target(call as never));
      return row?.kind === kind && isOwn(row, call.caller);
    },
    change: {
      locks: (call) => [target(call as never)],
      /** Whether it is known: a session token that is over has left the gate, or leaves it any moment, but is no unknown one. */
      async before(call) {
        const here = call.core.rows.get('credential', target(call as never));
        if (here) return here.kind === kind;
        const [found] = await call.core.database.all<Record<string, unknown>>({
          sql: 'select * from credentials where org_id = ? and id = ? and kind = ?',
          params: [call.ask.org, target(call as never), kind],
        });
        const row = found && fromD1<CredentialRow>(credentials, found);
        return row !== undefined && row.mac === macOf(rowKey(call as never), 'credential', row);
      },
      plan(call, now, known): Plan | Refusal {
        const row = find(call as never, kind);
        if (!row && !known) return refuse('NOT_FOUND');
        if (!row || row.revoked_at !== null) return { status: 204, data: null };
        const put = revision(call as never, 'credential', row, { revoked_at: now });
        return { status: 204, data: null, puts: [put], events: kind === 'session' ? [] : [raised('CREDENTIAL_REVOKED', row)] };
      },
    },
  };
}

const isSelf = (row: CredentialRow, caller: Caller) => row.id === caller.credential;

// ---------------------------------------------------------------- session tokens

interface MintInput {
  token: TokenInput;
  ttlSeconds: number;
  scopes: string[] | null;
  allowed_addresses: string[] | null;
}

const session = (call: Call<MintInput>, now: number) => {
  const { scopes, ttlSeconds, allowed_addresses } = call.input;
  return wanted(call as never, {
    scopes: scopes ?? call.caller.holdings[0].scopes,
    environments: null,
    secrets: null,
    allowed_addresses,
    expires_at: endIn(ttlSeconds, now),
  });
};

const mint: Operation<MintInput> = {
  authorize: (call) => withinHolding(call.caller, session(call, call.core.now())),
  change: {
    // The parent is locked too: a mint and the parent's revocation come one after the other.
    locks: makerLocks,
    plan(call, now) {
      const { core, ask, input, caller } = call;
      call.subject.resource = input.token.id;
      const { scopes, environments, secrets, allowed_addresses, expires_at } = session(call, now);
      const put = insertion(call as never, 'credential', {
        ...fresh(core, ask.org, input.token, now),
        kind: 'session',
        name: caller.name,
        ...{ scopes: [...scopes], environments, secrets, expires_at },
        allowed_addresses: allowed_addresses && [...allowed_addresses],
        rate_limit: RATES.session,
        created_by: caller.id,
        dies_with: caller.id,
      });
      return { status: 201, data: shown(core, put.row as CredentialRow), puts: [put], resource: input.token.id };
    },
  },
};

const whoami: Operation<Record<string, never>> = {
  read({ core, ask, caller }): Outcome {
    const { scopes, environments, secrets } = caller.holdings[0];
    return {
      ok: true,
      status: 200,
      data: {
        kind: caller.kind,
        id: caller.id,
        org_id: ask.org,
        name: caller.name,
        scopes,
        environments: environments?.map((id) => slugOf(core, id)) ?? null,
        secrets,
        expires_at: caller.expires_at === null ? null : new Date(caller.expires_at).toISOString(),
        parent_id: caller.parent_id,
        rate_limit: caller.rate_limit,
      },
    };
  },
};

export const credentialOperations = {
  'caller.read': whoami,
  'api_key.list': list('api_key', 'key_'),
  'api_key.read': read('api_key'),
  'api_key.create': createKey,
  'api_key.update': update('api_key'),
  'api_key.rotate': rotateKey,
  'api_key.revoke': revoke('api_key', isSelf),
  'access_token.create': mint,
  'access_token.list': list('session', 'tok_'),
  'access_token.revoke': revoke('session', (row, caller) => isSelf(row, caller) || row.dies_with === caller.id),
  'agent.list': list('agent', 'agt_'),
  'agent.read': read('agent'),
  'agent.create': createAgent,
  'agent.update': update('agent'),
  'agent.revoke': revoke('agent', isSelf),
  'provider_token.list': list('provider', 'prv_'),
  'provider_token.create': createProvider,
  'provider_token.revoke': revoke('provider', () => false),
  'break_glass.list': list('break_glass', 'bgt_'),
  'break_glass.create': createBreakGlass,
  'break_glass.revoke': revoke('break_glass', () => false),
};
