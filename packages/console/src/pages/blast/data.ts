// What a credential could read, and did read or use through upstreams. Pure. Invariant: a secret counts
// from the first time that it was read, and a secret without an environment is one that the member may not
// list, or that is gone.
import type { Bar } from '../../histogram';
import type { Contained, Graph } from '../incident/data';

export interface Seen {
  id: string;
  name: string | null;
  environment: string | null;
  /** When it was first read or used, in milliseconds. */
  time: number;
}

/** Each secret once, in the order of the first read. */
export function seenOf({ read, used }: Pick<Contained, 'read' | 'used'>): Seen[] {
  const found = new Map<string, Seen>();
  for (const { secret_id: id, name, environment, time } of [...read, ...used]) {
    const at = Date.parse(time);
    const known = found.get(id);
    if (!known || at < known.time) found.set(id, { id, name, environment, time: at });
  }
  return [...found.values()].sort((a, b) => a.time - b.time);
}

export interface Place {
  /** null for secrets that the member may not list, or that are gone. */
  environment: string | null;
  /** How many secrets the credential can reach. */
  reachable: number;
  /** There may be more. */
  isAtLeast: boolean;
  /** Those that it had read. */
  seen: Seen[];
}

/** The environments, each with what was read until a time. */
export function placesOf({ environments }: Graph['reach'], seen: Seen[], until: number): Place[] {
  const before = seen.filter(({ time }) => time <= until);
  const reached = environments.map(({ environment, secrets, incomplete }) => ({
    environment: environment as string | null,
    reachable: secrets,
    isAtLeast: incomplete === true,
    seen: before.filter((one) => one.environment === environment),
  }));
  const known = new Set(environments.map(({ environment }) => environment));
  const others = [...new Set(seen.map(({ environment }) => environment))]
    .filter((environment) => environment === null || !known.has(environment))
    .map((environment) => ({
      environment,
      reachable: 0,
      isAtLeast: false,
      seen: before.filter((one) => one.environment === environment),
    }));
  return [...reached, ...others].filter(({ reachable, seen: { length } }) => reachable + length > 0);
}

const PARTS = 48;

/** How many secrets were first read in each part of a time. */
export function readsOver(seen: Seen[], from: number, to: number): Bar[] {
  const bars = Array.from({ length: PARTS }, (_, part) => ({
    time: from + (part * (to - from)) / PARTS,
    all: 0,
    marked: 0,
  }));
  for (const { time } of seen) {
    const bar = bars[Math.max(0, Math.min(PARTS - 1, Math.floor(((time - from) / (to - from)) * PARTS)))];
    if (bar) bar.all += 1;
  }
  return bars;
}
