// What tests may do to D1 and see of calls: count them, delay them at random, make them fail before or after they take effect; and
// what goes on the queue.
import type { Env } from '../src/env';

export interface Faults {
  /** Longest delay of a D1 call, in milliseconds. */
  delay: number;
  /** How the next calls fail: before D1 hears of them, or after it has done what they say. */
  fail: ((kind: 'read' | 'batch', n: number) => 'before' | 'after' | null) | null;
  d1: number;
  gate: number;
  /** Everything that was put on the queue. */
  queued: unknown[];
  /** Another number is another isolate: one that holds no keys yet. */
  isolate: number;
}

export const faults: Faults = { delay: 0, fail: null, d1: 0, gate: 0, queued: [], isolate: 0 };

export function reset() {
  Object.assign(faults, { delay: 0, fail: null, d1: 0, gate: 0, queued: [] });
}

async function through<T>(kind: 'read' | 'batch', run: () => Promise<T>): Promise<T> {
  const n = ++faults.d1;
  const how = faults.fail?.(kind, n) ?? null;
  const pause = () => new Promise((done) => setTimeout(done, Math.random() * faults.delay));
  if (faults.delay) await pause();
  if (how === 'before') throw new Error('Network connection lost.');
  const result = await run();
  if (faults.delay) await pause();
  if (how === 'after') throw new Error('Network connection lost.');
  return result;
}

const READS = new Set(['all', 'first', 'run', 'raw']);

function statement(real: D1PreparedStatement): D1PreparedStatement {
  return new Proxy(real, {
    get(target, name) {
      if (name === 'real') return target;
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name === 'bind') return (...params: unknown[]) => statement(target.bind(...params));
      if (READS.has(name as string)) return (...args: unknown[]) => through('read', () => value.apply(target, args));
      return value.bind(target);
    },
  });
}

/** The same bindings, watched. */
export function faulty(env: Env): Env {
  const DB = new Proxy(env.DB, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => statement(target.prepare(sql));
      if (name === 'batch')
        return (list: D1PreparedStatement[]) =>
          through('batch', () => target.batch(list.map((one) => (one as unknown as { real?: D1PreparedStatement }).real ?? one)));
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const GATE = new Proxy(env.GATE, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === 'get')
        return (...args: Parameters<Env['GATE']['get']>) => {
          faults.gate++;
          return target.get(...args);
        };
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
  return { ...env, DB, GATE, QUEUE };
}
