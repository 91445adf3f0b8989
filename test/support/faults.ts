// What tests may do to a gate and its D1, and see of calls: count them, delay them, make them fail before or
// after they take effect, let a batch land when nobody waits for it any more, reset the gate at any call; and
// what goes on the queue.
import type { Catalogue } from '../../src/domains';
import type { Env } from '../../src/env';

/**
 * How a call ends: D1 (or the gate) never hears of it; it takes effect and the reply is lost; or it fails now
 * and takes effect later, when the test runs `orphans`. With `reset` the gate is gone at once, with all that
 * it has in memory.
 */
export type Fate = 'before' | 'after' | 'late' | 'reset before' | 'reset after' | 'reset late';
type Kind = 'read' | 'batch';

export interface Faults {
  /** Longest delay of a D1 call, in milliseconds; or how long the n-th one takes. */
  delay: number | ((n: number) => number);
  fail: ((kind: Kind, n: number) => Fate | null) | null;
  /** Whether the reply of the n-th D1 call, which has taken effect, is still on its way. */
  held: ((n: number, kind: Kind) => boolean) | null;
  /**
   * How calls from the Worker to the gate of an organisation fail; `retryable` as the platform marks those
   * that may be repeated.
   */
  rpc: ((n: number, org: string) => { fate: 'before' | 'after'; retryable: boolean } | null) | null;
  /** How statements on the gate's own storage fail: the gate is then reset. */
  storage: ((n: number, sql: string) => 'before' | 'after' | null) | null;
  d1: number;
  gate: number;
  statements: number;
  /**
   * Cursors of the statements of gates, which say how many rows they read and wrote; null where nobody asks.
   */
  cursors: { rowsRead: number; rowsWritten: number }[] | null;
  /**
   * Rows that the statements of an organisation on D1 read and wrote, as it reports them; null where nobody
   * asks.
   */
  rows: { org: string; read: number; written: number } | null;
  /** How often gates set their alarm. */
  alarms: number;
  /** Whether alarms do nothing, because the test runs the tasks itself. */
  isAlarmHeld: boolean;
  /** Whether D1 follows the journal in its own time, as in production: tests that look in D1 do not wait. */
  lags: boolean;
  /** Batches that land when they are run. */
  orphans: (() => Promise<unknown>)[];
  /** Everything that was put on the queue. */
  queued: unknown[];
  /** Every statement that was put to D1, with the parameters of one time. */
  asked: Map<string, unknown[]>;
  /** Hears of each statement as its parameters are bound. */
  bound: ((sql: string, params: unknown[]) => void) | null;
  /** What time it is for gates, if not the real one. */
  clock: number | null;
  /** Another number is another isolate: one that holds no keys yet. */
  isolate: number;
  /** Deployment variables of the isolates that start from here on, where they are not the usual ones. */
  variables: Partial<Env>;
  /** The domains of the gates that start from here on, if not those of the vault. */
  catalogue: Catalogue | null;
  /** What happens just before D1 hears of a call. */
  before: ((kind: Kind) => Promise<void>) | null;
}

const none = () => ({
  delay: 0,
  fail: null,
  held: null,
  rpc: null,
  storage: null,
  d1: 0,
  gate: 0,
  statements: 0,
  cursors: null,
  rows: null,
  alarms: 0,
  isAlarmHeld: false,
  lags: false,
  orphans: [],
  queued: [],
  asked: new Map<string, unknown[]>(),
  bound: null,
  clock: null,
  catalogue: null,
  before: null,
});

export const faults: Faults = { ...none(), isolate: 0, variables: {} };

export function reset() {
  Object.assign(faults, none());
}

/** One call that fails. */
export interface Fault {
  what: string;
  how: Partial<Faults>;
}

/** Every way in which one call among so many can fail. */
export function* faultsOf(calls: { statements: number; d1: number; gate: number }): Generator<Fault> {
  const fates: Fate[] = ['before', 'after', 'late', 'reset before', 'reset after', 'reset late'];
  for (let n = 1; n <= calls.statements; n++)
    for (const fate of ['before', 'after'] as const)
      yield { what: `statement ${n} fails ${fate}`, how: { storage: (at) => (at === n ? fate : null) } };
  for (let n = 1; n <= calls.d1; n++)
    for (const fate of fates)
      yield { what: `D1 call ${n}: ${fate}`, how: { fail: (_, at) => (at === n ? fate : null) } };
  for (let n = 1; n <= calls.gate; n++)
    for (const fate of ['before', 'after'] as const)
      for (const retryable of [true, false])
        yield {
          what: `gate call ${n}: ${fate}${retryable ? ', may be repeated' : ''}`,
          how: { rpc: (at) => (at === n ? { fate, retryable } : null) },
        };
}

/**
 * Holds back the reply of the next D1 call, or the n-th of a kind from here on, until `release`; `held` is
 * answered once it has taken effect.
 */
export function holdNext(of?: Kind, nth = 1) {
  let is = false;
  let isReleased = false;
  let first = 0;
  let before = 0;
  faults.d1 = 0;
  faults.held = (n, kind) => {
    if (of && kind !== of) return false;
    if (!first && ++before === nth) first = n;
    if (n === first) is = true;
    return n === first && !isReleased;
  };
  const release = () => {
    isReleased = true;
  };
  return { held: () => until(() => is), release };
}

/** Waits until something holds, looking `most` times. */
export async function until(holds: () => boolean | Promise<boolean>, most = Number.POSITIVE_INFINITY) {
  for (let i = 0; i < most && !(await holds()); i++) await new Promise((done) => setTimeout(done, 5));
}

const LOST = 'Network connection lost.';

