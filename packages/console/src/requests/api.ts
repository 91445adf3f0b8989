// How pages read and change data of the vault: the typed client, with responses cached in memory (TanStack
// Query). Invariants: everything goes through the public API as the signed-in member; a response with a value
// is never cached (`vault()` directly, never `useRead`); the cache is cleared when the session ends.
import { computed, effect, signal } from '@preact/signals';
import { Vault, VaultError } from '@secrets-vault/client';
import {
  type InfiniteData,
  type Query,
  QueryClient,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/preact-query';
import { useEffect, useMemo } from 'preact/hooks';
import { isReturn } from '../navigation/positions';
import { confirmAgain, me, org, renew, state, token } from '../session/session';
import { send } from './send';

/**
 * The changes that the connected event stream reports: then only changed data is read again. Some roles see
 * those of secrets alone.
 */
export const streamed = signal<'all' | 'secrets' | 'none'>('none');

/** Keys without events: their data is read again after half a minute. */
const UNTOLD = /^(audit|timeline|sessions|compliance|secrets\/(inventory|readers)|webhooks\/deliveries)/;

/** How long a response is considered fresh. */
const staleTime = ({ queryKey }: Pick<Query, 'queryKey'>): number => {
  const isTold = streamed.peek() === 'all' || (streamed.peek() === 'secrets' && queryKey[0] === 'secrets');
  return isTold && !UNTOLD.test(queryKey.join('/')) ? 300_000 : 30_000;
};

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleTime as (query: unknown) => number,
      gcTime: 1_800_000,
      // The client itself retries requests.
      retry: false,
      // Without a connection a page says so, rather than waiting for one.
      networkMode: 'always',
      refetchOnMount: (query) => !isLong(query),
      refetchOnWindowFocus: (query) => !isLong(query),
      refetchOnReconnect: (query) => !isLong(query),
    },
  },
});
// Cached data belongs to the signed-in member. If their page stays open, it is read again after they sign in
// again.
effect(() => {
  if (!me.value) queries.clear();
});
state.subscribe((now) => now === 'in' && void forgetUnder([[]], Number.POSITIVE_INFINITY));

/** A member is told to try again later rather than left waiting for longer than this, in milliseconds. */
const LONGEST_WAIT = 3000;

/** Tokens of the browser's session. */
const credential = { current: token, after: renew };
// Not createVault: the code for other kinds of credentials would be loaded too.
const current = computed(
  () =>
    new Vault(
      { url: location.origin, org: org.value, credential, fetch: send, maxRetryAfter: LONGEST_WAIT },
      () => credential,
    ),
);

/** The vault of the signed-in member. */
export const vault = () => current.value;

/** The path parameter of every operation of an organisation. */
export const here = () => ({ org_id: org.value });

interface At {
  path: { org_id: string; id: string };
}

/** The parameters of an operation on one resource; `header` from a change (see seen.ts). */
export function at(id: string): { params: At };
export function at<Header extends object>(id: string, header?: Header): { params: At & { header?: Header } };
export function at(id: string, header?: object): { params: At } {
  return { params: { path: { ...here(), id }, ...(header && { header }) } };
}

/** A page of a list, as returned by every list operation. */
interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
  has_more: boolean;
}

/** Whether an error replaces cached data: a refusal does, an unreachable or busy service does not. */
const isRefusal = (error: unknown): boolean =>
  error instanceof VaultError && [403, 404, 410].includes(error.status);

/** The error that a page shows: cached data stays visible while it cannot be refreshed. */
const shownError = (error: unknown, data: unknown): unknown =>
  data === undefined || isRefusal(error) ? error : null;

/**
 * Reads the data of a page.
 * @param key the cache key, from general to specific: `['secrets', id]`; events and changes invalidate by
 *   prefix
 * @param every for work in progress: the refresh interval in milliseconds, or false once it has finished
 */
export const useRead = <Answer>(
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<{ data: Answer }>,
  enabled = true,
  every?: (last: Answer | undefined) => number | false,
) => {
  const query = useQuery<Answer>({
    queryKey: key,
    enabled,
    queryFn: async ({ signal }) => (await read(signal)).data,
    ...(every && { refetchInterval: ({ state: { data } }) => every(data) }),
  });
  return { ...query, error: shownError(query.error, query.data) } as typeof query;
};

/**
 * A list with more pages than this is not read again automatically after a change: it shows a note with a
 * button to reload.
 */
const LONG = 5;
/** The number of consecutive empty pages that are read before the user must ask for more. */
const MOST_EMPTY = 20;
type Pages = InfiniteData<Page<unknown>>;
const isLong = ({ state: { data } }: { state: { data?: unknown } }): boolean =>
  ((data as Pages | undefined)?.pages?.length ?? 0) > LONG;

