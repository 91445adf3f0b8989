// Seven days of activity and refusals by hour, from the histogram of the audit log.
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { Bars } from '../../ui/bars';
import { Time } from '../../ui/parts';
import type { Overview } from './data';

const hour = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' });

export function Activity({ activity }: { activity: NonNullable<Overview['activity']> }) {
  const bars = activity.data.map(({ time, success, denied, failed }) => ({
    label: `${hour.format(new Date(time))}: ${counted(success + denied + failed, 'request', 'requests')}, ${denied + failed} refused or failed`,
    all: success + denied + failed,
    marked: denied + failed,
  }));
  const sum = (of: 'all' | 'marked') => bars.reduce((all, bar) => all + bar[of], 0);
  const words = `${counted(sum('all'), 'request', 'requests')} in seven days, ${sum('marked').toLocaleString()} refused or failed`;
  const days = activity.data.filter((_, index) => index % 24 === 0);
  return (
    <section class="activity" aria-label="Activity">
      <h2>Activity</h2>
      <p class="dim small">
        {words}. <Link href="/audit">Open the audit log</Link>
      </p>
      <Bars bars={bars} label={words} />
      <p class="activity-days small dim" aria-hidden="true">
        {days.map(({ time }) => (
          <span key={time}>{day.format(new Date(time))}</span>
        ))}
      </p>
      {activity.complete_from > activity.from && (
        <p class="dim small">
          Counted since <Time at={activity.complete_from} />: the log has more entries than one request
          counts.
        </p>
      )}
    </section>
  );
}
