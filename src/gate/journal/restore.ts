// Restoring: the gate accepts a database restored from a backup. Secrets return to their state in the backup.
// Permissions and endings stay as the gate knows them, unless D1 has a newer row (`merge.ts`), and secrets
// deleted or destroyed since stay so. Invariants: a version number is never used twice; each page is written
// to D1, in one batch, before it counts here; an interrupted restore is repeated as a whole, and no change is
// allowed before it is done.

import { BRIEF_KINDS, isBrief } from '../../db/credential-kinds';
import { kindOf, macOf, readable, tableName } from '../../db/rows';
import { type SecretRow, secrets, type VersionRow } from '../../db/schema';
import { type Statement, upsertOf } from '../../db/statements';
import { ApiError, refuse } from '../../errors';
import { checkpoints } from '../archive/checkpoints';
import { cutOf, gapsBetween, missingEntries, noteMissing } from '../archive/gaps';
import { readers } from '../archive/readers';
import type { Core } from '../core';
import { expiries } from '../events/expiry';
import { isEndedByPanic } from '../identity/lifetime';
import { storedResponses } from '../request/stored-responses';
import { slugOf } from '../request/target';
import { type Report, reportOf } from './adoption';
import { isInD1, positionOf } from './batch';
import { isBehind } from './behind';
import { ciphertexts } from './ciphertexts';
import { governingKinds, takeNewer } from './merge';
import { mirror } from './mirror';
import { nameMissing } from './missing-versions';
import { ADOPTING, beginTerm, compared, newTerm, positionInD1, standing } from './position';
import { journal } from './records';
import { dropIntents } from './take-over';

const PAGE = 200;
/** Rows of links per parameter: each may have 90 kB, and D1 allows 2 MB. */
const FEW = 20;

/**
 * Accepts the current state of D1. `by` is the creator of versions that restore values. Throws UNAVAILABLE if
 * D1 does not respond; the request is then repeated.
 */
export async function restore(core: Core, key: Uint8Array, request: string, by: string) {
  // What D1 has is newer: it must not be overwritten. And only one request adopts.
  if ((await isBehind(core, true)) !== false || mirror(core).isAdopting) throw notNow();
  mirror(core).isAdopting = true;
  try {
    await sendFirst(core);
    core.meta.set(ADOPTING, '1');
    const write = writer(core, await begin(core));
    const report = reportOf(core, request);
    await takeNewer(core, key, report);
    await noteRevocations(core, key, report);
    await write(await governing(core));
    await takeSecrets(core, key, by, { write, report });
    expiries(core).begin(core.now());
    report.found.audit_entries_lost = await loseEntries(core);
    // Last, and without a step: one that is cut off keeps nothing, so a repeat names nothing twice.
    await nameMissing(core, report);
    // Up to here nothing is changed or sent, also after an adoption that was cut off.
    core.meta.forget(ADOPTING);
    standing(core).stopped = null;
    return report.end() ?? { ...report.found, at: null, request_id: null };
  } finally {
    mirror(core).isAdopting = false;
  }
}

const notNow = () => new ApiError(refuse('UNAVAILABLE', { retry_after: 2 }));

/**
 * Where D1 is what the gate left there, it gets what it lacks, by force where it refuses rows. Throws
 * UNAVAILABLE unless it has all of it. Only another or an older database gives that up, and a record that
 * cannot be stored. After an adoption that was cut off there may be such records left.
 */
async function sendFirst(core: Core): Promise<void> {
  const own = mirror(core);
  if (await own.follow()) return;
  const isRefused = standing(core).stopped?.why === 'refused' || own.isPaused();
  const found = await compared(core);
  // safety: refused-sent-by-force
  if (found === 'follows' && isRefused && (await own.force())) return;
  // safety: adoption-gives-up-only-the-refused
  if (found !== 'diverged') throw notNow();
}

/**
 * Begins a term that no batch ever sent belongs to, and gives up what D1 lacks: the backup has no place for
 * it.
 */
async function begin(core: Core): Promise<string> {
  const seen = await positionInD1(core);
  if (seen === null) throw notNow();
  const term = newTerm();
  const position = Math.max(seen.position, journal(core).last());
  await beginTerm(core, seen, term, position);
  core.storage.transactionSync(() => {
    dropIntents(core);
    journal(core).begin(term, position, term);
  });
  return term;
}

