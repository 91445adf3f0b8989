// Which versions of which secrets bulk reads exposed, reconstructed from the current secrets and the changes
// in the audit log. A bulk read's entry records the environment, prefix, patterns and the sequence of the
// last change there. The state of a secret between two changes follows from the change before and the one
// after. Invariant: if the log is inconclusive, a secret counts as exposed.
import { matches, widthOf } from '../../auth/globs';
import { SLACK } from '../../gate/limits/rate-limit';
import type { Slices } from '../../http/slices';
import type { SecretState } from './payloads';

export interface Bulk {
  environment: string;
  /** The environment's slug. */
  shown: string;
  /** The sequence of the last change it saw. */
  revision: number;
  /** When it was first made, and the sequences of its first and last audit entries. */
  time: number;
  sequence: number;
  last: number;
  prefix: string;
  patterns: readonly string[] | null;
  /** Secrets that it did not return because reading them needs approval. */
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
  /** Undefined if the change leaves the expiry as it was. */
  expires_at?: number | null;
}

/** The state of a secret before the first examined change; undefined if unknown. */
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

/** The state of a secret from one sequence up to another. */
interface Stretch {
  from: number;
  to: number;
  versions: number[];
  name?: string;
  expires_at?: number | null;
}

/** The most matching steps for names and patterns of bulk reads; beyond them, patterns count as no limit. */
export const MOST_STEPS = 100_000_000;
/** What finding a read among others counts as, in matching steps. */
const SEARCH = 30;

const isNewValue = (action: string) =>
  ['secret.rotate', 'secret.auto_rotate', 'secret.rollback', 'provider.rotate', 'provider.issue'].includes(
    action,
  );

/** Changes from which the previous state follows. A restore is not one: the secret may have been revoked. */
const tells = ({ action }: Change) =>
  ['secret.create', 'secret.rotate', 'secret.auto_rotate', 'secret.rollback'].includes(action);

/**
 * Secrets for which an older change must be found: a bulk read came before their first change here, and that
 * change does not reveal what it saw. `breaks` are the sequences at which rows changed without an entry each:
 * a restored database or a recovered gate.
 */
export function unresolved(
  bulks: Bulk[],
  current: Iterable<string>,
  changes: Change[],
  breaks: number[],
): Set<string> {
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
    // For a purged secret, only an older change says when it expired.
    else if (isBroken || timed || !tells(change) || !here.has(secret)) found.add(secret);
  }
  return found;
}

/**
 * Everything that the bulk reads exposed, with the time of the first exposing read. `changes` and `breaks`
 * are in sequence order.
 */
export async function exposed(
  bulks: Bulk[],
  current: Map<string, SecretState & { at: number }>,
  changes: Change[],
  breaks: number[],
  before: Map<string, Before>,
  slices: Slices,
): Promise<Exposed[]> {
  const shapes = shapesOf(bulks, breaks);
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
      (shape) =>
        !shape.withheld.has(secret) &&
        (row ? shape.environment === row.environment : shape.shown === history[0]?.shown),
    );
    if (here.length === 0) continue;
    for (const stretch of stretchesOf(history, row, breaks, before.get(secret))) {
      // Only the first read: one per shape would be too many to keep.
      let time = Number.POSITIVE_INFINITY;
      for (const shape of here) {
        time = Math.min(time, seenBy(shape, stretch, slices) ?? time);
        const rest = slices.rest(SEARCH);
        if (rest) await rest;
      }
      if (Number.isFinite(time))
        for (const version of stretch.versions) found.push({ secret, version, time });
    }
  }
  return found;
}

/** Bulk reads that differ only in time, in the order of what they saw. */
interface Shape {
  environment: string;
  shown: string;
  prefix: string;
  patterns: readonly string[] | null;
  withheld: ReadonlySet<string>;
  /** The matching steps per character of a name. */
  width: number;
  reads: { revision: number; time: number }[];
}

function shapesOf(bulks: Bulk[], breaks: number[]): Shape[] {
  const shapes = new Map<string, Shape>();
  /** Sets are compared by identity: `activity.ts` creates one per list. */
  const sets = new Map<ReadonlySet<string>, number>();
  for (const { environment, shown, revision, sequence, last, time, prefix, patterns, withheld } of bulks) {
    const set = sets.get(withheld) ?? sets.set(withheld, sets.size).size - 1;
    const key = JSON.stringify([environment, prefix, patterns, set]);
    const shape = shapes.get(key) ?? {
      environment,
      shown,
      prefix,
      patterns,
      withheld,
      width: widthOf(patterns ?? []),
      reads: [],
    };
    shapes.set(key, shape);
    // Whatever was restored or recovered since the last change was in place by then.
    shape.reads.push({ revision: Math.max(revision, breaks.findLast((at) => at < sequence) ?? 0), time });
    for (const at of breaks) if (at > sequence && at < last) shape.reads.push({ revision: at, time });
  }
  for (const { reads } of shapes.values()) reads.sort((a, b) => a.revision - b.revision || a.time - b.time);
  return [...shapes.values()];
}

