// CircleCI project environment variables: https://circleci.com/docs/api/v2/#tag/Project. Values are masked in
// lists; a POST overwrites.
import { z } from '@hono/zod-openapi';
import { empty, type Remote, syncAdapter, Token } from './adapter';
import { paging } from './listing';
import { environmentName } from './names';
import { array, object, path, shaped } from './shapes';

const Variables = z.array(z.object({ name: z.string() }));

export const circleci = syncAdapter({
  platform: 'circleci',
  config: z.strictObject({
    token: Token,
    projectSlug: z
      .string()
      .regex(/^[^\s/?#]{1,64}\/[^\s/?#]{1,128}\/[^\s/?#]{1,128}$/, 'must be like gh/ORGANISATION/REPOSITORY'),
  }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  value: empty,
  redeploy: false,
  vendor: ({ token }) => ({ headers: { 'Circle-Token': token } }),
  open(client, { projectSlug }) {
    const url = `https://circleci.com/api/v2/project/${path(...projectSlug.split('/'))}/envvar`;
    return {
      async list() {
        const found: Remote[] = [];
        const follow = paging();
        for (let page: string | null = ''; page !== null; ) {
          const query: string = page ? `?page-token=${encodeURIComponent(page)}` : '';
          const { items, next_page_token } = object(await client.call({ method: 'GET', url: url + query }));
          found.push(...shaped(Variables, items).map(({ name }) => ({ target: name })));
          page = typeof next_page_token === 'string' && next_page_token ? next_page_token : null;
          if (page) follow(page, array(items).length);
        }
        return found;
      },
      async put({ target, value, remote }) {
        await client.call({ method: 'POST', url, json: { name: target, value } });
        return { action: remote ? 'updated' : 'created' };
      },
      async remove({ target }) {
        await client.call({ method: 'DELETE', url: `${url}/${path(target)}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});
