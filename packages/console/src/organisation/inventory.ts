// The names of the organisation's secrets, for searches and for previews of what a pattern or policy matches.
// Only metadata. Invariant: a preview says if it covers only the first names.
import type { components } from '@secrets-vault/client';
import { matches } from '../globs';
import { here, useRead, vault } from '../requests/api';
import { defaultEnvironment } from './environments';

export type Secret = components['schemas']['Secret'];

const PAGES = 10;

export interface Selection {
  /** Slugs; none means all. */
  environments?: readonly string[];
  types?: readonly string[];
  /** Glob patterns; none means all. */
  names?: readonly string[];
}

const isIn =
  ({ environments, types, names }: Selection) =>
  (secret: Secret) =>
    (!environments?.length || environments.includes(secret.environment)) &&
    (!types?.length || types.includes(secret.type)) &&
    (!names?.length || names.some((pattern) => matches(pattern, secret.name)));

async function readAll(signal: AbortSignal): Promise<{ data: { secrets: Secret[]; isWhole: boolean } }> {
  const secrets: Secret[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    });
    secrets.push(...data.data);
    if (!data.next_cursor) return { data: { secrets, isWhole: true } };
    cursor = data.next_cursor;
  }
  return { data: { secrets, isWhole: false } };
}

/** Pages without a match that are read before a search gives up. */
const MOST_EMPTY = 10;

/**
 * The secrets of all environments with a text in their name, in any case: first those whose names start with
 * it, then by name; of the same name, that of the default environment first.
 * @param where `prefix`: only those whose names start with it, in the same case
 */
export async function named(
  text: string,
  limit: number,
  signal?: AbortSignal,
  where: 'contains' | 'prefix' = 'contains',
): Promise<Secret[]> {
  const query = { [where]: text, sort: 'name', limit: 100 } as const;
  const found: Secret[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_EMPTY && !found.length; page += 1) {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', {
      params: { path: here(), query: { ...query, cursor } },
      signal,
    });
    found.push(...data.data);
    if (!data.next_cursor) break;
    cursor = data.next_cursor;
  }
  const rank = ({ name, environment }: Secret) =>
    (name.toLowerCase().startsWith(text.toLowerCase()) ? 0 : 2) +
    Number(environment !== defaultEnvironment.value);
  const begins = (one: Secret) => rank(one) >> 1;
  const order = (one: Secret, other: Secret) =>
    begins(one) - begins(other) || (one.name === other.name ? rank(one) - rank(other) : 0);
  return found.sort(order).slice(0, limit);
}

/** The secrets that a selection covers now, among the first 1,000. `isWhole` is false if there are more. */
export function useSelected(selection: Selection) {
  const { data, error, isPending } = useRead(['secrets', 'inventory'], readAll);
  return {
    secrets: data?.secrets.filter(isIn(selection)) ?? [],
    isWhole: data?.isWhole ?? true,
    error,
    isPending,
  };
}
