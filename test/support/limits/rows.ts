// What a request costs, whatever the machine: calls, and the rows that it reads and writes, as the runtime
// reports them.
import { faults } from '../faults';
import { inCore } from '../gate';
import type { Caller } from '../world';

export interface Rows {
  read: number;
  written: number;
}

export interface Cost {
  /** Statements on the storage of gates, and their rows. */
  statements: number;
  rows: Rows;
  /** How often gates set their alarm, which is billed as a row written. */
  alarms: number;
  /** Calls of gates and of D1, and rows of D1. */
  gate: number;
  d1: number;
  d1Rows: Rows;
}

/** What a run costs the gate of an organisation, and D1. */
export async function counted<T>(o: Caller, run: () => Promise<T>): Promise<{ answer: T; cost: Cost }> {
  Object.assign(faults, {
    statements: 0,
    d1: 0,
    gate: 0,
    alarms: 0,
    cursors: [],
    rows: { org: o.id, read: 0, written: 0 },
  });
  const answer = await run();
  const { statements, d1, gate, alarms, cursors, rows: d1Rows } = faults;
  Object.assign(faults, { cursors: null, rows: null });
  // A cursor that was not read to its end tells its own gate alone. A gate of another test may just run a
  // task: that is not counted.
  const told = (read: () => number) => {
    try {
      return read();
    } catch {
      return 0;
    }
  };
  const sum = (of: 'rowsRead' | 'rowsWritten') =>
    (cursors ?? []).reduce((total, cursor) => total + told(() => cursor[of]), 0);
  const rows = await inCore(o, () => ({ read: sum('rowsRead'), written: sum('rowsWritten') }));
  return {
    answer,
    cost: {
      statements,
      rows,
      alarms,
      gate,
      d1,
      d1Rows: { read: d1Rows?.read ?? 0, written: d1Rows?.written ?? 0 },
    },
  };
}
