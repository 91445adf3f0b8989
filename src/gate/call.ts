// One request through the gate: who, from where, within its budget, may they, and then what they ask, with one audit entry for it.
// Invariant: refusals come in the contract's order, and nothing leaves before its audit entry is written: the Durable Object holds
// the reply until it is durable.
import { type Caller, ended, mayAct, mayEnter, mayName } from '../auth/authorize';
import type { CredentialRow } from '../db/schema';
import { credentials } from '../db/schema';
import { ApiError, catalogue, type Refusal, refuse } from '../errors';
import { raise } from './alarm';
import { type Allowance, SLACK, WINDOW } from './budget';
import type { Draft } from './chain';
import { commit, settle } from './commit';
import type { Core } from './core';
import { keepOf, keptUnder, replayOf } from './replay';
import { fromD1, macOf } from './rows';
import type { Ask, BudgetState, Call, Operation, Outcome, Reply } from './types';

const MOST_ENTRIES = 100_000;
/** Statuses of refusals that are kept for a replay. */
const KEPT = new Set([400, 404, 409, 410, 422]);

/** Answers one request. `operations` is what the domains can do, by action. */
export async function answer(shared: Core, operations: Record<string, Operation>, ask: Ask): Promise<Reply> {
  const before = { calls: 0 };
  const core: Core = { ...shared, database: counted(shared.database, before) };
  const reply = (
    outcome: Outcome,
    budget: BudgetState | null = null,
    credential: string | null = null,
    replay: Reply['replay'] = null,
  ): Reply => ({
    outcome,
    budget,
    credential,
    replay,
    d1_calls: before.calls,
  });
  const refused = (refusal: Refusal) => ({ ok: false, refusal }) as const;

  const operation = operations[ask.operation];
  if (!operation) throw new Error(`no operation ${ask.operation}`);
  if (core.marks.unsettled().length) {
    const settling = settle(core, ask.org);
    if (!isApart(core, ask, operation)) await settling;
  }
  const met = metBy(ask);
  if (ask.alarm) {
    raise(core, ask.org, ask.alarm, met);
    // A ciphertext that does not open is fetched anew next time: D1 may have been mended by then.
    core.seals.drop(ask.alarm.resource);
    return reply({ ok: true, status: 204, data: null });
  }
  if (core.chain.size() >= MOST_ENTRIES) return reply(refused(refuse('UNAVAILABLE', { retry_after: 30 })));

  if (!ask.keys && (await isWhole(core, ask.org))) {
    raise(core, ask.org, { event: 'org_key_missing', resource: ask.org }, met);
    return reply(refused(refuse('UNAVAILABLE', { retry_after: 60 })));
  }

  let who: Identity;
  try {
    who = ask.bearer === 'bootstrap' ? { caller: bootstrap, refusal: null, allowances: [], links: [] } : await identify(core, ask);
  } catch (error) {
    return reply(refused(error instanceof ApiError ? error.refusal : unexpected(error, ask)));
  }
  const { caller } = who;
  const call: Call<never> = {
    core,
    ask,
    input: ask.input as never,
    caller,
    subject: { resource: null, environment: null, version: null },
    recheck: () => (ask.bearer === 'bootstrap' ? null : aliveStill(core, ask, call, operation)),
  };
  const draft = (): Draft => draftOf(ask, caller, call.subject);

  // What this very request has done stands, whatever has ended since: its caller is told so, and pays once.
  const done = ask.repeated ? replayOf(core.replays, ask, caller.root, core.now()) : null;
  if (done && 'same' in done && done.same) {
    const state = who.allowances.length ? core.budget.take(who.allowances, core.now(), 'no').state : null;
    return reply(done.outcome, state, caller.id || null);
  }
  const early = who.refusal ?? (ask.path_org !== null && ask.path_org !== ask.org ? refuse('NOT_FOUND') : null);
  let budget: BudgetState | null = null;
  if (who.allowances.length && !ask.again) {
    const taken = core.budget.take(who.allowances, core.now());
    budget = taken.state;
    if (!taken.ok) {
      const refusal = early ?? refuse('RATE_LIMITED', { retry_after: taken.retry_after });
      core.budget.refuse(who.allowances[0]?.id ?? '', draft(), catalogue[refusal.code].status, core.now());
      core.due.at('minutes', core.now() + 60_000);
      return reply(refused(refusal), budget, caller.id || null);
    }
  }

  const key = keptUnder(ask, caller.root);
  const close = (outcome: Outcome & { closed?: true }, replay: Reply['replay'] = null): Reply => {
    const { closed, ...bare } = outcome;
    const status = bare.ok === true ? bare.status : bare.ok === false ? catalogue[bare.refusal.code].status : 0;
    if (!closed && status) {
      // In one turn, and so durable together or not at all.
      core.chain.append(draft(), status, core.now());
      if (!replay && ask.idempotency && ask.keys && (bare.ok === true || KEPT.has(status)) && !isAboutKeys(bare))
        core.replays.save(keepOf(ask, caller.root, bare, null, core.now()));
    }
    if (ask.idempotency || operation.change) core.due.at('replays', core.now() + 3_600_000);
    if (core.chain.head().sequence % 1000 === 0) core.due.at('segments', core.now() + WINDOW + SLACK);
    return reply(bare, budget, caller.id || null, replay);
  };

  if (early) return close(refused(early));
  if (who.links.some((id) => core.marks.isOpen(id))) return close(refused(refuse('UNAVAILABLE', { retry_after: 1 })));
  const changes = operation.change !== undefined;
  let awaited = false;
  try {
    const barred = mayAct(caller, ask.action, ask.request.ip, operation.exempt?.(call)) ?? mayReach(call);
    if (barred) return close(refused(barred));
    const finding = ask.finding;
    if (finding && catalogue[finding.code].status !== 400) return close(refused(finding));

    // A request without a key finds an answer of its own alone, and only if it has been here before.
    if (ask.idempotency || (changes && (ask.repeated || ask.again))) {
      const kept = replayOf(core.replays, ask, caller.root, core.now());
      if (kept && 'code' in kept) return close(refused(kept));
      if (kept) {
        const exceeds = ask.input === null ? null : operation.authorize?.(call);
        if (exceeds) return close(refused(exceeds));
        return kept.same ? close({ ...kept.outcome, closed: true }) : close(kept.outcome, { one_time: kept.one_time });
      }
      if (ask.idempotency) core.replays.running.set(key, { request: ask.request.id, since: core.now() });
    }
    if (finding) return close(refused(finding));
    const exceeds = operation.authorize?.(call);
    if (exceeds) return close(refused(exceeds));

    const { change } = operation;
    if (!change) return close((await operation.read?.(call)) ?? refused(refuse('INTERNAL')));
    const fetched = await change.before?.(call);
    const outcome = await commit(call, draft, change.locks(call), (now) => change.plan(call, now, fetched));
    awaited = outcome.ok === 'more';
    return close(outcome);
  } catch (error) {
    return close(refused(error instanceof ApiError ? error.refusal : unexpected(error, ask)));
  } finally {
    if (!awaited && core.replays.running.get(key)?.request === ask.request.id) core.replays.running.delete(key);
  }
}

