// Side effects of appending an audit entry, in the same turn: its requests count as uses of the credential, and reads as reads of the
// secret; use of a break-glass token raises an event; a checkpoint is due within ten minutes; lists are written in full from time to time,
// otherwise as a digest. Invariant: entries are appended only through this module.
import type { AuditLog } from './audit-log';
import { CHECKPOINT_EVERY } from './checkpoints';
import type { LastUsed } from './last-used';
import type { NotedLists } from './noted-lists';
import type { Outbox } from './outbox';
import type { Readers } from './readers';
import type { Schedule } from './schedule';

export const recording = (
  auditLog: AuditLog,
  lastUsed: LastUsed,
  readers: Readers,
  outbox: Outbox,
  schedule: Schedule,
  lists: NotedLists,
): AuditLog => ({
  ...auditLog,
  append(draft, status, now, count = 1) {
    const { actor } = draft;
    if (actor.kind === 'break_glass' && actor.id !== null) {
      // safety: break-glass-use-notified
      outbox.emergency(actor.id, count, now);
      schedule.at('minutes', now + 60_000);
    }
    const entry = auditLog.append(lists.noted(draft, now), status, now, count);
    lastUsed.count(actor, count, Date.parse(entry.time));
    readers.note(entry);
    schedule.at('checkpoint', now + CHECKPOINT_EVERY);
    return entry;
  },
});
