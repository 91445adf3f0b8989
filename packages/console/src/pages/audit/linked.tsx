// The entry that the address names, whether it is among the loaded ones or not. Invariant: it is read through
// the log itself, so a member sees no entry by its link that the log does not show them.
import { here, useRead, vault } from '../../requests/api';
import { Dialog } from '../../ui/dialogs/dialog';
import { ErrorNote, Skeleton } from '../../ui/parts';
import { EntryDialog } from './entry';
import type { Entry, Filters } from './filters';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * When an entry was written, in milliseconds: an id is 16 bytes in base62, and the first 6 are the time. Null
 * if it is not the id of an entry.
 */
export function timeOfId(id: string): number | null {
  if (!/^aud_[0-9A-Za-z]{22}$/.test(id)) return null;
  const number = [...id.slice(4)].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
  const time = Number(number >> 80n);
  return time > 8.64e15 ? null : time;
}

/** The id of an entry can be slightly newer than the entry. */
const SPAN = 10_000;
/** The most pages to read: a log with more entries in this time is not searched further. */
const MOST_PAGES = 5;

async function find(id: string, signal: AbortSignal): Promise<{ data: Entry | null }> {
  const time = timeOfId(id);
  let cursor: string | undefined;
  for (let page = 0; time !== null && page < MOST_PAGES; page += 1) {
    const around = { from: new Date(time - SPAN).toISOString(), to: new Date(time + 1).toISOString() };
    const { data } = await vault().api.GET('/orgs/{org_id}/audit-log', {
      params: { path: here(), query: { ...around, limit: 100, cursor } },
      signal,
    });
    const { data: entries, next_cursor } = data as { data: Entry[]; next_cursor: string | null };
    const found = entries.find((entry) => entry.id === id);
    if (found || !next_cursor) return { data: found ?? null };
    cursor = next_cursor;
  }
  return { data: null };
}

interface LinkedProps {
  id: string;
  /** The same entry, if it is among the loaded ones. */
  loaded: Entry | undefined;
  change: (part: Partial<Filters>) => void;
  onClose: () => void;
}

export function LinkedEntry({ id, loaded, change, onClose }: LinkedProps) {
  const { data, error, refetch } = useRead(['audit', 'entry', id], (signal) => find(id, signal), !loaded);
  const entry = loaded ?? data;
  if (entry) return <EntryDialog entry={entry} change={change} onClose={onClose} />;
  if (!error && data === undefined)
    return (
      <Dialog side title="Audit log entry" onClose={onClose}>
        <Skeleton of="facts" rows={8} />
      </Dialog>
    );
  return (
    <Dialog side title="Audit log entry" onClose={onClose}>
      {error ? (
        <ErrorNote error={error} onRetry={refetch} />
      ) : (
        <p>
          No such entry. It may be past the retention of the log, or your role does not have access to it.
        </p>
      )}
    </Dialog>
  );
}
