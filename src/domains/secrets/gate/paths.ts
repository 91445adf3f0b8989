// Secrets at paths, as clients of Vault use them: a name in an environment, with its versions and tags. What
// is deleted keeps its place for seven days, so a write gives it the next version, and tags can come before
// the value. Invariants: the plans and permissions are those of the other operations on secrets; bringing a
// deleted secret back needs secrets:delete, as restoring it does; the type of a secret never changes here.

import QuickLRU from 'quick-lru';
import { reaches } from '../../../auth/authorize';
import { utf8 } from '../../../crypto/bytes';
import { RESTORABLE } from '../../../db/rows';
import type { EnvironmentRow, ReservedSecretRow, SecretRow, VersionRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { mayReveal } from '../../../gate/approvals/hold';
import { caughtUp } from '../../../gate/journal/mirror';
import { part } from '../../../gate/part';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { isRefusal } from '../../../gate/request/call';
import { fail, ok, wants } from '../../../gate/request/outcome';
import type { Plan, Proposal } from '../../../gate/request/plan';
import { environmentOf, namedId, slugOf } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { iso } from '../../../http/wire';
import { LEASE_SECONDS } from '../../orgs/wire';
import { RESERVED } from '../rows';
import {
  type Delivered,
  type EncryptedValue,
  hasVersion,
  MOST_TAGS,
  MOST_TAGS_BYTES,
  readable,
} from '../rules';
import { removal, restoration } from './changes';
import { advance, begin, changed, isUsedId, type Kept, keptOf, locksOf } from './plans';
import { aboutRead, byName, deliver, noEnvironment, type ReadInput, read } from './reads';
import { reserve } from './reserved';
import { subjectOf } from './state';
import { historyOf, versionOf } from './versions';

/** What has the name: a secret, a deleted one that can be restored, or tags without a value. */
export interface Place {
  environment: EnvironmentRow | null;
  live: SecretRow | null;
  deleted: SecretRow | null;
  reserved: ReservedSecretRow | null;
}

export function placeOf({ core, ask }: Call<unknown>, now = core.now()): Place {
  const environment = environmentOf(core, ask.named.environment);
  const name = namedId(ask, 'name');
  if (!environment || name === '') return { environment, live: null, deleted: null, reserved: null };
  const live = core.rows.find('secret', environment.id, name);
  const was = live ? null : core.rows.deleted(environment.id, name);
  const reserved = live ? null : core.rows.find('reserved_secret', environment.id, name);
  return {
    environment,
    live,
    deleted: was && (was.deleted_at as number) + RESTORABLE > now ? was : null,
    // safety: reservation-ends
    reserved: reserved && (reserved.stays || reserved.created_at + RESERVED > now) ? reserved : null,
  };
}

/** One version of a secret, and its tags. Of a deleted secret, all versions are deleted. */
export interface VersionShown {
  version: number;
  created_at: string;
  deleted_at: string | null;
  tags: Record<string, string>;
}

const shownOf = (row: SecretRow): VersionShown => ({
  version: row.version,
  created_at: iso(row.rotated_at ?? row.updated_at),
  deleted_at: row.deleted_at === null ? null : iso(row.deleted_at),
  tags: row.tags,
});

export const about = (call: Call<unknown>): Partial<ReturnType<typeof subjectOf>> => {
  const { live, deleted } = placeOf(call);
  const row = live ?? deleted;
  return row ? subjectOf(call.core, row) : {};
};

export const nameLockOf = (call: Call<unknown>): string[] => {
  const { environment, live, deleted } = placeOf(call);
  return locksOf(environment, [namedId(call.ask, 'name')], [live ?? deleted]);
};

// ---------------------------------------------------------------- reading

/** A value in transit, with the lease of its environment. */
export type DeliveredAtPath = Delivered & { lease_seconds: number };
/** 404, with what was deleted if something was. */
export interface Absent {
  gone: VersionShown | null;
}

/** 404. A deleted secret shows its newest version, as Vault does; no version of it can be read. */
function absent(call: Call<ReadInput>): OperationOutcome {
  const { environment, deleted } = placeOf(call);
  if (!environment) return fail(noEnvironment(call));
  const { version } = call.input;
  const isShown = deleted && (version === null || version === deleted.version);
  return {
    ...ok({ gone: isShown ? shownOf(deleted) : null } satisfies Absent, { status: 404 }),
    reveals: 'unheld',
  };
}

const readPath: Operation<ReadInput> = {
  subject: (call) => aboutRead(call, byName(call)),
  async read(call) {
    const outcome = await read(
      call,
      () => byName(call),
      () => absent(call),
    );
    if (outcome.kind !== 'ok' || outcome.status !== 200) return outcome;
    const { environment } = placeOf(call);
    const lease_seconds = environment?.lease_seconds ?? LEASE_SECONDS;
    return { ...outcome, data: { ...(outcome.data as Delivered), lease_seconds } satisfies DeliveredAtPath };
  },
};

/** The versions and tags at a path. A name that has only tags has no version. */
export interface PathShown {
  tags: Record<string, string>;
  version: number;
  oldest_version: number;
  created_at: string;
  updated_at: string;
  versions: { version: number; created_at: string; deleted_at: string | null; revoked: boolean }[];
}

const MOST_SHOWN = 1000;

const describe: Operation<Record<string, never>> = {
  subject: about,
  async read(call): Promise<OperationOutcome> {
    await caughtUp(call.core);
    const { environment, live, deleted, reserved } = placeOf(call);
    if (!environment) return fail(noEnvironment(call));
    const row = live ?? deleted;
    if (!row) return reserved ? ok(emptyOf(reserved)) : fail(refuse('NOT_FOUND'));
    const found = await historyOf(call, row, row.version, MOST_SHOWN);
    // safety: metadata-rechecked-after-fetch
    const refusal = call.recheck();
    if (refusal) return fail(refusal);
    const deleted_at = row.deleted_at === null ? null : iso(row.deleted_at);
    return ok({
      tags: row.tags,
      version: row.version,
      oldest_version: row.oldest_version,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
      versions: found.map(({ version, created_at }) => ({
        version,
        created_at: iso(created_at),
        deleted_at,
        revoked: version <= (row.revoked_through ?? 0),
      })),
    } satisfies PathShown);
  },
};

const emptyOf = ({ tags, created_at }: ReservedSecretRow): PathShown => ({
  tags,
  version: 0,
  oldest_version: 0,
  created_at: iso(created_at),
  updated_at: iso(created_at),
  versions: [],
});

// ---------------------------------------------------------------- writing

export interface WriteInput {
  /** The version that the caller believes is the newest; 0 for none; null for any. */
  cas: number | null;
  /** Changes some keys of what is there, so the Worker needs the current value. */
  merges: boolean;
  /** Whether the map has the one key `value`, so that it can be stored as that text. */
  is_single: boolean;
  /** Whether the value is that text; else it is the text of the map. */
  is_text: boolean;
  /** The secret that the Worker encrypted the value for: its guess of the secret with this name. */
  id: string;
  /** The current value that the Worker decided by, by its ciphertext, and whether it is a map. */
  seen: { seal_id: string; is_map: boolean } | null;
  /** Null until the Worker has merged it, or if the merged one does not fit. */
  value: EncryptedValue | null;
}

/** What the Worker needs to encrypt the value. */
export interface WriteAsked {
  /** The secret; null for a new one. */
  id: string | null;
  type: SecretRow['type'] | null;
  /** Whether the current value is a map; null if the Worker is to find out. */
  is_map: boolean | null;
  /** The current value, if what is written depends on it. */
  current: Delivered | null;
}

/**
 * Whether values of type json are maps, by their ciphertexts, as Workers found. A gate cannot see it, and
 * without it each write would need the current value.
 */
const maps = part(() => new QuickLRU<string, boolean>({ maxSize: 5000 }));

/** Whether the current value of a secret is a map; null if that is not known here. */
function isMap({ core, input }: Call<WriteInput>, row: SecretRow): boolean | null {
  if (row.type !== 'json') return false;
  const seen = input.seen?.seal_id === row.seal_id ? input.seen.is_map : null;
  if (seen !== null) maps(core).set(row.seal_id, seen);
  return maps(core).get(row.seal_id) ?? seen;
}

/** Whether the Worker needs the current value: to change some of its keys, or to see whether it is a map. */
const needsCurrent = (call: Call<WriteInput>, row: SecretRow): boolean =>
  call.input.merges ? call.input.seen?.seal_id !== row.seal_id : isMap(call, row) === null;

interface Locked {
  kept: Kept | null;
  current: VersionRow | null;
}

function planOfWrite(call: Call<WriteInput>, now: number, left: Locked | null): Proposal {
  const { core, ask, input } = call;
  const place = placeOf(call, now);
  const { environment, live, reserved } = place;
  const row = live ?? place.deleted;
  if (!environment) return noEnvironment(call);
  // safety: cas-version
  if (input.cas !== null && input.cas !== (row?.version ?? 0)) return refuse('VERSION_CONFLICT');
  if (input.merges && !live)
    return { status: 404, data: { gone: row && shownOf(row) } satisfies Absent, isRead: true };
  if (!row) {
    if (input.value === null || isUsedId(core, input.id)) return encryptAgain(call, null, null, now);
    const fields = {
      id: input.id,
      name: namedId(ask, 'name'),
      type: input.is_text ? ('generic' as const) : ('json' as const),
      description: null,
      tags: reserved?.tags ?? {},
      rotate_every_seconds: null,
    };
    return written(begin(call, environment, fields, input.value, null, now));
  }
  const refusal = readable({ ...row, deleted_at: null }, now) ?? (live ? null : mayRevive(call, row));
  if (refusal) return refusal;
  const unmergeable = input.merges && live ? mayMerge(call, live) : null;
  if (unmergeable) return unmergeable;
  if (row.id !== input.id || (live && needsCurrent(call, row))) return encryptAgain(call, row, left, now);
  // A deleted value is not looked at: a secret of type json most likely holds a map.
  const holdsMap = isMap(call, row) ?? row.type === 'json';
  // safety: secret-keeps-its-type
  if (input.value === null || (!holdsMap && !input.is_single))
    return invalid('data', 'this secret holds one value: write {"value": "…"} or change its type');
  if (input.is_text === holdsMap) return encryptAgain(call, row, left, now, holdsMap);
  if (row.type === 'json') maps(core).set(input.value.seal_id, holdsMap);
  const fields = live ? {} : { deleted_at: null };
  const plan = written(advance(call, row, input.value, fields, left?.kept ?? null, now), reserved);
  return input.merges && !isRefusal(plan) ? { ...plan, reveals: [row] } : plan;
}

/**
 * 403 unless the caller may read the secret: whether a merged value is within its limits depends on the
 * length of the value that is there. Clients of Vault then read and write it whole.
 */
function mayMerge(call: Call<unknown>, row: SecretRow): Refusal | null {
  // safety: merge-needs-read
  if (!reaches(call.caller, ['secrets:read'], row.environment_id, row.name))
    return refuse('INSUFFICIENT_SCOPE', {
      message: 'A merge patch needs secrets:read. Write the whole value instead.',
    });
  // safety: merge-of-held-value
  return mayReveal(call, row).isHeld
    ? refuse('APPROVAL_REQUIRED', {
        message:
          'Reading this secret needs approval, and a merge patch depends on its value. Write the whole value instead.',
      })
    : null;
}

/** 403 unless the caller may restore the deleted secret, which a new value does. */
const mayRevive = ({ caller }: Call<unknown>, row: SecretRow): Refusal | null =>
  // safety: revival-needs-delete
  reaches(caller, ['secrets:delete'], row.environment_id, row.name)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message:
          'A secret of this name was deleted. Writing it again restores it, which needs secrets:delete.',
      });