/** Whether what is in doubt does not concern this request: a read of a secret that is not in doubt need not wait for D1. */
function isApart({ rows, marks }: Core, { named, bearer }: Ask, { change }: Operation): boolean {
  if (change || named.secret === undefined || marks.isOpen(named.secret) || bearer === 'bootstrap') return false;
  let link = rows.find('credential', bearer.kind, bearer.hash);
  while (link && !marks.isOpen(link.id)) {
    if (link.dies_with === null) return true;
    link = rows.get('credential', link.dies_with);
  }
  return false;
}

interface Identity {
  caller: Caller;
  /** 401, where the credential is no longer one. */
  refusal: Refusal | null;
  allowances: Allowance[];
  /** The ids of its lineage, itself first. */
  links: string[];
}

const bootstrap: Caller = {
  kind: 'system',
  id: 'bootstrap',
  name: 'bootstrap token',
  parent_id: null,
  root: 'bootstrap',
  scopes: ['*'],
  environments: null,
  secrets: null,
  addresses: [],
  expires_at: null,
};

/** Finds whose token it is. A token that the gate does not know is looked up in D1 once: it may have ended long ago. */
async function identify(core: Core, ask: Ask): Promise<Identity> {
  const { hash, kind } = ask.bearer as Exclude<Ask['bearer'], 'bootstrap'>;
  const over = core.rows.get('org', ask.org)?.deleted_at !== null ? refuse('TOKEN_REVOKED') : null;
  const row = core.rows.find('credential', kind, hash);
  if (row) {
    const lineage = lineageOf(core, row);
    const caller = callerOf(lineage);
    const allowances = [{ id: row.id, limit: row.rate_limit }];
    // What a session token uses comes off the budget of its API key too.
    const parent = row.kind === 'session' ? lineage[1] : undefined;
    if (parent) allowances.push({ id: parent.id, limit: parent.rate_limit });
    return { caller, refusal: over ?? ended(lineage, core.now()), allowances, links: lineage.map(({ id }) => id) };
  }
  const nobody: Caller = { ...bootstrap, kind, id: '', name: null, scopes: [], root: hash };
  const unknown = { caller: nobody, allowances: [{ id: `hash:${hash}`, limit: 60 }], links: [] };
  if (over || !ask.keys) return { ...unknown, refusal: refuse('TOKEN_REVOKED') };
  const found = await core.database.all<Record<string, unknown>>({
    sql: 'select * from credentials where org_id = ? and token_hash = ?',
    params: [ask.org, hash],
  });
  const stored = found[0] && fromD1<CredentialRow>(credentials, found[0]);
  if (!stored) return { ...unknown, refusal: refuse('UNAUTHENTICATED') };
  if (stored.mac !== macOf(ask.keys.row, 'credential', stored)) {
    raise(core, ask.org, { event: 'credential_altered', resource: stored.id }, metBy(ask));
    return { ...unknown, refusal: refuse('UNAUTHENTICATED') };
  }
  const end = ended([stored], core.now());
  if (!end) raise(core, ask.org, { event: 'credential_put_back', resource: stored.id }, metBy(ask));
  return {
    caller: callerOf([stored]),
    allowances: [{ id: stored.id, limit: stored.rate_limit }],
    links: [],
    refusal: end ?? refuse('UNAUTHENTICATED'),
  };
}

