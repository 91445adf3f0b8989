// Applies a commit to the gate: its rows, audit entry, events and stored response, and what follows from each kind of row. Invariant: all of it
// happens in one transaction, together with the deletion of the intent.

import { isBrief, type RowKind, sweepAt } from '../db/rows';
import type { ApprovalRow } from '../db/schema';
import type { Core } from './core';
import { followEndpoint, followWebhook } from './delivery-task';
import type { Intent } from './intents';
import { leave } from './purge';
import { followEnvironment, followSync } from './sync-task';
import { noteChange } from './vitals';

/** Applies the commit of an intent, or records that it never took effect. Runs inside one transaction. */
export function apply(core: Core, intent: Intent, isDone: boolean): void {
  if (isDone) takeEffect(core, intent);
  else core.auditLog.append(intent.draft, 503, core.now());
  core.intents.drop(intent.id);
}

function takeEffect(core: Core, intent: Intent): void {
  const now = core.now();
  for (const put of intent.puts) {
    endAsked(core, put, intent.draft.action);
    write(core, put, intent, now);
  }
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
  noteChange(core, intent);
  const entry = core.auditLog.append(intent.draft, intent.status, now);
  for (const id of intent.environments) {
    core.meta.set(revisionOf(id), String(entry.sequence));
    followEnvironment(core, id, now);
  }
  if (intent.details) core.approvalDetails.save(intent.details);
  for (const event of intent.events ?? []) core.outbox.put(event, now);
  if (mayEnd(intent)) core.listeners.wake();
  followApprovals(core, now);
  core.permits.follow();
}

/** Writes a row, and notifies whatever follows rows of its kind. */
function write(core: Core, { kind, row }: Intent['puts'][number], { at, root }: Intent, now: number): void {
  if (kind === 'webhook') followWebhook(core, row.id, row, now);
  if (kind === 'integration') followEndpoint(core, now);
  const told = core.expiries.note(kind, core.rows.get(kind, row.id), row, at);
  if (told !== null) core.schedule.at('expiry', told);
  core.rows.put(kind, row as never, kind === 'secret' ? root : undefined);
  if (kind === 'approval') followApproval(core, row);
  if (kind === 'org' && row.deleted_at !== null) core.schedule.at('end', now);
  if (kind === 'sync') followSync(core, row, now);
  if (kind === 'policy' && row.kind === 'rotation') core.schedule.at('rotation', now);
  const sweep = sweepAt(kind, row as never);
  if (sweep !== null) core.schedule.at('rows', sweep);
}

/** An approval that has ended leaves no details; one that was approved keeps them until it expires. */
function followApproval(core: Core, { id, ended_at, expires_at }: ApprovalRow): void {
  // safety: approval-details-end-with-it
  if (ended_at !== null) core.approvalDetails.forget(id);
  else core.approvalDetails.extend(id, expires_at);
}

/**
 * What a session asked for ends with it if it was revoked. Its member or API key stays, so this is not seen from the rows. After signing
 * out, a member can still use what they asked for.
 */
function endAsked(core: Core, { kind, row }: Intent['puts'][number], action: string): void {
  if (kind !== 'credential' || !isBrief(row.kind) || row.revoked_at === null || action.startsWith('auth.')) return;
  // safety: revoked-session-ends-approvals
  core.approvalDetails.voidOf(row.id);
}

/** How long changes wait for others before the approvals that they make void are looked for. */
const GATHERED = 5000;

/** Any change may make approvals void: whoever waits for one is told, and what deciders were shown is erased soon. */
function followApprovals(core: Core, now: number): void {
  core.approvalWaiters.check();
  if (core.approvalDetails.isAny()) core.schedule.at('approvals', now + GATHERED);
}

/** Removes a row, and what the gate holds about it elsewhere. */
function remove(core: Core, kind: RowKind, id: string, now: number): void {
  if (kind === 'credential') {
    leave(core, [id], now);
    core.schedule.at('rows', now);
  }
  if (kind === 'webhook') followWebhook(core, id, null, now);
  if (kind === 'integration') followEndpoint(core, now);
  core.rows.bury(kind, id, now);
  if (kind === 'credential') core.storedResponses.forget(id);
  if (kind === 'approval') core.approvalDetails.forget(id);
  if (kind === 'sync') core.syncs.forget(id);
  if (kind === 'integration') core.syncs.forgetIntegration(id);
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
