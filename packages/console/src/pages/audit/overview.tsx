// The chart above the entries: read once for each combination of filters, and drawn by code that is loaded on demand.
import { lazy, Suspense } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import { useRead } from '../../api';
import { ErrorNote } from '../../ui/parts';
import type { Filters, Query } from './filters';
import { count, MOST, stretchesOf } from './timeline';

const Chart = lazy(() => import('./chart'));

const Waiting = () => <div class="chart" role="status" aria-label="Loading the chart" style={{ height: '12rem' }} />;

export function Overview({ query, change }: { query: Query; change: (part: Partial<Filters>) => void }) {
  const { data, error, refetch } = useRead(['timeline', query], (signal) => count(query, signal));
  const stretches = useMemo(() => {
    if (!data) return null;
    const oldest = data.marks.at(-1)?.time;
    const now = Date.now();
    const from = query.from && !data.isCut ? Date.parse(query.from) : oldest ? Date.parse(oldest) : now - 3_600_000;
    return stretchesOf(data.marks, from, query.to ? Date.parse(query.to) : now);
  }, [data, query]);
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (!data || !stretches) return <Waiting />;
  const all = stretches.all.reduce((sum, one) => sum + one, 0);
  const refused = stretches.refused.reduce((sum, one) => sum + one, 0);
  const label = `${all.toLocaleString()} entries, of which ${refused.toLocaleString()} were refused or failed`;
  const onRange = (from: number, to: number) =>
    change({ from: new Date(from).toISOString(), to: new Date(Math.max(to, from + 1000)).toISOString(), range: '' });
  return (
    <section aria-label="Entries over time">
      <p class="chart-head small">
        <span class="chart-key chart-all">
          <span>{all.toLocaleString()} entries</span>
        </span>
        <span class="chart-key chart-refused">
          <span>{refused.toLocaleString()} refused or failed</span>
        </span>
        {data.isCut && <span class="dim">The chart shows the newest {MOST.toLocaleString()} entries.</span>}
      </p>
      <Suspense fallback={<Waiting />}>
        <Chart stretches={stretches} label={label} onRange={onRange} />
      </Suspense>
    </section>
  );
}
