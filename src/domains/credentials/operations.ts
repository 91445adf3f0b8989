// What can be done with credentials, as the gate does it. Tokens are made by the Worker; here are their hashes.
// Invariants: nobody makes or changes a credential to hold more than they hold; what a session token makes dies with it; a revoked
// credential, and all that descends from it, is refused from the turn in which its row changes.
import { ended, withinHolding } from '../../auth/authorize';
import { type CredentialRow, credentials } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import { environmentOf, lineageOf, slugOf } from '../../gate/call';
import { insertion, type Plan, revision, rowKey } from '../../gate/commit';
import type { Core } from '../../gate/core';
import { fromD1, macOf } from '../../gate/rows';
import type { Call, Operation, Outcome } from '../../gate/types';
import { accessTokenOut, apiKeyOut } from './wire';

const MOST_CREDENTIALS = 10_000;
/** Links that a credential may be away from the one at the top. */
const MOST_LINKS = 16;
/** Requests a minute. */
const RATES = { api_key: 1200, session: 600 };

/** A token made by the Worker. */
export interface TokenInput {
  id: string;
  hash: string;
  hint: string;
}

const slugs = (core: Core, ids: readonly string[] | null) => ids?.map((id) => slugOf(core, id)) ?? null;
export const keyOut = (core: Core, row: CredentialRow) => apiKeyOut(row, slugs(core, row.environments), core.budget.lastUsed(row.id));
const tokenOut = (core: Core, row: CredentialRow) => accessTokenOut(row, core.budget.lastUsed(row.id));

const isAlive = (core: Core, row: CredentialRow, now: number) => ended(lineageOf(core, row), now) === null;

const target = (call: Call<never>) => call.ask.named.credential as string;

function find(call: Call<never>, kind: CredentialRow['kind']): CredentialRow | null {
  const row = call.core.rows.get('credential', target(call));
  call.subject.resource = target(call);
  return row?.kind === kind ? row : null;
}

interface ListInput {
  limit: number;
  after: string | null;
}

/** Rows looked at for one page: sessions whose key is gone stay here until they expire. */
const LOOKED_AT = 5000;

/** The live credentials of a kind come from the gate's own rows, for it alone knows who is alive. */
function list(kind: CredentialRow['kind'], prefix: string, out: (core: Core, row: CredentialRow) => unknown): Operation<ListInput> {
  return {
    read({ core, input }): Outcome {
      const now = core.now();
      const items: unknown[] = [];
      let after = input.after ?? prefix;
      for (let looked = 0; looked < LOOKED_AT; looked += 200) {
        const rows = core.rows.after('credential', after, 200);
        for (const row of rows) {
          if (!row.id.startsWith(prefix)) return { ok: true, status: 200, data: { items, next: null } };
          if (row.kind === kind && isAlive(core, row, now)) {
            if (items.length === input.limit) return { ok: true, status: 200, data: { items, next: after } };
            items.push(out(core, row));
          }
          after = row.id;
        }
        if (rows.length < 200) return { ok: true, status: 200, data: { items, next: null } };
      }
      return { ok: true, status: 200, data: { items, next: after } };
    },
  };
}

// ---------------------------------------------------------------- API keys

export interface ApiKeyInput {
  token: TokenInput;
  name: string;
  scopes: string[];
  expires_at: number | null;
  environments: string[] | null;
  secrets: string[] | null;
  allowed_addresses: string[] | null;
}

/** What a new key would hold: where the request is silent, what its creator holds. */
function wanted({ core, ask, caller, input }: Call<ApiKeyInput>) {
  return {
    scopes: input.scopes,
    environments:
      input.environments?.map((ref) => environmentOf(core, ask.org, ref)?.id ?? '') ?? (caller.environments && [...caller.environments]),
    secrets: input.secrets ?? (caller.secrets && [...caller.secrets]),
    allowed_addresses: input.allowed_addresses ?? (caller.addresses[0] ? [...caller.addresses[0]] : null),
    expires_at: input.expires_at ?? caller.expires_at,
  };
}

