// Whether D1 holds the rows of an organisation's gate and the segments of its audit log, and no other rows, a
// page at a time: for the survey of the health check. Invariants: it changes nothing; a change that is under
// way, or a row that has ended, is never taken for a difference; it tells ids, never contents.

import { isBrief } from '../db/credential-kinds';
import { type RowKind, type RowTypes, readable, rowKinds, sweepAt, tableName } from '../db/rows';
import type { CredentialRow, SecretRow } from '../db/schema';
import { hasVersion } from '../domains/secrets/rules';
import { segmentEndsAfter } from '../gate/archive/checkpoints';
import { cutOf, missingEntries } from '../gate/archive/gaps';
import type { Core } from '../gate/core';
import { isInD1 } from '../gate/journal/batch';
import { mirror } from '../gate/journal/mirror';
import { journal } from '../gate/journal/records';

/** Where a comparison goes on: after this row of a kind, or after the segment that ends there. */
export interface Place {
  kind: string;
  after: string;
}

export interface Agreement {
  /** Some rows that differ. */
  differ: { table: string; id: string }[];
  /** Null once all rows were compared. */
  next: Place | null;
}

export interface AgreementCalls {
  agreement(from: Place | null): Promise<Agreement>;
}

/** Rows that one call compares, and differences that it tells. */
const PAGE = 500;
const TOLD = 20;
/** How long a difference must last: D1 may have a change before the gate knows that it has. */
const LASTING = 1000;
/** The place among segments of the audit log, which follow the rows. */
const SEGMENTS = 'audit_segments';

export async function agreementOf(core: Core, from: Place | null): Promise<Agreement> {
  const first = await look(core, from);
  if (first.differ.size === 0) return { differ: [], next: first.next };
  await new Promise((done) => setTimeout(done, LASTING));
  const second = await look(core, from);
  const lasting = [...second.differ].filter(([place, { state }]) => first.differ.get(place)?.state === state);
  return { differ: lasting.slice(0, TOLD).map(([, { table, id }]) => ({ table, id })), next: first.next };
}

interface Page {
  kinds: RowKind[];
  /** Where the first kind begins. */
  after: string;
}

/** The kinds that one call compares: as many as fit. */
function pageFrom(core: Core, from: Place | null): Page {
  const all = rowKinds();
  const rest = from ? all.slice(all.indexOf(from.kind as RowKind)) : all;
  const kinds: RowKind[] = [];
  let size = 0;
  for (const kind of rest) {
    size += core.rows.count(kind);
    if (kinds.length && size > PAGE) break;
    kinds.push(kind);
  }
  return { kinds, after: from?.after ?? '' };
}

interface Look {
  /** By table and id; `state`: both MACs. */
  differ: Map<string, { table: string; id: string; state: string }>;
  next: Place | null;
}

/** A row in D1: its id, its MAC, and whether the current version of a secret is there. */
type There = [id: string, mac: string, whole: 0 | 1];

async function look(core: Core, from: Place | null): Promise<Look> {
  const isAmongRows = from?.kind !== SEGMENTS;
  const found: Look = isAmongRows
    ? await lookAtRows(core, pageFrom(core, from))
    : { differ: new Map(), next: null };
  if (found.next || !isComparable(core)) return found;
  return lookAtSegments(core, isAmongRows ? 0 : Number(from.after), found);
}

/** An adoption changes both. */
const isComparable = (core: Core): boolean =>
  !mirror(core).isPaused() && core.rows.get('org', core.org)?.deleted_at === null;

async function lookAtRows(core: Core, page: Page): Promise<Look> {
  const found: Look = { differ: new Map(), next: null };
  const [stored] = await core.database.all<Record<string, string>>({
    sql: `select ${page.kinds.map((kind, at) => `(${rowsOf(kind, at === 0)}) as "${kind}"`).join(', ')}`,
    params: [core.org, page.after, PAGE],
  });
  if (!stored || !isComparable(core)) return found;
  for (const [at, kind] of page.kinds.entries()) {
    const here = core.rows.after(kind, at === 0 ? page.after : '', PAGE);
    const there = JSON.parse(stored[kind] ?? '[]') as There[];
    const ends = [here.at(-1)?.id, there.at(-1)?.[0]].filter(
      (id, side) => id !== undefined && [here, there][side]?.length === PAGE,
    );
    const end = ends.sort()[0];
    const within = (id: string) => (end === undefined || id <= end) && !journal(core).concerns(id);
    for (const { id, state } of await differing(
      core,
      kind,
      here.filter(({ id }) => within(id)),
      there.filter(([id]) => within(id)),
    ))
      found.differ.set(`${kind} ${id}`, { table: tableName(kind), id, state });
    if (end !== undefined) return { ...found, next: { kind, after: end } };
  }
  const next = rowKinds()[rowKinds().indexOf(page.kinds.at(-1) as RowKind) + 1];
  return { ...found, next: next ? { kind: next, after: '' } : null };
}

