// When, how often and from where a credential was last used. Invariant: no request costs a write for it. What is new is counted in
// memory and written down when audit entries move away; a gate that starts counts the entries that still lie here.
import type { Meta } from './core';

export interface Use {
  at: number;
  count: number;
  place: string | null;
}

export interface Uses {
  /** Counts a use by a credential; those that it descends from are as recently used. */
  note(credential: string, ancestors: readonly string[], at: number, place: string | null): void;
  of(credential: string): Use | null;
  /** Writes down what is counted, up to an entry of the audit log. */
  flush(sequence: number): void;
}

/** Credentials that are counted in memory before they are written down after all. */
const MOST = 5000;

export function openUses(sql: SqlStorage, meta: Meta, head: () => number): Uses {
  sql.exec(
    'create table if not exists uses (credential text primary key, at integer not null, count integer not null, place text) without rowid',
  );
  const pending = new Map<string, Use>();
  const add = (credential: string, at: number, count: number, place?: string | null) => {
    const known = pending.get(credential);
    if (!known) pending.set(credential, { at, count, place: place ?? null });
    else Object.assign(known, { at: Math.max(known.at, at), count: known.count + count, ...(place !== undefined && { place }) });
  };
  // A member's entries name the browser session as parent: it is what was used.
  for (const { credential, at, count } of sql.exec<{ credential: string; at: number; count: number }>(
    `select iif(actor like 'mem\\_%' escape '\\', parent, actor) credential, max(at) at, count(*) count from audit where sequence > ? group by 1`,
    Number(meta.get('uses') ?? 0),
  ))
    if (credential) add(credential, at, count);

  const written = (credential: string) =>
    sql.exec<Use & Record<string, SqlStorageValue>>('select at, count, place from uses where credential = ?', credential).toArray()[0];
  const flush = (sequence: number) => {
    for (const [credential, { at, count, place }] of pending)
      sql.exec(
        'insert into uses values (?1, ?2, ?3, ?4) on conflict do update set at = max(at, ?2), count = count + ?3, place = coalesce(?4, place)',
        credential,
        at,
        count,
        place,
      );
    pending.clear();
    meta.set('uses', String(sequence));
  };
  return {
    note(credential, ancestors, at, place) {
      if (pending.size > MOST) flush(head());
      add(credential, at, 1, place);
      for (const ancestor of ancestors) add(ancestor, at, 0);
    },
    of(credential) {
      const [kept, recent] = [written(credential), pending.get(credential)];
      if (!kept && !recent) return null;
      return {
        at: Math.max(kept?.at ?? 0, recent?.at ?? 0),
        count: (kept?.count ?? 0) + (recent?.count ?? 0),
        place: recent?.place ?? kept?.place ?? null,
      };
    },
    flush,
  };
}
