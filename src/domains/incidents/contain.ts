// Containing a credential, as the gate does it: it and all that descends from it end, and what it did is laid open to the Worker, part
// by part, for the account that is answered.
// Invariants: what ends with another needs no change of its own, what does not is revoked by its own row; nobody ends by containing
// what they themselves descend from; a part changes nothing but what is still to be told, and needs no audit entry.
import { reaches } from '../../auth/authorize';
import { contains } from '../../auth/globs';
import { covers } from '../../auth/scopes';
import { type CredentialRow, credentials, type OrgRow, type SecretRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import { slugOf } from '../../gate/call';
import { callerOf, isAlive, lineageOf } from '../../gate/callers';
import type { Entry } from '../../gate/chain';
import { portion, revision, rowKey } from '../../gate/commit';
import { type Missing, missingEntries } from '../../gate/missing';
import { fromD1, macOf } from '../../gate/rows';
import type { Call, ClosedOutcome, Operation } from '../../gate/types';
import { raised } from '../credentials/standing';
import { etagOf, statusOf } from '../secrets/wire';
import { independentOf } from './family';

const target = (call: Call<never>) => call.ask.named.credential as string;

/** The caller's own credential and those that it ends with. */
const ownOf = ({ core, caller }: Call<never>): Set<string> => {
  const own = core.rows.get('credential', caller.credential);
  return new Set(own ? lineageOf(core, own).map(({ id }) => id) : []);
};

/** The contained credential and its descendants, as far as they are alive and end only by a revocation of their own. */
function independent(call: Call<never>): CredentialRow[] {
  const { core, ask } = call;
  return independentOf(core.descendants, target(call), ownOf(call), core.now()).flatMap((id) => {
    const row = core.rows.get('credential', id);
    return row && isAlive(core, ask.org, row) ? [row] : [];
  });
}

/** The row of a credential, here or, once a session is over, in D1; null where nobody knows it. */
async function rowOf(call: Call<never>): Promise<CredentialRow | null> {
  const here = call.core.rows.get('credential', target(call));
  if (here) return here;
  const [found] = await call.core.database.all<Record<string, unknown>>({
    sql: 'select * from credentials where org_id = ? and id = ?',
    params: [call.ask.org, target(call)],
  });
  const row = found && fromD1<CredentialRow>(credentials, found);
  return row && row.mac === macOf(rowKey(call), 'credential', row) ? row : null;
}

/** 403 unless the caller may rotate wherever the credential could go. */
function mayRotate(call: Call<never>): Refusal | null {
  const { core, ask, caller } = call;
  const row = core.rows.get('credential', target(call));
  const everywhere = { environments: null, secrets: null };
  const reached = row ? callerOf(core, ask.org, lineageOf(core, row)).holdings : [everywhere];
  const isWithin = ({ environments, secrets }: { environments: readonly string[] | null; secrets: readonly string[] | null }) =>
    caller.holdings.some(
      (own) =>
        covers(own.scopes, 'secrets:rotate') &&
        (own.environments === null || environments?.every((id) => own.environments?.includes(id))) &&
        (own.secrets === null || secrets?.every((inner) => own.secrets?.some((outer) => contains(outer, inner)))),
    );
  return reached.every(isWithin)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message:
          'With rotate, the calling credential needs the scope secrets:rotate for everything that the contained credential could reach.',
      });
}

export interface Contained {
  /** Credentials that are still to be revoked: one commit takes only so many. */
  remaining: number;
}

export const contain: Operation<{ rotate: boolean }> = {
  authorize: (call) => (call.input.rotate ? mayRotate(call as never) : null),
  change: {
    locks: (call) => [target(call as never), ...independent(call as never).map(({ id }) => id)],
    before: (call) => rowOf(call as never),
    plan(call, now, fetched) {
      const { core } = call;
      const id = target(call as never);
      call.subject.resource = id;
      if (!(core.rows.get('credential', id) ?? fetched)) return refuse('NOT_FOUND');
      if (ownOf(call as never).has(id))
        return refuse('CONFLICT', {
          message: 'This call would revoke the calling credential. Use a credential that does not end with the contained one.',
        });
      const living = independent(call as never);
      const rows = portion(living);
      return {
        status: 200,
        data: { remaining: living.length - rows.length } satisfies Contained,
        puts: rows.map((row) => revision(call as never, 'credential', row, { revoked_at: now })),
        events: rows.map((row) => raised('CREDENTIAL_REVOKED', row)),
      };
    },
  },
};

// ---------------------------------------------------------------- parts of the account

/** What the Worker may ask for. */
export type Part =
  | { part: 'root' }
  | { part: 'children'; of: string[]; after: string }
  | { part: 'log'; from: number }
  | { part: 'secrets'; environments: string[]; after: string }
  | { part: 'named'; ids: string[] }
  | { part: 'due'; ids: string[] };

/** What is known of a credential. `gone`: the member or the passkey behind it is gone. */
export type Kin = Pick<CredentialRow, 'id' | 'kind' | 'name' | 'created_at' | 'expires_at' | 'revoked_at' | 'dies_with' | 'generation'>;

/** The contained credential, and what its report has to know besides. */
export interface RootPart {
  org: Pick<OrgRow, 'generation' | 'keys_generation' | 'spared' | 'panicked_at'>;
  root: Kin;
  /** The caller's own credential and those that it ends with: they are no part of the family. */
  spared: string[];
  /** Whose entries the audit log tells apart by its parent: the member of a browser session. */
  member: string | null;
}