/** The segments that moved to D1 and are not there, apart from those that the log says are missing. */
async function lookAtSegments(core: Core, begin: number, found: Look): Promise<Look> {
  const after = Math.max(cutOf(core)?.sequence ?? 0, begin);
  const ends = segmentEndsAfter(core, after, PAGE);
  const last = ends.at(-1);
  if (!last) return found;
  const stored = await core.database.all<{ to: number; hash: string }>({
    sql: `select last_sequence "to", last_hash hash from ${SEGMENTS} where org_id = ? and first_sequence > ? and first_sequence <= ?`,
    params: [core.org, after, last.sequence],
  });
  if (!isComparable(core)) return found;
  const there = new Map(stored.map(({ to, hash }) => [to, hash]));
  const missing = missingEntries(core);
  for (const [at, { sequence, hash }] of ends.entries()) {
    const isTold = missing.some(({ from, to }) => from <= sequence && sequence <= to);
    // Retention may have cut the log meanwhile.
    const isCut = sequence <= (cutOf(core)?.sequence ?? 0);
    // safety: lost-segments-told
    if (there.get(sequence) === hash || isTold || isCut) continue;
    const id = String((ends[at - 1]?.sequence ?? after) + 1);
    found.differ.set(`${SEGMENTS} ${id}`, { table: SEGMENTS, id, state: `${there.get(sequence)}` });
  }
  return { ...found, next: ends.length === PAGE ? { kind: SEGMENTS, after: String(last.sequence) } : null };
}

/** The rows of a kind in D1, as one JSON array. The table is one of the schema's names. */
function rowsOf(kind: RowKind, isFirst: boolean): string {
  const owner = kind === 'org' ? 'id' : 'org_id';
  const whole =
    kind === 'secret'
      ? 'exists (select 1 from secret_versions v where v.org_id = ?1 and v.secret_id = t.id and v.version = t.version)'
      : '1';
  const after = isFirst ? '?2' : "''";
  return `select json_group_array(json_array(id, mac, whole)) from (select id, mac, ${whole} as whole from ${tableName(kind)} t
    where ${owner} = ?1 and id > ${after} order by id limit ?3)`;
}

/** The rows that differ, without those that have ended: they leave D1 and the gate one after the other. */
async function differing<K extends RowKind>(
  core: Core,
  kind: K,
  here: RowTypes[K][],
  there: There[],
): Promise<{ id: string; state: string }[]> {
  const stored = new Map(there.map(([id, mac, whole]) => [id, { mac, whole }]));
  const stays = (row: RowTypes[K]) => (sweepAt(kind, row) ?? Number.POSITIVE_INFINITY) > core.now();
  const found = here
    .filter((row) => isInD1({ kind, row } as never))
    .flatMap((row) => {
      const other = stored.get(row.id);
      stored.delete(row.id);
      const secret = kind === 'secret' ? (row as SecretRow) : null;
      const isWhole = other?.whole !== 0 || !secret || !hasVersion(secret, secret.version);
      // safety: lost-rows-told
      return (other?.mac === row.mac && isWhole) || !stays(row)
        ? []
        : [{ id: row.id, state: `${row.mac} ${other?.mac} ${isWhole}` }];
    });
  const surplus = [...stored.keys()].slice(0, TOLD);
  if (surplus.length === 0) return found;
  const rows = await core.database.all<Record<string, unknown>>({
    sql: `select * from ${tableName(kind)} where ${kind === 'org' ? 'id' : 'org_id'} = ? and id in (select value from json_each(?))`,
    params: [core.org, JSON.stringify(surplus)],
  });
  for (const raw of rows) {
    const row = readable(kind, raw);
    // A gate that began from D1 leaves sessions out.
    const isSession = kind === 'credential' && isBrief((raw as unknown as CredentialRow).kind);
    if (!isSession && (!row || stays(row))) found.push({ id: String(raw.id), state: `- ${raw.mac}` });
  }
  return found;
}
