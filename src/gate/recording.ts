// What goes with an audit entry, in the turn in which it is appended: its requests are counted as uses of the credential that made
// them, and reads as reads of the secret; and each by a break-glass token raises an event; a checkpoint is due within ten minutes; patterns of names are noted in full now and then, else as a digest. Invariant: no entry is appended but through here.
import type { AuditLog } from './audit-log';
import { CHECKPOINT_EVERY } from './checkpoints';
import type { LastUsed } from './last-used';
import type { NotedPatterns } from './noted-patterns';
import type { Outbox } from './outbox';
import type { Readers } from './readers';
import type { Schedule } from './schedule';

export const recording = (
  auditLog: AuditLog,
  lastUsed: LastUsed,
  readers: Readers,
  outbox: Outbox,
  schedule: Schedule,
  patterns: NotedPatterns,
): AuditLog => ({
  ...auditLog,
  append(draft, status, now, count = 1) {
    const { actor } = draft;
    if (actor.kind === 'break_glass' && actor.id !== null) {
      // safety: break-glass-use-notified
      outbox.emergency(actor.id, count, now);
      schedule.at('minutes', now + 60_000);
    }
    const noted = draft.patterns ? patterns.noted(actor.id ?? '', draft.patterns, now) : null;
    const entry = auditLog.append(noted ? { ...draft, ...noted } : draft, status, now, count);
    lastUsed.count(actor, count, Date.parse(entry.time));
    readers.note(entry);
    schedule.at('checkpoint', now + CHECKPOINT_EVERY);
    return entry;
  },
});