type Write = (statements: Statement[]) => Promise<void>;

/** Writes batches that fail once another term has begun; each is a position of its own. */
function writer(core: Core, term: string): Write {
  return async (statements) => {
    const from = journal(core).position();
    const after = journal(core).idOf(from) as string;
    const record = crypto.randomUUID();
    // Noted first: until D1 has it, the adoption has not ended.
    journal(core).begin(term, from + 1, record);
    const step = positionOf(core.org, { term, from, to: from + 1, after, record });
    const { end } = await core.database.write([...statements, step]);
    if (end !== 'done') throw notNow();
  };
}

/** Names the credentials that live in D1 and have ended here, before D1 learns that they have. */
async function noteRevocations(core: Core, key: Uint8Array, report: Report): Promise<void> {
  const known = new Set(report.found.kept_revocations.map(({ id }) => id));
  const [there] = await core.database.all<Record<string, unknown>>({
    sql: 'select * from orgs where id = ?',
    params: [core.org],
  });
  const before = there ? readable('org', there) : null;
  const now = core.rows.get('org', core.org);
  for (let after = ''; ; ) {
    const page = await core.database.all<Record<string, unknown>>({
      sql: 'select * from credentials where org_id = ? and id > ? order by id limit 1000',
      params: [core.org, after],
    });
    for (const raw of page) {
      const stored = readable('credential', raw);
      if (
        !stored ||
        known.has(stored.id) ||
        isBrief(stored.kind) ||
        stored.mac !== macOf(key, 'credential', stored)
      )
        continue;
      const lived =
        stored.revoked_at === null &&
        (stored.expires_at ?? Number.POSITIVE_INFINITY) > core.now() &&
        !isEndedByPanic(before, stored);
      const here = core.rows.get('credential', stored.id);
      const { id, kind, name } = stored;
      if (lived && (!here || here.revoked_at !== null || isEndedByPanic(now, here)))
        report.name(report.found.kept_revocations, { id, kind, name });
    }
    if (page.length < 1000) break;
    after = String(page.at(-1)?.id);
  }
  report.keep();
}

/**
 * Writes the gate's permissions and endings to D1. Ended session tokens and browser sessions that the gate
 * has already dropped are kept in D1.
 */
async function governing(core: Core): Promise<Statement[]> {
  return governingKinds().flatMap((kind) => {
    const rows: object[] = [];
    for (let after = ''; ; ) {
      const page = core.rows.after(kind, after, 1000);
      rows.push(...page.filter((row) => isInD1({ kind, row } as never)));
      if (page.length < 1000) break;
      after = (page.at(-1) as { id: string }).id;
    }
    const owner = kind === 'org' ? 'id' : 'org_id';
    const over =
      kind === 'credential' ? ` and not (kind in ${BRIEF_KINDS} and expires_at <= ${core.now()})` : '';
    return [
      { sql: `delete from ${tableName(kind)} where ${owner} = ?${over}`, params: [core.org] },
      ...slices(rows, kind === 'share' ? FEW : PAGE).map((slice) => upsertOf(kindOf(kind).table, slice)),
    ];
  });
}

const slices = <T>(list: T[], many: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / many) }, (_, i) => list.slice(i * many, (i + 1) * many));

/** A version that restores the value of an earlier one. */
interface Again {
  from: number;
  version: Omit<VersionRow, 'value_sealed'>;
}

