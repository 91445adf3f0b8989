// Collects what happens in an isolate, and adds it to the sums of the deployment every ten seconds
// (`objects/metrics.ts`). Invariants: without METRICS_TOKEN nothing is collected; what was sent is never sent
// again, so nothing counts twice, and what an isolate had not sent when it ended is lost.
import { type MetricName, observe, type Sums } from './sums';
import { timed } from './timed';

/** The calls of the sums of a deployment: see `objects/metrics.ts`. */
export interface MetricsCalls extends Rpc.DurableObjectBranded {
  add(sums: Sums): Promise<void>;
  read(): Promise<{ since: number; sums: Sums }>;
}

export interface MetricsEnv {
  DB: D1Database;
  METRICS: DurableObjectNamespace<MetricsCalls>;
  METRICS_TOKEN?: string;
}

const EVERY = 10_000;
/** After this long, a request that was to send has ended before. */
const OVERDUE = 15_000;

let collected: Sums = new Map();
/** Until when a request of this isolate is going to send, in milliseconds. */
let sendsUntil = 0;

/** Keeps a request, or an object, until a promise has settled. */
type Defer = (work: Promise<unknown>) => void;

/** Notes one observation: seconds of a histogram or a lag, how many of a counter. */
export function measure(env: MetricsEnv, name: MetricName, labels: readonly string[], value: number): void {
  if (env.METRICS_TOKEN) observe(collected, name, labels, value);
}

/** Sees to it that what this isolate has collected is sent within ten seconds. */
export function sendSoon(env: MetricsEnv, defer: Defer): void {
  const now = Date.now();
  if (!env.METRICS_TOKEN || sendsUntil > now) return;
  sendsUntil = now + OVERDUE;
  defer(new Promise((done) => setTimeout(done, EVERY)).then(() => send(env)));
}

/** Adds what was collected to the sums of the deployment. */
export async function send(env: MetricsEnv): Promise<void> {
  const sums = collected;
  collected = new Map();
  sendsUntil = 0;
  if (sums.size === 0) return;
  // An addition without a reply may have taken effect.
  await sumsOf(env)
    .add(sums)
    .catch(() => {});
}

/** The sums of the deployment, with what this isolate has collected. */
export async function read(env: MetricsEnv): Promise<{ since: number; sums: Sums }> {
  await send(env);
  return sumsOf(env).read() as unknown as Promise<{ since: number; sums: Sums }>;
}

const sumsOf = ({ METRICS }: MetricsEnv) => METRICS.getByName('deployment');

const measured = new WeakMap<object, MetricsEnv>();

/**
 * The environment with a D1 whose calls are measured, made once per isolate; the same one without
 * METRICS_TOKEN.
 */
export function withMetrics<T extends MetricsEnv>(env: T): T {
  if (!env.METRICS_TOKEN) return env;
  const known = measured.get(env) as T | undefined;
  const made = known ?? measuring(env, () => {});
  if (!known) measured.set(env, made);
  return made;
}

/** The same for an object that makes calls on its own, so that they are sent. */
export const withMetricsOf = <T extends MetricsEnv>(env: T, defer: Defer): T =>
  env.METRICS_TOKEN ? measuring(env, () => sendSoon(env, defer)) : env;

function measuring<T extends MetricsEnv>(env: T, noted: () => void): T {
  const note = (ms: number) => {
    measure(env, 'svc_d1_duration_seconds', [], ms / 1000);
    noted();
  };
  return { ...env, DB: timed(env.DB, note) };
}
