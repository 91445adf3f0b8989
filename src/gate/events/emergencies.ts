// Events of uses of break-glass tokens: the first at once, later ones summed up each minute. Invariant: every
// audit entry of such a token is counted in the turn that appends it.
import type { Core } from '../core';
import { part } from '../part';

const MINUTE = 60_000;

export interface Emergencies {
  /** Raises the events of past minutes. Returns when the next one is due, or null. */
  flush(now: number): number | null;
  /** Deletes the use counts of a token that no longer exists. */
  forget(credential: string): void;
}

function createEmergencies({ storage: { sql }, auditLog, outbox, schedule }: Core): Emergencies {
  sql.exec(
    'create table if not exists emergencies (credential text not null, minute integer not null, count integer not null, primary key (credential, minute)) without rowid',
  );
  const count = (credential: string, count: number, now: number) => {
    // Minute 0 records that there was a first use.
    const isFirst =
      sql.exec('insert or ignore into emergencies values (?, 0, 1)', credential).rowsWritten > 0;
    if (isFirst)
      return outbox.put({ type: 'BREAK_GLASS_USED', data: { credential_id: credential, count } }, now);
    sql.exec(
      'insert into emergencies values (?, ?, ?) on conflict do update set count = count + excluded.count',
      credential,
      Math.floor(now / MINUTE),
      count,
    );
  };
  auditLog.follow((entry, now) => {
    if (entry.actor.kind !== 'break_glass' || entry.actor.id === null) return;
    // safety: break-glass-use-notified
    count(entry.actor.id, entry.count, now);
    schedule.at('minutes', now + MINUTE);
  });
  return {
    flush(now) {
      const minute = Math.floor(now / MINUTE);
      for (const { credential, count } of sql
        .exec<{ credential: string; count: number }>(
          'select credential, count from emergencies where minute between 1 and ?',
          minute - 1,
        )
        .toArray())
        outbox.put({ type: 'BREAK_GLASS_USED', data: { credential_id: credential, count } }, now);
      sql.exec('delete from emergencies where minute between 1 and ?', minute - 1);
      const next = sql
        .exec<{ n: number | null }>('select min(minute) n from emergencies where minute > 0')
        .one().n;
      return next === null ? null : (next + 1) * MINUTE;
    },
    forget: (credential) => void sql.exec('delete from emergencies where credential = ?', credential),
  };
}

export const emergencies = part(createEmergencies);
