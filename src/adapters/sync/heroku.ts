// Heroku config vars: https://devcenter.heroku.com/articles/platform-api-reference#config-vars. One PATCH is
// one release and one restart of the app, so all names are sent in one call, and no call is made if nothing
// changes.
import { z } from '@hono/zod-openapi';
import { Segment, syncAdapter, Token } from './adapter';
import { environmentName } from './names';
import { allWritten } from './parts';
import { object, path } from './shapes';

export const heroku = syncAdapter({
  platform: 'heroku',
  config: z.strictObject({ token: Token, appName: Segment }),
  credentials: ['token'],
  name: (name) => environmentName(name, { reserved: /^(__|HEROKU_)/ }),
  redeploy: false,
  vendor: ({ token }) => ({
    headers: { Authorization: `Bearer ${token}`, Accept: 'application/vnd.heroku+json; version=3' },
    code: (body) => (body as { id?: unknown } | undefined)?.id,
  }),
  open(client, { appName }) {
    const url = `https://api.heroku.com/apps/${path(appName)}/config-vars`;
    return {
      async list() {
        const vars = object(await client.call({ method: 'GET', url }));
        return Object.entries(vars).map(([target, value]) => ({
          target,
          ...(typeof value === 'string' && { value }),
        }));
      },
      async write(puts, removals) {
        const changes = [
          ...puts.map(({ target, value }) => [target, value]),
          ...removals.map(({ target }) => [target, null]),
        ];
        await client.call({ method: 'PATCH', url, json: Object.fromEntries(changes) });
        return allWritten(puts, removals);
      },
    };
  },
});
