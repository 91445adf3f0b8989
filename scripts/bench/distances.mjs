// The Worker of `bench:regions`: the real one, in a world with distances. Each call between Worker, gate,
// replicas and D1 takes half a round trip there and half a round trip back. The caller's region is what
// `Svc-Test-Region` plays; gate and D1 are in `BENCH_GATE`. Invariant: nothing imports this file, and
// `wrangler.toml` names `src/index.ts`, so no deployment has it.
import worker, { Gate as RealGate, Replica as RealReplica } from '../../src/index.ts';
import { roundTrip } from './round-trips.mjs';

export { DeviceLogin, DomainOwner, IssuerKeys, Metrics, Throttle } from '../../src/index.ts';

/** @param {number} ms */
const pass = (ms) => new Promise((done) => setTimeout(done, ms));

/** @template T @param {() => number} ms @param {() => Promise<T>} call @returns {Promise<T>} */
async function travel(ms, call) {
  await pass(ms() / 2);
  try {
    return await call();
  } finally {
    await pass(ms() / 2);
  }
}

/**
 * An object in whose place some of its methods are others.
 * @template {object} T @param {T} target @param {(name: string | symbol) => unknown} other
 * @returns {T}
 */
const with_ = (target, other) =>
  new Proxy(target, {
    get(_, name) {
      const found = other(name);
      if (found !== undefined) return found;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/**
 * A namespace whose objects are far away.
 * @param {any} namespace @param {(name: string, args: any[]) => number} distance of a call of an object by
 *   its name
 */
const farObjects = (namespace, distance) =>
  with_(namespace, (method) =>
    method !== 'getByName'
      ? undefined
      : (/** @type {string} */ name, /** @type {any[]} */ ...options) => {
          const stub = namespace.getByName(name, ...options);
          return new Proxy(
            {},
            {
              get: (_, call) =>
                call === 'then'
                  ? undefined
                  : (/** @type {any[]} */ ...args) =>
                      travel(
                        () => distance(name, args),
                        () => stub[call](...args),
                      ),
            },
          );
        },
  );

const QUERIES = new Set(['all', 'run', 'first', 'raw']);

/** @param {any} db @param {() => number} ms */
function farDatabase(db, ms) {
  const real = new WeakMap();
  const far = (/** @type {any} */ statement) => {
    const proxy = with_(statement, (method) => {
      if (method === 'bind') return (/** @type {any[]} */ ...values) => far(statement.bind(...values));
      if (typeof method !== 'string' || !QUERIES.has(method)) return undefined;
      return (/** @type {any[]} */ ...args) => travel(ms, () => statement[method](...args));
    });
    real.set(proxy, statement);
    return proxy;
  };
  return with_(db, (method) => {
    if (method === 'prepare') return (/** @type {string} */ sql) => far(db.prepare(sql));
    if (method === 'batch')
      return (/** @type {any[]} */ all) => travel(ms, () => db.batch(all.map((one) => real.get(one) ?? one)));
    return undefined;
  });
}

/** The region of a replica: its name is that of the organisation and its region. @param {string} name */
const regionIn = (name) => /** @type {string} */ (name.split(' ')[1]);

/**
 * The bindings, as seen from a region.
 * @param {any} env @param {() => string} here
 */
const seenFrom = (env, here) => ({
  ...env,
  // The deployment's own gate is that of the health check.
  GATE: farObjects(env.GATE, () => roundTrip(here(), env.BENCH_GATE)),
  REPLICA: farObjects(env.REPLICA, (name) => roundTrip(here(), regionIn(name))),
  DB: farDatabase(env.DB, () => roundTrip(here(), env.BENCH_GATE)),
});

export class Gate extends RealGate {
  constructor(/** @type {any} */ ctx, /** @type {any} */ env) {
    super(
      ctx,
      seenFrom(env, () => env.BENCH_GATE),
    );
  }
}

export class Replica extends RealReplica {
  constructor(/** @type {any} */ ctx, /** @type {any} */ env) {
    super(
      ctx,
      seenFrom(env, () => regionIn(ctx.id.name)),
    );
  }
}

/** @type {Map<string, any>} */
const seen = new Map();

export default {
  ...worker,
  /** @param {Request} request @param {any} env @param {any} ctx */
  fetch(request, env, ctx) {
    const here = request.headers.get('svc-test-region') ?? env.BENCH_GATE;
    if (!seen.has(here))
      seen.set(
        here,
        seenFrom(env, () => here),
      );
    return worker.fetch(request, seen.get(here), ctx);
  },
};
