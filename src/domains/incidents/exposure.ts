// Which versions of which secrets bulk reads gave away: made anew from where secrets stand, and from the changes that the audit log holds.
// A bulk read says its environment, prefix, patterns and the sequence of the last change there; what stood between two changes of a
// secret is known from the change before and the one after. Pure. Invariant: where the log does not tell, a secret counts as given away.
import { matches, widthOf } from '../../auth/globs';
import { SLACK } from '../../gate/rate-limit';
import type { SecretState } from './parts';

export interface Bulk {
  environment: string;
  /** The environment's slug. */
  shown: string;
  /** The sequence of the last change that it saw. */
  revision: number;
  /** When it was first asked, and the sequences of the first and the last entry that say so. */
  time: number;
  sequence: number;
  last: number;
  prefix: string;
  patterns: readonly string[] | null;
  /** Secrets that it did not return, because their reads needed approval. */
  withheld: ReadonlySet<string>;
}

/** A change of a secret. */
export interface Change {
  sequence: number;
  action: string;
  secret: string;
  /** The environment's slug. */
  shown: string;
  version: number;
  former_name?: string;
  /** Undefined where it leaves the lifetime. */
  expires_at?: number | null;
}

/** What is known of a secret before the first change that was looked at; undefined where nobody knows. */
export interface Before {
  version: number;
  expires_at?: number | null;
  deleted: boolean;
  revoked: boolean;
}

export interface Exposed {
  secret: string;
  version: number;
  time: number;
}

/** How a secret stood from one sequence on, up to another. */
interface Stretch {
  from: number;
  to: number;
  versions: number[];
  name?: string;
  expires_at?: number | null;
}

/** Steps of comparing names with the patterns of bulk reads: once they are spent, patterns count as no limit. */
const MOST_STEPS = 200_000_000;

const isNewValue = (action: string) =>
  ['secret.rotate', 'secret.auto_rotate', 'secret.rollback', 'provider.rotate', 'provider.issue'].includes(action);

/** Changes that tell by themselves how the secret stood before them. A restore does not: it may have been revoked. */
const tells = ({ action }: Change) => ['secret.create', 'secret.rotate', 'secret.auto_rotate', 'secret.rollback'].includes(action);

/**
 * Secrets of which an older change has to be found: some bulk read came before the first change here, and that does not tell what it saw.
 * `breaks` are the sequences at which rows changed without an entry each: a database restored, a gate recovered.
 */
export function unresolved(bulks: Bulk[], current: Iterable<string>, changes: Change[], breaks: number[]): Set<string> {
  const first = new Map<string, { change: Change; timed: boolean }>();
  for (const change of changes) {
    const known = first.get(change.secret);
    if (!known) first.set(change.secret, { change, timed: change.expires_at !== undefined });
    else known.timed ||= change.expires_at !== undefined;
  }
  const oldest = Math.min(...bulks.map(({ revision }) => revision));
  const isBroken = breaks.some((at) => at > oldest);
  const here = new Set(current);
  const found = new Set<string>(isBroken ? here : []);
  for (const [secret, { change, timed }] of first) {
    if (change.action === 'secret.create') found.delete(secret);
    // Of a secret that was purged since, nothing but an older change tells when it expired.
    else if (isBroken || timed || !tells(change) || !here.has(secret)) found.add(secret);
  }
  return found;
}

/** All that the bulk reads gave away, with the time of the first of them that did. `changes` and `breaks` are in the order of sequences. */
export function exposed(
  bulks: Bulk[],
  current: Map<string, SecretState & { at: number }>,
  changes: Change[],
  breaks: number[],
  before: Map<string, Before>,
): Exposed[] {
  const shapes = shapesOf(bulks, breaks);
  const steps = { left: MOST_STEPS };
  const histories = new Map<string, Change[]>([...current.keys()].map((id) => [id, []]));
  for (const change of changes) {
    if (change.sequence > (current.get(change.secret)?.at ?? Number.MAX_SAFE_INTEGER)) continue;
    const history = histories.get(change.secret);
    if (history) history.push(change);
    else histories.set(change.secret, [change]);
  }
  const found: Exposed[] = [];
  for (const [secret, history] of histories) {
    const row = current.get(secret);
    const here = shapes.filter(
      // safety: exposure-leaves-out-withheld
      (shape) => !shape.withheld.has(secret) && (row ? shape.environment === row.environment : shape.shown === history[0]?.shown),
    );
    if (here.length === 0) continue;
    for (const stretch of stretchesOf(history, row, breaks, before.get(secret))) {
      // The first read alone: as many as there are shapes would be too many to hold.
      const time = here.reduce((first, shape) => Math.min(first, seenBy(shape, stretch, steps) ?? first), Number.POSITIVE_INFINITY);
      if (Number.isFinite(time)) for (const version of stretch.versions) found.push({ secret, version, time });
    }
  }
  return found;
}

/** Bulk reads that differ in nothing but time, in the order of what they saw. */
interface Shape {
  environment: string;
  shown: string;
  prefix: string;
  patterns: readonly string[] | null;
  withheld: ReadonlySet<string>;
  /** What comparing a name with the patterns takes, in steps for each of its characters. */
  width: number;
  reads: { revision: number; time: number }[];
}