/**
 * Asks the Worker to encrypt the value for a secret, with its current value if what is written depends on
 * that. Another request may have written the secret by then, and the Worker is asked again.
 */
function encryptAgain(
  call: Call<WriteInput>,
  row: SecretRow | null,
  left: Locked | null,
  now: number,
  is_map: boolean | null = row && isMap(call, row),
): Proposal {
  const isNeeded = row !== null && row.deleted_at === null && needsCurrent(call, row);
  const version = left?.current?.seal_id === row?.seal_id ? left?.current : null;
  if (call.ask.is_last || (isNeeded && !version)) return refuse('UNAVAILABLE', { retry_after: 1 });
  const current =
    isNeeded && version ? deliver({}, { row, version }, slugOf(call.core, row.environment_id), now) : null;
  return wants('value', {
    id: row?.id ?? null,
    type: row?.type ?? null,
    is_map,
    current,
  } satisfies WriteAsked);
}

/** The plan of a written value, which takes the place of tags without one. */
function written(plan: Plan | Refusal, reserved: ReservedSecretRow | null = null): Plan | Refusal {
  if (isRefusal(plan)) return plan;
  const put = plan.writes?.[0]?.row as SecretRow;
  return {
    ...plan,
    status: 200,
    data: shownOf(put),
    etag: undefined,
    ...(reserved && { deletes: [{ kind: 'reserved_secret', id: reserved.id }] }),
  };
}

