// What a contained credential and its descendants did, from the audit log, and what was sent through
// connections and upstreams that they created or changed. Invariant: requests without effect (a refusal, a
// replay, a 304) do not count.
import type { CredentialKind } from '../../db/credential-kinds';
import { credentialKindOf, idStart } from '../../db/ids';
import { DAY } from '../../db/rows';
import { BULK_READS, type Entry } from '../../gate/audit/entry';
import type { Context } from '../../http/context';
import type { Bulk } from './exposure';
import { type Gap, type Parts, walk } from './log';
import { type CredentialSummary, configuring, type RootPart, type SetUp, settingUp } from './payloads';

/** Actions that create a credential, the audit entry's resource. Browser sessions are listed apart. */
const makingOf: Record<CredentialKind, readonly string[]> = {
  api_key: ['api_key.create'],
  session: ['access_token.create', 'access_token.create_child', 'auth.exchange'],
  agent: ['agent.create'],
  provider: ['provider_token.create'],
  break_glass: ['break_glass.create'],
  trust: ['trust.create'],
  scim: ['scim_token.create'],
  browser: [],
};
const MAKING = Object.values(makingOf).flat();
/** Actions that expose one version. */
const READING = ['secret.read', 'secret.share', 'secret.share_view'];
const CHANGING = [
  ...[
    'secret.create',
    'secret.update',
    'secret.rotate',
    'secret.rollback',
    'secret.delete',
    'secret.restore',
  ],
  ...['provider.issue', 'provider.rotate', 'provider.revoke', 'secret.auto_rotate'],
];
/** Each has one entry for everything it created, updated and deleted. */
const SEVERAL = ['integration.import', 'secret.promote', 'secret.write_folder', 'secret.delete_folder'];
/** What a sync sends has an entry with the connection in `sent`. */
const SENDING = 'integration.sync_run';
/** A call of an upstream, the audit entry's resource. */
const USING = 'secret.use';
const PLACING = ['upstream.create', 'upstream.update'] as const;
/** Actions whose entries record changes of secrets. */
export const TELLING = [...CHANGING, ...SEVERAL];
/** The most session tokens remembered that only the log knows. */
const MOST_SESSIONS = 20_000;
/** The most distinct kinds of bulk reads. */
const MOST_BULKS = 1000;
/** The most connections, and the most syncs. */
const MOST_CONNECTIONS = 10_000;
/** The most ids of withheld secrets remembered. */
const MOST_WITHHELD = 200_000;
/** The most actors for finding segments; with more, every segment is opened. */
const MOST_ACTORS = 1000;

/** The contained credential and its descendants known to the gate. */
export interface Descent extends RootPart {
  ids: string[];
  /** The lineage of whoever contained it: they are not descendants. */
  spared: string[];
  /** Whether there are more. */
  isCut: boolean;
  credentials: Map<string, CredentialSummary>;
}

const timeOf = ({ time }: Entry) => Date.parse(time);
export const isDone = ({ outcome, status }: Entry) => outcome === 'success' && status !== 304;
/** A replay has no version, because it had no effect. */
export const isChange = (entry: Entry) =>
  CHANGING.includes(entry.action) && isDone(entry) && entry.version !== null && entry.resource !== null;

/**
 * Entries, where that of an import, a promotion or a folder is followed by one for each version it wrote,
 * deleted or copied, as if each secret had been created, updated, deleted or read on its own.
 */
export const expanded = (entries: readonly Entry[]): Entry[] =>
  // safety: exposure-counts-imports
  entries.flatMap((entry) => [
    entry,
    ...Object.entries(entry.imported?.versions ?? {}).map(
      ([resource, version]): Entry => ({
        ...entry,
        resource,
        version,
        imported: undefined,
        ...(version === 1 ? { action: 'secret.create', expires_at: null } : { action: 'secret.update' }),
      }),
    ),
    ...Object.entries(entry.imported?.deleted ?? {}).map(
      ([resource, version]): Entry => ({
        ...entry,
        resource,
        version,
        imported: undefined,
        action: 'secret.delete',
      }),
    ),
    // safety: exposure-counts-promotions
    ...Object.entries(entry.imported?.copied ?? {}).map(
      ([resource, version]): Entry => ({
        ...entry,
        resource,
        version,
        imported: undefined,
        action: 'secret.read',
      }),
    ),
  ]);

