// The bulk read of an environment: in one response, or in pages where it is too large. Invariant: all pages
// are of one revision.
import type { Api } from '../api/client.js';
import { documented, notDocumented } from '../api/documented.js';
import { VaultError } from '../api/errors.js';
import type { components } from '../api/openapi.js';

type Answer = components['schemas']['Values'];

/** A bulk read. */
export interface BulkRead {
  org: string;
  environment: string;
  prefix: string[] | undefined;
  headers: Record<string, string>;
  signal: AbortSignal | undefined;
}

/** The largest page that the vault gives. */
const PAGE = 2000;
/** How often a read in pages starts again because secrets changed meanwhile. */
const MOST_STARTS = 5;
/** More pages than the values that an organisation can hold, 4 GiB in 100,000 secrets, can fill. */
const MOST_PAGES = 600;

/**
 * Everything that is asked for, with the ETag of a single response; null if the ETag in the headers still
 * matches.
 */
export async function bulkRead(
  api: Api,
  read: BulkRead,
): Promise<{ data: Answer; etag: string | null } | null> {
  try {
    const { data, response } = await request(api, read, {});
    return data ? { data, etag: response.headers.get('ETag') } : null;
  } catch (error) {
    if (!has(error, 'RESULT_TOO_LARGE')) throw error;
  }
  for (let starts = 1; ; starts++)
    try {
      return { data: await pages(api, read), etag: null };
    } catch (error) {
      if (starts === MOST_STARTS || !has(error, 'CONFLICT')) throw error;
    }
}

const has = (error: unknown, code: string) => error instanceof VaultError && error.code === code;

async function request(
  api: Api,
  { org, environment, prefix, headers, signal }: BulkRead,
  page: { limit?: number; cursor?: string },
) {
  const { data, response } = await api.GET('/orgs/{org_id}/environments/{environment}/values', {
    params: { path: { org_id: org, environment }, query: { prefix, ...page } },
    headers,
    signal,
  });
  if (response.status !== 304)
    documented(data, {
      environment: 'string',
      values: 'texts',
      versions: 'numbers',
      ...(data?.expires_at !== undefined && { expires_at: 'texts' }),
      withheld: 'list',
    });
  return { data, response };
}

async function pages(api: Api, read: BulkRead): Promise<Answer> {
  // A single page's ETag says nothing about the others.
  const { 'If-None-Match': _, ...headers } = read.headers;
  const whole: Required<Pick<Answer, 'values' | 'versions' | 'expires_at' | 'withheld' | 'unreadable'>> = {
    values: {},
    versions: {},
    expires_at: {},
    withheld: [],
    unreadable: [],
  };
  let cursor: string | null | undefined;
  for (let count = 0; count < MOST_PAGES; count++) {
    const { data } = await request(api, { ...read, headers }, { limit: PAGE, ...(cursor && { cursor }) });
    // Spread defines names such as __proto__, which an assignment would not.
    whole.values = { ...whole.values, ...data.values };
    whole.versions = { ...whole.versions, ...data.versions };
    whole.expires_at = { ...whole.expires_at, ...data.expires_at };
    whole.withheld.push(...data.withheld);
    whole.unreadable.push(...(data.unreadable ?? []));
    cursor = data.next_cursor;
    if (!cursor) return { ...whole, environment: data.environment, next_cursor: null };
  }
  throw notDocumented(200);
}
