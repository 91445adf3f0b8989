// Event streams, in memory only: after a restart of the gate they ask again. Invariants: a stream has a place
// from its first call on, taken in the turn that finds room, and keeps it between its rounds; all waiting
// streams are woken in the turn in which an event is written or a row changes that may end a caller.

import { part } from '../part';

export interface Listeners {
  /**
   * Begins a round of a stream, which takes a place with its first one; false if all places, or those of its
   * root, are taken.
   */
  enter(stream: string, root: string, now: number): boolean;
  /** Ends a round. The place is kept for the next one, for a while, unless the stream has ended. */
  leave(stream: string, hasEnded: boolean, now: number): void;
  /** The client of a stream has left: its place is free, and the round that it waits in ends. */
  gone(stream: string): void;
  /** Whether a stream has a place. */
  has(stream: string): boolean;
  /** Resolves when something has happened, or after this many milliseconds. */
  wait(stream: string, ms: number): Promise<void>;
  wake(): void;
  /** How many streams wait. */
  count(): number;
  /** How many places are taken, or kept. */
  places(): number;
}

/** The most concurrent streams of an organisation, and of one root. */
const MOST = 1000;
const MOST_OF_ONE = 100;
/** How long a place is kept between two rounds: longer than D1 may take to answer. */
const KEPT = 15_000;

interface Place {
  root: string;
  /** How many rounds are in progress: a call that was repeated has two. */
  rounds: number;
  until: number;
}

export function createListeners(): Listeners {
  const waiting = new Map<() => void, string>();
  const places = new Map<string, Place>();
  const isTaken = ({ rounds, until }: Place, now: number) => rounds > 0 || until > now;
  /** Whether there is no place left for a root. Places that were left are given up here. */
  const isFull = (root: string, now: number): boolean => {
    let own = 0;
    for (const [stream, place] of places) {
      if (!isTaken(place, now)) places.delete(stream);
      else if (place.root === root) own++;
    }
    // safety: listeners-bounded
    return places.size >= MOST || own >= MOST_OF_ONE;
  };
  return {
    enter(stream, root, now) {
      const place = places.get(stream);
      if (!place && isFull(root, now)) return false;
      // safety: stream-place-taken-at-once
      places.set(stream, { root, rounds: (place?.rounds ?? 0) + 1, until: now });
      return true;
    },
    leave(stream, hasEnded, now) {
      const place = places.get(stream);
      if (!place) return;
      place.rounds--;
      place.until = now + KEPT;
      if (hasEnded && place.rounds === 0) places.delete(stream);
    },
    gone(stream) {
      places.delete(stream);
      for (const [end, of] of [...waiting]) if (of === stream) end();
    },
    has: (stream) => places.has(stream),
    wait: (stream, ms) =>
      new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          if (waiting.delete(end)) resolve();
        };
        const timer = setTimeout(end, ms);
        waiting.set(end, stream);
      }),
    count: () => waiting.size,
    places: () => places.size,
    wake() {
      for (const end of [...waiting.keys()]) end();
    },
  };
}

export const listeners = part(({ outbox }) => {
  const all = createListeners();
  outbox.follow(() => all.wake());
  return all;
});
