// Environment variables of Cloudflare Pages:
// https://developers.cloudflare.com/api/resources/pages/subresources/projects/methods/edit/. A PATCH changes
// the names it contains, deletes those that are null, and overwrites every other setting it contains, so it
// contains only variables.
import { z } from '@hono/zod-openapi';
import { type Remote, Segment, syncAdapter, Token } from './adapter';
import { CLOUDFLARE, cloudflareVendor, resultOf } from './cloudflare';
import { entry } from './listing';
import { environmentName } from './names';
import { allWritten } from './parts';
import { path } from './shapes';

export const cloudflarePages = syncAdapter({
  platform: 'cloudflare-pages',
  config: z.strictObject({
    token: Token,
    accountId: Segment,
    projectName: Segment,
    environment: z.enum(['production', 'preview']).default('production'),
  }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  redeploy: true,
  vendor: ({ token }) => cloudflareVendor(token),
  open(client, { accountId, projectName, environment }) {
    const url = `${CLOUDFLARE}/accounts/${path(accountId)}/pages/projects/${path(projectName)}`;
    return {
      async list() {
        const { deployment_configs } = entry(resultOf(await client.call({ method: 'GET', url })));
        const { env_vars } = entry(entry(deployment_configs)[environment] ?? {});
        return Object.entries(entry(env_vars ?? {})).flatMap(([target, variable]): Remote[] =>
          variable === null ? [] : [{ target, otherForm: entry(variable).type === 'plain_text' }],
        );
      },
      async write(puts, removals) {
        const env_vars = Object.fromEntries([
          ...puts.map(({ target, value }) => [target, { type: 'secret_text', value }]),
          ...removals.map(({ target }) => [target, null]),
        ]);
        await client.call({
          method: 'PATCH',
          url,
          json: { deployment_configs: { [environment]: { env_vars } } },
        });
        return allWritten(puts, removals);
      },
    };
  },
});
