// How pages read and change data of the vault: the typed client, with responses cached in memory (TanStack Query). Invariants: everything
// goes through the public API as the signed-in member; a response with a value is never cached (`vault()` directly, never `useRead`);
// the cache is cleared when the session ends.
import { computed } from '@preact/signals';
import { createVault, VaultError } from '@secrets-vault/client';
import { QueryClient, useInfiniteQuery, useQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/hooks';
import { confirmAgain, org, renew, state, token } from './session';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      gcTime: 300_000,
      // The client itself retries requests.
      retry: false,
      refetchOnWindowFocus: true,
    },
  },
});
state.subscribe((now) => now === 'out' && queries.clear());

/** Repeating an action that was held and then approved completes it: the request is repeated with its approval. */
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

/** The vault of the signed-in member. */
export const vault = () => current.value;

/** The path parameter of every operation of an organisation. */
export const here = () => ({ org_id: org.value });

/** A page of a list, as returned by every list operation. */
interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
  has_more: boolean;
}

/**
 * Reads the data of a page.
 * @param key the cache key, from general to specific: `['secrets', id]`; events and changes invalidate by prefix
 * @param every for work in progress: the refresh interval in milliseconds, or false once it has finished
 */
export const useRead = <Answer>(
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<{ data: Answer }>,
  enabled = true,
  every?: (last: Answer | undefined) => number | false,
) =>
  useQuery<Answer>({
    queryKey: key,
    enabled,
    queryFn: async ({ signal }) => (await read(signal)).data,
    ...(every && { refetchInterval: ({ state: { data } }) => every(data) }),
  });

/** Reads a list page by page. `rows` contains all rows read so far; `more` reads the next page, if there is one. */
export function useList<Item>(key: readonly unknown[], read: (cursor: string | undefined, signal: AbortSignal) => Promise<{ data: Page<Item> }>) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => (await read(pageParam, signal)).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Page<Item>) => last.next_cursor ?? undefined,
  });
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  const more = () => void (hasNextPage && !isFetchingNextPage && fetchNextPage());
  return { ...query, rows, more };
}

/** Invalidates the data under a key, so that it is read again if it is shown. */
export const forget = (...keys: string[]): Promise<unknown> => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })));

/** Removes the data of a deleted item, once its page is closed: an open page would request it again. */
export const forgetGone = (...keys: string[]): void => {
  setTimeout(() => void forget(...keys));
};

/** Runs an operation that may need a recent confirmation. If the service requires one, asks for the passkey and repeats the request. */
export async function confirmed<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== 'REAUTHENTICATION_REQUIRED') throw error;
    await confirmAgain();
    return call();
  }
}