/** A version of a secret, and when it was first seen. */
export interface Seen {
  secret: string;
  version: number;
  time: number;
}

/** A version that one of them wrote, and by which action. */
export interface Written extends Seen {
  action: string;
}

/** A secret that one of them shared; the version for a link, null for a grant. */
export interface Given extends Omit<Seen, 'version'> {
  version: number | null;
}

/** A sync that one of them started. */
export interface Started {
  id: string;
  time: number;
}

/** A connection that one of them created or changed, and how first. */
export interface Configured extends Started {
  action: (typeof configuring)[number];
}

/** An upstream that one of them created or changed, and how first. */
export interface MadeUpstream extends Started {
  name: string | null;
  action: (typeof PLACING)[number];
}

/** A log stream, a domain or a connection to an identity provider that one of them created or changed. */
export interface MadeResource extends Started {
  action: (typeof settingUp)[SetUp][number];
}
export type SettingUp<T> = Record<SetUp, T>;

/** What they set up, by kind. */
function newSetUp() {
  const found: SettingUp<Map<string, MadeResource>> = {
    log_streams: new Map(),
    domains: new Map(),
    sso_connections: new Map(),
  };
  const kinds = Object.entries(settingUp) as [SetUp, readonly string[]][];
  return {
    note({ action }: Entry, id: string, time: number) {
      const kind = kinds.find(([, actions]) => actions.includes(action))?.[0];
      if (kind) noteFirst(found[kind], { id, action: action as MadeResource['action'], time });
    },
    all: (): SettingUp<MadeResource[]> => ({
      log_streams: [...found.log_streams.values()],
      domains: [...found.domains.values()],
      sso_connections: [...found.sso_connections.values()],
    }),
  };
}

const isConfiguring = (action: string): action is Configured['action'] =>
  (configuring as readonly string[]).includes(action);
const isPlacing = (action: string): action is MadeUpstream['action'] =>
  (PLACING as readonly string[]).includes(action);

/** Keeps the first item of each id, of the newest ones. */
function noteFirst<T extends Started>(items: Map<string, T>, one: T) {
  if (items.has(one.id)) return;
  items.set(one.id, one);
  // A credential can create and delete endlessly, and the report must finish.
  // safety: exposure-connections-bounded
  if (items.size > MOST_CONNECTIONS) items.delete(items.keys().next().value as string);
}

/** An upstream that one of them made or changed, and where it sends. */
interface Placing {
  /** The host of a call since their last change; null until there is one. */
  host: string | null;
  /** Somebody else changed it after the credential had ended. */
  isRevived: boolean;
}

/** What others, or automatic syncs, send through connections and upstreams that one of them changed. */
function newSending({ revoked_at, expires_at }: CredentialSummary) {
  const end = revoked_at ?? expires_at ?? Number.POSITIVE_INFINITY;
  const through = new Set<string>();
  const upstreams = new Map<string, Placing>();
  const actions = new Set<string>();
  // Beyond the bound any may be theirs.
  // safety: exposure-follows-any-of-many
  const isAny = ({ size }: { size: number }) => size > MOST_CONNECTIONS;
  return {
    /** Empty until there is such a connection. */
    actions,
    note({ action, resource }: Entry) {
      if (resource === null) return;
      if (isConfiguring(action)) {
        if (!isAny(through)) through.add(resource);
        actions.add(SENDING);
      } else if (isPlacing(action)) {
        if (!isAny(upstreams)) upstreams.set(resource, { host: null, isRevived: false });
        actions.add(USING).add('upstream.update');
      }
    },
    /** An upstream that somebody else changes after the credential has ended may send elsewhere. */
    noteOther(entry: Entry, time: number) {
      const one = upstreams.get(entry.resource ?? '');
      if (one && entry.action === 'upstream.update' && isDone(entry) && time >= end) one.isRevived = true;
    },
    // safety: exposure-follows-connections
    isThrough: (entry: Entry) =>
      entry.action === SENDING &&
      isDone(entry) &&
      (through.has(entry.sent?.integration_id ?? '') || isAny(through)),
    /** Whether a call went through one of these upstreams, to where they said. */
    isPlaced({ action, resource, use }: Entry): boolean {
      if (action !== USING || !use) return false;
      const one = upstreams.get(resource ?? '');
      if (!one) return isAny(upstreams);
      // A change of anything revives it. Only another host shows that it sends elsewhere.
      // safety: exposure-follows-revived-upstreams
      if (one.isRevived) return one.host === null || one.host === use.host;
      one.host ??= use.host;
      return true;
    },
  };
}