type Through = (kind: Kind, run: () => Promise<unknown>, orphan: () => Promise<unknown>) => Promise<unknown>;

function throughFaults(abort: () => Promise<void>): Through {
  return async (kind, run, orphan) => {
    const n = ++faults.d1;
    const fate = faults.fail?.(kind, n) ?? null;
    const { delay } = faults;
    const pause = async () => {
      const ms = typeof delay === 'number' ? Math.random() * delay : delay(n);
      if (ms) await new Promise((done) => setTimeout(done, ms));
    };
    const lost = async () => {
      if (fate?.startsWith('reset')) await abort();
      return new Error(LOST);
    };
    if (delay) await pause();
    await faults.before?.(kind);
    if (fate?.endsWith('late')) faults.orphans.push(orphan);
    if (fate?.endsWith('before') || fate?.endsWith('late')) throw await lost();
    const result = await run();
    while (faults.held?.(n, kind)) await new Promise((done) => setTimeout(done, 1));
    if (delay) await pause();
    if (fate) throw await lost();
    return result;
  };
}

/** Adds the rows that a result of D1 reports. Gates of other tests may just run a task. */
function noteRows(params: unknown[], { meta }: D1Result) {
  if (!faults.rows || !params.includes(faults.rows.org)) return;
  faults.rows.read += meta.rows_read;
  faults.rows.written += meta.rows_written;
}

const READS = new Set(['all', 'first', 'run', 'raw']);
interface Built {
  real: D1PreparedStatement;
  sql: string;
  params: unknown[];
}

function statement(
  real: D1PreparedStatement,
  through: Through,
  sql: string,
  params: unknown[] = [],
): D1PreparedStatement {
  return new Proxy(real, {
    get(target, name) {
      if (name === 'built') return { real: target, sql, params } satisfies Built;
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name === 'bind')
        return (...given: unknown[]) => {
          faults.asked.set(sql, given);
          faults.bound?.(sql, given);
          return statement(target.bind(...given), through, sql, given);
        };
      if (READS.has(name as string))
        return (...args: unknown[]) =>
          through(
            'read',
            async () => {
              const tells = name === 'all' || name === 'run';
              // The others answer rows alone: the same query tells how many it read.
              if (faults.rows && !tells) noteRows(params, await target.all());
              const result = await value.apply(target, args);
              if (tells) noteRows(params, result);
              return result;
            },
            async () => {},
          );
      return value.bind(target);
    },
  });
}

/**
 * The same bindings, watched. `abort` resets the gate that uses them, once what it wrote is durable: no call
 * leaves a gate before that. `outer` is the database as the test itself reaches it.
 */
export function faulty(env: Env, outer: D1Database, abort: () => Promise<void> = async () => {}): Env {
  const through = throughFaults(abort);
  const DB = new Proxy(env.DB, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => statement(target.prepare(sql), through, sql);
      if (name === 'batch')
        return (list: D1PreparedStatement[]) => {
          const built = list.map((one) => (one as unknown as { built: Built }).built);
          return through(
            'batch',
            async () => {
              const results = await target.batch(built.map(({ real }) => real));
              for (const [i, { params }] of built.entries()) noteRows(params, results[i] as D1Result);
              return results;
            },
            () => outer.batch(built.map(({ sql, params }) => outer.prepare(sql).bind(...params))),
          );
        };
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const GATE = new Proxy(env.GATE, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      // The gates of orgs; the one of the deployment is none.
      if (name === 'getByName')
        return (...args: Parameters<Env['GATE']['getByName']>) =>
          args[0].startsWith('org_')
            ? watched(target.getByName(...args), args[0])
            : target.getByName(...args);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const DEVICE_LOGIN = new Proxy(env.DEVICE_LOGIN, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === 'getByName')
        return (...args: Parameters<Env['DEVICE_LOGIN']['getByName']>) =>
          watched(target.getByName(...args), args[0]);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const QUEUE = new Proxy(env.QUEUE, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === 'send' || name === 'sendBatch')
        return (messages: unknown, ...rest: []) => {
          faults.queued.push(messages);
          return (value as (...args: unknown[]) => unknown).call(target, messages, ...rest);
        };
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...env, DB, GATE, DEVICE_LOGIN, QUEUE };
}

/** A stub whose calls are counted, and fail as told. */
function watched<T extends object>(stub: T, org: string): T {
  const n = ++faults.gate;
  const told = faults.rpc?.(n, org);
  if (!told) return stub;
  const lost = () => Object.assign(new Error(LOST), { retryable: told.retryable });
  return new Proxy(stub, {
    get:
      (target, name) =>
      async (...args: unknown[]) => {
        if (told.fate === 'before') throw lost();
        await (Reflect.get(target, name) as (...args: unknown[]) => unknown)(...args);
        throw lost();
      },
  });
}

/**
 * The storage of a gate, watched: a statement that is told to fail resets the gate, as a storage that fails
 * does.
 */
export function faultyStorage(storage: DurableObjectStorage, abort: () => void): DurableObjectStorage {
  const sql = new Proxy(storage.sql, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name !== 'exec') return typeof value === 'function' ? value.bind(target) : value;
      return (query: string, ...params: unknown[]) => {
        const n = ++faults.statements;
        const fate = faults.storage?.(n, query) ?? null;
        const result = fate === 'before' ? null : target.exec(query, ...params);
        if (fate) {
          abort();
          throw new Error('storage failed');
        }
        if (result) faults.cursors?.push(result);
        return result;
      };
    },
  });
  return new Proxy(storage, {
    get(target, name) {
      if (name === 'sql') return sql;
      if (name === 'setAlarm') faults.alarms++;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