/** Whether the patterns of a shape match a name; true once the steps are spent. */
function isMatched({ patterns, width }: Shape, name: string, slices: Slices): boolean {
  // safety: exposure-steps-bounded
  if (patterns === null || !slices.take(name.length * width)) return true;
  return patterns.some((pattern) => matches(pattern, name));
}

/** When a read of this shape first exposed the stretch, or null. */
function seenBy(shape: Shape, { from, to, name, expires_at }: Stretch, slices: Slices): number | null {
  const { prefix, reads } = shape;
  if (name !== undefined && !(name.startsWith(prefix) && isMatched(shape, name, slices))) return null;
  let low = 0;
  let high = reads.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((reads[middle] as { revision: number }).revision < from) low = middle + 1;
    else high = middle;
  }
  const read = reads[low];
  if (!read || read.revision >= to) return null;
  // The clock of entries never goes back; that of a gate may, a little.
  return expires_at == null || read.time < expires_at + SLACK ? read.time : null;
}

/** The state at one point of a history; undefined where unknown. */
interface State {
  versions: number[];
  name?: string;
  expires_at?: number | null;
  deleted: boolean;
  revoked: boolean;
}

/** The stretches during which a secret could be read. */
function stretchesOf(
  history: Change[],
  row: SecretState | undefined,
  breaks: number[],
  before: Before | undefined,
): Stretch[] {
  const marks = [
    ...history.map((change) => ({ at: change.sequence, change })),
    ...breaks.map((at) => ({ at, change: null })),
  ].sort((a, b) => a.at - b.at);
  const last = history.at(-1)?.sequence ?? 0;
  const found: Stretch[] = [];
  for (let i = -1; i < marks.length; i++) {
    const from = marks[i]?.at ?? 0;
    const to = marks[i + 1]?.at ?? Number.MAX_SAFE_INTEGER;
    // A secret that no longer exists and was not deleted was lost with a restored database.
    if (!row && from >= last && breaks.some((at) => at > last && at <= from)) continue;
    const change = marks[i]?.change ?? null;
    const state = change
      ? after(change, marks.slice(0, i + 1), before)
      : i < 0 && before
        ? known(before)
        : toward(marks[i + 1]?.change, !marks[i + 1] ? row : undefined, row);
    if (!state || state.deleted || state.revoked) continue;
    found.push({
      from,
      to,
      versions: state.versions,
      ...named(marks.slice(i + 1), row),
      ...lasting(state, marks.slice(i + 1), row),
    });
  }
  return found;
}

type Mark = { at: number; change: Change | null };

const known = ({ version, ...state }: Before): State => ({ versions: [version], ...state });

/** The state after a change. */
function after(change: Change, marks: Mark[], before: Before | undefined): State {
  const { action, version } = change;
  // What a change does not record is taken from the last change that does, but not across a break.
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

/**
 * The state before the next change, or the current state if nothing follows; null if the secret did not
 * exist.
 */
function toward(
  next: Change | null | undefined,
  now: SecretState | undefined,
  row: SecretState | undefined,
): State | null {
  if (next) {
    const { action, version } = next;
    if (
      action === 'secret.create' ||
      action === 'secret.restore' ||
      (action === 'provider.issue' && version === 1)
    )
      return null;
    if (action === 'secret.update')
      return { versions: version > 1 ? [version - 1, version] : [version], deleted: false, revoked: false };
    return { versions: [isNewValue(action) ? version - 1 : version], deleted: false, revoked: false };
  }
  if (now)
    return {
      versions: [now.version],
      expires_at: now.expires_at,
      deleted: now.deleted,
      revoked: now.revoked,
    };
  return row
    ? {
        versions: [row.version - 1, row.version].filter((version) => version > 0),
        deleted: false,
        revoked: false,
      }
    : null;
}

/** The name, from later changes. */
function named(later: Mark[], row: SecretState | undefined): { name?: string } {
  for (const { change } of later) {
    if (!change) return {};
    // safety: exposure-follows-renames
    if (change.former_name !== undefined) return { name: change.former_name };
  }
  return row ? { name: row.name } : {};
}

/** The expiry. */
function lasting(
  { expires_at }: State,
  later: Mark[],
  row: SecretState | undefined,
): { expires_at?: number | null } {
  if (expires_at !== undefined) return { expires_at };
  // No later change set it, so it is the current one.
  if (row && later.every(({ change }) => change !== null && change.expires_at === undefined))
    return { expires_at: row.expires_at };
  return {};
}