async function takeSecrets(
  core: Core,
  key: Uint8Array,
  by: string,
  { write, report }: { write: Write; report: Report },
) {
  const { found } = report;
  const seen = new Set<string>();
  for (let after = ''; ; ) {
    const page = await core.database.all<Record<string, unknown>>({
      sql: 'select * from secrets where org_id = ? and id > ? order by id limit ?',
      params: [core.org, after, PAGE],
    });
    const puts: SecretRow[] = [];
    const again: Again[] = [];
    const removed: string[] = [];
    const same: SecretRow[] = [];
    for (const raw of page) {
      const id = String(raw.id);
      const stored = readable('secret', raw);
      const here = core.rows.get('secret', id);
      // safety: adopted-secret-mac
      if (!stored || stored.mac !== macOf(key, 'secret', stored)) {
        found.refused++;
        // safety: altered-secret-stands
        if (here && (await isInDatabase(core, here))) {
          seen.add(id);
          puts.push(here);
        } else {
          // The gate's data about it is lost too.
          removed.push(id);
        }
      } else if (core.rows.isBuried('secret', id)) {
        found.ended++;
        removed.push(id);
      } else {
        seen.add(id);
        if (here?.mac === stored.mac) continue;
        if (!here || here.revision < stored.revision) same.push(stored);
        else {
          const put = putBack(core, key, by, stored, here);
          puts.push(put.row);
          if (put.again) again.push(put.again);
        }
        if (here && here.deleted_at !== null && stored.deleted_at === null) found.ended++;
        else found.restored++;
        nameVersions(core, report, here, puts.at(-1)?.id === id ? (puts.at(-1) as SecretRow) : stored);
      }
    }
    if (puts.length || removed.length)
      await write([
        ...removal(core.org, removed),
        ...(puts.length ? [upsertOf(secrets, puts), copies(core.org, again)] : []),
      ]);
    core.storage.transactionSync(() => {
      for (const row of [...puts, ...same]) {
        freeName(core, row);
        core.rows.put('secret', row);
        ciphertexts(core).drop(row.id);
      }
      report.keep();
    });
    if (page.length < PAGE) break;
    after = String(page.at(-1)?.id);
  }
  for (let after = ''; ; ) {
    const page = core.rows.after('secret', after, 1000);
    const gone = page.filter(({ id }) => !seen.has(id));
    core.storage.transactionSync(() => {
      for (const { id, name: last, environment_id, version } of gone) {
        const [name = last] = last.split(BEFORE);
        report.name(found.lost_secrets, { id, name, environment: slugOf(core, environment_id), version });
        core.rows.bury('secret', id, core.now());
        ciphertexts(core).drop(id);
        readers(core).forget(id);
        storedResponses(core).forget(id);
      }
      found.lost += gone.length;
      report.keep();
    });
    if (page.length < 1000) break;
    after = (page.at(-1) as SecretRow).id;
  }
}

/** Whether D1 has the current version of a secret, so that the gate's own row can stand. */
async function isInDatabase({ org, database }: Core, { id, version }: SecretRow): Promise<boolean> {
  const found = await database.all({
    sql: 'select 1 from secret_versions where org_id = ? and secret_id = ? and version = ?',
    params: [org, id, version],
  });
  return found.length > 0;
}

/** What follows the name of a secret that has to give it up; no name contains it. */
const BEFORE = '\n';

/**
 * Takes the name of a restored secret from another one, which would otherwise be gone unnoticed. That one has
 * the name since the backup, so it is restored or lost later.
 */
function freeName(core: Core, { id, environment_id, name, deleted_at }: SecretRow): void {
  const other = deleted_at === null ? core.rows.find('secret', environment_id, name) : null;
  // safety: adoption-replaces-no-other-secret
  if (other && other.id !== id) core.rows.put('secret', { ...other, name: `${name}${BEFORE}${other.id}` });
}

/** Names the versions of a secret that the backup lacks. */
function nameVersions(core: Core, { found, name }: Report, here: SecretRow | null, row: SecretRow): void {
  const isKnown = (first: number, last: number) =>
    here?.lost_versions?.some(([from, to]) => from === first && to === last) ?? false;
  for (const [from, to] of row.lost_versions?.filter(([first, last]) => !isKnown(first, last)) ?? [])
    name(found.lost_versions, {
      id: row.id,
      name: row.name,
      environment: slugOf(core, row.environment_id),
      from,
      to,
    });
}

