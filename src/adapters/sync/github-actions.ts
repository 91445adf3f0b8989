// GitHub Actions secrets of a repository, an environment or an organisation:
// https://docs.github.com/rest/actions/secrets. Values are sealed with the scope's public key (libsodium
// sealed boxes) and are never returned. Names are stored in upper case.
import { z } from '@hono/zod-openapi';
import { seal } from 'tweetnacl-sealedbox-js';
import { fromBase64, toBase64, utf8 } from '../../crypto/bytes';
import { KB, type Put, Segment, syncAdapter, Token, tooLarge } from './adapter';
import type { Purpose } from './call';
import type { Client } from './client';
import { entry, paging, text } from './listing';
import { environmentName } from './names';
import { array, object, path } from './shapes';
import { unreadable } from './target-error';

/** Environment names may have spaces and slashes. */
const Environment = z
  .string()
  .regex(/^[^\p{C}]{1,255}$/u, 'must be 1 to 255 characters without control characters')
  .refine((name) => name !== '.' && name !== '..', 'must not be "." or ".."');

const config = z
  .strictObject({
    token: Token,
    owner: Segment.optional(),
    repo: Segment.optional(),
    environment: Environment.optional(),
    org: Segment.optional(),
    visibility: z.enum(['all', 'private', 'selected']).optional().meta({ default: 'private' }),
    selectedRepositoryIds: z.array(z.int().positive()).min(1).max(500).optional(),
  })
  .refine(
    ({ owner, repo, org }) =>
      org === undefined ? owner !== undefined && repo !== undefined : !owner && !repo,
    {
      error: 'must have either owner and repo, or org',
    },
  )
  .refine(({ org, environment }) => org === undefined || environment === undefined, {
    path: ['environment'],
    error: 'is only for repositories',
  })
  .refine(({ org, visibility }) => org !== undefined || visibility === undefined, {
    path: ['visibility'],
    error: 'is only for organisations',
  })
  .refine(
    ({ visibility, selectedRepositoryIds }) =>
      (visibility === 'selected') === (selectedRepositoryIds !== undefined),
    {
      path: ['selectedRepositoryIds'],
      error: 'is required with the visibility "selected", and allowed only with it',
    },
  );

type Config = z.output<typeof config>;

const API = 'https://api.github.com';

const scopeOf = ({ owner = '', repo = '', environment, org }: Config): string => {
  if (org !== undefined) return `${API}/orgs/${path(org)}/actions/secrets`;
  return environment === undefined
    ? `${API}/repos/${path(owner, repo)}/actions/secrets`
    : `${API}/repos/${path(owner, repo)}/environments/${path(environment)}/secrets`;
};

export const githubActions = syncAdapter({
  platform: 'github-actions',
  config,
  credentials: ['token'],
  oneOf: [['owner', 'repo'], ['org']],
  // The visibility of new secrets does not make it a different target.
  identity: ({ owner, repo, environment, org }) => ({ owner, repo, environment, org }),
  name(name) {
    const mapped = environmentName(name, { reserved: /^GITHUB_/i });
    return 'target' in mapped ? { target: mapped.target.toUpperCase() } : mapped;
  },
  folds: true,
  value: (value) => tooLarge(value, 48 * KB),
  redeploy: false,
  vendor: ({ token }) => ({
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/vnd.github+json',
      'X-GitHub-Api-Version': '2022-11-28',
    },
    // A secondary rate limit may have no header.
    meaning: ({ status, body }) =>
      status === 403 &&
      /\brate limit\b/i.test(String((body as { message?: unknown } | null | undefined)?.message))
        ? 'rate_limit'
        : null,
  }),
  open(client, given) {
    const scope = scopeOf(given);
    const boxes = sealer(client, scope);
    return {
      async list() {
        const found = await pages(client, scope, 'secrets');
        return found.map(({ name, visibility }) => ({
          target: text(name),
          ...(given.org !== undefined && { handle: text(visibility) }),
        }));
      },
      async put(put) {
        const access = given.org === undefined ? {} : await accessOf(client, scope, given, put);
        const status = await boxes.send(put, access);
        return { action: put.remote && status !== 201 ? 'updated' : 'created' };
      },
      async remove({ target }) {
        await client.call({ method: 'DELETE', url: `${scope}/${path(target)}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

/** All pages of a listing, which contains the total count. */
async function pages(
  client: Client,
  url: string,
  field: string,
  purpose: Purpose = 'list',
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  const follow = paging();
  for (let page = 1; ; page++) {
    const body = object(
      await client.call({ method: 'GET', url: `${url}?per_page=100&page=${page}`, purpose }),
    );
    const more = array(body[field]).map(entry);
    found.push(...more);
    if (typeof body.total_count !== 'number') throw unreadable();
    if (found.length >= body.total_count) return found;
    if (!more.length) throw unreadable();
    follow(page, more.length);
  }
}

/** The visibility of an organisation's secret: an existing one keeps its own. */
async function accessOf(
  client: Client,
  scope: string,
  { visibility = 'private', selectedRepositoryIds }: Config,
  { target, remote }: Put,
) {
  if (!remote)
    return { visibility, ...(selectedRepositoryIds && { selected_repository_ids: selectedRepositoryIds }) };
  if (remote.handle !== 'selected') return { visibility: remote.handle };
  // safety: github-access-kept
  const repositories = await pages(client, `${scope}/${path(target)}/repositories`, 'repositories', 'write');
  return { visibility: 'selected', selected_repository_ids: repositories.map(({ id }) => id) };
}

/**
 * Seals values with the scope's public key, which is fetched once, and again if GitHub no longer accepts it.
 */
function sealer(client: Client, scope: string) {
  const fetched = async () => {
    const { key, key_id } = object(await client.call({ method: 'GET', url: `${scope}/public-key` }));
    const bytes = fromBase64(text(key));
    if (bytes?.length !== 32) throw unreadable();
    return { bytes, id: text(key_id) };
  };
  let current: ReturnType<typeof fetched> | null = null;
  const write = async (
    { target, value }: Put,
    access: object,
    key: ReturnType<typeof fetched>,
    expects: number[],
  ) => {
    const { bytes, id } = await key;
    const json = { encrypted_value: toBase64(seal(utf8(value), bytes)), key_id: id, ...access };
    return (await client.call({ method: 'PUT', url: `${scope}/${path(target)}`, json, expects })).status;
  };
  return {
    async send(put: Put, access: object): Promise<number> {
      current ??= fetched();
      const used = current;
      const status = await write(put, access, used, [422]);
      if (status !== 422) return status;
      if (current === used) current = fetched();
      return write(put, access, current, []);
    },
  };
}
