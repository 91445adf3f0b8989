// One request through the gate: who, from where, within its budget, may they, and then what they ask, with one audit entry for it.
// Invariant: refusals come in the contract's order, and nothing leaves before its audit entry is written: the Durable Object holds
// the reply until it is durable.
import { needOf } from '../auth/actions';
import { type Caller, mayAct, mayReach } from '../auth/authorize';
import { ApiError, type Refusal, refuse, statusOf } from '../errors';
import { raise } from './alarm';
import { SLACK, WINDOW } from './budget';
import { again, type Identity, identify } from './callers';
import { type Draft, MOST_ENTRIES, RESERVE } from './chain';
import { commit, settle } from './commit';
import type { Core } from './core';
import { keepOf, keptFor, keptUnder, replayOf } from './replay';
import type { Ask, BudgetState, Call, Operation, Outcome, Reply } from './types';

/** Statuses of refusals that are kept for a replay. */
const KEPT = new Set([400, 404, 409, 410, 422]);

const noRoom = refuse('LIMIT_REACHED', {
  message:
    'The stored responses of this credential have reached 64 MiB. Send requests without an Idempotency-Key, or wait until older responses expire after 24 hours.',
});

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
  const { urgent } = needOf(ask.action);
  const isFull = core.chain.size() >= MOST_ENTRIES;
  const full = refused(
    refuse('UNAVAILABLE', {
      message:
        'The audit log cannot take more entries right now. Only calls that revoke credentials or recover the organisation work until the database responds again.',
      retry_after: 30,
    }),
  );
  if (isFull && (!urgent || core.chain.size() >= MOST_ENTRIES + RESERVE)) return reply(full);

  if (!ask.keys && (await isWhole(core, ask.org))) {
    raise(core, ask.org, { event: 'org_key_missing', resource: ask.org }, met);
    return reply(refused(refuse('UNAVAILABLE', { retry_after: 60 })));
  }

  let who = identify(core, ask);
  let { caller } = who;
  /** Whether the action needs no scope here. While the log is full, it needs one: what anybody may do could fill the rest. */
  const isExempt = () => !isFull && operation.exempt?.(call);
  const call: Call<never> = {
    core,
    ask,
    input: ask.input as never,
    caller,
    subject: { resource: null, environment: null, version: null },
    recheck() {
      const now = again(core, ask, call.caller);
      call.caller = now.caller;
      return (
        now.refusal ?? mayAct(now.caller, ask.action, ask.request.ip, isExempt()) ?? mayReachNamed(call) ?? operation.reach?.(call) ?? null
      );
    },
  };
  const draft = (): Draft => draftOf(ask, caller, call.subject);

  // What this very request has done stands, whatever has ended since: its caller is told so, and pays once.
  const done = ask.repeated ? replayOf(core.replays, ask, caller.root, core.now()) : null;
  if (done && 'same' in done && done.same) {
    const state = who.allowances.length ? core.budget.take(who.allowances, core.now(), 'no').state : null;
    return reply(done.outcome, state, caller.id || null);
  }
  const elsewhere = ask.path_org !== null && ask.path_org !== ask.org ? refuse('NOT_FOUND') : null;
  const expired = ask.finding && statusOf(ask.finding) === 401 ? ask.finding : null;
  const earlyOf = (identity: Identity) => identity.refusal ?? expired ?? elsewhere;
  let budget: BudgetState | null = null;
  if (who.allowances.length && !ask.again) {
    const taken = core.budget.take(who.allowances, core.now());
    budget = taken.state;
    if (!taken.ok) {
      const refusal = earlyOf(who) ?? refuse('RATE_LIMITED', { retry_after: taken.retry_after });
      core.budget.refuse(who.allowances[0]?.id ?? '', draft(), statusOf(refusal), core.now());
      core.due.at('minutes', core.now() + 60_000);
      return reply(refused(refusal), budget, caller.id || null);
    }
    const [used, ...ancestors] = who.allowances;
    if (used)
      core.uses.note(
        used.id,
        ancestors.map(({ id }) => id),
        core.now(),
        ask.request.place,
      );
  }

  if (who.lookUp) {
    try {
      who = await who.lookUp();
    } catch (error) {
      return reply(refused(error instanceof ApiError ? error.refusal : unexpected(error, ask)), budget);
    }
    caller = who.caller;
    call.caller = caller;
  }
  const early = earlyOf(who);
  const key = keptUnder(ask, caller.root);
  const close = (outcome: Outcome & { closed?: true }, replay: Reply['replay'] = null): Reply => {
    const { closed, ...bare } = outcome;
    const status = bare.ok === true ? bare.status : bare.ok === false ? statusOf(bare.refusal) : 0;
    if (isFull && bare.ok === false) return reply(full, budget, caller.id || null);
    if (!closed && status) {
      // In one turn, and so durable together or not at all.
      core.chain.append(draft(), status, core.now());
      const isKept = (bare.ok === true || KEPT.has(status)) && !isAboutKeys(bare);
      if (!replay && ask.idempotency && ask.keys && isKept && core.replays.hasRoom(caller.root))
        core.replays.save(keepOf(ask, caller.root, bare, null, core.now()));
    }
    if (ask.idempotency || operation.change) core.due.at('replays', core.now() + keptFor(ask));
    if (core.chain.head().sequence % 1000 === 0) core.due.at('segments', core.now() + WINDOW + SLACK);
    return reply(bare, budget, caller.id || null, replay);
  };

  if (early) return close(refused(early));
  if (who.links.some((id) => core.marks.isOpen(id))) return close(refused(refuse('UNAVAILABLE', { retry_after: 1 })));
  const changes = operation.change !== undefined;
  let awaited = false;
  try {
    const barred = mayAct(caller, ask.action, ask.request.ip, isExempt()) ?? mayReachNamed(call) ?? operation.reach?.(call) ?? null;
    if (barred) return close(refused(barred));
    const finding = ask.finding;
    // A path that names nothing well formed is 404 in its turn: after a kept answer and what is wrong with the body.
    if (finding && ![400, 404].includes(statusOf(finding))) return close(refused(finding));

    // A request without a key has none but its own, which is answered above if it can be.
    if (ask.idempotency || (changes && ask.repeated)) {
      const kept = replayOf(core.replays, ask, caller.root, core.now());
      if (kept && 'code' in kept) return close(refused(kept));
      if (kept) {
        const exceeds = ask.input === null ? null : operation.authorize?.(call);
        if (exceeds) return close(refused(exceeds));
        return close(kept.outcome, { one_time: kept.one_time });
      }
      if (ask.idempotency && changes && !core.replays.hasRoom(caller.root)) return close(refused(noRoom));
      if (ask.idempotency) core.replays.running.set(key, { request: ask.request.id, since: core.now() });
    }
    if (finding) return close(refused(finding));
    const exceeds = operation.authorize?.(call);
    if (exceeds) return close(refused(exceeds));

    const { change } = operation;
    if (!change) return close((await operation.read?.(call)) ?? refused(refuse('INTERNAL')));
    const fetched = await change.before?.(call);
    const outcome = await commit(
      call,
      draft,
      () => change.locks(call),
      (now, locked) => operation.authorize?.(call) ?? change.plan(call, now, fetched, locked),
      () => change.locked?.(call),
    );
    awaited = outcome.ok === 'more';
    return close(outcome);
  } catch (error) {
    return close(refused(error instanceof ApiError ? error.refusal : unexpected(error, ask)));
  } finally {
    if (!awaited && core.replays.running.get(key)?.request === ask.request.id) core.replays.running.delete(key);
  }
}