/** Credentials that some others made or end with, and those that they end with in turn. `next` is where to go on. */
export interface ChildrenPart {
  children: string[];
  kin: Kin[];
  next: string | null;
}

export interface LogPart {
  entries: Entry[];
  /** The oldest sequence that lies here: what is older lies in D1. */
  oldest: number;
  /** Older entries that lie here all the same. */
  held: Entry[];
  head: number;
  missing: Missing[];
}

/** Where a secret stands, as of an entry of the audit log. */
export interface Standing {
  id: string;
  environment: string;
  name: string;
  version: number;
  expires_at: number | null;
  deleted: boolean;
  revoked: boolean;
}

export interface SecretsPart {
  rows: Standing[];
  head: number;
  next: string | null;
}

/** What a secret is called and is now. The name is null for a caller who may not list it. */
export interface NamedSecret {
  id: string;
  name: string | null;
  type: string;
  etag: string;
  isActive: boolean;
  /** Whether this service generated its current value. */
  generated: boolean;
}

const PAGE = 1000;

const kinOf = ({ id, kind, name, created_at, expires_at, revoked_at, dies_with, generation }: CredentialRow): Kin => ({
  ...{ id, kind, name, created_at, expires_at, revoked_at, dies_with, generation },
});

async function root(call: Call<never>): Promise<RootPart | null> {
  const { core, ask } = call;
  const row = await rowOf(call);
  const org = core.rows.get('org', ask.org);
  if (!row || !org) return null;
  const { generation, keys_generation, spared, panicked_at } = org;
  return {
    org: { generation, keys_generation, spared, panicked_at },
    root: kinOf(row),
    spared: [...ownOf(call)],
    member: row.member_id,
  };
}

function children({ core }: Call<never>, of: string[], after: string): ChildrenPart {
  const ids = core.descendants.children(of, after, PAGE);
  const kin = new Map<string, Kin>();
  for (const id of ids) {
    const row = core.rows.get('credential', id);
    for (const link of row ? lineageOf(core, row) : []) {
      const known = core.rows.get('credential', link.id);
      if (known) kin.set(link.id, kinOf(known));
    }
  }
  return { children: ids, kin: [...kin.values()], next: ids.length < PAGE ? null : (ids.at(-1) ?? null) };
}

function secrets({ core }: Call<never>, environments: string[], after: string): SecretsPart {
  const page = core.rows.after('secret', after, 2 * PAGE);
  const rows = page
    .filter(({ environment_id }) => environments.includes(environment_id))
    .map(({ id, environment_id, name, version, expires_at, deleted_at, revoked_at }) => ({
      ...{ id, environment: environment_id, name, version, expires_at },
      deleted: deleted_at !== null,
      revoked: revoked_at !== null,
    }));
  return { rows, head: core.chain.head().sequence, next: page.length < 2 * PAGE ? null : (page.at(-1) as SecretRow).id };
}

function named({ core, caller }: Call<never>, ids: string[]): NamedSecret[] {
  const now = core.now();
  return ids.flatMap((id) => {
    const row = core.rows.get('secret', id);
    if (!row) return [];
    const mayList = reaches(caller, ['secrets:list', 'secrets:read'], row.environment_id, row.name);
    const isActive = statusOf(row, now) === 'active';
    return [{ id, name: mayList ? row.name : null, type: row.type, etag: etagOf(row), isActive, generated: row.generated !== null }];
  });
}

/** Raises that secrets are due, each once for this containment; answers whether any was. */
function due(call: Call<never>, ids: string[]): boolean {
  const { core } = call;
  const id = target(call);
  return core.storage.transactionSync(() => {
    const fresh = ids.filter((secret) => core.meta.get(`due:${id}:${secret}`) === null);
    for (const secret of fresh) {
      const row = core.rows.get('secret', secret);
      if (!row) continue;
      core.meta.set(`due:${id}:${secret}`, String(core.now()));
      const data = {
        secret_id: secret,
        name: row.name,
        environment: slugOf(core, row.environment_id),
        version: row.version,
        credential_id: id,
      };
      core.outbox.put({ type: 'SECRET_ROTATION_DUE', data }, core.now());
    }
    return fresh.length > 0;
  });
}

export const part: Operation<Part> = {
  async read(call): Promise<ClosedOutcome> {
    const { core, input } = call;
    const given = (data: unknown): ClosedOutcome => ({ ok: true, status: 200, data, closed: true });
    if (input.part === 'log') {
      const oldest = core.chain.oldest();
      const { entries } = input.from >= oldest ? core.chain.from(input.from, PAGE) : { entries: [] };
      const head = core.chain.head().sequence;
      return given({ entries, oldest, held: core.chain.held(), head, missing: missingEntries(core) } satisfies LogPart);
    }
    if (input.part === 'secrets') return given(secrets(call as never, input.environments, input.after));
    if (input.part === 'named') return given(named(call as never, input.ids));
    if (input.part === 'due') {
      call.subject.resource = target(call as never);
      // What is told has an entry of its own, so that neither is without the other.
      return { ok: true, status: 200, data: null, ...(!due(call as never, input.ids) && { closed: true }) };
    }
    if (input.part === 'children') return given(children(call as never, input.of, input.after));
    return given(await root(call as never));
  },
};