/** Keeps the first time at which a version was exposed. */
export function noteRead(read: Map<string, Seen>, one: Seen) {
  const key = `${one.secret}.${one.version}`;
  const known = read.get(key);
  if (!known || one.time < known.time) read.set(key, one);
}

/** The secrets that calls of upstreams placed. The values left, whatever the upstreams answered. */
function newUses() {
  const all = { used: new Map<string, Seen>(), placed: new Map<string, Seen>() };
  return {
    all,
    /** @param isPlaced whether one of the credentials made or changed the upstream */
    note({ use }: Entry, time: number, isPlaced: boolean) {
      for (const { id, version } of use?.secrets ?? []) {
        noteRead(all.used, { secret: id, version, time });
        // They chose where the value went, so they may have seen it.
        // safety: exposure-follows-upstreams
        if (isPlaced) noteRead(all.placed, { secret: id, version, time });
      }
    },
  };
}

/**
 * What the credential and its descendants did, entry by entry, and their bulk reads. `made` are credentials
 * that only the log knows.
 */
export async function activityOf(
  context: Context,
  parts: Parts,
  descent: Descent,
  from: number,
  gaps: Gap[],
) {
  const { root } = descent;
  const tracked = tracker(descent);
  const read = new Map<string, Seen>();
  const uses = newUses();
  const upstreams = new Map<string, MadeUpstream>();
  const written: Written[] = [];
  const shared: Given[] = [];
  const connections = new Map<string, Configured>();
  const syncs = new Map<string, Started>();
  const setUp = newSetUp();
  const sending = newSending(root);
  const bulks = new Map<string, Bulk>();
  const lists: Lists = { patterns: new Map(), withheld: new Map(), ids: 0 };
  // What they made before the period may have acted in it.
  const begin = Math.min(root.created_at, from);
  for await (const entries of walk(
    context,
    parts,
    { since: begin, actors: tracked.actors, besides: sending.actions },
    gaps,
  ))
    for (const entry of expanded(entries)) {
      noteLists(lists, entry);
      const { action, resource, version } = entry;
      const time = timeOf(entry);
      const isPlaced = sending.isPlaced(entry);
      // safety: exposure-counts-uses
      if (time >= from && (isPlaced || tracked.isBy(entry))) uses.note(entry, time, isPlaced);
      if (!tracked.isBy(entry)) {
        sending.noteOther(entry, time);
        if (time >= from && version !== null && sending.isThrough(entry))
          noteBulks(bulks, entry, lists, time);
        continue;
      }
      if (!isDone(entry) || resource === null) continue;
      tracked.noteCreated(entry, time);
      sending.note(entry);
      const isShare = action === 'secret.share' && entry.share !== undefined;
      // Views through a link count as theirs.
      // safety: exposure-follows-links
      if (isShare && version !== null) tracked.follow(entry.share as string);
      if (time < from) continue;
      if (isPlacing(action))
        noteFirst(upstreams, { id: resource, name: entry.resource_name ?? null, action, time });
      setUp.note(entry, resource, time);
      if (isConfiguring(action)) noteFirst(connections, { id: resource, action, time });
      // A dry run names no sync.
      if (action === 'integration.sync' && resource.startsWith(idStart('sync')))
        noteFirst(syncs, { id: resource, time });
      if (isShare) shared.push({ secret: resource, version, time });
      if (READING.includes(action) && version !== null) noteRead(read, { secret: resource, version, time });
      // A file without values has no version.
      else if ((BULK_READS as readonly string[]).includes(action) && version !== null)
        noteBulks(bulks, entry, lists, time);
      else if (isChange(entry)) written.push({ secret: resource, version: version as number, time, action });
    }
  const { members, made, forgotten } = tracked.all();
  const through = { ...uses.all, upstreams: [...upstreams.values()] };
  const items = {
    ...through,
    written,
    shared,
    connections: [...connections.values()],
    syncs: [...syncs.values()],
    setUp: setUp.all(),
  };
  return { members, made, forgotten, read, ...items, bulks: [...bulks.values()] };
}

/** The lists that the log contains in full, by their digests. */
interface Lists {
  patterns: Map<string, readonly string[]>;
  withheld: Map<string, ReadonlySet<string>>;
  /** How many ids `withheld` contains in total. */
  ids: number;
}

