// Applies a commit to the gate: its rows, audit entry, events and stored response, and what follows from each
// row (`Declared` in `core.ts`). Invariant: all of it happens in one transaction, together with the deletion
// of the intent.
import { type RowKind, sweepAt } from '../../db/rows';
import { approvalDetails } from '../approvals/details';
import type { Core } from '../core';
import { listeners } from '../events/listeners';
import { permits } from '../request/permits';
import { storedResponses } from '../request/stored-responses';
import { ciphertexts } from '../rows/ciphertexts';
import { leave } from '../tasks/purge';
import { type Intent, intents } from './intents';
import { noteMark } from './marks';
import { noteChange } from './vitals';

/** Applies the commit of an intent, or records that it never took effect. Runs inside one transaction. */
export function apply(core: Core, intent: Intent, isDone: boolean): void {
  if (isDone) {
    takeEffect(core, intent);
    noteChange(core, intent);
    noteMark(core, intent);
  } else core.auditLog.append(intent.draft, 503, core.now());
  intents(core).drop(intent.id);
}

/** Carries a change out in the gate. Runs inside one transaction. */
export function takeEffect(core: Core, intent: Intent): void {
  const now = core.now();
  for (const put of intent.puts) write(core, put, intent);
  for (const { kind, id } of intent.gone) remove(core, kind, id, intent);
  for (const id of intent.destroyed) {
    // safety: purge-drops-ciphertexts
    ciphertexts(core).drop(id);
    // safety: purge-drops-stored-responses
    storedResponses(core).forget(id);
  }
  for (const { secret, version } of intent.trimmed) ciphertexts(core).drop(secret, version);
  // safety: response-stored-with-effect
  if (intent.keep) storedResponses(core).save(intent.keep);
  const entry = core.auditLog.append(intent.draft, intent.status, now);
  for (const id of intent.environments) {
    core.meta.set(revisionOf(id), String(entry.sequence));
    core.rules.followSecrets(core, id, now);
  }
  if (intent.details) approvalDetails(core).save(intent.details);
  for (const event of intent.events ?? []) core.outbox.put(event, now);
  if (mayEnd(intent)) listeners(core).wake();
  core.rules.followCommit(core, now);
  permits(core).follow();
}

/** Writes a row, after what follows from it. */
function write(core: Core, { kind, row }: Intent['puts'][number], { at, root, draft }: Intent): void {
  const before = core.rows.get(kind, row.id);
  core.rules.follow<RowKind>(core, kind, { id: row.id, before, after: row, at, action: draft.action });
  core.rows.put(kind, row as never, kind === 'secret' ? root : undefined);
  const sweep = sweepAt(kind, row as never);
  if (sweep !== null) core.schedule.at('rows', sweep);
}

/** Removes a row, after what follows from that. */
function remove(core: Core, kind: RowKind, id: string, { at, draft }: Intent): void {
  const before = core.rows.get(kind, id);
  core.rules.follow<RowKind>(core, kind, { id, before, after: null, at, action: draft.action });
  if (kind === 'credential') {
    leave(core, [id], core.now());
    core.schedule.at('rows', core.now());
  }
  core.rows.bury(kind, id, core.now());
  if (kind === 'credential') storedResponses(core).forget(id);
  if (kind === 'environment') core.meta.forget(revisionOf(id));
}

/**
 * Whether a change may end a caller or narrow what one can see. New session tokens cannot, and there are
 * thousands of them.
 */
const mayEnd = ({ puts, gone }: Intent): boolean =>
  gone.length > 0 ||
  puts.some(({ kind, row }) => kind !== 'secret' && !(kind === 'credential' && row.revision === 1));

/** Where the revision of an environment is stored. */
const revisionOf = (id: string) => `revision:${id}`;

/** The revision of an environment: the audit sequence of the last change to its secrets. */
export const environmentRevision = (core: Core, id: string): number =>
  Number(core.meta.get(revisionOf(id)) ?? 0);
