// What can be done with secrets, as the gate does it. Values pass through sealed; equality is judged by keyed fingerprints.
// Invariants: versions are numbered here, one after the other; a name is unique among the live secrets of its environment; the
// ciphertext of a version is given out only while the secret's row, read in the same turn, says that it may be.
import { and, desc, eq, getTableColumns, gte, lte } from 'drizzle-orm';
import { needOf } from '../../auth/actions';
import { mayReach, namesHeld, reaches } from '../../auth/authorize';
import { sha256 } from '../../crypto/digest';
import { canGenerate, type GenerateOptions, optionsProblem } from '../../crypto/generate';
import { type SecretRow, type SecretType, secretVersions, type VersionRow } from '../../db/schema';
import { ApiError, invalid, type Refusal, refuse } from '../../errors';
import { raise } from '../../gate/alarm';
import { environmentOf, slugOf } from '../../gate/call';
import { environmentRevision, insertion, type Plan, revision, rowKey, sqlite } from '../../gate/commit';
import type { Core } from '../../gate/core';
import { fromD1, macOf, RESTORABLE } from '../../gate/rows';
import { type Call, isRefusal, type Operation, type Outcome } from '../../gate/types';
import { isoOrNull } from '../../http/wire';
import { etagOf, namesTag, secretOut, statusOf, versionOut } from './wire';

const MOST_SECRETS = 100_000;
const MOST_SEALED = 4 * 1024 ** 3;
const MOST_VERSIONS = 1000;
/** Bounds of a bulk answer: secrets, bytes of plaintext, and bytes of ciphertext that go in one RPC. */
const MOST_BULK = { secrets: 2000, bytes: 16 * 1024 ** 2, page: 8 * 1024 ** 2 };

/** A value, sealed by the Worker. */
export interface SealedValue {
  seal_id: string;
  value_sealed: string;
  fingerprint: string;
  size: number;
}

/** A sealed value on its way to the Worker, with the rows that say whose it is, for it to check. */
export interface Delivered {
  row: SecretRow;
  version: VersionRow;
  environment: string;
  now: number;
}

// ---------------------------------------------------------------- what stands

const readable = (row: SecretRow | null, now: number): Refusal | null => {
  if (!row || row.deleted_at !== null) return refuse('NOT_FOUND');
  if (row.revoked_at !== null) return refuse('SECRET_REVOKED');
  return statusOf(row, now) === 'expired' ? refuse('SECRET_EXPIRED') : null;
};

/** 410 for a version that was revoked: it stays so, whatever came after. */
const withdrawn = ({ revoked_through }: SecretRow, number: number): Refusal | null =>
  number <= (revoked_through ?? 0) ? refuse('SECRET_REVOKED', { message: `Version ${number} of this secret has been revoked.` }) : null;

const stale = (row: SecretRow, ifMatch: string | null): Refusal | null =>
  ifMatch === null || namesTag(ifMatch, etagOf(row)) ? null : refuse('VERSION_CONFLICT');

