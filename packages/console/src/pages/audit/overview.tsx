// The chart above the entries: read once for each combination of filters, and drawn by code that is loaded on
// demand.
import { useInfiniteQuery } from '@tanstack/preact-query';
import { lazy, Suspense } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import { counted } from '../../counted';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/parts';
import type { Filters, Query } from './filters';
import { type Counted, count, stretchesOf } from './timeline';

const Chart = lazy(() => import('./chart'));

const Waiting = () => (
  <div class="chart" role="status" aria-label="Loading the chart" style={{ height: '12rem' }} />
);

const moment = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** The counts so far: the newest entries first, older ones on request. */
function useCounted(query: Query) {
  const { data, error, refetch, fetchNextPage } = useInfiniteQuery({
    queryKey: ['timeline', query],
    queryFn: ({ pageParam, signal }) => count({ ...query, ...(pageParam && { to: pageParam }) }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last: Counted) => last.before ?? undefined,
    // Each count reads a large part of the log, and creates an entry.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const marked = useMemo(
    () =>
      data && { marks: data.pages.flatMap(({ marks }) => marks), before: data.pages.at(-1)?.before ?? null },
    [data],
  );
  return { marked, error: marked ? null : error, refetch, further: fetchNextPage };
}

export function Overview({ query, change }: { query: Query; change: (part: Partial<Filters>) => void }) {
  const { marked, error, refetch, further } = useCounted(query);
  const stretches = useMemo(() => {
    if (!marked) return null;
    const now = Date.now();
    const oldest = marked.marks.at(-1)?.time;
    const from =
      query.from && !marked.before ? Date.parse(query.from) : oldest ? Date.parse(oldest) : now - 3_600_000;
    return stretchesOf(marked.marks, from, query.to ? Date.parse(query.to) : now);
  }, [marked, query]);
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (!marked || !stretches) return <Waiting />;
  const all = stretches.all.reduce((sum, one) => sum + one, 0);
  const refused = stretches.refused.reduce((sum, one) => sum + one, 0);
  const label = `${counted(all, 'entry', 'entries')}, of which ${refused.toLocaleString()} ${refused === 1 ? 'was' : 'were'} refused or failed`;
  const onRange = (from: number, to: number) =>
    change({
      from: new Date(from).toISOString(),
      to: new Date(Math.max(to, from + 1000)).toISOString(),
      range: '',
    });
  return (
    <section aria-label="Entries over time">
      <p class="chart-head small">
        <span class="chart-key chart-all">
          <span>{counted(all, 'entry', 'entries')}</span>
        </span>
        <span class="chart-key chart-refused">
          <span>{refused.toLocaleString()} refused or failed</span>
        </span>
        {marked.before && (
          <>
            <span class="dim">
              Counted back to {moment.format(new Date(marked.before))}; there are older entries.
            </span>
            <Button small onPress={async () => void (await further())}>
              Count further back
            </Button>
          </>
        )}
      </p>
      <Suspense fallback={<Waiting />}>
        <Chart stretches={stretches} label={label} onRange={onRange} />
      </Suspense>
    </section>
  );
}
