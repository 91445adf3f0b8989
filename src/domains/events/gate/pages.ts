// What streams read of the outbox. An event wakes all streams of an organisation, and they ask for the same
// pages. Invariants: a page is read once for all of them, and examined once for all who see the same; what is
// kept is dropped as soon as events are added or moved.
import QuickLRU from 'quick-lru';
import type { Outbox, StoredEvent } from '../../../gate/outbox';
import { part } from '../../../gate/part';

/** Events of one page. */
export const PAGE = 100;
/** Pages kept, of events and of what callers see of them. */
const KEPT = 8;

export interface Pages {
  /** Up to `PAGE` events with a greater sequence, oldest first. */
  read(sequence: number): StoredEvent[];
  /** What `examine` returned for the same question about the same events. */
  shared<T extends object>(asked: unknown, examine: () => T): T;
  /** How often events were read and examined. */
  work: { reads: number; examined: number };
}

export function createPages(outbox: Pick<Outbox, 'from' | 'head' | 'moved'>): Pages {
  const events = new QuickLRU<number, StoredEvent[]>({ maxSize: KEPT });
  const answers = new QuickLRU<string, object>({ maxSize: KEPT });
  const work = { reads: 0, examined: 0 };
  let as = '';
  /** Forgets what is no longer so. */
  const renew = () => {
    const now = `${outbox.head()} ${outbox.moved()}`;
    // safety: pages-of-these-events
    if (now !== as) {
      events.clear();
      answers.clear();
    }
    as = now;
  };
  return {
    work,
    read(sequence) {
      renew();
      const known = events.get(sequence);
      if (known) return known;
      work.reads++;
      const found = outbox.from(sequence, PAGE);
      events.set(sequence, found);
      return found;
    },
    shared<T extends object>(asked: unknown, examine: () => T): T {
      renew();
      const key = JSON.stringify(asked);
      const known = answers.get(key) as T | undefined;
      if (known) return known;
      work.examined++;
      const found = examine();
      answers.set(key, found);
      return found;
    },
  };
}

export const pages = part(({ outbox }) => createPages(outbox));
