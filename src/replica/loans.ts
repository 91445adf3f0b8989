// The requests that the gate has lent to a replica, by credential. Invariants: in memory alone, so a new
// instance has none; a loan is used only under the lease with which it came; a request uses one in the turn
// of its audit entry, or none.

import type { LastUsed } from '../gate/limits/last-used';
import type { RateLimit } from '../gate/limits/rate-limit';
import { AskGate, NO_LOAN } from '../gate/replicas/ask-gate';
import type { Lent, ReplicaEntry } from '../gate/replicas/messages';

/** How many requests of a credential are asked for at first. */
const AT_FIRST = 20;
const MOST = 300;

type Used = { used: NonNullable<ReplicaEntry['used']>; place: string | null };

export interface Loans {
  rateLimit: RateLimit;
  lastUsed: Pick<LastUsed, 'note'>;
  /** Begins a request. */
  begin(): void;
  /** What the request would use: one of a loan, and of whom. */
  pending(): Partial<Used>;
  /** The request is answered: it has used one. */
  use(): void;
  /** `until`: when the lease that they came with ends. */
  add(lent: readonly Lent[], until: number): void;
  /** What is needed of each credential. */
  wants(now: number): { credential: string; count: number }[];
  /** Loans that are over and not told yet. */
  over(now: number): string[];
  /** Stops using the loans of credentials. */
  drop(isOf: (credential: string) => boolean): void;
  told(ids: readonly string[]): void;
  /** Those of the loans that it may use. */
  credentials(): string[];
}

/** What counts and refuses requests is in the gate. */
const absent = () => {
  throw new AskGate('rate limit');
};

interface Loan extends Lent {
  until: number;
  left: number;
}

export function createLoans(): Loans {
  const loans = new Map<string, Loan>();
  const over = new Set<string>();
  /** Requests since the last lease, by credential. */
  const asked = new Map<string, number>();
  let pending: { loan: Loan | null; above: string[]; place: string | null } = {
    loan: null,
    above: [],
    place: null,
  };
  const end = (loan: Loan) => {
    loans.delete(loan.id);
    over.add(loan.id);
  };
  const sweep = (at: number) => {
    // safety: loan-within-lease
    for (const loan of [...loans.values()]) if (loan.until <= at) end(loan);
  };
  const take: RateLimit['take'] = ([used, ...above], at) => {
    if (!used) throw new AskGate('no allowance');
    asked.set(used.id, (asked.get(used.id) ?? 0) + 1);
    sweep(at);
    const loan = [...loans.values()].find(({ credential, left }) => credential === used.id && left > 0);
    if (!loan) throw new AskGate(NO_LOAN);
    pending = { loan, above: above.map(({ id }) => id), place: null };
    const { limit, remaining, left } = loan;
    return { ok: true, state: { limit, remaining: remaining + left - 1, reset: 60 }, retry_after: 0 };
  };
  return {
    rateLimit: { take, reserve: absent, note: absent, refuse: absent, flush: absent },
    lastUsed: {
      note(_credential, _above, _at, place) {
        pending.place = place;
      },
    },
    begin() {
      pending = { loan: null, above: [], place: null };
    },
    pending: () =>
      // It may have been given back since the request began.
      // safety: loan-still-held
      pending.loan && loans.has(pending.loan.id)
        ? {
            used: { lent: pending.loan.id, credential: pending.loan.credential, above: pending.above },
            place: pending.place,
          }
        : {},
    use() {
      if (pending.loan) pending.loan.left--;
    },
    add(lent, until) {
      for (const one of lent) loans.set(one.id, { ...one, until, left: one.count });
    },
    wants(at) {
      sweep(at);
      const wanted = [...asked].map(([credential, count]) => {
        const left = [...loans.values()].reduce(
          (sum, loan) => sum + (loan.credential === credential ? loan.left : 0),
          0,
        );
        return { credential, count: Math.min(MOST, Math.max(AT_FIRST, 2 * count)) - left };
      });
      asked.clear();
      return wanted.filter(({ count }) => count > 0);
    },
    over(at) {
      sweep(at);
      return [...over];
    },
    drop(isOf) {
      for (const loan of [...loans.values()]) if (isOf(loan.credential)) end(loan);
    },
    credentials: () => [...loans.values()].map(({ credential }) => credential),
    told(ids) {
      for (const id of ids) over.delete(id);
    },
  };
}
