// Fly.io app secrets: https://fly.io/docs/machines/api/app-secrets-resource/. One POST sets values and, with
// null, deletes; values are shown as digests. Writes are staged until the machines are updated or deployed.
import { z } from '@hono/zod-openapi';
import { Segment, syncAdapter } from './adapter';
import { environmentName } from './names';
import { allWritten } from './parts';
import { path, shaped } from './shapes';

/** The vendor encodes an empty list as null. */
const Listing = z.object({ secrets: z.array(z.object({ name: z.string() })).nullable() });

export const fly = syncAdapter({
  platform: 'fly',
  config: z.strictObject({
    // `fly tokens create` also prints the scheme of its tokens.
    token: z.string().regex(/^(FlyV1 )?[\x21-\x7e]{1,8192}$/, 'must be a token as shown by Fly.io'),
    appName: Segment,
  }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  redeploy: true,
  vendor: ({ token }) => ({ headers: { Authorization: `Bearer ${token}` } }),
  open(client, { appName }) {
    const url = `https://api.machines.dev/v1/apps/${path(appName)}/secrets`;
    return {
      async list() {
        const { secrets } = shaped(Listing, (await client.call({ method: 'GET', url })).body);
        return (secrets ?? []).map(({ name }) => ({ target: name }));
      },
      async write(puts, removals) {
        const changes = [
          ...puts.map(({ target, value }) => [target, value]),
          ...removals.map(({ target }) => [target, null]),
        ];
        await client.call({ method: 'POST', url, json: { values: Object.fromEntries(changes) } });
        return allWritten(puts, removals);
      },
    };
  },
});
