// Reading secrets: one by id or by name, or all of an environment. Invariant: the ciphertext of a version is returned only if the
// secret's row, read in the same turn, permits it.

import { namesHeld, reaches, stepsFor } from '../../../auth/authorize';
import { sha256 } from '../../../crypto/digest';
import type { SecretRow, VersionRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { environmentRevision } from '../../../gate/apply';
import type { Subject } from '../../../gate/audit-entry';
import type { Core } from '../../../gate/core';
import { mayReveal } from '../../../gate/hold';
import { environmentOf, slugOf } from '../../../gate/named';
import { fail, ok } from '../../../gate/outcome';
import type { Call, Operation, OperationOutcome } from '../../../gate/types';
import { type Delivered, etagOf, hasVersion, matchesETag, type Readable, readable, revokedVersion } from '../rules';
import { inDoubt, subjectOf } from './state';
import { fetchVersions, keep, versionOf } from './versions';

/** Limits of a bulk read: secrets, bytes of plaintext, bytes of ciphertext in one RPC, and steps to compare names with patterns. */
const MOST_BULK = { secrets: 2000, bytes: 16 * 1024 ** 2, page: 8 * 1024 ** 2, steps: 20_000_000 };

interface ReadInput {
  /** Whether the Worker accepts `Delivered` as text. */
  as_text?: true;
  version: number | null;
  if_none_match: string | null;
}

/** The maximum length of a text that the Worker caches; a longer value is sent as an object. */
const MOST_TEXT = 4096;

/** The texts of versions, each with the row that it was created for; null if it is too long. Neither object is ever modified. */
const texts = new WeakMap<VersionRow, { row: SecretRow; text: string | null }>();

function textOf(found: Readable): string | null {
  const { row, version } = found;
  const known = texts.get(version);
  if (known?.row === row) return known.text;
  const text = version.value_sealed.length > MOST_TEXT ? '' : JSON.stringify(found);
  const made = { row, text: text && text.length <= MOST_TEXT ? text : null };
  texts.set(version, made);
  return made.text;
}

function deliver({ as_text }: { as_text?: true }, found: Readable, environment: string, now: number): Delivered {
  const text = as_text ? textOf(found) : null;
  return text === null ? { ...found, environment, now } : { seal_id: found.version.seal_id, text, environment, now };
}

async function read(call: Call<ReadInput>, find: () => SecretRow | null, missing = () => refuse('NOT_FOUND')): Promise<OperationOutcome> {
  const { core, input } = call;
  for (let fetched: VersionRow | null = null; ; ) {
    const now = core.now();
    const row = find();
    if (!row) return fail((fetched && call.recheck()) ?? missing());
    // safety: read-rechecked-after-fetch
    const refusal = inDoubt(call, row.id) ?? readable(row, now) ?? (fetched && call.recheck());
    if (refusal) return fail(refusal);
    const number = input.version ?? row.version;
    if (!hasVersion(row, number)) return fail(refuse('NOT_FOUND', { message: `This secret has no version ${number}.` }));
    const gone = revokedVersion(row, number);
    if (gone) return fail(gone);
    const etag = number === row.version ? etagOf(row) : `"v${number}"`;
    if (input.if_none_match !== null && matchesETag(input.if_none_match, etag, true)) return ok(null, { status: 304, etag });
    const version: VersionRow | null =
      fetched?.secret_id === row.id && fetched.version === number ? fetched : core.ciphertexts.get(row.id, number, now);
    if (version) {
      if (fetched) keep(core, version);
      return { ...ok(deliver(input, { row, version }, slugOf(core, row.environment_id), now), { etag }), reveals: row };
    }
    fetched = await versionOf(call, row.id, number);
  }
}

const byId = ({ core, ask }: Call<unknown>): SecretRow | null => core.rows.get('secret', ask.named.secret as string);

function byName({ core, ask }: Call<unknown>): SecretRow | null {
  const environment = environmentOf(core, ask.org, ask.named.environment);
  return environment && core.rows.find('secret', environment.id, ask.named.name as string);
}

/** Adds the version that is read. */
const aboutRead = ({ core, input }: Call<ReadInput>, row: SecretRow | null) =>
  row ? { ...subjectOf(core, row), version: input.version ?? row.version } : {};

export const secretRead: Operation<ReadInput> = {
  subject: (call) => aboutRead(call, byId(call)),
  read: (call) => read(call, () => byId(call)),
};

export const secretReadByName: Operation<ReadInput> = {
  subject: (call) => aboutRead(call, byName(call)),
  read: (call) =>
    read(
      call,
      () => byName(call),
      () => unknownPart(call),
    ),
};

/** The number of environments in which a refusal looks for a name, and how many of them it lists. */
const MOST_SEARCHED = 100;
const MOST_SHOWN = 5;

/** 404 that says which part of a read by name is unknown. The caller may read that name there; of other environments, it lists those where the caller may list or read the name. */
function unknownPart({ core, ask, caller }: Call<unknown>): Refusal {
  const name = ask.named.name as string;
  const environment = environmentOf(core, ask.org, ask.named.environment);
  if (!environment) return unknownEnvironment(ask.named.environment);
  const hasIt = (id: string) => {
    const row = core.rows.find('secret', id, name);
    return row !== null && !core.intents.isOpen(row.id);
  };
  const elsewhere = core.rows
    .after('environment', '', MOST_SEARCHED)
    // safety: hint-within-permissions
    .filter(({ id }) => reaches(caller, ['secrets:list', 'secrets:read'], id, name) && hasIt(id))
    .slice(0, MOST_SHOWN)
    .map(({ slug }) => slug);
  const hint = elsewhere.length ? ` It exists in: ${elsewhere.join(', ')}.` : '';
  return refuse('NOT_FOUND', { message: `There is no secret ${name} in the environment ${environment.slug}.${hint}` });
}

export const unknownEnvironment = (ref: string | null | undefined): Refusal =>
  refuse('NOT_FOUND', { message: ref ? `There is no environment ${ref}.` : 'There is no default environment.' });

export interface ValuesInput {
  as_text?: true;
  prefix: string;
  if_none_match: string | null;
  /** Where the previous page ended, and its ETag. */
  after: string | null;
  etag: string | null;
}

export interface ValuesPage {
  environment: string;
  items: Delivered[];
  next: string | null;
  /** Names that an approval policy withholds. A gate of 0.4.0 does not send it. */
  withheld?: string[];
  /** The set changed between pages: the read starts again. */
  changed?: true;
}

/** The set that is read: the environment with its revision, and which of its names. */
function aboutAll({ core, ask, need, caller, input }: Call<ValuesInput>): Partial<Subject> {
  const environment = environmentOf(core, ask.org, ask.named.environment);
  if (!environment) return {};
  return {
    resource: environment.id,
    environment: environment.slug,
    version: environmentRevision(core, environment.id),
    prefix: input.prefix,
    patterns: namesHeld(caller, need.scopes, environment.id) ?? undefined,
  };
}

async function values(call: Call<ValuesInput>): Promise<OperationOutcome> {
  const { core, ask, input } = call;
  const { scopes } = call.need;
  const fetched = new Map<string, VersionRow>();
  for (let asked = false; ; asked = true) {
    const now = core.now();
    const environment = environmentOf(core, ask.org, ask.named.environment);
    if (!environment) return fail(unknownEnvironment(ask.named.environment));
    const patterns = namesHeld(call.caller, scopes, environment.id);
    // safety: bulk-read-rechecked-after-fetch
    const refusal = asked ? call.recheck() : null;
    if (refusal) return fail(refusal);
    const found = rowsOf(call, { environment: environment.id, scopes, prefix: input.prefix, patterns }, now);
    if (found === null || exceedsBulk(found.rows)) return fail(refuse('RESULT_TOO_LARGE'));
    const { rows, held, bypassed } = found;
    const withheld = held.map(({ name }) => name);
    const about = { ...(bypassed.length && { bypassed_policies: bypassed }), ...(held.length && { withheld: held.map(({ id }) => id) }) };
    const doubt = inDoubt(call, ...rows.map(({ id }) => id));
    if (doubt) return fail(doubt);

    const etag = `"${sha256(JSON.stringify([environment.id, input.prefix, rows.map(({ id, name, version }) => [id, name, version]), ...(withheld.length ? [withheld] : [])])).slice(0, 32)}"`;
    // safety: bulk-read-point-in-time
    if (input.etag !== null && input.etag !== etag)
      return {
        ...ok({ environment: environment.slug, items: [], next: null, changed: true } satisfies ValuesPage),
        reveals: 'unheld',
        about,
      };
    if (input.if_none_match !== null && matchesETag(input.if_none_match, etag, true)) return ok(null, { status: 304, etag });

    const { items, next, missing } = pageOf(core, { rows, fetched, environment: environment.slug, now }, input);
    if (missing.length === 0) {
      for (const version of fetched.values()) keep(core, version);
      return {
        ...ok({ environment: environment.slug, items, next, withheld } satisfies ValuesPage, { etag }),
        reveals: 'unheld',
        about,
      };
    }
    for (const version of await fetchVersions(call, missing)) fetched.set(`${version.secret_id}.${version.version}`, version);
  }
}

/** The secrets of a bulk read, sorted by name, and those of their versions that had to be fetched. */
export interface Bulk {
  rows: readonly SecretRow[];
  fetched: ReadonlyMap<string, VersionRow>;
  environment: string;
  now: number;
}

/** The part of a bulk read that fits in one RPC, where it ends, and the versions that must be fetched first. */
export function pageOf(core: Core, { rows, fetched, environment, now }: Bulk, input: { as_text?: true; after: string | null }) {
  const page: SecretRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (input.after !== null && row.name <= input.after) continue;
    bytes += row.size * 1.4 + 1024;
    if (page.length && bytes > MOST_BULK.page) break;
    page.push(row);
  }
  const items: Delivered[] = [];
  const missing: { secret: string; version: number }[] = [];
  for (const row of page) {
    const version = fetched.get(`${row.id}.${row.version}`) ?? core.ciphertexts.get(row.id, row.version, now);
    if (version) items.push(deliver(input, { row, version }, environment, now));
    else missing.push({ secret: row.id, version: row.version });
  }
  const last = page.at(-1);
  return { items, missing, next: last && last !== rows.at(-1) ? last.name : null };
}