function shapesOf(bulks: Bulk[], breaks: number[]): Shape[] {
  const shapes = new Map<string, Shape>();
  /** Sets are compared by identity: `activity.ts` makes one of each list. */
  const sets = new Map<ReadonlySet<string>, number>();
  for (const { environment, shown, revision, sequence, last, time, prefix, patterns, withheld } of bulks) {
    const set = sets.get(withheld) ?? sets.set(withheld, sets.size).size - 1;
    const key = JSON.stringify([environment, prefix, patterns, set]);
    const shape = shapes.get(key) ?? { environment, shown, prefix, patterns, withheld, width: widthOf(patterns ?? []), reads: [] };
    shapes.set(key, shape);
    // What was restored or recovered since the last change stood by then.
    shape.reads.push({ revision: Math.max(revision, breaks.findLast((at) => at < sequence) ?? 0), time });
    for (const at of breaks) if (at > sequence && at < last) shape.reads.push({ revision: at, time });
  }
  for (const { reads } of shapes.values()) reads.sort((a, b) => a.revision - b.revision || a.time - b.time);
  return [...shapes.values()];
}

/** Whether the patterns of a shape take a name, as far as there are steps to tell. */
function isMatched({ patterns, width }: Shape, name: string, steps: { left: number }): boolean {
  // safety: exposure-steps-bounded
  if (patterns === null || steps.left <= 0) return true;
  steps.left -= name.length * width;
  return patterns.some((pattern) => matches(pattern, name));
}

/** When a read of that shape first gave away what stood then, or null. */
function seenBy(shape: Shape, { from, to, name, expires_at }: Stretch, steps: { left: number }): number | null {
  const { prefix, reads } = shape;
  if (name !== undefined && !(name.startsWith(prefix) && isMatched(shape, name, steps))) return null;
  let [low, high] = [0, reads.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((reads[middle] as { revision: number }).revision < from) low = middle + 1;
    else high = middle;
  }
  const read = reads[low];
  if (!read || read.revision >= to) return null;
  // The clock of an entry never goes back; that of a gate may, a little.
  return expires_at == null || read.time < expires_at + SLACK ? read.time : null;
}

/** What is known at a point of a history; undefined where it is not. */
interface State {
  versions: number[];
  name?: string;
  expires_at?: number | null;
  deleted: boolean;
  revoked: boolean;
}

/** The stretches in which a secret could be read. */
function stretchesOf(history: Change[], row: SecretState | undefined, breaks: number[], before: Before | undefined): Stretch[] {
  const marks = [...history.map((change) => ({ at: change.sequence, change })), ...breaks.map((at) => ({ at, change: null }))].sort(
    (a, b) => a.at - b.at,
  );
  const last = history.at(-1)?.sequence ?? 0;
  const found: Stretch[] = [];
  for (let i = -1; i < marks.length; i++) {
    const [from, to] = [marks[i]?.at ?? 0, marks[i + 1]?.at ?? Number.MAX_SAFE_INTEGER];
    // A secret that stands no more and was not deleted went with a restored database.
    if (!row && from >= last && breaks.some((at) => at > last && at <= from)) continue;
    const change = marks[i]?.change ?? null;
    const state = change
      ? after(change, marks.slice(0, i + 1), before)
      : i < 0 && before
        ? known(before)
        : toward(marks[i + 1]?.change, !marks[i + 1] ? row : undefined, row);
    if (!state || state.deleted || state.revoked) continue;
    found.push({ from, to, versions: state.versions, ...named(marks.slice(i + 1), row), ...lasting(state, marks.slice(i + 1), row) });
  }
  return found;
}

type Mark = { at: number; change: Change | null };

const known = ({ version, ...state }: Before): State => ({ versions: [version], ...state });

/** How it stood after a change. */
function after(change: Change, marks: Mark[], before: Before | undefined): State {
  const { action, version } = change;
  // What a change does not say goes back to the last that does, but not past a break.
  const since = marks.findLastIndex((mark) => mark.change === null) + 1;
  const changes = marks.slice(since).flatMap((mark) => mark.change ?? []);
  const telling = changes.findLast((one) => !['secret.delete', 'secret.restore'].includes(one.action));
  const timed = changes.findLast((one) => one.expires_at !== undefined);
  const base = since === 0 ? before : undefined;
  const expires_at = timed ? timed.expires_at : base?.expires_at;
  return {
    versions: [version],
    deleted: action === 'secret.delete',
    revoked: telling ? telling.action === 'provider.revoke' : (base?.revoked ?? false),
    ...(expires_at !== undefined && { expires_at }),
  };
}

/** How it stood before the next change, or as it stands now, where nothing before tells; null where it was not. */
function toward(next: Change | null | undefined, now: SecretState | undefined, row: SecretState | undefined): State | null {
  if (next) {
    const { action, version } = next;
    if (action === 'secret.create' || action === 'secret.restore' || (action === 'provider.issue' && version === 1)) return null;
    if (action === 'secret.update') return { versions: version > 1 ? [version - 1, version] : [version], deleted: false, revoked: false };
    return { versions: [isNewValue(action) ? version - 1 : version], deleted: false, revoked: false };
  }
  if (now) return { versions: [now.version], expires_at: now.expires_at, deleted: now.deleted, revoked: now.revoked };
  return row ? { versions: [row.version - 1, row.version].filter((version) => version > 0), deleted: false, revoked: false } : null;
}

/** What it was called, from the changes that came later. */
function named(later: Mark[], row: SecretState | undefined): { name?: string } {
  for (const { change } of later) {
    if (!change) return {};
    // safety: exposure-follows-renames
    if (change.former_name !== undefined) return { name: change.former_name };
  }
  return row ? { name: row.name } : {};
}

/** Until when it was to live. */
function lasting({ expires_at }: State, later: Mark[], row: SecretState | undefined): { expires_at?: number | null } {
  if (expires_at !== undefined) return { expires_at };
  // Nothing has set it since, so it is what it is now.
  if (row && later.every(({ change }) => change !== null && change.expires_at === undefined)) return { expires_at: row.expires_at };
  return {};
}
