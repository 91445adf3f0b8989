// Counts of the audit log by time, as the service counts them.
import type { components } from '@secrets-vault/client';
import { counted } from './counted';

export interface Bar {
  /** When its part of the time begins, in milliseconds. */
  time: number;
  all: number;
  /** The marked share. */
  marked: number;
}

export type Histogram = components['schemas']['AuditHistogram'];

/** Bars from an answer. Those of earlier times, which were counted afterwards, are added to them. */
export function barsOf([first, ...others]: Histogram[]): Bar[] {
  if (!first) return [];
  const barOf = ({ time, success, denied, failed }: Histogram['data'][number]): Bar => ({
    time: Date.parse(time),
    all: success + denied + failed,
    marked: denied + failed,
  });
  const bars = first.data.map(barOf);
  const from = Date.parse(first.from);
  const length = Date.parse(first.to) - from;
  for (const { time, all, marked } of others.flatMap(({ data }) => data.map(barOf))) {
    const bar = bars[Math.min(bars.length - 1, Math.floor(((time - from) / length) * bars.length))];
    if (!bar) continue;
    bar.all += all;
    bar.marked += marked;
  }
  return bars;
}

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const STEPS = [
  ...[1000, 5000, 15_000],
  ...[1, 5, 15, 30, 60, 180, 360, 720].map((minutes) => minutes * MINUTE),
  ...[1, 7, 30].map((days) => days * DAY),
];
const MOST_BARS = 96;

/** How many equal parts a time has in a chart: each as long as a clock or a calendar has, if that fits. */
export function bucketsFor(length: number): number {
  const step = STEPS.find((one) => length / one <= MOST_BARS) ?? length / MOST_BARS;
  return Math.max(1, Math.round(length / step));
}

export const sumOf = (bars: readonly Bar[], of: 'all' | 'marked'): number =>
  bars.reduce((sum, bar) => sum + bar[of], 0);

export const wordsOfBar = ({ all, marked }: Pick<Bar, 'all' | 'marked'>): string =>
  `${counted(all, 'request')}, ${marked.toLocaleString()} refused or failed`;
