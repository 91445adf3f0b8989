// Buildkite secrets of a cluster: https://buildkite.com/docs/apis/rest-api/clusters/secrets. Values are never
// returned. A secret is changed by its id, and keeps its description and access policy.
import { z } from '@hono/zod-openapi';
import {
  KB,
  type Problem,
  type Put,
  type Remote,
  Segment,
  syncAdapter,
  Token,
  tooLarge,
  type Written,
} from './adapter';
import type { Client } from './client';
import { entry, nextLink, paging, text } from './listing';
import { environmentName } from './names';
import { array, path } from './shapes';
import { idOf, upsert } from './upsert';

const blank = (value: string): Problem | null =>
  /^\p{White_Space}*$/u.test(value)
    ? {
        code: 'VALUE_NOT_ALLOWED',
        message: 'Buildkite does not accept a value that is empty or only white space.',
      }
    : null;

export const buildkite = syncAdapter({
  platform: 'buildkite',
  config: z.strictObject({ token: Token, org: Segment, clusterId: Segment }),
  credentials: ['token'],
  name(name) {
    const mapped = environmentName(name, { reserved: /^(buildkite|bk)/i });
    if ('target' in mapped && !/^[A-Za-z]/.test(mapped.target))
      return { code: 'NAME_INVALID', message: 'Buildkite accepts only names that begin with a letter.' };
    return mapped;
  },
  // Less than 8 KB.
  value: (value) => blank(value) ?? tooLarge(value, 8 * KB - 1),
  redeploy: false,
  vendor: ({ token }) => ({ headers: { Authorization: `Bearer ${token}` } }),
  open(client, { org, clusterId }) {
    const url = `https://api.buildkite.com/v2/organizations/${path(org)}/clusters/${path(clusterId)}/secrets`;
    return {
      list: () => list(client, url),
      put: (put) => write(client, url, put),
      async remove({ remote }) {
        await client.call({ method: 'DELETE', url: `${url}/${path(idOf(remote))}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

async function list(client: Client, all: string): Promise<Remote[]> {
  const found: Remote[] = [];
  const follow = paging();
  for (let url: string | null = `${all}?per_page=100`; url; ) {
    const reply = await client.call({ method: 'GET', url });
    const secrets = array(reply.body);
    found.push(
      ...secrets.map((secret) => ({ target: text(entry(secret).key), handle: text(entry(secret).id) })),
    );
    const next = nextLink(reply);
    url = next === null ? null : client.next(next, url);
    if (url) follow(url, secrets.length);
  }
  return found;
}

const write = (client: Client, url: string, put: Put): Promise<Written> =>
  upsert(put, {
    create: (expects) =>
      client.call({ method: 'POST', url, json: { key: put.target, value: put.value }, expects }),
    // An existing key is reported like any other invalid field.
    taken: [409, 422],
    find: async () => (await list(client, url)).find(({ target }) => target === put.target),
    change: (known, expects) =>
      client.call({
        method: 'PUT',
        url: `${url}/${path(idOf(known))}/value`,
        json: { value: put.value },
        expects,
      }),
  });
