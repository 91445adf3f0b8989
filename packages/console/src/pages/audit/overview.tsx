// The chart above the entries: counted by the service once for each combination of filters. Dragging over it
// selects a time range; the filters do the same without a mouse.
import { useInfiniteQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/hooks';
import { counted } from '../../counted';
import { barsOf, bucketsFor, type Histogram, sumOf, wordsOfBar } from '../../histogram';
import { here, useRead, vault } from '../../requests/api';
import { Bars } from '../../ui/chart';
import { Button } from '../../ui/controls/button';
import { ErrorNote } from '../../ui/parts';
import type { Filters, Query } from './filters';

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
function useHistogram(query: Query) {
  const { data: org } = useRead(['org'], (signal) =>
    vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal }),
  );
  // Without a start, the log begins with the organisation.
  const from = query.from ?? org?.created_at;
  const length = (query.to ? Date.parse(query.to) : Date.now()) - (from ? Date.parse(from) : 0);
  const counting = useInfiniteQuery({
    queryKey: ['timeline', query],
    enabled: from !== undefined && length > 0,
    queryFn: async ({ pageParam, signal }) => {
      const range = { from, ...(pageParam && { to: pageParam }) };
      const { data } = await vault().api.GET('/orgs/{org_id}/audit-log/histogram', {
        params: { path: here(), query: { ...query, ...range, buckets: bucketsFor(length) } },
        signal,
      });
      return data as Histogram;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last.complete_from > last.from ? last.complete_from : undefined),
    // Each count reads a large part of the log, and creates an entry.
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { ...counting, isEmpty: from !== undefined && length <= 0 };
}

export function Overview({ query, change }: { query: Query; change: (part: Partial<Filters>) => void }) {
  const { data, error, refetch, fetchNextPage, hasNextPage, isEmpty } = useHistogram(query);
  const bars = useMemo(() => barsOf(data?.pages ?? []), [data]);
  const [first] = data?.pages ?? [];
  if (isEmpty) return null;
  if (error && !first) return <ErrorNote error={error} onRetry={refetch} />;
  if (!first) return <Waiting />;
  const all = sumOf(bars, 'all');
  const marked = sumOf(bars, 'marked');
  const onRange = (from: number, to: number) =>
    change({
      from: new Date(from).toISOString(),
      to: new Date(Math.max(to, from + 1000)).toISOString(),
      range: '',
    });
  return (
    <section class="over-time" aria-label="Requests over time">
      <p class="chart-head small">
        <span class="chart-key chart-all">
          <span>{counted(all, 'request')}</span>
        </span>
        <span class="chart-key chart-refused">
          <span>{marked.toLocaleString()} refused or failed</span>
        </span>
        {hasNextPage && (
          <>
            <span class="dim">
              Counted back to {moment.format(new Date(data?.pages.at(-1)?.complete_from ?? first.from))}.
              There are older entries.
            </span>
            <Button small onPress={async () => void (await fetchNextPage())}>
              Count further back
            </Button>
          </>
        )}
      </p>
      <Bars
        bars={bars}
        to={Date.parse(first.to)}
        label={wordsOfBar({ all, marked })}
        wordsOf={wordsOfBar}
        hint="Drag over the chart to select a time range."
        onRange={onRange}
      />
    </section>
  );
}
