// Upstreams for tests.
import { type Caller, newSecret } from './world';

/** A valid body of a new upstream that places one secret. */
export const upstreamIn = (secret: string, fields: Record<string, unknown> = {}) => ({
  name: `u-${crypto.randomUUID().slice(0, 8)}`,
  base_url: 'https://api.example.com',
  environment: 'production',
  auth: [{ type: 'header', name: 'Authorization', value: `Bearer {{${secret}}}` }],
  allow: [{ methods: ['GET', 'POST'], paths: ['/v1/*'] }],
  ...fields,
});

/** A new upstream, with a secret of its own if none is named. */
export async function newUpstream(o: Caller, fields: Record<string, unknown> = {}, name?: string) {
  const secret = name ?? (await newSecret(o)).name;
  const { json, status, text } = await o.post('/upstreams', upstreamIn(secret, fields));
  if (status !== 201) throw new Error(`no upstream: ${status} ${text}`);
  return { ...json, secret } as { id: string; name: string; secret: string; revision: number };
}
