// Bitbucket Pipelines variables of a repository or of a deployment environment:
// https://developer.atlassian.com/cloud/bitbucket/rest/api-group-pipelines/. Secured values are not returned.
// A variable is changed by its uuid; one in plain view is deleted and created again, because it cannot become
// secured.
import { z } from '@hono/zod-openapi';
import { toBase64, utf8 } from '../../crypto/bytes';
import { type Put, type Remote, Segment, syncAdapter, Token, type Written } from './adapter';
import type { Client } from './client';
import { entry, paging, text } from './listing';
import { environmentName } from './names';
import { array, object, path } from './shapes';
import { unreadable } from './target-error';
import { idOf, type Known, upsert } from './upsert';

const API = 'https://api.bitbucket.org/2.0';

const config = z.strictObject({
  apiToken: Token,
  workspace: Segment,
  repo: Segment,
  email: z
    .string()
    .max(254)
    .regex(/^[^\s:\p{C}]+@[^\s:\p{C}]+$/u, 'must be an e-mail address')
    .optional(),
  environment: z
    .string()
    .regex(/^(\{[0-9A-Fa-f-]{36}\}|[0-9A-Fa-f-]{36})$/, 'must be the uuid of a deployment environment')
    .optional(),
});

/** The uuid in Bitbucket's form. */
const braced = (uuid: string): string => (uuid.startsWith('{') ? uuid : `{${uuid}}`);

/** Marks the handle of a variable in plain view: a uuid has no space. */
const PLAIN = ' plain';

export const bitbucketPipelines = syncAdapter({
  platform: 'bitbucket-pipelines',
  config,
  credentials: ['apiToken'],
  identity: ({ workspace, repo, environment }) => ({
    workspace,
    repo,
    environment: environment && braced(environment).toLowerCase(),
  }),
  name: (name) => environmentName(name),
  redeploy: false,
  vendor: ({ apiToken, email }) => ({
    headers: {
      Authorization:
        email === undefined ? `Bearer ${apiToken}` : `Basic ${toBase64(utf8(`${email}:${apiToken}`))}`,
    },
  }),
  open(client, { workspace, repo, environment }) {
    const repository = `${API}/repositories/${path(workspace, repo)}`;
    const all = environment
      ? `${repository}/deployments_config/environments/${path(braced(environment))}/variables`
      : `${repository}/pipelines_config/variables/`;
    const one = (known: Known) => `${all.replace(/\/$/, '')}/${path(idOf(known).replace(PLAIN, ''))}`;
    return {
      list: () => list(client, all),
      put: (put) => write(client, all, one, put),
      async remove({ remote }) {
        await client.call({ method: 'DELETE', url: one(remote), expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

/** All pages. Bitbucket omits `next` in some listings, so `size` decides there. */
async function list(client: Client, all: string): Promise<Remote[]> {
  const found: Remote[] = [];
  const follow = paging();
  for (let url = `${all}?pagelen=100`, page = 1; ; page++) {
    const { values, next, size } = object(await client.call({ method: 'GET', url }));
    const more = array(values).map(entry);
    found.push(...more.map(remoteOf));
    if (typeof next === 'string') url = client.next(next, url);
    else if (typeof size !== 'number' || found.length >= size) return found;
    else if (!more.length) throw unreadable();
    else url = `${all}?pagelen=100&page=${page + 1}`;
    follow(url, more.length);
  }
}

function remoteOf({ key, uuid, secured }: Record<string, unknown>): Remote {
  const isPlain = secured === false;
  return { target: text(key), handle: `${text(uuid)}${isPlain ? PLAIN : ''}`, otherForm: isPlain };
}

function write(client: Client, all: string, one: (known: Known) => string, put: Put): Promise<Written> {
  const json = { key: put.target, value: put.value, secured: true };
  return upsert(put, {
    create: (expects) => client.call({ method: 'POST', url: all, json, expects }),
    taken: [409],
    find: async () =>
      (await list(client, all)).find(({ target, otherForm }) => target === put.target && !otherForm),
    async change(known, expects) {
      if (!known.handle?.endsWith(PLAIN))
        return client.call({ method: 'PUT', url: one(known), json, expects });
      const erased = await client.call({ method: 'DELETE', url: one(known), expects: [404] });
      await write(client, all, one, { ...put, remote: null });
      return { ...erased, status: 200 };
    },
  });
}
