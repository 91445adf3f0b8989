// Carries out a decided change in the gate: its rows, audit entry, events and stored response, and what
// follows from each row (`Declared` in `core.ts`). Invariant: all of it happens in one turn, together with
// the record in the journal.
import { type RowKind, sweepAt } from '../../db/rows';
import { approvalDetails } from '../approvals/details';
import type { Draft } from '../audit/entry';
import type { Core } from '../core';
import { emergencies } from '../events/emergencies';
import { listeners } from '../events/listeners';
import { descendants } from '../identity/descendants';
import { formerMakers } from '../identity/former-makers';
import { lastUsed } from '../limits/last-used';
import type { Raised } from '../outbox';
import { permits } from '../request/permits';
import type { Plan, Put } from '../request/plan';
import { type StoredResponse, storedResponses } from '../request/stored-responses';
import { ciphertexts } from './ciphertexts';

/** A change that nothing can refuse any more. */
export interface Decided {
  plan: Plan;
  at: number;
  /** The root of whoever makes its new rows. */
  root: string | undefined;
  /** Its audit entry. */
  draft: Draft;
  events: Raised[];
  /** The response to store. */
  keep: StoredResponse | null;
}

/**
 * Carries a change out in the gate. Runs inside one transaction. Returns the revisions of the environments
 * whose secrets it changes.
 */
export function takeEffect(core: Core, decided: Decided): Record<string, number> {
  const now = core.now();
  const { plan, keep, draft, events } = decided;
  const { writes = [], deletes = [], destroyed = [], trimmed = [], versions = [] } = plan;
  for (const put of writes) write(core, put, decided);
  for (const { kind, id } of deletes) remove(core, kind, id, decided);
  for (const id of destroyed) {
    // safety: purge-drops-ciphertexts
    ciphertexts(core).drop(id);
    // safety: purge-drops-stored-responses
    storedResponses(core).forget(id);
  }
  for (const { secret, version } of trimmed) ciphertexts(core).drop(secret, version);
  for (const version of versions) ciphertexts(core).keep(version, now);
  // safety: response-stored-with-effect
  if (keep) storedResponses(core).save(keep);
  // Such a plan changes no secret: no environment takes its revision from the entry.
  const entry = plan.intent ? null : core.auditLog.append(draft, plan.status, now);
  plan.intent?.(core, draft);
  const revised: Record<string, number> = {};
  for (const id of plan.environments ?? []) {
    if (!entry) continue;
    setEnvironmentRevision(core, id, entry.sequence);
    revised[id] = entry.sequence;
    core.rules.followSecrets(core, id, now);
  }
  if (plan.details) approvalDetails(core).save(plan.details);
  for (const event of events) core.outbox.put(event, now);
  if (mayEnd(plan)) listeners(core).wake();
  core.rules.followCommit(core, now);
  permits(core).follow();
  return revised;
}

/** Writes a row, after what follows from it. */
function write(core: Core, { kind, row }: Put, { at, root, draft }: Decided): void {
  const before = core.rows.get(kind, row.id);
  core.rules.follow<RowKind>(core, kind, { id: row.id, before, after: row, at, action: draft.action });
  core.rows.put(kind, row as never, kind === 'secret' ? root : undefined);
  const sweep = sweepAt(kind, row as never);
  if (sweep !== null) core.schedule.at('rows', sweep);
}

/** Removes a row, after what follows from that. */
function remove(core: Core, kind: RowKind, id: string, { at, draft }: Decided): void {
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
const mayEnd = ({ writes = [], deletes = [] }: Plan): boolean =>
  deletes.length > 0 ||
  writes.some(({ kind, row }) => kind !== 'secret' && !(kind === 'credential' && row.revision === 1));

/** Where the revision of an environment is stored. */
const revisionOf = (id: string) => `revision:${id}`;

/** The revision of an environment: the audit sequence of the last change to its secrets. */
export const environmentRevision = ({ meta }: Pick<Core, 'meta'>, id: string): number =>
  Number(meta.get(revisionOf(id)) ?? 0);

export const setEnvironmentRevision = ({ meta }: Pick<Core, 'meta'>, id: string, revision: number): void =>
  meta.set(revisionOf(id), String(revision));

/**
 * Deletes what the gate holds about credentials outside their rows, which are about to leave. `at`: until
 * when those that ended with them stay.
 */
export function leave(core: Core, ids: string[], at: number): void {
  formerMakers(core).leave(ids, core.now());
  descendants(core).orphan(ids, at);
  for (const id of ids) {
    lastUsed(core).forget(id);
    emergencies(core).forget(id);
  }
}
