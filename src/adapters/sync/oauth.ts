// OAuth 2.0 access tokens (https://www.rfc-editor.org/rfc/rfc6749#section-5.1): requested once per sync and
// sent with every later call.
import { z } from '@hono/zod-openapi';
import { Token } from './adapter';
import type { Call, Reply } from './call';
import type { Client } from './client';
import { shaped } from './shapes';

const Answer = z.object({ access_token: Token });

/** Requests an access token from a token endpoint. */
export async function accessToken(
  client: Client,
  url: string,
  form: Record<string, string>,
): Promise<string> {
  const { body } = await client.call({ method: 'POST', url, purpose: 'token', form, bare: true });
  return shaped(Answer, body).access_token;
}

/** Calls with a token, which the first of them requests. */
export function authorized(client: Client, ask: () => Promise<string>): (call: Call) => Promise<Reply> {
  let token: Promise<string> | null = null;
  return async (call) => {
    token ??= ask();
    const headers = { Authorization: `Bearer ${await token}` };
    const { settle } = call;
    return client.call({
      ...call,
      headers,
      ...(settle && { settle: { ...settle, call: { ...settle.call, headers } } }),
    });
  };
}