const createKey: Operation<ApiKeyInput> = {
  authorize: (call) => withinHolding(call.caller, wanted(call)),
  change: {
    locks: ({ input, caller }) => [input.token.id, caller.id],
    plan(call, now) {
      const { core, ask, input, caller } = call;
      call.subject.resource = input.token.id;
      const holding = wanted(call);
      const unknown = holding.environments?.indexOf('') ?? -1;
      if (unknown >= 0) return refuse('NOT_FOUND', { message: `There is no environment ${input.environments?.[unknown]}.` });
      if (core.rows.liveCredentials(now) >= MOST_CREDENTIALS)
        return refuse('LIMIT_REACHED', { message: 'An organisation holds up to 10,000 live credentials.' });
      const parent = caller.kind === 'session' ? core.rows.get('credential', caller.id) : null;
      if (parent && lineageOf(core, parent).length >= MOST_LINKS)
        return refuse('LIMIT_REACHED', { message: 'Credentials may descend from one another 16 times at most.' });
      const put = insertion(call as never, 'credential', {
        ...fresh(ask.org, input.token, 'api_key', now),
        name: input.name,
        ...holding,
        rate_limit: RATES.api_key,
        created_by: caller.id,
        dies_with: parent?.id ?? null,
      });
      return { status: 201, data: keyOut(core, put.row as CredentialRow), puts: [put], resource: input.token.id };
    },
  },
};

const fresh = (org_id: string, token: TokenInput, kind: CredentialRow['kind'], now: number) => ({
  org_id,
  id: token.id,
  kind,
  token_hash: token.hash,
  hint: token.hint,
  successor_id: null,
  created_at: now,
  revoked_at: null,
});

/** The first key of an org, or of one whose keys are lost: it may do everything. */
export const firstKey = (call: Call<never>, token: TokenInput, name: string, createdBy: string, now: number) =>
  insertion(call, 'credential', {
    ...fresh(call.ask.org, token, 'api_key', now),
    name,
    scopes: ['*'],
    environments: null,
    secrets: null,
    allowed_addresses: null,
    rate_limit: RATES.api_key,
    created_by: createdBy,
    dies_with: null,
    expires_at: null,
  });

const readKey: Operation<Record<string, never>> = {
  read(call): Outcome {
    const row = find(call as never, 'api_key');
    return row ? { ok: true, status: 200, data: keyOut(call.core, row) } : { ok: false, refusal: refuse('NOT_FOUND') };
  },
};

interface UpdateInput {
  name: string | null;
  /** Undefined leaves them. */
  allowed_addresses?: string[] | null;
}

const updateKey: Operation<UpdateInput> = {
  authorize(call) {
    const row = find(call as never, 'api_key');
    // Other addresses may let a key do more than before; a name does not.
    return row && call.input.allowed_addresses !== undefined
      ? withinHolding(call.caller, { ...row, allowed_addresses: call.input.allowed_addresses })
      : null;
  },
  change: {
    locks: (call) => [target(call as never)],
    plan(call, now) {
      const { core, input } = call;
      const row = find(call as never, 'api_key');
      if (!row || !isAlive(core, row, now)) return refuse('NOT_FOUND');
      const put = revision(call as never, 'credential', row, {
        ...(input.name !== null && { name: input.name }),
        ...(input.allowed_addresses !== undefined && { allowed_addresses: input.allowed_addresses }),
      });
      return { status: 200, data: keyOut(core, put.row as CredentialRow), puts: [put] };
    },
  },
};

interface RotateInput {
  token: TokenInput;
  overlap_seconds: number;
}

