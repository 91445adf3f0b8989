// Render environment variables of a service or an environment group:
// https://api-docs.render.com/reference/get-env-vars-for-service. The call that writes all variables deletes
// every other one, so names are written one by one.
import { z } from '@hono/zod-openapi';
import { type Remote, Segment, syncAdapter, Token } from './adapter';
import type { Client } from './client';
import { paging } from './listing';
import { environmentName } from './names';
import { path, shaped } from './shapes';

const Variable = z.object({ key: z.string(), value: z.string().nullish() });
const Page = z.array(z.object({ cursor: z.string(), envVar: Variable }));
const Group = z.object({ envVars: z.array(Variable) });

type Variable = z.infer<typeof Variable>;

const PAGE = 100;

export const render = syncAdapter({
  platform: 'render',
  config: z
    .strictObject({ token: Token, serviceId: Segment.optional(), envGroupId: Segment.optional() })
    .refine(({ serviceId, envGroupId }) => (serviceId === undefined) !== (envGroupId === undefined), {
      message: 'needs either serviceId or envGroupId',
      path: ['serviceId'],
    }),
  credentials: ['token'],
  oneOf: [['serviceId'], ['envGroupId']],
  name: (name) => environmentName(name),
  redeploy: true,
  vendor: ({ token }) => ({ headers: { Authorization: `Bearer ${token}` } }),
  open(client, { serviceId, envGroupId }) {
    const base = `https://api.render.com/v1/${serviceId === undefined ? path('env-groups', envGroupId as string) : path('services', serviceId)}`;
    const url = `${base}/env-vars`;
    return {
      list: async () =>
        (serviceId === undefined ? await groupOf(client, base, url) : await pagesOf(client, url)).map(
          remoteOf,
        ),
      async put({ target, value, remote }) {
        await client.call({ method: 'PUT', url: `${url}/${path(target)}`, json: { value } });
        return { action: remote ? 'updated' : 'created' };
      },
      async remove({ target }) {
        await client.call({ method: 'DELETE', url: `${url}/${path(target)}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

const remoteOf = ({ key, value }: Variable): Remote => ({
  target: key,
  ...(value !== undefined && { value }),
});

/**
 * A group contains its variables; if the group is not found, its variables are requested like a service's.
 */
async function groupOf(client: Client, base: string, url: string): Promise<Variable[]> {
  const reply = await client.call({ method: 'GET', url: base, expects: [404] });
  return reply.status === 404 ? pagesOf(client, url) : shaped(Group, reply.body).envVars;
}

/** All pages, up to an empty one. */
async function pagesOf(client: Client, url: string): Promise<Variable[]> {
  const found: Variable[] = [];
  const follow = paging();
  for (let cursor = ''; ; ) {
    const query = `?limit=${PAGE}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = shaped(Page, (await client.call({ method: 'GET', url: url + query })).body);
    found.push(...page.map(({ envVar }) => envVar));
    const last = page.at(-1);
    if (!last) return found;
    cursor = last.cursor;
    follow(cursor, page.length);
  }
}
