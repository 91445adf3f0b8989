// What the navigation shows of the overview, as far as it was read: no page asks for it by itself. The count
// beside Overview of what needs somebody, and dots beside pages with failures.
import { useOverview } from './data';

export function HealthDot() {
  const { data } = useOverview(false);
  if (!data?.total) return null;
  return (
    <span class="count attention">
      {data.total} <span class="unseen">{data.total === 1 ? 'thing needs' : 'things need'} somebody</span>
    </span>
  );
}

/** A dot beside a page of the navigation while the last overview has something of its part. */
const dotOf = (part: 'failing_syncs' | 'failing_webhooks') =>
  function FailingDot() {
    const { data } = useOverview(false);
    const count = data?.[part]?.count;
    return count ? (
      <span class="dot">
        <span class="unseen">{count} failing</span>
      </span>
    ) : null;
  };
export const SyncsDot = dotOf('failing_syncs');
export const WebhooksDot = dotOf('failing_webhooks');
