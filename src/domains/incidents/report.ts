// The exposure report of a contained credential: what it and its descendants read, wrote and created, from
// the audit log, and which credentials were revoked with it. Invariant: repeating a report gives the same
// result, because its sources no longer change.

import { and, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { credentials } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import type { Entry } from '../../gate/audit/entry';
import { isEndedByPanic } from '../../gate/identity/lifetime';
import type { Context } from '../../http/context';
import { newSlices } from '../../http/slices';
import {
  activityOf,
  type Configured,
  type Descent,
  expanded,
  type Given,
  isChange,
  isDone,
  type MadeResource,
  type MadeUpstream,
  noteRead,
  type Seen,
  type SettingUp,
  type Started,
  TELLING,
  type Written,
} from './activity';
import { type Before, type Bulk, type Change, exposed, MOST_STEPS, unresolved } from './exposure';
import { type Gap, type Parts, walk } from './log';
import type {
  CredentialSummary,
  DescentPart,
  NamedSecret,
  RootPart,
  SecretState,
  SecretsPart,
} from './payloads';

/** Actions at which rows may have changed without an entry each. */
const BREAKING = ['org.adopt', 'integrity.alarm'];

/** The most credentials in a list of the report. */
const MOST_LISTED = 10_000;
/** Ids per query. */
const AT_ONCE = 1000;

export interface ExposureReport {
  /** The contained credential itself. */
  credential: CredentialSummary;
  revoked: CredentialSummary[];
  read: Seen[];
  /** Used by them through upstreams, and by anybody through upstreams that they made or changed. */
  used: Seen[];
  /** Those of `used` that went through upstreams that they made or changed: they may have seen the values. */
  placed: Seen[];
  upstreams: MadeUpstream[];
  written: Written[];
  shared: Given[];
  credentials: CredentialSummary[];
  connections: Configured[];
  syncs: Started[];
  setUp: SettingUp<MadeResource[]>;
  /** Credentials beyond the limit of the lists. */
  omitted: number;
  gaps: Gap[];
}

const isBreak = ({ action, status, reason }: Entry) =>
  (action === 'org.adopt' && status < 400) ||
  (action === 'integrity.alarm' && reason === 'gate_loaded_from_database');

const changeOf = ({
  sequence,
  action,
  resource,
  environment,
  version,
  former_name,
  expires_at,
}: Entry): Change => ({
  sequence,
  action,
  secret: resource as string,
  shown: environment ?? '',
  version: version as number,
  ...(former_name !== undefined && { former_name }),
  ...(expires_at !== undefined && { expires_at: expires_at === null ? null : Date.parse(expires_at) }),
});

/** What a report is about. `since` is in milliseconds; null means since the credential's creation. */
export interface Asked {
  id: string;
  since: number | null;
  /** What the report does not follow: the lineage of whoever contained the credential. */
  spared: string[];
  /** Nothing has ended yet: what is alive counts as revoked, because a containment would revoke it. */
  dry_run?: boolean;
  /** The request has contained the credential: its report is not refused, it waits. */
  waits?: boolean;
}

const byTime = (a: Seen, b: Seen) =>
  a.time - b.time || (a.secret < b.secret ? -1 : 1) || a.version - b.version;

/** Creates the report. */
export async function reportOf(
  context: Context,
  parts: Parts,
  { id, since, spared, dry_run = false, waits = false }: Asked,
): Promise<ExposureReport> {
  const descent = await descentOf(parts, id, spared);
  const { root } = descent;
  const from = since ?? root.created_at;
  const gaps: Gap[] = [];
  const activity = await activityOf(context, parts, descent, from, gaps);
  const read = new Map(activity.read);
  for (const one of activity.bulks.length
    ? await bulkReads(context, parts, { ...descent, waits }, activity.bulks, gaps)
    : [])
    noteRead(read, one);
  const credentials = await allCredentials(context, parts, descent, activity.made);
  const members = [...activity.members]
    .flatMap((member) => credentials.get(member) ?? [])
    .sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
  // safety: preview-lists-living
  const revoked = members.filter((one) => (dry_run && one.alive) || isRevoked(one, credentials, descent.org));
  const made = members.filter((one) => one.id !== id && one.created_at >= from);
  return {
    credential: root,
    revoked: revoked.slice(0, MOST_LISTED),
    read: [...read.values()].sort(byTime),
    used: [...activity.used.values()].sort(byTime),
    placed: [...activity.placed.values()],
    upstreams: activity.upstreams,
    written: activity.written,
    shared: activity.shared,
    connections: activity.connections,
    syncs: activity.syncs,
    setUp: activity.setUp,
    credentials: made.slice(0, MOST_LISTED),
    omitted:
      activity.forgotten +
      (descent.isCut ? 1 : 0) +
      Math.max(0, revoked.length - MOST_LISTED, made.length - MOST_LISTED),
    gaps: merged(gaps),
  };
}

/** Adds the credentials that the gate knows, ended sessions included, and what they end with. */
async function inGate(
  parts: Parts,
  ids: string[],
  credentials: Map<string, CredentialSummary>,
): Promise<void> {
  for (let at = 0; at < ids.length; at += AT_ONCE)
    for (const one of await parts<CredentialSummary[]>({
      part: 'credentials',
      ids: ids.slice(at, at + AT_ONCE),
    }))
      credentials.set(one.id, one);
}

async function descentOf(parts: Parts, id: string, spared: string[]): Promise<Descent> {
  const base = await parts<RootPart | null>({ part: 'root' });
  if (!base) throw new ApiError(refuse('NOT_FOUND'));
  const credentials = new Map([[id, base.root]]);
  const { ids, isCut } = await parts<DescentPart>({ part: 'descent', spared });
  await inGate(parts, ids, credentials);
  return { ...base, spared, ids, isCut, credentials };
}

/** What the bulk reads exposed. */
async function bulkReads(
  context: Context,
  parts: Parts,
  { payer, waits }: Pick<Descent, 'payer'> & { waits: boolean },
  bulks: Bulk[],
  gaps: Gap[],
): Promise<Seen[]> {
  const environments = [...new Set(bulks.map(({ environment }) => environment))];
  const slugs = new Set(bulks.map(({ shown }) => shown));
  const current = new Map<string, SecretState & { at: number }>();
  for (let after: string | null = ''; after !== null; ) {
    const { rows, head, next }: SecretsPart = await parts<SecretsPart>({
      part: 'secrets',
      environments,
      after,
    });
    for (const row of rows) current.set(row.id, { ...row, at: head });
    after = next;
  }
  const oldest = Math.min(...bulks.map(({ revision }) => revision));
  const changes: Change[] = [];
  const breaks: number[] = [];
  const isHere = (entry: Entry) =>
    isChange(entry) && (current.has(entry.resource as string) || slugs.has(entry.environment ?? ''));
  for await (const entries of walk(
    context,
    parts,
    { from: oldest + 1, actions: [...TELLING, ...BREAKING] },
    gaps,
  ))
    for (const entry of expanded(entries)) {
      if (isHere(entry)) changes.push(changeOf(entry));
      else if (isBreak(entry)) breaks.push(entry.sequence);
    }
  const open = unresolved(bulks, current.keys(), changes, breaks);
  const before =
    open.size && oldest > 0
      ? await beforeThat(context, parts, open, oldest, gaps)
      : new Map<string, Before>();
  const slices = newSlices(`${context.org}.${payer}`, MOST_STEPS, { waits });
  try {
    return await exposed(bulks, current, changes, breaks, before, slices);
  } finally {
    slices.end();
  }
}

/** The state of secrets at a sequence, as far back as the log goes. */
async function beforeThat(
  context: Context,
  parts: Parts,
  secrets: Set<string>,
  to: number,
  gaps: Gap[],
): Promise<Map<string, Before>> {
  const found = new Map<string, Before>();
  for await (const entries of walk(
    context,
    parts,
    { to, resources: new Set([...secrets, context.org]) },
    gaps,
  ))
    for (const entry of expanded(entries)) {
      if (isBreak(entry)) found.clear();
      if (!isChange(entry) || !secrets.has(entry.resource as string)) continue;
      const { secret, action, version, expires_at } = changeOf(entry);
      const known = found.get(secret);
      const stays = ['secret.delete', 'secret.restore'].includes(action);
      const until = expires_at !== undefined ? expires_at : known?.expires_at;
      found.set(secret, {
        version: Math.max(version, known?.version ?? 0),
        deleted: action === 'secret.delete',
        revoked: stays ? (known?.revoked ?? false) : action === 'provider.revoke',
        ...(until !== undefined && { expires_at: until }),
      });
    }
  return found;
}

/**
 * All of them and their lineages: from the gate, from D1 if they have left it, and from the log if they are
 * nowhere else.
 */
async function allCredentials(
  context: Context,
  parts: Parts,
  { credentials }: Descent,
  made: Map<string, CredentialSummary>,
): Promise<Map<string, CredentialSummary>> {
  const known = new Map(credentials);
  for (let missing = [...made.keys()]; ; ) {
    const parents = [...known.values()].flatMap(({ parent_id }) => parent_id ?? []);
    missing = [...new Set([...missing, ...parents])].filter((id) => !known.has(id));
    if (missing.length === 0) return known;
    await inGate(parts, missing, known);
    missing = missing.filter((id) => !known.has(id));
    for (let at = 0; at < missing.length; at += AT_ONCE)
      for (const row of await storedCredentials(context, missing.slice(at, at + AT_ONCE)))
        known.set(row.id, row);
    for (const id of missing) if (!known.has(id)) known.set(id, made.get(id) ?? gone(id));
    missing = [];
  }
}

/** A credential known only because others are revoked together with it: it has ended. */
const gone = (id: string): CredentialSummary => ({
  id,
  kind: 'session',
  name: null,
  created_at: 0,
  expires_at: null,
  revoked_at: 0,
  parent_id: null,
  generation: null,
});

async function storedCredentials(context: Context, ids: string[]): Promise<CredentialSummary[]> {
  context.trace.d1_calls++;
  const { id, kind, name, created_at, expires_at, revoked_at, dies_with, generation } = credentials;
  return drizzle(context.env.DB)
    .select({ id, kind, name, created_at, expires_at, revoked_at, parent_id: dies_with, generation })
    .from(credentials)
    .where(
      and(
        eq(credentials.org_id, context.org),
        sql`${id} in (select value from json_each(${JSON.stringify(ids)}))`,
      ),
    );
}

/** Whether a credential ended by revocation, its own or its lineage's, and not by an earlier expiry. */
function isRevoked(
  one: CredentialSummary,
  credentials: Map<string, CredentialSummary>,
  org: RootPart['org'],
): boolean {
  let revoked = Number.POSITIVE_INFINITY;
  let expired = Number.POSITIVE_INFINITY;
  for (
    let link: CredentialSummary | undefined = one;
    link;
    link = link.parent_id === null ? undefined : credentials.get(link.parent_id)
  ) {
    const past = isEndedByPanic(org, link) ? (org.panicked_at ?? 0) : Number.POSITIVE_INFINITY;
    revoked = Math.min(revoked, link.revoked_at ?? Number.POSITIVE_INFINITY, past);
    expired = Math.min(expired, link.expires_at ?? Number.POSITIVE_INFINITY);
  }
  return revoked < Number.POSITIVE_INFINITY && revoked <= expired;
}

/** The same ranges, sorted and without duplicates. */
function merged(gaps: Gap[]): Gap[] {
  const found: Gap[] = [];
  for (const gap of gaps.sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && gap.from <= last.to + 1) last.to = Math.max(last.to, gap.to);
    else found.push({ ...gap });
  }
  return found;
}