/** The row that returns a secret to its state in the backup: as a new version if later ones exist. */
function putBack(
  core: Core,
  key: Uint8Array,
  by: string,
  stored: SecretRow,
  here: SecretRow,
): { row: SecretRow; again: Again | null } {
  const now = core.now();
  const ends = [stored.expires_at, here.expires_at].filter((time) => time !== null);
  const later = here.version > stored.version;
  // safety: version-numbers-unique
  const version = later ? here.version + 1 : stored.version;
  const through = Math.max(stored.revoked_through ?? 0, here.revoked_through ?? 0);
  // safety: adoption-keeps-revocations
  const isRevoked = stored.version <= through;
  const row: Omit<SecretRow, 'mac'> = {
    ...stored,
    version,
    amended: later ? 0 : Math.max(stored.amended, here.amended) + 1,
    ...(later && {
      sealed_size: stored.sealed_size + 4 * Math.ceil((stored.size + 41) / 3),
      lost_versions: [...(stored.lost_versions ?? []), [stored.version + 1, here.version]],
    }),
    updated_at: now,
    // Anything deleted, revoked or expiring sooner since then stays so.
    // safety: adoption-keeps-deletions
    deleted_at: here.deleted_at ?? stored.deleted_at,
    expires_at: ends.length ? Math.min(...ends) : null,
    revoked_at: isRevoked ? (here.revoked_at ?? stored.revoked_at ?? now) : null,
    revoked_through: isRevoked ? version : through || null,
    revision: here.revision + 1,
  };
  const { id, org_id, seal_id, fingerprint, size, generated, binary } = stored;
  const made = {
    org_id,
    secret_id: id,
    version,
    seal_id,
    fingerprint,
    size,
    created_by: by,
    created_at: now,
    generated,
    binary,
    request_token: null,
  };
  return {
    row: { ...row, mac: macOf(key, 'secret', row) },
    again: later ? { from: stored.version, version: { ...made, mac: macOf(key, 'version', made) } } : null,
  };
}

/** Copies ciphertexts within D1. */
const copies = (org: string, again: Again[]): Statement => ({
  sql: `insert or replace into secret_versions (org_id, secret_id, version, seal_id, value_sealed, fingerprint, size, created_by, created_at, generated, binary, mac)
    select v.org_id, v.secret_id, w.value ->> '$.version.version', v.seal_id, v.value_sealed, v.fingerprint, v.size,
      w.value ->> '$.version.created_by', w.value ->> '$.version.created_at', w.value ->> '$.version.generated', w.value ->> '$.version.binary', w.value ->> '$.version.mac'
    from json_each(?) w cross join secret_versions v on v.org_id = ? and v.secret_id = w.value ->> '$.version.secret_id' and v.version = w.value ->> 'from'`,
  params: [JSON.stringify(again), org],
});

const removal = (org: string, ids: string[]): Statement[] =>
  ['secret_versions.secret_id', 'secrets.id'].map((place) => {
    const [table, column] = place.split('.');
    return {
      sql: `delete from ${table} where org_id = ? and ${column} in (select value from json_each(?))`,
      params: [org, JSON.stringify(ids)],
    };
  });

/**
 * Records which entries had moved to D1 and are missing now. Returns their number, without those lost with a
 * gate.
 */
async function loseEntries(core: Core): Promise<number> {
  const segments = await core.database.all<{ from: number; to: number }>({
    sql: 'select first_sequence as "from", last_sequence as "to" from audit_segments where org_id = ? order by first_sequence',
    params: [core.org],
  });
  const known = missingEntries(core).filter(({ reason }) => reason === 'gate_lost');
  const held = core.auditLog.held().map(({ sequence }) => ({ from: sequence, to: sequence }));
  const oldest = core.auditLog.oldest();
  const accounted = [...segments, ...known, ...held].sort((a, b) => a.from - b.from);
  // Entries before the cut or the oldest segment were deleted by retention; without either, everything that
  // had moved is lost.
  const cut = cutOf(core);
  const begin = cut?.sequence ?? 0;
  const first = cut || !accounted.length ? [{ from: begin, to: begin }] : [];
  const lost = gapsBetween([...first, ...accounted, { from: oldest, to: oldest }], 'restore');
  const signed = await core.database.all<{ sequence: number }>({
    sql: 'select sequence from audit_checkpoints where org_id = ?',
    params: [core.org],
  });
  core.storage.transactionSync(() => {
    noteMissing(
      core,
      [...known, ...lost].sort((a, b) => a.from - b.from),
    );
    checkpoints(core).keep(signed.map(({ sequence }) => sequence));
  });
  return lost.reduce((sum, { from, to }) => sum + to - from + 1, 0);
}
