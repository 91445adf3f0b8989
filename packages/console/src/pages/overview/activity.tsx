// Seven days of activity and refusals by hour, from the histogram of the audit log.
import { Link } from 'wouter-preact';
import { counted } from '../../counted';
import { barsOf, sumOf, wordsOfBar } from '../../histogram';
import { Bars } from '../../ui/chart';
import { Time } from '../../ui/parts';
import type { Overview } from './data';

export function Activity({ activity }: { activity: NonNullable<Overview['activity']> }) {
  const bars = barsOf([activity]);
  const words = `${counted(sumOf(bars, 'all'), 'request')} in seven days, ${sumOf(bars, 'marked').toLocaleString()} refused or failed`;
  return (
    <section class="activity" aria-label="Activity">
      <h2>Activity</h2>
      <p class="dim small">
        Requests by hour. <Link href="/audit">Open the audit log</Link>
      </p>
      <Bars bars={bars} to={Date.parse(activity.to)} label={words} wordsOf={wordsOfBar} hint={words} />
      {activity.complete_from > activity.from && (
        <p class="dim small">
          Counted since <Time at={activity.complete_from} />: the log has more entries than one request
          counts.
        </p>
      )}
    </section>
  );
}
