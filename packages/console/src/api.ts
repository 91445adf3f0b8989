// How pages read and change what the vault holds: the typed client, with answers kept in memory (TanStack Query). Invariants: everything
// goes through the public API as the member who is signed in; no answer that holds a value is kept (`vault()` directly, never `useRead`);
// and what is kept is forgotten when the session ends.
import { computed, effect, signal } from '@preact/signals';
import { createVault, VaultError } from '@secrets-vault/client';
import { type InfiniteData, type Query, QueryClient, useInfiniteQuery, useQuery } from '@tanstack/preact-query';
import { useEffect, useMemo } from 'preact/hooks';
import { confirmAgain, me, org, renew, state, token } from './session';

/** Whether the event stream is up and tells of every change: then nothing is read again but what changed. */
export const isLive = signal(false);

/** What no event tells of: it is read again after half a minute. */
const UNTOLD = /^(audit|timeline|sessions|compliance|secrets\/(inventory|readers)|webhooks\/deliveries)/;

/** How long an answer counts as fresh. */
const staleTime = ({ queryKey }: Pick<Query, 'queryKey'>): number =>
  isLive.peek() && !UNTOLD.test(queryKey.join('/')) ? 300_000 : 30_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleTime as (query: unknown) => number,
      gcTime: 300_000,
      // The client itself repeats what may be repeated.
      retry: false,
      refetchOnWindowFocus: (query) => !isLong(query),
      refetchOnReconnect: (query) => !isLong(query),
    },
  },
});
// What is kept belongs to who has signed in. Where their page is kept, it is read again when they are back.
effect(() => {
  if (!me.value) queries.clear();
});
state.subscribe((now) => now === 'in' && void queries.invalidateQueries());

/** What was held and has been approved since is done when somebody does it again: the call is repeated with its approval. */
async function withApproval(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status !== 403) return response;
  const { error } = await response
    .clone()
    .json()
    .catch(() => ({}));
  if (error?.code !== 'APPROVAL_REQUIRED' || error.approval?.status !== 'approved') return response;
  const headers = new Headers(init.headers);
  headers.set('Approval-Id', error.approval.id);
  return fetch(url, { ...init, headers });
}

const current = computed(() =>
  createVault({ url: location.origin, org: org.value, credential: { current: token, after: renew }, fetch: withApproval }),
);

/** The vault of the member who is signed in. */
export const vault = () => current.value;

/** The path parameter that every operation of an organisation has. */
export const here = () => ({ org_id: org.value });

/** A page of a list, as every list of the API answers. */
interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
  has_more: boolean;
}

/** Whether an error takes the place of what was read before: a refusal does, a service that cannot be reached or is busy does not. */
const isRefusal = (error: unknown): boolean => error instanceof VaultError && [403, 404, 410].includes(error.status);

/** The error that a page shows: what was read stays in sight while it cannot be read again. */
const shownError = (error: unknown, data: unknown): unknown => (data === undefined || isRefusal(error) ? error : null);

/**
 * Reads what a page shows.
 * @param key what it is, from the general to the special: `['secrets', id]`; events and changes forget by its beginning
 * @param every for work that goes on: after how many milliseconds to read it again, or false once it has ended
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

/** A list of more pages than this is not read again by itself when something changes: it says so, and begins again when asked to. */
const LONG = 5;
/** Empty pages that are read one after the other, before somebody says that it shall go on. */
const MOST_EMPTY = 20;
type Pages = InfiniteData<Page<unknown>>;
const isLong = ({ state: { data } }: { state: { data?: unknown } }): boolean => ((data as Pages | undefined)?.pages?.length ?? 0) > LONG;

/** The long lists that have changed since they were read. */
const changed = signal<ReadonlySet<string>>(new Set());

/** Keeps the first page of a list alone, so that it is read again quickly. */
const cut = (queryKey: readonly unknown[]): void => {
  queries.setQueryData<Pages>(queryKey, (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) });
};

/**
 * Reads a list page by page. `rows` are all that were read so far; `more` reads the next page, if there is one. `isChanged` says that a
 * long list is no longer as it was read, and `again` reads it from the beginning.
 * @param itemsOf the rows of a page, where they are more than its `data`
 */
export function useList<Item, Of extends Page<unknown> = Page<Item>>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<{ data: Of }>,
  itemsOf: (page: Of) => Item[] = ({ data }) => data as Item[],
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => (await read(pageParam, signal)).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Of) => last.next_cursor ?? undefined,
  });
  const { data, error, fetchNextPage, hasNextPage, isFetching, isFetchNextPageError, refetch } = query;
  const rows = useMemo(() => data?.pages.flatMap(itemsOf) ?? [], [data]);
  const more = () => void (hasNextPage && !isFetching && !isFetchNextPageError && fetchNextPage());
  // A page can be empty and yet not be the last: for somebody who is limited to some names, or has filters that few match.
  const isEmptySoFar = Boolean(data && hasNextPage && !rows.length && !isFetchNextPageError);
  const isSearching = isEmptySoFar && (data?.pages.length ?? 0) % MOST_EMPTY !== 0;
  useEffect(() => {
    if (isSearching) more();
  });
  const hash = JSON.stringify(key);
  const again = async () => {
    changed.value = new Set([...changed.value].filter((one) => one !== hash));
    cut(key);
    await refetch();
  };
  return {
    ...query,
    isPending: query.isPending || isSearching || (isEmptySoFar && isFetching),
    /** Nothing was found in a good part of the list, and there is more of it. */
    isUnfinished: isEmptySoFar,
    error: shownError(error, data),
    /** Why no more can be read, while what was read stays. */
    moreError: isFetchNextPageError ? error : null,
    rows,
    more,
    isChanged: changed.value.has(hash),
    again,
  };
}

/** Forgets what was read under keys before a time, in milliseconds. */
export async function forgetBefore(time: number, ...keys: string[]): Promise<void> {
  const isOld = (query: Query) => query.state.dataUpdatedAt < time;
  const all = keys.map((key) => key.split('/'));
  const long = all.flatMap((queryKey) => queries.getQueryCache().findAll({ queryKey, predicate: (query) => isLong(query) && isOld(query) }));
  for (const query of long) {
    if (query.isActive()) changed.value = new Set([...changed.value, JSON.stringify(query.queryKey)]);
    else cut(query.queryKey);
  }
  const predicate = (query: Query) => !isLong(query) && isOld(query);
  await Promise.all(all.map((queryKey) => queries.invalidateQueries({ queryKey, predicate })));
}

/** Forgets what was read under keys, such as `secrets` or `secrets/list`, so that it is read again where it is shown. */
export const forget = (...keys: string[]): Promise<void> => forgetBefore(Number.POSITIVE_INFINITY, ...keys);

/** Forgets what was read of something that is gone, once the page that shows it was left: it would ask for it again. */
export const forgetGone = (...keys: string[]): void => {
  setTimeout(() => void forget(...keys));
};

/** Does what may need a fresh confirmation: where the service asks for one, the passkey is asked for, and the call is repeated. */
export async function confirmed<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== 'REAUTHENTICATION_REQUIRED') throw error;
    await confirmAgain();
    return call();
  }
}
