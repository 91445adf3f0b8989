// The kinds of credential, and the tokens of each. Invariant: an API key is sent to one operation alone, which makes session tokens of it.
import { apiOf } from './client.js';
import { fixedToken, RenewedTokens, type Tokens, tokenOf } from './credentials.js';
import type { Transport } from './transport.js';

/**
 * Who calls: a string, which is an API key (`svc_live_…`: the client makes session tokens of it by itself) or a token that is used as it is
 * (a session token, an agent's, a break-glass token).
 */
export type Credential = string;

/** Where tokens are made. */
export interface Home {
  url: string;
  org: string;
  transport: Transport;
}

/** How long a session token of an API key lasts, in seconds. Short: a process that ends leaves it behind. */
const SESSION_TTL = 900;

/** The tokens of a credential. */
export function tokensOf(credential: Credential, home: Home): Tokens {
  return credential.startsWith('svc_live_') ? sessionsOf(credential, home) : fixedToken(credential);
}

/** Session tokens of an API key. */
function sessionsOf(key: string, { url, org, transport }: Home): Tokens {
  const api = apiOf(url, (request) => transport.send(request, { tokens: fixedToken(key) }));
  return new RenewedTokens(async () => {
    const { data, response } = await api.POST('/orgs/{org_id}/access-tokens', {
      params: { path: { org_id: org } },
      body: { ttlSeconds: SESSION_TTL },
    });
    return tokenOf(data.token as string, data.expiresAt, response);
  });
}