const write: Operation<WriteInput> = {
  subject(call) {
    const { live, deleted } = placeOf(call);
    const row = live ?? deleted;
    return row ? { ...subjectOf(call.core, row), action: live ? 'secret.update' : 'secret.restore' } : {};
  },
  change: {
    locks: nameLockOf,
    async locked(call): Promise<Locked> {
      const { live, deleted } = placeOf(call);
      const isGood = live && needsCurrent(call, live) && readable(live, call.core.now()) === null;
      return {
        kept: await keptOf(call, live ?? deleted),
        current: isGood ? await versionOf(call, live.id, live.version) : null,
      };
    },
    plan: (call, now, { locked: left }) => planOfWrite(call, now, left as Locked | null),
  },
};

type Tags = SecretRow['tags'];

export interface DescribeInput {
  /** New values of tags, null for those to remove. Without `merges`, of all tags. */
  tags: Record<string, string | null> | null;
  merges: boolean;
}

/** The tags after a change; 400 where some exceed the limits together with those that stay. */
export function tagsAfter(
  before: Tags,
  { tags, merges }: DescribeInput,
): { tags: Tags } | { refusal: Refusal } {
  if (tags === null) return { tags: before };
  const after = new Map(merges ? Object.entries(before) : []);
  for (const [key, value] of Object.entries(tags))
    if (value === null) after.delete(key);
    else after.set(key, value);
  const size = utf8([...after].flat().join('')).length;
  // safety: merged-tags-bounded
  if (after.size > MOST_TAGS || size > MOST_TAGS_BYTES)
    return { refusal: invalid('custom_metadata', 'must have at most 64 keys and 16,384 bytes in total') };
  return { tags: Object.fromEntries(after) };
}

