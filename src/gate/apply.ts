// Applies a commit to the gate: its rows, audit entry, events and stored response, and what follows from each kind of row. Invariant: all of it
// happens in one transaction, together with the deletion of the intent.

import { type RowKind, sweepAt } from '../db/rows';
import type { Core } from './core';
import { followEndpoint, followWebhook } from './delivery-task';
import type { Intent } from './intents';
import { followEnvironment, followSync } from './sync-task';

/** Applies the commit of an intent, or records that it never took effect. Runs inside one transaction. */
export function apply(core: Core, intent: Intent, isDone: boolean): void {
  if (isDone) takeEffect(core, intent);
  else core.auditLog.append(intent.draft, 503, core.now());
  core.intents.drop(intent.id);
}

function takeEffect(core: Core, intent: Intent): void {
  const now = core.now();
  for (const put of intent.puts) write(core, put, intent.at, now);
  for (const { kind, id } of intent.gone) remove(core, kind, id, now);
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
    core.meta.set(revisionOf(id), String(entry.sequence));
    followEnvironment(core, id, now);
  }
  for (const event of intent.events ?? []) core.outbox.put(event, now);
  if (mayEnd(intent)) core.listeners.wake();
}

/** Writes a row, and notifies whatever follows rows of its kind. `at`: when the change was planned. */
function write(core: Core, { kind, row }: Intent['puts'][number], at: number, now: number): void {
  if (kind === 'webhook') followWebhook(core, row.id, row, now);
  if (kind === 'integration') followEndpoint(core, now);
  const told = core.expiries.note(kind, core.rows.get(kind, row.id), row, at);
  if (told !== null) core.schedule.at('expiry', told);
  core.rows.put(kind, row as never);
  if (kind === 'approval') core.approvalWaiters.notify(row.id);
  if (kind === 'org' && row.deleted_at !== null) core.schedule.at('end', now);
  if (kind === 'sync') followSync(core, row, now);
  if (kind === 'policy' && row.kind === 'rotation') core.schedule.at('rotation', now);
  const sweep = sweepAt(kind, row as never);
  if (sweep !== null) core.schedule.at('rows', sweep);
}

/** Removes a row, and what the gate holds about it elsewhere. */
function remove(core: Core, kind: RowKind, id: string, now: number): void {
  if (kind === 'webhook') followWebhook(core, id, null, now);
  if (kind === 'integration') followEndpoint(core, now);
  core.rows.bury(kind, id, now);
  if (kind === 'secret' || kind === 'environment') core.readers.forget(id);
  if (kind !== 'environment') return;
  core.syncs.forgetEnvironment(id);
  core.meta.forget(revisionOf(id));
}

/** Whether a change may end a caller or narrow what one can see. New session tokens cannot, and there are thousands of them. */
const mayEnd = ({ puts, gone }: Intent): boolean =>
  gone.length > 0 || puts.some(({ kind, row }) => kind !== 'secret' && !(kind === 'credential' && row.revision === 1));

/** Where the revision of an environment is stored. */
const revisionOf = (id: string) => `revision:${id}`;

/** The revision of an environment: the audit sequence of the last change to its secrets. */
export const environmentRevision = (core: Core, id: string): number => Number(core.meta.get(revisionOf(id)) ?? 0);
