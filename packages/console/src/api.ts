// How pages read and change what the vault holds: the typed client, with answers kept in memory (TanStack Query). Invariants: everything
// goes through the public API as the member who is signed in; no answer that holds a value is kept (`vault()` directly, never `useRead`);
// and what is kept is forgotten when the session ends.
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
      // The client itself repeats what may be repeated.
      retry: false,
      refetchOnWindowFocus: true,
    },
  },
});
state.subscribe((now) => now === 'out' && queries.clear());

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
) =>
  useQuery<Answer>({
    queryKey: key,
    enabled,
    queryFn: async ({ signal }) => (await read(signal)).data,
    ...(every && { refetchInterval: ({ state: { data } }) => every(data) }),
  });

/** Reads a list page by page. `rows` are all that were read so far; `more` reads the next page, if there is one. */
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

/** Forgets what was read under a key, so that it is read again where it is shown. */
export const forget = (...keys: string[]): Promise<unknown> => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })));

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
