// Secrets of Cloudflare Workers:
// https://developers.cloudflare.com/api/resources/workers/subresources/scripts/subresources/secrets/. Each
// write creates and deploys a version, so all names are sent in one call. If the API does not support that
// call yet, they are sent one by one.
import { z } from '@hono/zod-openapi';
import { KB, type Put, type Removal, Segment, syncAdapter, Token, tooLarge } from './adapter';
import { CLOUDFLARE, cloudflareVendor, resultOf } from './cloudflare';
import { entry, text } from './listing';
import { environmentName } from './names';
import { allWritten, written } from './parts';
import { array, path } from './shapes';

const secretOf = ({ target, value }: Put) => ({ name: target, text: value, type: 'secret_text' });

export const cloudflareWorkers = syncAdapter({
  platform: 'cloudflare-workers',
  config: z.strictObject({ token: Token, accountId: Segment, scriptName: Segment }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  value: (value) => tooLarge(value, 5 * KB),
  most: 100,
  redeploy: false,
  vendor: ({ token }) => cloudflareVendor(token),
  open(client, { accountId, scriptName }) {
    const script = `${CLOUDFLARE}/accounts/${path(accountId)}/workers/scripts/${path(scriptName)}`;
    return {
      async list() {
        const found = array(resultOf(await client.call({ method: 'GET', url: `${script}/secrets` })));
        return found.map((secret) => ({ target: text(entry(secret).name) }));
      },
      async write(puts: Put[], removals: Removal[]) {
        const secrets = Object.fromEntries([
          ...puts.map((put) => [put.target, secretOf(put)]),
          ...removals.map(({ target }) => [target, null]),
        ]);
        const { status } = await client.call({
          method: 'PATCH',
          url: `${script}/secrets-bulk`,
          json: { secrets },
          expects: [404, 405],
          headers: { 'Content-Type': 'application/merge-patch+json' },
        });
        if (status === 404 || status === 405) return null;
        return allWritten(puts, removals);
      },
      async put(put: Put) {
        await client.call({ method: 'PUT', url: `${script}/secrets`, json: secretOf(put) });
        return written(put);
      },
      async remove({ target }: Removal) {
        await client.call({ method: 'DELETE', url: `${script}/secrets/${path(target)}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});