/** A credential and those that it dies with, itself first. One whose ancestor is gone has ended. */
export function lineageOf(core: Core, row: CredentialRow): CredentialRow[] {
  const lineage = [row];
  for (let link = row; link.dies_with !== null; ) {
    const above = core.rows.get('credential', link.dies_with);
    if (!above) return [{ ...row, revoked_at: row.revoked_at ?? 0 }, ...lineage.slice(1)];
    lineage.push(above);
    link = above;
  }
  return lineage;
}

/** What a lineage may do: its first credential, bounded in time and address by all. */
export function callerOf(lineage: CredentialRow[]): Caller {
  const row = lineage[0] as CredentialRow;
  const ends = lineage.flatMap(({ expires_at }) => (expires_at === null ? [] : [expires_at]));
  return {
    kind: row.kind,
    id: row.id,
    name: row.name,
    parent_id: row.dies_with,
    root: row.kind === 'session' ? (row.dies_with ?? row.id) : row.id,
    scopes: row.scopes,
    environments: row.environments,
    secrets: row.secrets,
    addresses: lineage.flatMap(({ allowed_addresses }) => (allowed_addresses ? [allowed_addresses] : [])),
    expires_at: ends.length ? Math.min(...ends) : null,
  };
}

/** Refuses if the caller has ended, or may no longer do this, since it was admitted. */
function aliveStill(core: Core, ask: Ask, call: Call<never>, operation: Operation): Refusal | null {
  const row = core.rows.get('credential', call.caller.id);
  if (!row || core.rows.get('org', ask.org)?.deleted_at !== null) return refuse('TOKEN_REVOKED');
  const lineage = lineageOf(core, row);
  return ended(lineage, core.now()) ?? mayAct(callerOf(lineage), ask.action, ask.request.ip, operation.exempt?.(call));
}

/** The environment that a request names, by id or slug, or the default one; null if there is none. */
export function environmentOf(core: Core, org: string, named: string | null | undefined) {
  const ref = named ?? core.rows.get('org', org)?.default_environment ?? '';
  return core.rows.get('environment', ref) ?? core.rows.find('environment', '', ref);
}

/** 403 for what the path names outside the caller's reach. What is outside and what does not exist look alike. */
function mayReach(call: Call<never>): Refusal | null {
  const { core, ask, caller, subject } = call;
  const { environment, name, secret } = ask.named;
  if (secret !== undefined) {
    const row = core.rows.get('secret', secret);
    subject.resource = secret;
    if (!row) return null;
    const slug = slugOf(core, row.environment_id);
    subject.environment = slug;
    return mayEnter(caller, row.environment_id, slug) ?? mayName(caller, row.name);
  }
  if (environment === undefined) return null;
  const row = environmentOf(core, ask.org, environment);
  subject.environment = row?.slug ?? null;
  return mayEnter(caller, row?.id ?? '', environment ?? row?.slug ?? '') ?? (name === undefined ? null : mayName(caller, name));
}

/** How answers name an environment: by its slug, or by its id once it is gone. */
export const slugOf = (core: Core, id: string): string => core.rows.get('environment', id)?.slug ?? id;

function draftOf(ask: Ask, caller: Caller, subject: Call['subject']): Draft {
  const { prefix, reason, ...target } = subject;
  return {
    actor: { kind: caller.kind, id: caller.id || null, parent_id: caller.parent_id, name: caller.name },
    action: ask.action,
    ...target,
    ...(prefix !== undefined && { prefix }),
    reason: reason ?? ask.request.reason,
    request_id: ask.request.id,
    ip: ask.request.ip,
    user_agent: ask.request.user_agent,
  };
}

const metBy = ({ request: { id, ip, user_agent } }: Ask) => ({ request_id: id, ip, user_agent });

/** Whether the org lives, and no change that ends it is under way: then it has a key. */
const isWhole = (core: Core, org: string) =>
  core.locks.hold([org], async () => core.rows.get('org', org)?.deleted_at === null && !core.marks.isOpen(org));

const isAboutKeys = (outcome: Outcome) => outcome.ok === false && outcome.refusal.code.startsWith('IDEMPOTENCY');

/** A fault of ours: told to the log without what was being worked on, to the caller not at all. */
function unexpected(error: unknown, ask: Ask): Refusal {
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'gate_fault',
      request_id: ask.request.id,
      action: ask.action,
      why: error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : 'unknown',
      stack: error instanceof Error ? error.stack?.slice(0, 600) : undefined,
    }),
  );
  return refuse('INTERNAL');
}

/** The same database, counting the calls of one request. */
function counted(database: Core['database'], trace: { calls: number }): Core['database'] {
  const count = <T>(answer: T): T => {
    trace.calls++;
    return answer;
  };
  return {
    all: (statement) => count(database.all(statement)),
    write: (statements) => count(database.write(statements)),
  };
}
