// Commits: the only way to change an organisation. A plan is built while its rows are locked, recorded durably as an intent, written to D1
// in one batch, and only then applied here, with its audit entry and stored response, in one turn. Invariants: D1 has a commit's marker if
// and only if it has its rows; a batch carries the gate's epoch and fails once another epoch has begun; each row is changed from exactly
// the revision that the plan saw.

import { getTableColumns } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { utf8 } from '../crypto/bytes';
import { macOf, places, type RowKind, type RowTypes, sweepAt, tableName } from '../db/rows';
import { ApiError, type Refusal, refuse } from '../errors';
import type { DraftOf } from './audit-entry';
import { batchOf } from './batch';
import type { Core } from './core';
import { isTooLarge } from './database';
import { followEndpoint, followWebhook } from './delivery-task';
import { responseToStore } from './idempotency';
import { reportViolation } from './integrity';
import type { Intent } from './intents';
import { fail, type Outcome, ok } from './outcome';
import type { Plan, Put } from './plan';
import { namingViolation } from './policies';
import { raisedBy } from './raised';
import { followEnvironment, followSync } from './sync-task';
import { type Call, isRefusal, type OperationOutcome } from './types';

/** Builds statements; never connected to a database. */
export const sqlite = drizzle({} as D1Database);

/** The most rows that one part of a longer task changes, and their most total bytes: the gate does nothing else while it applies a plan. */
const MOST_PUTS = 1000;
const MOST_BYTES = 750_000;

/** As many of the first rows as one plan can change and list in its response. */
export function portion<T extends object>(rows: T[]): T[] {
  let bytes = 0;
  const past = rows.slice(0, MOST_PUTS).findIndex((row) => {
    bytes += utf8(JSON.stringify(row)).length;
    return bytes > MOST_BYTES;
  });
  // safety: batch-size-limited
  return rows.slice(0, past < 0 ? MOST_PUTS : past);
}

type Fields<K extends RowKind> = Omit<RowTypes[K], 'revision' | 'mac'>;
type Nullable<T> = { [F in keyof T]-?: null extends T[F] ? F : never }[keyof T];
/** Nullable fields may be omitted. */
export type New<K extends RowKind> = Omit<Fields<K>, Nullable<Fields<K>>> & Partial<Pick<Fields<K>, Nullable<Fields<K>> & keyof Fields<K>>>;

const blanks = Object.fromEntries(
  Object.entries(places).map(([kind, { table }]) => [
    kind,
    Object.fromEntries(Object.keys(getTableColumns(table)).map((name) => [name, null])),
  ]),
);

/** A new row. */
export const insertion = <K extends RowKind>(call: Call<unknown>, kind: K, fields: New<K>): Put =>
  authenticated(call, kind, { ...blanks[kind], ...fields, revision: 1 } as unknown as Omit<RowTypes[K], 'mac'>, 0);

/** A changed row: the current one with other fields. */
export function revision<K extends RowKind>(call: Call<unknown>, kind: K, before: RowTypes[K], fields: Partial<Fields<K>>): Put {
  return authenticated(call, kind, { ...before, ...fields, revision: before.revision + 1 }, before.revision);
}

function authenticated<K extends RowKind>(call: Call<unknown>, kind: K, row: Omit<RowTypes[K], 'mac'>, from: number): Put {
  return { kind, row: { ...row, mac: macOf(rowKeyOf(call), kind, row) }, from } as unknown as Put;
}

/** Deletions of rows, for a plan. */
export function removal(org: string, gone: { kind: RowKind; id: string }[]): Required<Pick<Plan, 'gone' | 'also'>> {
  const also = [...new Set(gone.map(({ kind }) => kind))].map((kind) => ({
    sql: `delete from ${tableName(kind)} where org_id = ? and id in (select value from json_each(?))`,
    params: [org, JSON.stringify(gone.filter((row) => row.kind === kind).map(({ id }) => id))],
  }));
  return { gone, also };
}

