// What `GET /metrics` counts, and sums of it, which can be added to each other. Invariant: labels are routes,
// methods, statuses, codes and queues of this deployment, never an id, a name or a path as sent. So the
// number of sums is bounded.

/** `lag`: the greatest age that was seen lately, in seconds. */
type Kind = 'counter' | 'histogram' | 'lag';

interface Metric {
  kind: Kind;
  labels: readonly string[];
  help: string;
}

export const METRICS = {
  svc_requests_total: {
    kind: 'counter',
    labels: ['route', 'method', 'status'],
    help: 'Requests that were answered.',
  },
  svc_request_duration_seconds: {
    kind: 'histogram',
    labels: ['route', 'method'],
    help: 'Time from a request to its response, in the Worker.',
  },
  svc_gate_duration_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Time that a request waited for gates and replicas.',
  },
  svc_d1_duration_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Time of a call of D1, by the Worker or by a gate.',
  },
  svc_refusals_total: {
    kind: 'counter',
    labels: ['code'],
    help: 'Requests that were refused, by error code.',
  },
  svc_queue_lag_seconds: {
    kind: 'lag',
    labels: ['queue'],
    help: 'The greatest age of a message at its first attempt, within a minute.',
  },
  svc_log_stream_lag_seconds: {
    kind: 'lag',
    labels: ['kind'],
    help: 'The greatest age of an audit entry that a log stream had not sent, within a minute.',
  },
  svc_mirror_lag_seconds: {
    kind: 'lag',
    labels: [],
    help: 'The greatest age of a change that D1 lacked, of all organisations, within a minute.',
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

/** Upper bounds of a histogram's buckets, in seconds. Above the last one is a bucket without a bound. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/**
 * Numbers by metric and labels. A counter has one, a lag too. A histogram has those of its buckets, each
 * without the buckets below it, and then the sum of what was observed.
 */
export type Sums = Map<string, number[]>;

/** The key of a metric and its labels. */
export const keyOf = (name: MetricName, labels: readonly string[]): string =>
  JSON.stringify([name, ...labels]);

/** Reads a key. Returns null for one of another release. */
export function readKey(key: string): { name: MetricName; labels: string[] } | null {
  const [name, ...labels] = JSON.parse(key) as string[];
  if (name === undefined || !Object.hasOwn(METRICS, name)) return null;
  return { name: name as MetricName, labels };
}

/** Adds one observation: seconds of a histogram or a lag, how many of a counter. */
export function observe(sums: Sums, name: MetricName, labels: readonly string[], value: number): void {
  add(sums, keyOf(name, labels), METRICS[name].kind === 'histogram' ? inBucket(value) : [value]);
}

function inBucket(seconds: number): number[] {
  const at = BUCKETS.findIndex((bound) => seconds <= bound);
  const counts = new Array<number>(BUCKETS.length + 2).fill(0);
  counts[at < 0 ? BUCKETS.length : at] = 1;
  counts[BUCKETS.length + 1] = seconds;
  return counts;
}

/** Adds numbers to those of a key. Those of an unknown key, or of another length, are left out. */
export function add(sums: Sums, key: string, numbers: readonly number[]): void {
  const known = readKey(key);
  if (!known) return;
  const before = sums.get(key);
  if (!before) sums.set(key, [...numbers]);
  else if (before.length === numbers.length)
    sums.set(
      key,
      before.map((number, i) =>
        METRICS[known.name].kind === 'lag'
          ? Math.max(number, numbers[i] as number)
          : number + (numbers[i] as number),
      ),
    );
}