const open = (call: Call<never>, ...ids: string[]): Refusal | null =>
  ids.some((id) => call.core.marks.isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;

const hasVersion = ({ version, oldest_version, lost_versions }: SecretRow, number: number): boolean =>
  number <= version && number >= oldest_version && !lost_versions?.some(([first, last]) => number >= first && number <= last);

function describe(call: Call<never>, row: SecretRow): string {
  const environment = slugOf(call.core, row.environment_id);
  Object.assign(call.subject, { resource: row.id, environment, version: row.version });
  return environment;
}

/** The versions of a secret whose ciphertexts are not at hand are fetched from D1, in one query; each is checked before it is kept. */
async function fetchVersions(call: Call<never>, wanted: { secret: string; version: number }[]): Promise<VersionRow[]> {
  const { core, ask } = call;
  // CROSS JOIN fixes the order: one look into the primary key for each that is wanted, never a walk over all versions of the org.
  const query =
    'select v.* from json_each(?1) w cross join secret_versions v on v.org_id = ?2 and v.secret_id = w.value ->> 0 and v.version = w.value ->> 1';
  const found = await core.database.all<Record<string, unknown>>({
    sql: query,
    params: [JSON.stringify(wanted.map(({ secret, version }) => [secret, version])), ask.org],
  });
  const versions = found.map((raw) => fromD1<VersionRow>(secretVersions, raw));
  const right = new Set(versions.filter(isRight(call)).map((version) => `${version.secret_id}.${version.version}`));
  const amiss = wanted.find(({ secret, version }) => !right.has(`${secret}.${version}`));
  return amiss ? miss(call, amiss.secret, amiss.version) : versions;
}

const isRight = (call: Call<never>) => {
  const key = rowKey(call);
  return (version: Omit<VersionRow, 'value_sealed'>) => version.mac === macOf(key, 'version', version);
};

/** Refuses for a version that D1 does not hold as it was written: with an alarm, unless a change that destroys it has come between. */
async function miss({ core, ask }: Call<never>, secret: string, version: number): Promise<never> {
  const row = await core.locks.hold([secret], async () => core.rows.get('secret', secret));
  const isAmiss = row !== null && hasVersion(row, version) && !core.marks.isOpen(secret);
  const { id: request_id, ip, user_agent } = ask.request;
  if (isAmiss)
    raise(core, ask.org, { event: 'versions_missing_or_altered', resource: secret }, { request_id, ip, user_agent }, { version });
  throw new ApiError(refuse('UNAVAILABLE', { retry_after: isAmiss ? 60 : 1 }));
}

/** One version, kept or fetched. The row is to be judged again after this. */
async function versionOf(call: Call<never>, secret: string, version: number): Promise<VersionRow> {
  const kept = call.core.seals.get(secret, version, call.core.now());
  if (kept) return kept;
  const [fetched] = await fetchVersions(call, [{ secret, version }]);
  return fetched as VersionRow;
}

/** Keeps a fetched ciphertext, unless its secret was destroyed meanwhile. */
function keep(core: Core, version: VersionRow) {
  const row = core.rows.get('secret', version.secret_id);
  if (row && version.version >= row.oldest_version && !core.seals.get(version.secret_id, version.version, core.now()))
    core.seals.keep(version, core.now());
}

// ---------------------------------------------------------------- reads

interface ReadInput {
  version: number | null;
  if_none_match: string | null;
}

async function read(call: Call<ReadInput>, find: () => SecretRow | null): Promise<Outcome> {
  const { core, input } = call;
  for (let fetched: VersionRow | null = null; ; ) {
    const now = core.now();
    const row = find();
    if (row) describe(call as never, row);
    const refusal = (row && open(call as never, row.id)) ?? readable(row, now) ?? (fetched && call.recheck());
    if (refusal || !row) return { ok: false, refusal: refusal ?? refuse('NOT_FOUND') };
    const number = input.version ?? row.version;
    call.subject.version = number;
    if (!hasVersion(row, number)) return { ok: false, refusal: refuse('NOT_FOUND', { message: `This secret has no version ${number}.` }) };
    const gone = withdrawn(row, number);
    if (gone) return { ok: false, refusal: gone };
    const etag = number === row.version ? etagOf(row) : `"v${number}"`;
    if (input.if_none_match !== null && namesTag(input.if_none_match, etag, true)) return { ok: true, status: 304, data: null, etag };
    const version: VersionRow | null =
      fetched?.secret_id === row.id && fetched.version === number ? fetched : core.seals.get(row.id, number, now);
    if (version) {
      if (fetched) keep(core, version);
      return {
        ok: true,
        status: 200,
        data: { row, version, environment: slugOf(core, row.environment_id), now } satisfies Delivered,
        etag,
      };
    }
    fetched = await versionOf(call as never, row.id, number);
  }
}

const secretRead: Operation<ReadInput> = {
  read: (call) => read(call, () => call.core.rows.get('secret', call.ask.named.secret as string)),
};

const secretReadByName: Operation<ReadInput> = {
  read: (call) => {
    const { core, ask } = call;
    return read(call, () => {
      const environment = environmentOf(core, ask.org, ask.named.environment);
      return environment && core.rows.find('secret', environment.id, ask.named.name as string);
    });
  },
};

interface ValuesInput {
  prefix: string;
  if_none_match: string | null;
  /** Where the page before ended, and the ETag that it bore. */
  after: string | null;
  etag: string | null;
}

export interface ValuesPage {
  environment: string;
  items: Delivered[];
  next: string | null;
  /** The set changed between pages: begin again. */
  changed?: true;
}

async function readAll(call: Call<ValuesInput>): Promise<Outcome> {
  const { core, ask, input } = call;
  const { scopes } = needOf(ask.action);
  const fetched = new Map<string, VersionRow>();
  for (let asked = false; ; asked = true) {
    const now = core.now();
    const environment = environmentOf(core, ask.org, ask.named.environment);
    if (!environment) return { ok: false, refusal: refuse('NOT_FOUND') };
    const patterns = namesHeld(call.caller, scopes, environment.id);
    Object.assign(call.subject, {
      resource: environment.id,
      environment: environment.slug,
      version: environmentRevision(core, environment.id),
      prefix: input.prefix,
      ...(patterns && { patterns }),
    });
    const refusal = asked ? call.recheck() : null;
    if (refusal) return { ok: false, refusal };
    const { caller } = call;

    const rows: SecretRow[] = [];
    for (let after = ''; ; ) {
      const more = core.rows.named(environment.id, input.prefix, after, 1000);
      rows.push(...more.filter((row) => readable(row, now) === null && reaches(caller, scopes, environment.id, row.name)));
      if (more.length < 1000 || rows.length > MOST_BULK.secrets) break;
      after = (more.at(-1) as SecretRow).name;
    }
    if (rows.length > MOST_BULK.secrets || rows.reduce((sum, { size }) => sum + size, 0) > MOST_BULK.bytes)
      return { ok: false, refusal: refuse('RESULT_TOO_LARGE') };
    const doubt = open(call as never, ...rows.map(({ id }) => id));
    if (doubt) return { ok: false, refusal: doubt };

    const etag = `"${sha256(JSON.stringify([environment.id, input.prefix, rows.map(({ id, name, version }) => [id, name, version])])).slice(0, 32)}"`;
    if (input.etag !== null && input.etag !== etag)
      return { ok: true, status: 200, data: { environment: environment.slug, items: [], next: null, changed: true } satisfies ValuesPage };
    if (input.if_none_match !== null && namesTag(input.if_none_match, etag, true)) return { ok: true, status: 304, data: null, etag };

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
      const version = fetched.get(`${row.id}.${row.version}`) ?? core.seals.get(row.id, row.version, now);
      if (version) items.push({ row, version, environment: environment.slug, now });
      else missing.push({ secret: row.id, version: row.version });
    }
    if (missing.length === 0) {
      for (const version of fetched.values()) keep(core, version);
      const last = page.at(-1);
      return {
        ok: true,
        status: 200,
        data: { environment: environment.slug, items, next: last && last !== rows.at(-1) ? last.name : null } satisfies ValuesPage,
        etag,
      };
    }
    for (const version of await fetchVersions(call as never, missing)) fetched.set(`${version.secret_id}.${version.version}`, version);
  }
}