/** Whether what is in doubt does not concern this request: a read of a secret that is not in doubt need not wait for D1. */
function isApart({ rows, marks }: Core, { org, named, bearer }: Ask, { change }: Operation): boolean {
  if (
    change ||
    named.secret === undefined ||
    marks.isOpen(named.secret) ||
    marks.isOpen(org) ||
    bearer === 'bootstrap' ||
    'member' in bearer
  )
    return false;
  let link = rows.find('credential', bearer.kind, bearer.hash);
  while (link && !marks.isOpen(link.id)) {
    if (link.dies_with === null) return true;
    link = rows.get('credential', link.dies_with);
  }
  return false;
}

/** The environment that a request names, by id or slug, or the default one; null if there is none. */
export function environmentOf(core: Core, org: string, named: string | null | undefined) {
  const ref = named ?? core.rows.get('org', org)?.default_environment ?? '';
  return core.rows.get('environment', ref) ?? core.rows.find('environment', '', ref);
}

/** 403 for what the path names outside the caller's reach. By name, what is outside and what does not exist look alike; by id, nothing that is stored is named. */
function mayReachNamed({ core, ask, caller, subject }: Call<never>): Refusal | null {
  const { environment, name, secret } = ask.named;
  if (secret !== undefined) {
    const row = core.rows.get('secret', secret);
    subject.resource = secret;
    if (!row) return null;
    subject.environment = slugOf(core, row.environment_id);
    subject.resource_name = row.name;
    return mayReach(caller, ask.action, { environment: row.environment_id, shown: null, name: row.name });
  }
  if (name) subject.resource_name = name;
  if (environment === undefined || environment === '' || name === '') return null;
  const row = environmentOf(core, ask.org, environment);
  subject.environment = row?.slug ?? null;
  return mayReach(caller, ask.action, { environment: row?.id ?? '', shown: environment ?? row?.slug ?? '', name });
}

/** How answers name an environment: by its slug, or by its id once it is gone. */
export const slugOf = (core: Core, id: string): string => core.rows.get('environment', id)?.slug ?? id;

function draftOf(ask: Ask, caller: Caller, subject: Call['subject']): Draft {
  const { reason, ...target } = subject;
  return {
    actor: { kind: caller.kind, id: caller.id || null, parent_id: caller.parent_id, name: caller.name },
    action: ask.action,
    ...target,
    resource: target.resource || null,
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
