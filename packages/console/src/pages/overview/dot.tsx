// A dot beside Overview in the navigation while something needs somebody, as far as the overview was read.
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