/** Long lists that may have changed since they were read, by the hash of their key. */
const changed = signal<ReadonlySet<string>>(new Set());
const hashOf = (key: readonly unknown[]): string => JSON.stringify(key);
const setChanged = (hash: string, has: boolean): void => {
  if (changed.peek().has(hash) === has) return;
  const others = [...changed.peek()].filter((one) => one !== hash);
  changed.value = new Set(has ? [...others, hash] : others);
};

/** Keeps only the first page of a list, so that it is read again quickly. */
function cut(queryKey: readonly unknown[]): void {
  setChanged(hashOf(queryKey), false);
  queries.setQueryData<Pages>(
    queryKey,
    (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
  );
  void queries.invalidateQueries({ queryKey, exact: true, refetchType: 'none' });
}

/**
 * Prepares a long list that is opened again: after Back it is shown as it was left, otherwise an outdated
 * list is read from the start.
 */
function reopen(key: readonly unknown[], hash: string): void {
  const query = queries.getQueryCache().find({ queryKey: key, exact: true });
  if (!query || !isLong(query) || query.isActive()) return;
  const isOutdated = changed.peek().has(hash) || query.isStaleByTime(staleTime(query));
  if (!isOutdated) return;
  if (isReturn()) setChanged(hash, true);
  else cut(key);
}

/**
 * The number of empty pages at the end. A page can be empty without being the last: for a member who is
 * limited to some names, or with filters.
 */
const emptyPages = <Of>(pages: Of[], itemsOf: (page: Of) => unknown[]): number =>
  pages.length - 1 - pages.findLastIndex((page) => itemsOf(page).length > 0);

/**
 * Reads a list page by page. `rows` contains all rows read so far; `more` reads the next page, if there is
 * one. `isChanged` is set if a long list may have changed since it was read, and `again` reads it from the
 * start.
 * @param itemsOf the rows of a page, if they are more than its `data`
 */
export function useList<Item, Of extends Page<unknown> = Page<Item>>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<{ data: Of }>,
  itemsOf: (page: Of) => Item[] = ({ data }) => data as Item[],
) {
  const hash = hashOf(key);
  useMemo(() => reopen(key, hash), [hash]);
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => (await read(pageParam, signal)).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Of) => last.next_cursor ?? undefined,
  });
  const { data, error, fetchNextPage, hasNextPage, isFetching, isFetchNextPageError, refetch } = query;
  const rows = useMemo(() => data?.pages.flatMap(itemsOf) ?? [], [data]);
  const empty = data && hasNextPage ? emptyPages(data.pages, itemsOf) : 0;
  const isPaused = empty > 0 && empty % MOST_EMPTY === 0;
  const more = () =>
    void (hasNextPage && !isFetching && !isFetchNextPageError && !isPaused && fetchNextPage());
  const isEmptySoFar = empty > 0 && !rows.length && !isFetchNextPageError;
  useEffect(() => {
    if (isEmptySoFar) more();
  });
  return {
    ...query,
    /** Identifies the list with its filters. */
    hash,
    isPending: query.isPending || (isEmptySoFar && (!isPaused || isFetching)),
    /**
     * Whether there is more of the list, which had no results in the last pages: then it is read on request.
     */
    isUnfinished: isPaused && !isFetching && !isFetchNextPageError,
    error: shownError(error, data),
    /** Why the next page could not be read. The rows so far are kept. */
    moreError: isFetchNextPageError ? error : null,
    rows,
    more,
    isChanged: changed.value.has(hash),
    again: () => {
      cut(key);
      return refetch();
    },
  };
}

/**
 * Invalidates the data under keys that was read before a time, in milliseconds. A long list is only marked.
 */
async function forgetUnder(keys: string[][], time: number): Promise<void> {
  const isOld = (query: Query) => query.state.dataUpdatedAt < time;
  for (const queryKey of keys)
    for (const query of queries.getQueryCache().findAll({ queryKey }))
      if (isLong(query) && isOld(query)) setChanged(hashOf(query.queryKey), true);
  const predicate = (query: Query) => !isLong(query) && isOld(query);
  await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey, predicate })));
}

/** Invalidates the data under keys that was read before a time, in milliseconds. */
export const forgetBefore = (time: number, ...keys: string[]): Promise<void> =>
  forgetUnder(
    keys.map((key) => key.split('/')),
    time,
  );

/**
 * Invalidates the data under keys, such as `secrets` or `secrets/list`, so that it is read again if it is
 * shown.
 */
export const forget = (...keys: string[]): Promise<void> => forgetBefore(Number.POSITIVE_INFINITY, ...keys);

/** Removes the data of a deleted item, once its page is closed: an open page would request it again. */
export const forgetGone = (...keys: string[]): void => {
  setTimeout(() => void forget(...keys));
};

/**
 * Runs an operation that may need a recent confirmation. If the service requires one, asks for the passkey
 * and repeats the request.
 */
export async function confirmed<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== 'REAUTHENTICATION_REQUIRED') throw error;
    await confirmAgain();
    return call();
  }
}
