// Sums of what happened, how they are added, and their text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import dashboard from '../../../docs/operations/grafana.json?raw';
import page from '../../../docs/operations/monitoring.md?raw';
import { prometheus } from '../../../src/metrics/prometheus';
import { add, BUCKETS, keyOf, METRICS, type MetricName, observe, type Sums } from '../../../src/metrics/sums';

type Observation = [MetricName, string[], number];

const observation: fc.Arbitrary<Observation> = fc
  .constantFrom(...(Object.keys(METRICS) as MetricName[]))
  .chain((name) =>
    fc.tuple(
      fc.constant(name),
      fc.array(fc.constantFrom('a', 'b'), {
        minLength: METRICS[name].labels.length,
        maxLength: METRICS[name].labels.length,
      }),
      // Multiples of a power of two, so that the order of additions does not matter.
      fc.integer({ min: 0, max: 20_000 }).map((n) => n / 1024),
    ),
  );
const sumsOf = (all: Observation[]): Sums => {
  const sums: Sums = new Map();
  for (const [name, labels, value] of all) observe(sums, name, labels, value);
  return sums;
};
const linesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));

describe('metrics: sums', () => {
  it('the parts of isolates add up to what happened, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.array(observation)), (parts) => {
        const together: Sums = new Map();
        for (const part of [...parts].reverse())
          for (const [key, numbers] of sumsOf(part)) add(together, key, numbers);
        const sorted = (sums: Sums) => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
        expect(sorted(together)).toEqual(sorted(sumsOf(parts.flat())));
      }),
    );
  });

  it('numbers of an unknown metric, or of another length, are left out', () => {
    const sums = sumsOf([['svc_requests_total', ['/a', 'GET', '200'], 1]]);
    const before = new Map(sums);
    add(sums, '["svc_later_total"]', [1]);
    add(sums, '["constructor"]', [1]);
    add(sums, keyOf('svc_requests_total', ['/a', 'GET', '200']), [1, 2]);
    expect(sums).toEqual(before);
  });
});

describe('metrics: Prometheus text', () => {
  it('a histogram has cumulative buckets, a sum and a count', () => {
    const sums = sumsOf([0.0005, 0.005, 0.005, 3, 60].map((s) => ['svc_gate_duration_seconds', [], s]));
    const text = prometheus({ since: 1_700_000_000_000, sums });
    const counts = linesOf(text, 'svc_gate_duration_seconds_bucket');
    expect(counts).toHaveLength(BUCKETS.length + 1);
    expect(counts[0]).toBe('svc_gate_duration_seconds_bucket{le="0.001"} 1');
    expect(counts[2]).toBe('svc_gate_duration_seconds_bucket{le="0.005"} 3');
    expect(counts.slice(-3)).toEqual([
      'svc_gate_duration_seconds_bucket{le="5"} 4',
      'svc_gate_duration_seconds_bucket{le="10"} 4',
      'svc_gate_duration_seconds_bucket{le="+Inf"} 5',
    ]);
    expect(linesOf(text, 'svc_gate_duration_seconds_count')).toEqual(['svc_gate_duration_seconds_count 5']);
    expect(linesOf(text, 'svc_gate_duration_seconds_sum')).toEqual(['svc_gate_duration_seconds_sum 63.0105']);
    expect(linesOf(text, 'svc_start_time_seconds')).toEqual(['svc_start_time_seconds 1700000000']);
  });

  it('each metric has its help and type, also before anything happened', () => {
    const text = prometheus({ since: 0, sums: new Map() });
    for (const name of Object.keys(METRICS)) {
      expect(text).toContain(`# HELP ${name} `);
      expect(text).toMatch(new RegExp(`# TYPE ${name} (counter|gauge|histogram)\n`));
    }
  });

  it('the page and the dashboard name the metrics that there are', () => {
    const rows = [...page.matchAll(/^\| `(svc_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => [name, type]);
    const text = prometheus({ since: 0, sums: new Map() });
    const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]);
    expect(rows.sort()).toEqual(types.sort());
    const shown = [...dashboard.matchAll(/svc_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    );
    expect(new Set(shown).size).toBeGreaterThan(5);
    for (const name of shown) expect(Object.hasOwn(METRICS, name), name).toBe(true);
  });

  it('labels are escaped', () => {
    const sums = sumsOf([['svc_refusals_total', ['a"b\\c\nd'], 1]]);
    expect(prometheus({ since: 0, sums })).toContain('svc_refusals_total{code="a\\"b\\\\c\\nd"} 1\n');
  });
});
