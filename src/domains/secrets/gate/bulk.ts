// Reading all values of an environment, whole or in pages. Invariants: an answer shows one point in time, and
// so do all its parts; all pages of a read show one revision of the environment; a value that does not open
// is named, and costs no other.

import { namesHeld } from '../../../auth/authorize';
import { sha256 } from '../../../crypto/digest';
import type { EnvironmentRow, VersionRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { isNotModified } from '../../../etag';
import { commonPrefix } from '../../../gate/archive/readers';
import { namesNoted, type Subject } from '../../../gate/audit/entry';
import { environmentRevision } from '../../../gate/journal/apply';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { fail, ok } from '../../../gate/request/outcome';
import { environmentOf } from '../../../gate/request/target';
import { LEASE_SECONDS } from '../../orgs/wire';
import type { Delivered } from '../rules';
import { noEnvironment, unknownEnvironment } from './reads';
import { type Found, MOST_BULK, type Place, partOf, select } from './selection';
import { fetchWhole, keep, keyOf } from './versions';

export interface ValuesInput {
  as_text?: true;
  /** Only what is directly below the prefix, at this revision of the environment; null: the current one. */
  folder?: { revision: number | null };
  /** The only prefix, from a Worker of 0.4.0. */
  prefix?: string;
  prefixes?: readonly string[];
  strip?: boolean;
  if_none_match: string | null;
  /** How many values a page holds; null for all of them in one answer. */
  limit?: number | null;
  /** Where the previous page ended, or null. */
  page?: string | null;
  /** Where the previous part of this answer ended, and the ETag of the answer. */
  after: string | null;
  etag: string | null;
}

/** A part of an answer: as much as fits in one RPC. */
export interface ValuesPart {
  environment: string;
  items: Delivered[];
  /** The names under which the items are shown, if they are not their own. */
  names?: string[];
  next: string | null;
  /** Names that an approval policy withholds. A gate of 0.4.0 does not send it. */
  withheld?: string[];
  /** Names in this part whose versions D1 does not have as they were written. */
  unreadable?: string[];
  /** Where the next page begins; null if this is the last one. */
  next_page?: string | null;
  /** Of a folder. */
  folder?: { revision: number; changed_at: number; lease_seconds: number };
  /** The set changed between parts: the answer starts again. */
  changed?: true;
}

type ValuesCall = Call<ValuesInput>;

const prefixesOf = ({ prefixes, prefix = '' }: ValuesInput): readonly string[] =>
  prefixes?.length ? prefixes : [prefix];

/** The set that is read: the environment with its revision, and which of its names. */
function about({ core, ask, need, caller, input }: ValuesCall): Partial<Subject> {
  const environment = environmentOf(core, ask.named.environment);
  if (!environment) return {};
  const prefixes = prefixesOf(input);
  return {
    resource: environment.id,
    environment: environment.slug,
    version: environmentRevision(core, environment.id),
    prefix: prefixes.reduce(commonPrefix),
    ...(prefixes.length > 1 && { prefixes }),
    patterns: namesHeld(caller, need.scopes, environment.id) ?? undefined,
  };
}

/**
 * What a cursor is bound to besides the organisation and the list: environment, prefixes, and the names that
 * they show.
 */
const readOf = (environment: EnvironmentRow, input: ValuesInput): string =>
  sha256(JSON.stringify([environment.id, prefixesOf(input), input.strip === true])).slice(0, 16);

const pageAt = (
  revision: number,
  environment: EnvironmentRow,
  input: ValuesInput,
  { prefix, name }: Place,
): string => `${revision} ${readOf(environment, input)} ${prefix} ${name}`;

/**
 * Where a page begins; a refusal if its cursor belongs to another read, or if the environment has changed
 * since.
 */
function placeOf(revision: number, environment: EnvironmentRow, input: ValuesInput): Place | null | Refusal {
  if (input.page == null) return null;
  const [was, read, prefix, name = ''] = input.page.split(' ');
  // safety: bulk-cursor-of-this-read
  if (read !== readOf(environment, input)) return refuse('INVALID_CURSOR');
  // safety: bulk-pages-of-one-revision
  if (Number(was) !== revision)
    return refuse('CONFLICT', {
      message: 'Secrets of this environment have changed since the first page. Start again without cursor.',
    });
  return { prefix: Number(prefix), name };
}

/** What one answer shows, and its ETag. */
interface Shown extends Found {
  environment: EnvironmentRow;
  revision: number;
  next_page: string | null;
  etag: string;
}

function shownNow(call: ValuesCall, now: number): Shown | Refusal {
  const { core, ask, input, caller, need } = call;
  const environment = environmentOf(core, ask.named.environment);
  if (!environment) return unknownEnvironment(ask.named.environment);
  const revision = environmentRevision(core, environment.id);
  const after = placeOf(revision, environment, input);
  if (after && isRefusal(after)) return after;
  const limit = input.limit ?? null;
  const prefixes = prefixesOf(input);
  const strip = input.strip === true;
  const found = select(
    call,
    {
      environment: environment.id,
      scopes: need.scopes,
      prefixes,
      strip,
      isDirect: input.folder !== undefined,
      after,
      patterns: namesHeld(caller, need.scopes, environment.id),
      limit: limit ?? MOST_BULK.secrets,
    },
    now,
  );
  const isPaged = limit !== null || after !== null;
  if (found.next && !isPaged) return refuse('RESULT_TOO_LARGE');
  const next_page = found.next && pageAt(revision, environment, input, found.next);
  const rows = found.selected.map(({ row: { id, version, expires_at }, name }) =>
    expires_at === null ? [id, name, version] : [id, name, version, expires_at],
  );
  const etag = sha256(
    JSON.stringify([readOf(environment, input), rows, found.held.map(({ id }) => id), next_page]),
  ).slice(0, 32);
  return { ...found, environment, revision, next_page, etag: `"${etag}"` };
}

/** What a folder shows besides its values, and its names for the audit entry; 404 if it has none. */
function folderOf({ input }: ValuesCall, { selected, environment, revision }: Shown) {
  if (!input.folder) return { part: {}, audit: {}, status: 200 };
  const changed_at = Math.max(0, ...selected.map(({ row }) => row.rotated_at ?? row.updated_at));
  const lease_seconds = environment.lease_seconds ?? LEASE_SECONDS;
  const { prefix: _, ...names } = namesNoted(selected.map(({ row }) => row.name).sort(), null);
  const wanted = input.folder.revision ?? revision;
  return {
    part: { folder: { revision, changed_at, lease_seconds } },
    // Of a folder whose names do not fit, everything below it counts as read.
    audit: names,
    status: selected.length && wanted === revision ? 200 : 404,
  };
}

async function values(call: ValuesCall): Promise<OperationOutcome> {
  const { core, input } = call;
  const fetched = new Map<string, VersionRow>();
  const broken = new Set<string>();
  for (let asked = false; ; asked = true) {
    const now = core.now();
    // safety: bulk-read-rechecked-after-fetch
    const refusal = asked ? call.recheck() : null;
    if (refusal) return fail(refusal);
    const shown = shownNow(call, now);
    if (isRefusal(shown)) return fail(shown);
    const { selected, held, bypassed, next_page, etag } = shown;
    const environment = shown.environment.slug;
    const folder = folderOf(call, shown);
    // A folder that is not shown reveals nothing.
    if (folder.status === 404)
      return { ...ok({ environment, items: [], next: null }, { status: 404 }), reveals: 'unheld' };
    const audit = {
      ...folder.audit,
      ...(bypassed.length && { bypassed_policies: bypassed }),
      ...(held.length && { withheld: held.map(({ id }) => id) }),
    };
    const answer = (part: Omit<ValuesPart, 'environment'>, tag = {}): OperationOutcome => ({
      ...ok({ environment, ...folder.part, ...part } satisfies ValuesPart, tag),
      reveals: 'unheld',
      audit,
    });
    // safety: bulk-read-point-in-time
    if (input.etag !== null && input.etag !== etag) return answer({ items: [], next: null, changed: true });
    if (isNotModified(input.if_none_match, etag)) return ok(null, { status: 304, etag });

    const rows = selected.map(({ row }) => row);
    const from = Number(input.after ?? 0);
    const { part, next, missing, unreadable } = partOf(
      core,
      { rows, fetched, broken, environment, now },
      { ...input, from },
    );
    if (missing.length === 0) {
      for (const version of fetched.values()) keep(core, version);
      const names = input.strip ? { names: part.map(({ index }) => selected[index]?.name as string) } : {};
      const items = part.map(({ item }) => item);
      return answer(
        { items, ...names, next, withheld: held.map(({ name }) => name), unreadable, next_page },
        { etag },
      );
    }
    const found = await fetchWhole(call, missing);
    for (const version of found.right) fetched.set(keyOf(version.secret_id, version.version), version);
    for (const key of found.broken) broken.add(key);
  }
}

/** All values of one folder. */
export const readFolder: Operation<ValuesInput> = {
  subject: about,
  read: async (call) =>
    environmentOf(call.core, call.ask.named.environment) ? values(call) : fail(noEnvironment(call)),
};

export const readAll: Operation<ValuesInput> = { byReplica: true, subject: about, read: values };