interface ListInput {
  limit: number;
  after: string | null;
  environment: string | null;
  type: SecretType | null;
  prefix: string | null;
  status: 'active' | 'expired' | 'revoked' | 'deleted' | null;
  tag: string | null;
}

/** Rows that one page looks at: where few of them match, it may be short, or empty, and still not the last. */
const LOOKED_AT = 5000;

/** From the gate's own rows: what D1 was made to say is not listed. */
function list(call: Call<ListInput>): Outcome {
  const { core, ask, input, caller } = call;
  const { scopes } = needOf(ask.action);
  const now = core.now();
  const environment = input.environment === null ? null : environmentOf(core, ask.org, input.environment);
  if (input.environment !== null && !environment) return { ok: false, refusal: refuse('NOT_FOUND') };
  const matches = (row: SecretRow) =>
    (input.status === null ? row.deleted_at === null : statusOf(row, now) === input.status) &&
    (row.deleted_at === null || row.deleted_at > now - RESTORABLE) &&
    (environment === null || row.environment_id === environment.id) &&
    (input.type === null || row.type === input.type) &&
    row.name.startsWith(input.prefix ?? '') &&
    (input.tag === null || hasTag(row.tags, input.tag)) &&
    reaches(caller, scopes, row.environment_id, row.name);

  const shown: SecretRow[] = [];
  const answer = (next: string | null): Outcome => {
    const doubt = open(call as never, ...shown.map(({ id }) => id));
    if (doubt) return { ok: false, refusal: doubt };
    return { ok: true, status: 200, data: { items: shown.map((row) => secretOut(row, slugOf(core, row.environment_id), now)), next } };
  };
  let after = input.after ?? '';
  for (let looked = 0; looked < LOOKED_AT; looked += 200) {
    const rows = core.rows.after('secret', after, 200);
    for (const row of rows) {
      if (matches(row) && shown.push(row) > input.limit) {
        shown.pop();
        return answer(after);
      }
      after = row.id;
    }
    if (rows.length < 200) return answer(null);
  }
  return answer(after);
}