const nothing = { status: 204, data: null } as const;

const describeAgain: Operation<DescribeInput> = {
  subject: about,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const { input } = call;
      const { environment, live, deleted, reserved } = placeOf(call, now);
      const row = live ?? deleted;
      if (!environment) return noEnvironment(call);
      if (!row && !reserved && input.merges) return refuse('NOT_FOUND');
      const before = row?.tags ?? reserved?.tags ?? {};
      const after = tagsAfter(before, input);
      if ('refusal' in after) return after.refusal;
      const { tags } = after;
      const isSame = JSON.stringify(tags) === JSON.stringify(before);
      if (row)
        return isSame ? nothing : { ...changed(call, row, { tags }, now), ...nothing, etag: undefined };
      if (reserved) {
        const put = revision(call, 'reserved_secret', reserved, { tags });
        return isSame ? nothing : { ...nothing, writes: [put] };
      }
      const made = reserve(call, environment, { tags }, now);
      if (isRefusal(made)) return made;
      const { row: _, ...plan } = made;
      return { ...nothing, ...plan };
    },
  },
};

// ---------------------------------------------------------------- deleting

export interface DeleteInput {
  /** `newest`: as long as it can be restored. `all`: everything at the path, for good. */
  what: 'newest' | 'all';
  /** The versions that the request names; null if it names none. */
  versions: number[] | null;
}

/** 400 unless the versions that a request names are those that it can act on. */
function misnamed(row: SecretRow, { what, versions }: DeleteInput): Refusal | null {
  if (versions === null) return null;
  if (what === 'newest')
    return versions.every((version) => version === row.version)
      ? null
      : invalid('versions', 'only the newest version can be deleted or restored');
  const named = new Set(versions);
  for (let version = row.oldest_version; version <= row.version; version++)
    if (hasVersion(row, version) && !named.has(version))
      return invalid('versions', 'all versions are destroyed together: name all of them');
  return null;
}

const remove: Operation<DeleteInput> = {
  subject: about,
  authorize: ({ caller, input }) =>
    // safety: break-glass-cannot-purge-path
    input.what === 'all' && caller.kind === 'break_glass'
      ? refuse('INSUFFICIENT_SCOPE', {
          message: 'A break-glass token cannot delete a secret permanently.',
        })
      : null,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const { input } = call;
      const { environment, live, deleted, reserved } = placeOf(call, now);
      if (!environment) return noEnvironment(call);
      const row = live ?? deleted;
      const wrong = row && misnamed(row, input);
      if (wrong) return wrong;
      const isAll = input.what === 'all';
      const deletes = isAll && reserved ? [{ kind: 'reserved_secret', id: reserved.id } as const] : [];
      if (!row || (!isAll && !live)) return { ...nothing, deletes };
      const plan = removal(call, row, isAll, now);
      return { ...plan, deletes: [...(plan.deletes ?? []), ...deletes] };
    },
  },
};

const restore: Operation<DeleteInput> = {
  subject: about,
  change: {
    locks: nameLockOf,
    plan(call, now): Proposal {
      const { environment, live, deleted } = placeOf(call, now);
      if (!environment) return noEnvironment(call);
      const row = live ?? deleted;
      if (!row) return nothing;
      const wrong = misnamed(row, call.input);
      if (wrong || live) return wrong ?? nothing;
      const plan = restoration(call, row, now);
      return isRefusal(plan) ? plan : { ...plan, ...nothing, etag: undefined };
    },
  },
};

export const pathOperations = {
  'secret.read_path': readPath,
  'secret.write_path': write,
  'secret.delete_path': remove,
  'secret.restore_path': restore,
  'secret.describe_path': describeAgain,
  'secret.show_path': describe,
};
