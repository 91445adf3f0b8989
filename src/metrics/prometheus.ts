// Sums as Prometheus text, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
import { BUCKETS, METRICS, type MetricName, readKey, type Sums } from './sums';

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const TYPES = { counter: 'counter', histogram: 'histogram', lag: 'gauge' };

/** `since`: when the sums began, in milliseconds. */
export function prometheus({ since, sums }: { since: number; sums: Sums }): string {
  const lines = [
    '# HELP svc_start_time_seconds When these sums began, as a Unix time.',
    '# TYPE svc_start_time_seconds gauge',
    `svc_start_time_seconds ${since / 1000}`,
  ];
  const series = [...sums].flatMap(([key, numbers]) => {
    const known = readKey(key);
    return known ? [{ ...known, numbers }] : [];
  });
  for (const [name, { kind, labels: names, help }] of Object.entries(METRICS)) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${TYPES[kind]}`);
    for (const { labels, numbers } of series.filter((one) => one.name === (name as MetricName))) {
      const pairs = names.map((label, i): [string, string] => [label, labels[i] ?? '']);
      lines.push(
        ...(kind === 'histogram'
          ? histogram(name, pairs, numbers)
          : [`${name}${braces(pairs)} ${numbers[0] as number}`]),
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

function histogram(name: string, pairs: [string, string][], numbers: number[]): string[] {
  let count = 0;
  const buckets = [...BUCKETS, '+Inf'].map((bound, i) => {
    count += numbers[i] as number;
    return `${name}_bucket${braces([...pairs, ['le', String(bound)]])} ${count}`;
  });
  const sum = numbers[BUCKETS.length + 1] as number;
  return [...buckets, `${name}_sum${braces(pairs)} ${sum}`, `${name}_count${braces(pairs)} ${count}`];
}

const braces = (pairs: [string, string][]): string =>
  pairs.length ? `{${pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}` : '';

const escaped = (value: string) =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