function hasTag(tags: Record<string, string>, tag: string): boolean {
  const colon = tag.indexOf(':');
  const [key, value] = colon < 0 ? [tag, null] : [tag.slice(0, colon), tag.slice(colon + 1)];
  return Object.hasOwn(tags, key) && (value === null || tags[key] === value);
}

interface VersionsInput {
  limit: number;
  after: string | null;
}

async function versions(call: Call<VersionsInput>): Promise<Outcome> {
  const { core, ask, input } = call;
  const id = ask.named.secret as string;
  const row = core.rows.get('secret', id);
  if (!row || row.deleted_at !== null) return { ok: false, refusal: refuse('NOT_FOUND') };
  describe(call as never, row);
  const newest = Math.min(row.version, input.after === null ? row.version : Number(input.after) - 1);
  const { value_sealed: _, ...columns } = getTableColumns(secretVersions);
  const query = sqlite
    .select(columns)
    .from(secretVersions)
    .where(
      and(
        eq(secretVersions.org_id, ask.org),
        eq(secretVersions.secret_id, id),
        lte(secretVersions.version, newest),
        gte(secretVersions.version, row.oldest_version),
      ),
    )
    .orderBy(desc(secretVersions.version))
    .limit(input.limit + 1)
    .toSQL();
  const found = await core.database.all<Omit<VersionRow, 'value_sealed'>>(query);
  const right = isRight(call as never);
  for (let number = newest, at = 0; number >= row.oldest_version && at <= input.limit; number--) {
    if (!hasVersion(row, number)) continue;
    const version = found[at++];
    if (version?.version !== number || !right(version)) await miss(call as never, id, number);
  }
  const refusal = call.recheck();
  if (refusal) return { ok: false, refusal };
  const shown = found.slice(0, input.limit);
  return {
    ok: true,
    status: 200,
    data: {
      items: shown.map((version) => versionOut(version, row.version)),
      next: found.length > input.limit ? String(shown.at(-1)?.version) : null,
    },
  };
}

// ---------------------------------------------------------------- changes

const nameLock = (environment: string, name: string) => `name:${environment}:${name}`;
const target = (call: Call<never>) => call.ask.named.secret as string;

function newVersion(call: Call<never>, secret: string, version: number, value: SealedValue, now: number): VersionRow {
  const row = { org_id: call.ask.org, secret_id: secret, version, ...value, created_by: call.caller.id, created_at: now, mac: '' };
  return { ...row, mac: macOf(rowKey(call), 'version', row) };
}

/** 409 if one more ciphertext, or one more secret, goes beyond what an org may hold. */
function limits(core: Core, sealed: number, more: number): Refusal | null {
  if (more && core.rows.count('secret') + more > MOST_SECRETS)
    return refuse('LIMIT_REACHED', {
      message: `An organisation holds up to ${MOST_SECRETS.toLocaleString('en')} secrets, deleted ones included until they are purged.`,
    });
  return core.rows.sealedBytes() + sealed > MOST_SEALED
    ? refuse('LIMIT_REACHED', { message: 'An organisation holds up to 4 GiB of sealed values.' })
    : null;
}

