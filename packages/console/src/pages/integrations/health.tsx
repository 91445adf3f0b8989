// The health of connections in their list, from their newest runs: how the last one ended, and for how long
// they have failed in a row. Invariant: a connection that writes to several environments is as healthy as the
// worst.
import { counted } from '../../counted';
import { Time } from '../../ui/parts';
import { isOpen, type Sync, SyncStatus } from './runs';

const isFailure = ({ status }: Sync): boolean => status === 'failed' || status === 'partial';

/** The failures in a row of one environment, newest first. */
function streakOf(runs: Sync[]): Sync[] {
  const end = runs.findIndex((run) => !isFailure(run));
  return end < 0 ? runs : runs.slice(0, end);
}

/** The last run of a connection, and its longest row of failures among the runs, which are newest first. */
export function healthOf(runs: Sync[], id: string): { last: Sync | undefined; failures: Sync[] } {
  const own = runs.filter((run) => run.integrationId === id && !isOpen(run));
  const places = [...new Set(own.map(({ environmentId }) => environmentId))];
  const streaks = places.map((place) => streakOf(own.filter((run) => run.environmentId === place)));
  const failures = streaks.reduce<Sync[]>((most, one) => (one.length > most.length ? one : most), []);
  return { last: own[0], failures };
}

/** What the platform said of the last failure. */
const whyOf = ([newest]: Sync[]): string | undefined =>
  newest?.results.find(({ action }) => action === 'failed')?.message;

interface HealthProps {
  runs: Sync[];
  id: string;
}

/** For how long and why it fails, in the words of the overview; nothing if it does not. */
export function Failing({ runs, id, isShort }: HealthProps & { isShort?: boolean }) {
  const { failures } = healthOf(runs, id);
  if (!failures.length) return null;
  const why = whyOf(failures);
  const since = <Time at={failures.at(-1)?.finishedAt} />;
  if (isShort) return <>failing since {since} · </>;
  return (
    <>
      failing since {since}, {counted(failures.length, 'run')} in a row
      {why && `: ${why}`}
    </>
  );
}

export function Health({ runs, id }: HealthProps) {
  const { last, failures } = healthOf(runs, id);
  if (!last) return <span class="dim">No recent run</span>;
  return (
    <span class="truncate" title={whyOf(failures)}>
      <SyncStatus status={last.status} />{' '}
      <span class="dim small">
        {failures.length ? <Failing runs={runs} id={id} /> : <Time at={last.finishedAt} />}
      </span>
    </span>
  );
}
