// Requests lent to replicas: a number of requests of a credential, taken from the rate limits of its lineage
// when they are lent. Invariants: what is lent is stored before a replica can use it, and counts as used
// until the gate has the entries of the replica and its word that it uses it no more; of a replica that says
// nothing, until a minute after its lease. So no rate limit is ever exceeded.

import type { Region } from '../../db/regions';
import type { Core } from '../core';
import { type Allowance, allowancesOf, rateLimit } from '../limits/rate-limit';
import { part } from '../part';
import { lineageOf } from '../rows/ends-with-parent';
import { CLOCKS } from './leases';
import { type Lent, TERM } from './messages';

/** The most requests that one loan holds. */
const MOST = 600;

interface Loan {
  id: string;
  region: Region;
  credential: string;
  /** The credential and those above it: their limits are used together. */
  links: string[];
  /** How many are not used yet, as far as the gate knows. */
  left: number;
  /** When it is over whatever the replica says. */
  until: number;
}

export interface Lending {
  /** Lends requests of a credential to the region, at most half of what is left. Null if there are none. */
  lend(region: Region, credential: string, wanted: number, until: number): Lent | null;
  /** A request has used a loan. It counts from the arrival of its entry, so never earlier than its use. */
  used(id: string, now: number): void;
  /** A replica no longer uses these; all entries that used them have been taken. */
  returned(ids: readonly string[]): void;
  /** The regions that hold loans of one of these. */
  holders(allowances: readonly Allowance[], now: number): { region: Region; credential: string }[];
}

/** The loans, in the gate's storage and in memory. */
function createLoans({ storage: { sql } }: Core) {
  sql.exec(
    'create table if not exists loans (id text primary key, region text not null, credential text not null, links text not null, "left" integer not null, until integer not null) without rowid',
  );
  const loans = new Map<string, Loan>();
  const now = Date.now();
  for (const { links, ...loan } of sql.exec<Omit<Loan, 'links'> & { links: string }>(
    'select id, region, credential, links, "left", until from loans',
  ))
    loans.set(loan.id, {
      ...loan,
      links: JSON.parse(links) as string[],
      // The stored end is a time of another machine.
      // safety: loan-whole-at-start
      until: loan.until > now - CLOCKS ? now + TERM + CLOCKS : loan.until,
    });
  return {
    all: () => [...loans.values()],
    get: (id: string) => loans.get(id),
    add(loan: Loan) {
      const { id, region, credential, links, left, until } = loan;
      // safety: loan-stored
      sql.exec(
        'insert into loans values (?, ?, ?, ?, ?, ?)',
        ...[id, region, credential, JSON.stringify(links), left, until],
      );
      loans.set(id, loan);
    },
    use(loan: Loan) {
      loan.left--;
      sql.exec('update loans set "left" = ? where id = ?', loan.left, loan.id);
    },
    remove({ id }: Loan) {
      loans.delete(id);
      sql.exec('delete from loans where id = ?', id);
    },
  };
}

function createLending(core: Core): Lending {
  const loans = createLoans(core);
  for (const { links, left } of loans.all()) rateLimit(core).reserve(links, left);
  const end = (loan: Loan) => {
    rateLimit(core).reserve(loan.links, -loan.left);
    loans.remove(loan);
  };
  const sweep = (now: number) => {
    for (const loan of loans.all()) if (loan.until <= now) end(loan);
  };
  return {
    lend(region, credential, wanted, until) {
      sweep(core.now());
      const row = core.rows.get('credential', credential);
      if (!row) return null;
      const allowances = allowancesOf(lineageOf(core, row));
      const { state } = rateLimit(core).take(allowances, core.now(), 'no');
      const count = Math.min(wanted, MOST, Math.floor(state.remaining / 2));
      if (count < 1) return null;
      const links = allowances.map(({ id }) => id);
      const loan: Loan = {
        id: crypto.randomUUID(),
        region,
        credential,
        links,
        left: count,
        // safety: loan-outlives-lease
        until: until + CLOCKS,
      };
      loans.add(loan);
      // safety: loan-reserved
      rateLimit(core).reserve(links, count);
      return { id: loan.id, credential, count, limit: state.limit, remaining: state.remaining - count };
    },
    used(id, now) {
      const loan = loans.get(id);
      // A loan that is over counted as used until then.
      if (!loan || loan.left === 0) return;
      loans.use(loan);
      rateLimit(core).reserve(loan.links, -1);
      rateLimit(core).note(loan.links, now);
    },
    returned(ids) {
      for (const id of ids) {
        const loan = loans.get(id);
        if (loan) end(loan);
      }
    },
    holders(allowances, now) {
      sweep(now);
      const ids = new Set(allowances.map(({ id }) => id));
      return loans
        .all()
        .filter(({ links, left }) => left > 0 && links.some((id) => ids.has(id)))
        .map(({ region, credential }) => ({ region, credential }));
    },
  };
}

export const lending = part(createLending);