interface CreateInput {
  id: string;
  name: string;
  type: SecretType;
  environment: string | null;
  description: string | null;
  tags: Record<string, string>;
  ttl: number | null;
  rotate_every_seconds: number | null;
  value: SealedValue;
}

const create: Operation<CreateInput> = {
  authorize({ core, ask, caller, input }) {
    const environment = environmentOf(core, ask.org, input.environment);
    const shown = input.environment ?? environment?.slug ?? '';
    return mayReach(caller, ask.action, { environment: environment?.id ?? '', shown, name: input.name });
  },
  change: {
    locks: ({ core, ask, input }) => [nameLock(environmentOf(core, ask.org, input.environment)?.id ?? '', input.name)],
    plan(call, now) {
      const { core, ask, input } = call;
      const environment = environmentOf(core, ask.org, input.environment);
      if (!environment) return refuse('NOT_FOUND', { message: 'There is no such environment.' });
      Object.assign(call.subject, { resource: input.id, environment: environment.slug, version: 1 });
      if (core.rows.find('secret', environment.id, input.name)) return refuse('SECRET_NAME_TAKEN');
      if (core.marks.concerns(environment.id).leaving) return refuse('UNAVAILABLE', { retry_after: 1 });
      const sealed = input.value.value_sealed.length;
      const limit = limits(core, sealed, 1);
      if (limit) return limit;
      const put = insertion(call as never, 'secret', {
        org_id: ask.org,
        id: input.id,
        environment_id: environment.id,
        name: input.name,
        type: input.type,
        description: input.description,
        tags: input.tags,
        version: 1,
        amended: 0,
        seal_id: input.value.seal_id,
        fingerprint: input.value.fingerprint,
        size: input.value.size,
        sealed_size: sealed,
        oldest_version: 1,
        rotate_every_seconds: input.rotate_every_seconds,
        created_at: now,
        updated_at: now,
        expires_at: input.ttl === null ? null : now + input.ttl * 1000,
      });
      const row = put.row as SecretRow;
      call.subject.expires_at = isoOrNull(row.expires_at);
      return {
        status: 201,
        data: secretOut(row, environment.slug, now),
        etag: etagOf(row),
        puts: [put],
        versions: [newVersion(call as never, input.id, 1, input.value, now)],
        environments: [environment.id],
        resource: input.id,
      };
    },
  },
};

/** The plan of a secret's next version: the row moves on, the oldest version beyond the thousandth goes. */
function advance(call: Call<never>, row: SecretRow, value: SealedValue, fields: Partial<SecretRow>, now: number): Plan | Refusal {
  const limit = limits(call.core, value.value_sealed.length, 0);
  if (limit) return limit;
  const version = row.version + 1;
  const oldest = Math.max(row.oldest_version, version - MOST_VERSIONS + 1);
  const put = revision(call, 'secret', row, {
    ...fields,
    version,
    amended: 0,
    seal_id: value.seal_id,
    fingerprint: value.fingerprint,
    size: value.size,
    sealed_size: row.sealed_size + value.value_sealed.length,
    oldest_version: oldest,
    updated_at: now,
  });
  return {
    ...changed(call, put, now),
    versions: [newVersion(call, row.id, version, value, now)],
    ...(oldest > row.oldest_version && { trimmed: [{ secret: row.id, version: oldest - 1 }] }),
  };
}

/** The plan of a changed row without a new version. */
function changed(call: Call<never>, put: ReturnType<typeof revision>, now: number): Plan {
  const row = put.row as SecretRow;
  const environment = describe(call, row);
  return {
    status: 200,
    data: secretOut(row, environment, now),
    etag: etagOf(row),
    puts: [put],
    environments: [row.environment_id],
    resource: row.id,
  };
}

