// Counts entries per time interval, from a stream of entries.
import { here, vault } from '../../api';
import type { Entry, Query } from './filters';

/** The number of entries that one request counts; older ones are counted on request. */
const MOST = 5000;

/** The fields of an entry that the chart needs. */
type Mark = Pick<Entry, 'time' | 'outcome' | 'count'>;

export interface Counted {
  marks: Mark[];
  /** The time before which entries are not counted yet; null if all are counted. */
  before: string | null;
}

/** The lines of a stream, one by one. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest) yield rest;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Drops the entries with the oldest time: other entries of the same time may not have been counted. */
function whole(marks: Mark[]): Counted {
  const last = marks.at(-1)?.time ?? null;
  const kept = marks.filter(({ time }) => time !== last);
  return {
    marks: kept.length ? kept : marks,
    before: kept.length && last ? new Date(Date.parse(last) + 1).toISOString() : last,
  };
}

/** Counts the entries that a query finds, in one request. */
export async function count(query: Query, signal: AbortSignal): Promise<Counted> {
  const { data } = await vault().api.GET('/orgs/{org_id}/audit-log', {
    params: { path: here(), query: { ...query, format: 'ndjson' } },
    parseAs: 'stream',
    signal,
  });
  const marks: Mark[] = [];
  // A response without a body has no data.
  if (!data) return { marks, before: null };
  for await (const line of linesOf(data as unknown as ReadableStream<Uint8Array>)) {
    if (marks.length === MOST) return whole(marks);
    const { time, outcome, count } = JSON.parse(line) as Entry;
    marks.push({ time, outcome, count });
  }
  return { marks, before: null };
}

/** Interval lengths in seconds, chosen to be easy to read. */
const STEPS = [
  1,
  5,
  15,
  60,
  300,
  900,
  1800,
  3600,
  3 * 3600,
  6 * 3600,
  12 * 3600,
  86_400,
  7 * 86_400,
  30 * 86_400,
];
const MOST_STRETCHES = 90;

export interface Stretches {
  /** The start of each interval, in seconds. */
  times: number[];
  all: number[];
  refused: number[];
  step: number;
}

/** @param from @param to in milliseconds */
export function stretchesOf(marks: Mark[], from: number, to: number): Stretches {
  const length = Math.max(1, (to - from) / 1000);
  const step = STEPS.find((one) => length / one <= MOST_STRETCHES) ?? (STEPS.at(-1) as number);
  const first = Math.floor(from / 1000 / step);
  const size = Math.floor(to / 1000 / step) - first + 1;
  const all = new Array<number>(size).fill(0);
  const refused = new Array<number>(size).fill(0);
  for (const { time, outcome, count } of marks) {
    const at = Math.floor(Date.parse(time) / 1000 / step) - first;
    if (at < 0 || at >= size) continue;
    all[at] = (all[at] ?? 0) + count;
    if (outcome !== 'success') refused[at] = (refused[at] ?? 0) + count;
  }
  return { times: Array.from({ length: size }, (_, index) => (first + index) * step), all, refused, step };
}
