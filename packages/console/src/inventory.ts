// The names of the organisation's secrets, for searches and for previews of what a pattern or policy matches. Only metadata. Invariant:
// a preview says if it covers only the first names.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from './api';
import { defaultEnvironment } from './environments';
import { matches } from './globs';

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
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', { params: { path: here(), query: { limit: 100, cursor } }, signal });
    secrets.push(...data.data);
    if (!data.next_cursor) return { data: { secrets, isWhole: true } };
    cursor = data.next_cursor;
  }
  return { data: { secrets, isWhole: false } };
}

/** The first secrets of all environments whose names start with a prefix, by name; of the same name, that of the default environment first. */
export async function startingWith(prefix: string, limit: number, signal?: AbortSignal): Promise<Secret[]> {
  const query = { prefix, sort: 'name', limit } as const;
  const { data } = await vault().api.GET('/orgs/{org_id}/secrets', { params: { path: here(), query }, signal });
  const rank = ({ environment }: Secret) => Number(environment !== defaultEnvironment.value);
  return data.data.sort((one, other) => (one.name === other.name ? rank(one) - rank(other) : 0));
}

/** The secrets that a selection covers now, among the first 1,000. `isWhole` is false if there are more. */
export function useSelected(selection: Selection) {
  const { data, error, isPending } = useRead(['secrets', 'inventory'], readAll);
  return { secrets: data?.secrets.filter(isIn(selection)) ?? [], isWhole: data?.isWhole ?? true, error, isPending };
}