/** The key for row MACs, which every change needs. */
export function rowKeyOf(call: Call<unknown>): Uint8Array {
  if (!call.ask.keys) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  return call.ask.keys.row;
}

/**
 * Builds a plan under locks and carries it out if approval policies allow: see hold.ts. Writes the audit entry of a success here; the
 * caller writes that of a refusal.
 */
export async function commit(
  call: Call<unknown>,
  draft: DraftOf,
  locks: () => string[],
  plan: (now: number, fetched: unknown) => Plan | Refusal | { more: unknown },
  fetch: () => Promise<unknown> | undefined = () => undefined,
  govern: (made: Plan, now: number) => Plan | Refusal | { more: unknown } = (made) => made,
): Promise<OperationOutcome> {
  const { core, ask } = call;
  const names = locks();
  const held = new Set(names);
  // Policies must not change while a change is checked against them: an entry after a policy change in the audit log was checked against
  // the new policies.
  // safety: policies-stand-while-judged
  const policies = { name: 'policies in force', isShared: !call.need.governs };
  const perform = async (): Promise<OperationOutcome | null> => {
    // safety: caller-rechecked-after-fetch
    const fetched = await fetch();
    // By the time the locks are acquired, a name may refer to another secret.
    // safety: names-resolved-under-lock
    if (!locks().every((name) => held.has(name))) return null;
    // safety: caller-rechecked-under-lock
    const refusal = call.recheck();
    if (refusal) return fail(refusal);
    // Nothing changes while another change is in doubt: a repeat of that change under its Idempotency-Key could not be recognised yet.
    // safety: no-change-in-doubt, no-change-during-adoption
    if (core.intents.held || core.intents.unsettled().length) return fail(refuse('UNAVAILABLE', { retry_after: 1 }));
    const now = core.now();
    const proposed = plan(now, fetched);
    if ('more' in proposed) return { kind: 'more', data: proposed.more };
    if (isRefusal(proposed)) return fail(proposed);
    // safety: naming-policies-enforced
    const violation = namingViolation(call, proposed);
    if (violation) return violation;
    const made = govern(proposed, now);
    if ('more' in made) return { kind: 'more', data: made.more };
    if (isRefusal(made)) return fail(made);

    const makes = made.puts?.some(({ kind, from }) => kind === 'credential' && from === 0);
    if (makes && !call.need.makes) throw new Error(`${ask.action} is not declared to make credentials`);
    const governs = [...(made.puts ?? []), ...(made.gone ?? [])].some(({ kind }) => kind === 'policy');
    if (governs && !call.need.governs) throw new Error(`${ask.action} is not declared to change policies`);
    const nothing = !made.puts?.length && !made.gone?.length && !made.also?.length;
    const outcome: Outcome = made.refusal
      ? fail(made.refusal)
      : ok(made.data, { status: made.status, ...(made.etag && { etag: made.etag }) });
    if (nothing) return { ...outcome, about: made.about, ...(made.events && { events: made.events }) };
    const events = raisedBy(core, made, ask.action);
    const intent: Intent = {
      id: ask.request.id,
      at: now,
      puts: (made.puts ?? []).map(({ kind, row }) => ({ kind, row }) as Intent['puts'][number]),
      gone: made.gone ?? [],
      environments: made.environments ?? [],
      draft: draft(made.about),
      status: made.status,
      // safety: events-follow-from-rows
      ...(events.length && { events }),
      keep: made.refusal || made.isRead ? null : responseToStore(ask, call.caller.root, outcome, made.resource ?? null, now),
      destroyed: made.destroyed ?? [],
      trimmed: made.trimmed ?? [],
    };
    // safety: intent-before-batch
    core.intents.put(intent);
    core.intents.running.add(intent.id);
    try {
      const end = await write(core, ask.org, intent, made);
      if (end === 'done') {
        core.storage.transactionSync(() => {
          apply(core, intent, true);
          for (const version of made.versions ?? []) core.ciphertexts.keep(version, now);
        });
        return { ...outcome, audited: true };
      }
      if (end === 'unknown') {
        // The intent stays; the next request or the scheduled task settles it.
        core.schedule.at('settle', core.now() + 1000);
        return { ...fail(refuse('UNAVAILABLE', { retry_after: 2 })), audited: true };
      }
      core.intents.drop(intent.id);
      return fail(end === 'never' ? refuse('UNAVAILABLE', { retry_after: 1 }) : end);
    } finally {
      core.intents.running.delete(intent.id);
    }
  };
  return (await core.locks.hold(names, perform, policies)) ?? commit(call, draft, locks, plan, fetch, govern);
}

