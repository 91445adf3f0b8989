// How often a secret was read on its own in thirty days, as the audit log counts it for the member.
import { counted } from '../../counted';
import { barsOf, sumOf } from '../../histogram';
import { here, useRead, vault } from '../../requests/api';
import { Sparkline } from '../../ui/chart';

const DAYS = 30;
const DAY = 86_400_000;

export function Reads({ id }: { id: string }) {
  const { data } = useRead(['audit', 'reads', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/audit-log/histogram', {
      params: {
        path: here(),
        query: {
          resource: id,
          action: 'secret.read',
          outcome: 'success',
          from: new Date(Date.now() - DAYS * DAY).toISOString(),
          buckets: DAYS,
        },
      },
      signal,
    }),
  );
  if (!data) return <span class="dim">…</span>;
  const bars = barsOf([data]);
  const reads = sumOf(bars, 'all');
  const words = `${reads ? counted(reads, 'read') : 'None'} in ${DAYS} days`;
  return (
    <span class="spark">
      {reads > 0 && <Sparkline values={bars.map(({ all }) => all)} label={words} />}
      <span class={reads ? undefined : 'dim'}>{words}</span>
    </span>
  );
}
