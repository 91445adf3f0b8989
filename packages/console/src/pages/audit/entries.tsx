// The entries of the audit log, newest first. In follow mode, the newest are read again every few seconds.
import { useEffect, useState } from 'preact/hooks';
import { useParameter } from '../../navigation/router';
import { useNames } from '../../organisation/people';
import { here, useList, useRead, vault } from '../../requests/api';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Late } from '../../ui/late';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Empty, Time } from '../../ui/parts';
import { actorName, Outcome, subjectOf } from './entry';
import { FilterBar } from './filter-bar';
import { type Entry, type Query, useFilters, viewOf } from './filters';
import { LinkedEntry } from './linked';
import { Overview } from './overview';

const AGAIN = 3000;

const read = (query: Query, cursor: string | undefined, signal: AbortSignal) =>
  vault().api.GET('/orgs/{org_id}/audit-log', {
    params: { path: here(), query: { ...query, limit: 100, cursor } },
    signal,
  });

/** Reading the log creates an entry. In follow mode, these entries would hide all others. */
const isOwnLook = ({ action, actor }: Entry): boolean => action === 'audit.read' && actor.id === me.value?.id;

/** The entries page by page, or the newest hundred in follow mode. */
function useEntries(query: Query, isFollowing: boolean) {
  const list = useList<Entry>(
    ['audit', 'list', query],
    (cursor, signal) => read(query, cursor, signal) as never,
  );
  const live = useRead(
    ['audit', 'live', query],
    (signal) => read(query, undefined, signal),
    isFollowing,
    () => AGAIN,
  );
  if (!isFollowing) return { ...list, answers: list.data?.pages };
  const rows = (live.data as { data: Entry[] } | undefined)?.data ?? list.rows;
  return {
    ...list,
    answers: [live.data],
    error: live.error,
    rows: rows.filter((entry) => !isOwnLook(entry)),
    hasNextPage: undefined,
    more: () => {},
  };
}

/** The name of the resource, also of one that the log names only by id. */
function useSubject(entry: Entry): string | null {
  const name = useNames().get(entry.resource ?? '');
  return entry.resource_name ?? name ?? subjectOf(entry);
}

function Subject({ entry }: { entry: Entry }) {
  const subject = useSubject(entry);
  const isSecret = subject === entry.resource_name;
  return (
    <span class={isSecret ? 'mono truncate' : subject === entry.resource ? 'mono truncate dim' : 'truncate'}>
      {subject}
    </span>
  );
}

/** On phones, the other columns below the action. */
function Brief({ entry }: { entry: Entry }) {
  const subject = useSubject(entry);
  return (
    <>
      <Time at={entry.time} />, {actorName(entry)}
      {subject && `, ${subject}`}
    </>
  );
}

const columnsFor = (onShow: (entry: Entry) => void) => [
  {
    label: 'Action',
    width: 'minmax(11rem, 1.3fr)',
    cell: (entry: Entry) => (
      <button type="button" class="row-button" onClick={() => onShow(entry)}>
        <Lines mono sub={<Brief entry={entry} />}>
          {entry.action}
        </Lines>
      </button>
    ),
  },
  { label: 'Outcome', width: '6.5rem', cell: (entry: Entry) => <Outcome outcome={entry.outcome} /> },
  {
    label: 'Actor',
    width: 'minmax(8rem, 1fr)',
    wide: true,
    cell: (entry: Entry) => <span class="truncate">{actorName(entry)}</span>,
  },
  {
    label: 'Resource',
    width: 'minmax(10rem, 1.6fr)',
    wide: true,
    cell: (entry: Entry) => <Subject entry={entry} />,
  },
  {
    label: 'Environment',
    width: '8.5rem',
    wide: true,
    cell: ({ environment }: Entry) => <span class="dim truncate">{environment}</span>,
  },
  { label: 'Time', width: '9rem', wide: true, cell: ({ time }: Entry) => <Time at={time} /> },
];

export function Entries() {
  const { filters, query, change, isFiltered } = useFilters();
  const [shownId, setShownId] = useParameter('entry', true);
  const [isFollowing, setFollowing] = useState(false);
  const list = useEntries(query, isFollowing);
  const shown = list.rows.find(({ id }) => id === shownId);
  // A range in the past does not change, so there is nothing to follow.
  useEffect(() => {
    if (query.to) setFollowing(false);
  }, [query.to]);
  return (
    <>
      <FilterBar filters={filters} change={change} />
      {viewOf(filters) && <p class="dim small">{viewOf(filters)?.lead}</p>}
      <Overview query={query} change={change} />
      <div class="row spaced">
        <Button
          small
          disabled={Boolean(query.to)}
          aria-pressed={isFollowing}
          onPress={() => setFollowing(!isFollowing)}
        >
          {isFollowing && <span class="following" aria-hidden="true" />}{' '}
          {isFollowing ? 'Stop following' : 'Follow live'}
        </Button>
        {isFollowing && <span class="dim small">The newest 100, without your own reads of this log.</span>}
        {isFiltered && (
          <Button
            small
            kind="quiet"
            onPress={() => change({ action: '', outcome: '', actor: '', resource: '' })}
          >
            Clear filters
          </Button>
        )}
      </div>
      <Late answers={list.answers} />
      <Listing<Entry>
        list={list}
        skeleton={8}
        label="Entries"
        keyOf={({ id }) => id}
        columns={columnsFor(({ id }) => setShownId(id))}
        empty={
          <Empty title="No entries match">
            Choose a longer time range, or clear filters. A name must be complete.
          </Empty>
        }
      />
      {shownId && !list.isPending && (
        <LinkedEntry
          key={shownId}
          id={shownId}
          loaded={shown}
          change={change}
          onClose={() => setShownId('')}
        />
      )}
    </>
  );
}