/** Whether secrets exceed the limits of a bulk read. */
export const exceedsBulk = (rows: readonly SecretRow[]): boolean =>
  rows.length > MOST_BULK.secrets || rows.reduce((sum, { size }) => sum + size, 0) > MOST_BULK.bytes;

export const readAll: Operation<ValuesInput> = { subject: aboutAll, read: values };

/** Which secrets are read: those with the prefix that the caller may access with these scopes. */
export interface Selection {
  environment: string;
  scopes: readonly string[];
  prefix: string;
  patterns: readonly string[] | null;
}

export const inOrder = (a: SecretRow, b: SecretRow) => (a.name < b.name ? -1 : 1);

/**
 * The secrets of an environment that the caller may read, sorted by name, and those that are held for approval; null for too many.
 * Rows are read only for names that match.
 */
export function rowsOf(call: Call<unknown>, { environment, scopes, prefix: start, patterns }: Selection, now: number) {
  const { core, caller } = call;
  const held: SecretRow[] = [];
  const passed = new Set<string>();
  const rows: SecretRow[] = [];
  const steps = stepsFor(caller, scopes, MOST_BULK.steps);
  // Only names with a prefix that a pattern can match are examined.
  for (const prefix of prefixesOf(start, patterns)) {
    for (let after = ''; ; ) {
      const page = core.rows.named(environment, prefix, after, 1000);
      for (const { id, name } of page) {
        // safety: bulk-read-steps-bounded
        if (!steps.take(environment, name)) return null;
        if (!reaches(caller, scopes, environment, name)) continue;
        const row = core.rows.get('secret', id);
        if (!row || readable(row, now) !== null) continue;
        const { isHeld, bypassed } = mayReveal(call, row);
        for (const policy of bypassed) passed.add(policy);
        // safety: bulk-read-withholds
        if ((isHeld ? held : rows).push(row) > MOST_BULK.secrets) return null;
      }
      if (page.length < 1000) break;
      after = page.at(-1)?.name as string;
    }
  }
  return { rows: rows.sort(inOrder), held: held.sort(inOrder), bypassed: [...passed] };
}

/** The literal prefixes, sorted, that names with a given prefix can have if patterns limit them. None is a prefix of another. */
export function prefixesOf(prefix: string, patterns: readonly string[] | null): string[] {
  if (patterns === null) return [prefix];
  const beginnings = patterns.flatMap((pattern) => {
    const literal = /^[^*?]*/.exec(pattern)?.[0] ?? '';
    return literal.startsWith(prefix) ? [literal] : prefix.startsWith(literal) ? [prefix] : [];
  });
  const distinct: string[] = [];
  // In sorted order, names that begin with another one directly follow it.
  for (const one of beginnings.sort()) if (distinct.length === 0 || !one.startsWith(distinct.at(-1) as string)) distinct.push(one);
  return distinct;
}