function noteLists(lists: Lists, { patterns, patterns_digest, withheld, withheld_digest }: Entry) {
  if (patterns && patterns_digest) lists.patterns.set(patterns_digest, patterns);
  if (
    !withheld ||
    !withheld_digest ||
    lists.withheld.has(withheld_digest) ||
    lists.ids + withheld.length > MOST_WITHHELD
  )
    return;
  lists.withheld.set(withheld_digest, new Set(withheld));
  lists.ids += withheld.length;
}

/** No secret was withheld, or it is unknown which: then all count as exposed. */
const NONE: ReadonlySet<string> = new Set();

/** Records a bulk read: one with several prefixes as one read for each. */
function noteBulks(bulks: Map<string, Bulk>, entry: Entry, lists: Lists, time: number) {
  // safety: exposure-covers-each-prefix
  for (const prefix of entry.prefixes ?? [entry.prefix ?? '']) noteBulk(bulks, entry, lists, time, prefix);
}

/**
 * Records each distinct kind of bulk read once. Lists that are no longer known impose no limit; beyond
 * MOST_BULKS kinds, prefix and lists are ignored too, because a credential can vary them endlessly and the
 * report must finish.
 */
function noteBulk(bulks: Map<string, Bulk>, entry: Entry, lists: Lists, time: number, begin: string) {
  const { environment, sequence, version } = entry;
  let prefix = begin;
  let patterns = entry.names ?? entry.patterns ?? lists.patterns.get(entry.patterns_digest ?? '') ?? null;
  let withheld = lists.withheld.get(entry.withheld_digest ?? '') ?? NONE;
  let key = JSON.stringify([
    entry.resource,
    version,
    prefix,
    patterns,
    withheld === NONE ? null : entry.withheld_digest,
  ]);
  // safety: exposure-kinds-bounded
  if (bulks.size >= MOST_BULKS && !bulks.has(key)) {
    [prefix, patterns, withheld] = ['', null, NONE];
    key = JSON.stringify([entry.resource, version, prefix, patterns, null]);
  }
  const place = { environment: entry.resource as string, shown: environment ?? '', revision: version ?? 0 };
  bulks.set(key, {
    ...(bulks.get(key) ?? { ...place, time, sequence, prefix, patterns, withheld }),
    last: sequence,
  });
}

/** The credential and its descendants, extended during the walk by those that the gate no longer knows. */
function tracker({ root, ids, member, spared: sparedIds }: Descent) {
  const members = new Set([root.id, ...ids]);
  const spared = new Set(sparedIds);
  const made = new Map<string, CredentialSummary>();
  const actors = new Set([root.id, ...(member === null ? [] : [member]), ...ids.slice(0, MOST_ACTORS)]);
  let sessions = 0;
  let forgotten = 0;
  const add = (id: string) => {
    members.add(id);
    if (actors.size <= MOST_ACTORS) actors.add(id);
  };
  return {
    actors,
    /** Whether an entry is by one of them. */
    isBy({ actor }: Entry): boolean {
      const by = actor.kind === 'member' ? actor.parent_id : actor.id;
      if (by === null || spared.has(by)) return false;
      if (members.has(by)) return true;
      if (actor.kind === 'member' || actor.parent_id === null || !members.has(actor.parent_id)) return false;
      if (sessions < MOST_SESSIONS) add(by);
      return true;
    },
    /** Adds a credential that an entry says one of them created. */
    noteCreated({ actor, action, resource, successor, expires_at }: Entry, time: number) {
      const id = successor ?? (MAKING.includes(action) ? resource : null);
      if (id === null || spared.has(id) || members.has(id)) return;
      const kind = credentialKindOf(id);
      if (kind === null) return;
      const isSession = kind === 'session';
      if (isSession && ++sessions > MOST_SESSIONS) return forgotten++;
      const end = expires_at ? Date.parse(expires_at) : isSession ? time + DAY : null;
      const nothing = { name: null, revoked_at: null, generation: null };
      made.set(id, {
        ...nothing,
        id,
        kind,
        expires_at: end,
        parent_id: isSession ? actor.id : null,
        created_at: time,
      });
      return add(id);
    },
    /** Adds an actor that acts for one of them from here on. */
    follow: add,
    all: () => ({ members, made, forgotten }),
  };
}
