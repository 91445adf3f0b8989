// When, how often and from where a credential was last used. Invariants: recording a use costs no write; the
// count equals that of the audit log. New uses are counted in memory and written when audit entries move
// away; a starting gate counts the entries still in its storage.
import { idStart } from '../../db/ids';
import type { Core } from '../core';
import { part } from '../part';
import { linksOf } from '../rows/ends-with-parent';

export interface Use {
  at: number;
  count: number;
  place: string | null;
}

export interface LastUsed {
  /** Records a request of a credential from a place; its ancestors count as used at the same time. */
  note(credential: string, ancestors: readonly string[], at: number, place: string | null): void;
  of(credential: string): Use | null;
  /** Writes the counts, up to an entry of the audit log. */
  flush(sequence: number): void;
  forget(credential: string): void;
}

/** The most credentials counted in memory before the counts are written anyway. */
const MOST = 5000;

/** A member's entries name the browser session as parent, which is the credential in use. */
const usedBy = (actor: string, parent: string | null) =>
  actor.startsWith(idStart('member')) ? parent : actor;

const TABLE =
  'create table if not exists uses (credential text primary key, at integer not null, count integer not null, place text) without rowid';

function createLastUsed({ storage: { sql }, meta, rows, auditLog }: Core): LastUsed {
  sql.exec(TABLE);
  const pending = new Map<string, Use>();
  const add = (credential: string, at: number, count: number, place?: string | null) => {
    const known = pending.get(credential);
    if (!known) pending.set(credential, { at, count, place: place ?? null });
    else
      Object.assign(known, {
        at: Math.max(known.at, at),
        count: known.count + count,
        ...(place && { place }),
      });
  };
  for (const { actor, parent, at, count } of sql.exec<{
    actor: string;
    parent: string | null;
    at: number;
    count: number;
  }>(
    "select actor, parent, max(at) at, sum(body ->> 'count') count from audit where sequence > ? and actor <> '' group by actor, parent",
    Number(meta.get('uses') ?? 0),
  )) {
    add(usedBy(actor, parent) ?? actor, at, count);
    for (const link of linksOf(rows, actor, parent)) add(link, at, 0);
  }

  const written = (credential: string) =>
    sql
      .exec<Use & Record<string, SqlStorageValue>>(
        'select at, count, place from uses where credential = ?',
        credential,
      )
      .toArray()[0];
  const flush = (sequence: number) => {
    for (const [credential, { at, count, place }] of pending)
      if (rows.get('credential', credential) !== null)
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
  auditLog.follow(({ actor, count, time }) => {
    const credential = actor.id && usedBy(actor.id, actor.parent_id);
    if (credential) add(credential, Date.parse(time), count);
  });
  return {
    note(credential, ancestors, at, place) {
      if (pending.size > MOST) flush(auditLog.head().sequence);
      add(credential, at, 0, place);
      for (const ancestor of ancestors) add(ancestor, at, 0);
    },
    of(credential) {
      const kept = written(credential);
      const recent = pending.get(credential);
      if (!kept && !recent) return null;
      return {
        at: Math.max(kept?.at ?? 0, recent?.at ?? 0),
        count: (kept?.count ?? 0) + (recent?.count ?? 0),
        place: recent?.place ?? kept?.place ?? null,
      };
    },
    flush,
    forget(credential) {
      pending.delete(credential);
      sql.exec('delete from uses where credential = ?', credential);
    },
  };
}

export const lastUsed = part(createLastUsed);