const rotateKey: Operation<RotateInput> = {
  authorize(call) {
    // A successor would outlive the session token, and be its parent but in name.
    if (call.caller.kind === 'session')
      return refuse('CREDENTIAL_KIND_NOT_ALLOWED', { message: 'A session token rotates no API key: use an API key.' });
    const row = find(call as never, 'api_key');
    return row && withinHolding(call.caller, row);
  },
  change: {
    locks: (call) => [target(call as never), call.input.token.id],
    plan(call, now) {
      const { core, ask, input } = call;
      const row = find(call as never, 'api_key');
      if (!row) return refuse('NOT_FOUND');
      if (!isAlive(core, row, now)) return refuse('CONFLICT', { message: 'This key has ended: create a new one.' });
      if (row.successor_id !== null)
        return refuse('CONFLICT', { message: `This key has been rotated: its successor is ${row.successor_id}.` });
      const { name, scopes, environments, secrets, allowed_addresses, rate_limit, dies_with, expires_at } = row;
      const successor = insertion(call as never, 'credential', {
        ...fresh(ask.org, input.token, 'api_key', now),
        ...{ name, scopes, environments, secrets, allowed_addresses, rate_limit, dies_with, expires_at },
        created_by: call.caller.id,
      });
      const end = now + input.overlap_seconds * 1000;
      const old = revision(call as never, 'credential', row, {
        successor_id: input.token.id,
        ...(input.overlap_seconds === 0 ? { revoked_at: now } : { expires_at: Math.min(expires_at ?? end, end) }),
      });
      return { status: 201, data: keyOut(core, successor.row as CredentialRow), puts: [successor, old], resource: input.token.id };
    },
  },
};

/** Ends a credential; again is the same answer. */
function revoke(kind: CredentialRow['kind'], isOwn: (row: CredentialRow, caller: string) => boolean): Operation<Record<string, never>> {
  return {
    exempt(call) {
      const row = call.core.rows.get('credential', target(call as never));
      return row?.kind === kind && isOwn(row, call.caller.id);
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
        return { status: 204, data: null, puts: [revision(call as never, 'credential', row, { revoked_at: now })] };
      },
    },
  };
}

// ---------------------------------------------------------------- session tokens

interface MintInput {
  token: TokenInput;
  ttlSeconds: number;
  scopes: string[] | null;
  allowed_addresses: string[] | null;
}

const session = ({ caller, input }: Call<MintInput>, now: number) => ({
  scopes: input.scopes ?? [...caller.scopes],
  environments: caller.environments && [...caller.environments],
  secrets: caller.secrets && [...caller.secrets],
  allowed_addresses: input.allowed_addresses ?? (caller.addresses[0] ? [...caller.addresses[0]] : null),
  expires_at: now + input.ttlSeconds * 1000,
});

const mint: Operation<MintInput> = {
  authorize: (call) => withinHolding(call.caller, session(call, call.core.now())),
  change: {
    // The parent is locked too: a mint and the parent's revocation come one after the other.
    locks: ({ input, caller }) => [input.token.id, caller.id],
    plan(call, now) {
      const { core, ask, input, caller } = call;
      call.subject.resource = input.token.id;
      const put = insertion(call as never, 'credential', {
        ...fresh(ask.org, input.token, 'session', now),
        name: caller.name,
        ...session(call, now),
        rate_limit: RATES.session,
        created_by: caller.id,
        dies_with: caller.id,
      });
      return { status: 201, data: tokenOut(core, put.row as CredentialRow), puts: [put], resource: input.token.id };
    },
  },
};

const whoami: Operation<Record<string, never>> = {
  read({ core, ask, caller }): Outcome {
    const row = core.rows.get('credential', caller.id);
    return {
      ok: true,
      status: 200,
      data: {
        kind: caller.kind,
        id: caller.id,
        org_id: ask.org,
        name: caller.name,
        scopes: caller.scopes,
        environments: slugs(core, caller.environments),
        secrets: caller.secrets,
        expires_at: caller.expires_at === null ? null : new Date(caller.expires_at).toISOString(),
        parent_id: caller.parent_id,
        rate_limit: row?.rate_limit ?? 0,
      },
    };
  },
};

export const credentialOperations = {
  'caller.read': whoami,
  'api_key.list': list('api_key', 'key_', keyOut),
  'api_key.read': readKey,
  'api_key.create': createKey,
  'api_key.update': updateKey,
  'api_key.rotate': rotateKey,
  'api_key.revoke': revoke('api_key', (row, caller) => row.id === caller),
  'access_token.create': mint,
  'access_token.list': list('session', 'tok_', tokenOut),
  'access_token.revoke': revoke('session', (row, caller) => row.id === caller || row.dies_with === caller),
};