interface UpdateInput {
  if_match: string | null;
  name: string | null;
  /** Fields as they are to stand; those that are absent stay. */
  fields: Partial<Pick<SecretRow, 'type' | 'description' | 'tags' | 'rotate_every_seconds'>>;
  /** Seconds from now, null for no end; undefined leaves it. */
  ttl?: number | null;
  value: SealedValue | null;
}

const update: Operation<UpdateInput> = {
  authorize({ core, ask, caller, input }) {
    const row = core.rows.get('secret', ask.named.secret as string);
    if (input.name === null || !row) return null;
    return mayReach(caller, ask.action, { environment: row.environment_id, shown: slugOf(core, row.environment_id), name: input.name });
  },
  change: {
    locks(call) {
      const row = call.core.rows.get('secret', target(call as never));
      return [target(call as never), ...(row && call.input.name !== null ? [nameLock(row.environment_id, call.input.name)] : [])];
    },
    plan(call, now) {
      const { core, input, caller } = call;
      const row = core.rows.get('secret', target(call as never));
      // A new lifetime revives what has expired; nothing else may change it.
      const refusal = row && input.ttl !== undefined && row.deleted_at === null && row.revoked_at === null ? null : readable(row, now);
      if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
      const environment = describe(call as never, row);
      const conflict = stale(row, input.if_match);
      if (conflict) return conflict;
      if (input.name !== null && input.name !== row.name && core.rows.find('secret', row.environment_id, input.name))
        return refuse('SECRET_NAME_TAKEN');

      const wanted: Partial<SecretRow> = {
        ...input.fields,
        ...(input.name !== null && { name: input.name }),
        ...(input.ttl !== undefined && { expires_at: input.ttl === null ? null : now + input.ttl * 1000 }),
      };
      if (wanted.expires_at !== undefined) call.subject.expires_at = isoOrNull(wanted.expires_at);
      if (input.name !== null && input.name !== row.name) call.subject.former_name = row.name;
      // Who may not read the value is not told, by a version that stays, that it equals theirs.
      const same =
        input.value !== null &&
        input.value.fingerprint === row.fingerprint &&
        reaches(caller, ['secrets:read'], row.environment_id, row.name);
      if (input.value && !same) return advance(call as never, row, input.value, wanted, now);
      const differs = Object.entries(wanted).some(
        ([field, value]) => JSON.stringify(value) !== JSON.stringify(row[field as keyof SecretRow]),
      );
      if (!differs) return { status: 200, data: secretOut(row, environment, now), etag: etagOf(row) };
      return changed(call as never, revision(call as never, 'secret', row, { ...wanted, amended: row.amended + 1, updated_at: now }), now);
    },
  },
};

interface RotateInput {
  if_match: string | null;
  /** Null until the Worker has generated one: the gate then says for which type. */
  value: SealedValue | null;
  generate: GenerateOptions | null;
}

const rotate: Operation<RotateInput> = {
  change: {
    locks: (call) => [target(call as never)],
    plan(call, now) {
      const { core, input } = call;
      const row = core.rows.get('secret', target(call as never));
      const refusal = readable(row, now);
      if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
      describe(call as never, row);
      if (input.value === null || input.generate !== null) {
        if (!canGenerate(row.type)) return invalid('value', `is required: no value can be generated for the type ${row.type}`);
        const problem = optionsProblem(row.type, input.generate ?? undefined);
        if (problem) return invalid(problem.path, problem.message);
      }
      const conflict = stale(row, input.if_match);
      if (conflict) return conflict;
      if (input.value === null) return { more: { type: row.type } };
      return advance(call as never, row, input.value, {}, now);
    },
  },
};

interface RollbackInput {
  if_match: string | null;
  version: number;
}

/** Refuses unless a secret is readable and has that version. */
const standing = (row: SecretRow | null, version: number, now: number): Refusal | null =>
  readable(row, now) ??
  (row && hasVersion(row, version) ? withdrawn(row, version) : refuse('NOT_FOUND', { message: `This secret has no version ${version}.` }));