/** Runs the batch until its outcome is known, if D1 responds. */
async function write(core: Core, org: string, intent: Intent, plan: Plan): Promise<'done' | 'never' | 'unknown' | Refusal> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const epoch = epochOf(core);
    const end = await core.database.write(batchOf(org, intent, plan, epoch));
    if (end.end === 'done') return 'done';
    if (end.end === 'unknown') {
      const present = await settled(core, org, [intent.id]);
      if (present === null) return 'unknown';
      // safety: lost-reply-settled-by-marker
      return present.has(intent.id) ? 'done' : 'never';
    }
    if (isTooLarge(end.why)) return refuse('INTERNAL', { message: 'This change is too large for the database. Nothing was changed.' });
    if (end.why.includes('commits.id')) return 'done';
    // If the gate considers a name unused, only a commit in doubt or a row that this organisation never wrote can use it in D1.
    const taken = end.why.includes('secrets.name') || end.why.includes('secrets_live_name');
    if (taken && core.intents.unsettled().length) return refuse('SECRET_NAME_TAKEN');
    // The marker's guard failed. A commit in doubt may have raised the epoch in the meantime; then this one is retried.
    const raised = epochOf(core) !== epoch || (await caughtUp(core, org, epoch));
    // An unresponsive D1 is not an integrity violation.
    // safety: outage-is-no-violation
    if (raised === null) return 'never';
    if (!raised && epochOf(core) === epoch) {
      reportViolation(core, org, { event: 'database_diverged', resource: intent.draft.resource ?? org }, intent.draft, { why: end.why });
      return refuse('UNAVAILABLE', {
        message:
          "The database does not match the records of this organisation (an integrity violation). The deployment's log has the details. After a restore from a backup, the operator must call POST /api/v1/orgs/:org_id/adopt.",
        retry_after: 60,
      });
    }
  }
  return 'never';
}

/** Applies the commit of an intent to the gate's rows, or records that it never took effect. Runs inside one transaction. */
function apply(core: Core, intent: Intent, done: boolean) {
  const now = core.now();
  if (done) {
    for (const { kind, row } of intent.puts) {
      if (kind === 'webhook') followWebhook(core, row.id, row, now);
      if (kind === 'integration') followEndpoint(core, now);
      const told = core.expiries.note(kind, core.rows.get(kind, row.id), row, intent.at);
      if (told !== null) core.schedule.at('expiry', told);
      core.rows.put(kind, row as never);
      if (kind === 'approval') core.approvalWaiters.notify(row.id);
      if (kind === 'org' && row.deleted_at !== null) core.schedule.at('end', now);
      if (kind === 'sync') followSync(core, row, now);
      if (kind === 'policy' && row.kind === 'rotation') core.schedule.at('rotation', now);
      const sweep = sweepAt(kind, row as never);
      if (sweep !== null) core.schedule.at('rows', sweep);
    }
    for (const { kind, id } of intent.gone) {
      if (kind === 'webhook') followWebhook(core, id, null, now);
      if (kind === 'integration') followEndpoint(core, now);
      core.rows.bury(kind, id, now);
      if (kind === 'secret' || kind === 'environment') core.readers.forget(id);
      if (kind === 'environment') core.syncs.forgetEnvironment(id);
      if (kind === 'environment') core.meta.forget(`revision:${id}`);
    }
    for (const id of intent.destroyed) {
      // safety: purge-drops-ciphertexts
      core.ciphertexts.drop(id);
      // safety: purge-drops-stored-responses
      core.storedResponses.forget(id);
    }
    for (const { secret, version } of intent.trimmed) core.ciphertexts.drop(secret, version);
    // safety: response-stored-with-effect
    if (intent.keep) core.storedResponses.save(intent.keep);
    const entry = core.auditLog.append(intent.draft, intent.status, now);
    for (const id of intent.environments) {
      core.meta.set(`revision:${id}`, String(entry.sequence));
      followEnvironment(core, id, now);
    }
    for (const event of intent.events ?? []) core.outbox.put(event, now);
    if (mayEnd(intent)) core.listeners.wake();
  } else core.auditLog.append(intent.draft, 503, now);
  core.intents.drop(intent.id);
}