/** When a credential was contained: the sequence of the first entry that says so. */
export async function containedAt(context: Context, parts: Parts, id: string): Promise<number> {
  const actions = ['credential.contain'];
  for await (const entries of walk(context, parts, { actions, resources: new Set([id]) }, []))
    for (const entry of entries)
      if (entry.action === actions[0] && entry.resource === id && isDone(entry)) return entry.sequence;
  return Number.MAX_SAFE_INTEGER;
}

/** A new value of a secret. */
export interface Replaced {
  version: number;
  time: number;
}

/**
 * Secrets that got a new value since a sequence, with the newest one. `seen` is the newest version that was
 * read or written.
 */
export async function replacedSince(
  context: Context,
  parts: Parts,
  from: number,
  seen: Map<string, number>,
): Promise<Map<string, Replaced>> {
  const found = new Map<string, Replaced>();
  const isNew = ({ action, resource, version }: Entry) =>
    ['secret.rotate', 'secret.auto_rotate', 'provider.rotate', 'provider.issue'].includes(action) ||
    (action === 'secret.update' && (version ?? 0) > (seen.get(resource ?? '') ?? 0));
  for await (const entries of walk(
    context,
    parts,
    { from, actions: TELLING, resources: new Set(seen.keys()) },
    [],
  ))
    for (const entry of expanded(entries))
      if (isChange(entry) && seen.has(entry.resource as string) && isNew(entry))
        found.set(entry.resource as string, {
          version: entry.version as number,
          time: Date.parse(entry.time),
        });
  return found;
}

/** Current names and states of secrets, by id. */
export async function namesOf(parts: Parts, ids: string[]): Promise<Map<string, NamedSecret>> {
  const found = new Map<string, NamedSecret>();
  for (let at = 0; at < ids.length; at += 1000)
    for (const one of await parts<NamedSecret[]>({ part: 'named', ids: ids.slice(at, at + 1000) }))
      found.set(one.id, one);
  return found;
}