const rollback: Operation<RollbackInput> = {
  change: {
    locks: (call) => [target(call as never)],
    /** The version, or why there is none now: what stands once it is locked may be another, but that is as true an answer. */
    async before(call): Promise<VersionRow | Refusal> {
      const row = call.core.rows.get('secret', target(call as never));
      return standing(row, call.input.version, call.core.now()) ?? versionOf(call as never, (row as SecretRow).id, call.input.version);
    },
    plan(call, now, fetched) {
      const row = call.core.rows.get('secret', target(call as never));
      if (row && row.deleted_at === null) describe(call as never, row);
      const old = fetched as VersionRow | Refusal;
      if (isRefusal(old)) return old;
      const refusal = standing(row, old.version, now);
      if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
      const conflict = stale(row, call.input.if_match);
      if (conflict) return conflict;
      // The ciphertext is bound to its own random id, not to a number: it serves again as it is.
      const { seal_id, value_sealed, fingerprint, size } = old;
      return advance(call as never, row, { seal_id, value_sealed, fingerprint, size }, {}, now);
    },
  },
};

interface DeleteInput {
  if_match: string | null;
  permanent: boolean;
}

const remove: Operation<DeleteInput> = {
  change: {
    locks: (call) => [target(call as never)],
    plan(call, now) {
      const { core, ask, input } = call;
      const row = core.rows.get('secret', target(call as never));
      if (!row || (row.deleted_at !== null && (!input.permanent || row.deleted_at + RESTORABLE <= now))) return refuse('NOT_FOUND');
      describe(call as never, row);
      if (input.permanent && call.caller.kind === 'break_glass')
        return refuse('INSUFFICIENT_SCOPE', { message: 'A break-glass token deletes nothing for good: leave out permanent.' });
      const conflict = stale(row, input.if_match);
      if (conflict) return conflict;
      if (row.deleted_at === null) call.subject.former_name = row.name;
      if (!input.permanent) {
        const put = revision(call as never, 'secret', row, { deleted_at: now, updated_at: now, amended: row.amended + 1 });
        return { ...changed(call as never, put, now), status: 204, data: null, etag: undefined };
      }
      return {
        status: 204,
        data: null,
        also: [
          { sql: 'delete from secret_versions where org_id = ? and secret_id = ?', params: [ask.org, row.id] },
          { sql: 'delete from secrets where org_id = ? and id = ?', params: [ask.org, row.id] },
        ],
        gone: [{ kind: 'secret', id: row.id }],
        destroyed: [row.id],
        environments: [row.environment_id],
      };
    },
  },
};

const restore: Operation<Record<string, never>> = {
  change: {
    locks(call) {
      const row = call.core.rows.get('secret', target(call as never));
      return [target(call as never), ...(row ? [nameLock(row.environment_id, row.name)] : [])];
    },
    plan(call, now) {
      const { core } = call;
      const row = core.rows.get('secret', target(call as never));
      if (!row || (row.deleted_at !== null && row.deleted_at + RESTORABLE <= now)) return refuse('NOT_FOUND');
      describe(call as never, row);
      if (!core.rows.get('environment', row.environment_id))
        return refuse('NOT_FOUND', { message: 'The environment of this secret is gone.' });
      if (row.deleted_at === null) return refuse('CONFLICT', { message: 'This secret is not deleted.' });
      if (core.rows.find('secret', row.environment_id, row.name)) return refuse('SECRET_NAME_TAKEN');
      if (core.marks.concerns(row.environment_id).leaving) return refuse('UNAVAILABLE', { retry_after: 1 });
      return changed(
        call as never,
        revision(call as never, 'secret', row, { deleted_at: null, updated_at: now, amended: row.amended + 1 }),
        now,
      );
    },
  },
};

export const secretOperations = {
  'secret.create': create,
  'secret.list': { read: list } satisfies Operation<ListInput>,
  'secret.read': secretRead,
  'secret.read_by_name': secretReadByName,
  'secret.read_all': { read: readAll } satisfies Operation<ValuesInput>,
  'secret.versions': { read: versions } satisfies Operation<VersionsInput>,
  'secret.update': update,
  'secret.rotate': rotate,
  'secret.rollback': rollback,
  'secret.delete': remove,
  'secret.restore': restore,
};