/** Whether a change may end a caller or narrow what one can see. New session tokens cannot, and there are thousands of them. */
const mayEnd = ({ puts, gone }: Intent): boolean =>
  gone.length > 0 || puts.some(({ kind, row }) => kind !== 'secret' && !(kind === 'credential' && row.revision === 1));

export const epochOf = (core: Core): number => Number(core.meta.get('epoch') ?? 1);

/** The revision of an environment: the audit sequence of the last change to its secrets. */
export const environmentRevision = (core: Core, id: string): number => Number(core.meta.get(`revision:${id}`) ?? 0);

/**
 * Which of these commits D1 has, for certain: the epoch is raised first, so none of them can take effect later. Null if D1 does not
 * respond.
 */
async function settled(core: Core, org: string, ids: string[]): Promise<Set<string> | null> {
  return core.locks.hold(['epoch'], async () => {
    const next = epochOf(core) + 1;
    core.meta.set('raising', String(next));
    // An organisation being created has no fence yet; with this one its batch can no longer take effect.
    const raise =
      'insert into fences (org_id, epoch) values (?, ?) on conflict do update set epoch = excluded.epoch where epoch = excluded.epoch - 1';
    // safety: epoch-raised
    await core.database.write([{ sql: raise, params: [org, next] }]);
    // safety: epoch-raise-confirmed
    if (!(await caughtUp(core, org, next - 1))) return null;
    const found = await core.database
      .all<{ id: string }>({
        sql: 'select id from commits where org_id = ? and id in (select value from json_each(?))',
        params: [org, JSON.stringify(ids)],
      })
      .catch(() => null);
    return found && new Set(found.map(({ id }) => id));
  });
}

/**
 * Whether the fence is where this gate was raising it from `epoch`, even if the response to the raise was lost. Null if D1 does not
 * respond.
 */
async function caughtUp(core: Core, org: string, epoch: number): Promise<boolean | null> {
  const fence = await core.database
    .all<{ epoch: number }>({ sql: 'select epoch from fences where org_id = ?', params: [org] })
    .catch(() => null);
  if (fence === null) return null;
  const current = fence[0]?.epoch;
  // safety: epoch-raised-by-this-gate
  if (current === undefined || current !== epoch + 1 || core.meta.get('raising') !== String(current)) return false;
  core.meta.set('epoch', String(current));
  return true;
}

/** Settles intents left open by earlier requests or an earlier instance of this gate. Returns whether none is open any more. */
export async function settle(core: Core, org: string): Promise<boolean> {
  const open = core.intents.unsettled();
  if (open.length === 0) return true;
  return core.locks.hold(['settle'], async () => {
    const ids = core.intents.unsettled().map(({ id }) => id);
    if (ids.length === 0) return true;
    const present = await settled(core, org, ids);
    if (present === null) {
      core.schedule.at('settle', core.now() + 5000);
      return false;
    }
    core.storage.transactionSync(() => {
      // safety: intent-settled-by-marker
      for (const intent of core.intents.unsettled()) if (ids.includes(intent.id)) apply(core, intent, present.has(intent.id));
    });
    return core.intents.unsettled().length === 0;
  });
}
