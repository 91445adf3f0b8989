// Tokens that the service gets itself: client credentials of OAuth 2 (RFC 6749 §4.4), service accounts of
// Google (https://developers.google.com/identity/protocols/oauth2/service-account#httprest) and GitHub Apps
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app). Invariant: what a
// token endpoint answers goes nowhere but into the token that is kept.
import { createPrivateKey } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { importPKCS8, SignJWT } from 'jose';
import { toBase64, utf8 } from '../../../crypto/bytes';
import type { UpstreamAuth } from '../../../db/upstreams';
import { type Egress, type GuardedRequest, guardedFetch } from '../../../delivery/egress';
import { ApiError, refuse } from '../../../errors';
import { type Filler, filler } from './fill';
import type { OwnToken, UsePlan, UsePorts } from './use-plan';

const isOwn = (auth: UpstreamAuth): auth is OwnToken =>
  ['oauth2_client_credentials', 'google_service_account', 'github_app'].includes(auth.type);

interface Got {
  token: string;
  /** In milliseconds. */
  expires_at: number;
}

const rejected = (message: string) => new ApiError(refuse('TARGET_REJECTED', { message }));

const Token = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{8,8192}$/),
  expires_in: z.union([z.number().min(0).max(1e9), z.string().regex(/^\d{1,9}$/)]).optional(),
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .optional(),
});
const Installation = z.object({
  token: z.string().regex(/^[\x21-\x7e]{8,8192}$/),
  expires_at: z.string().refine((text) => !Number.isNaN(Date.parse(text))),
});
const ServiceAccount = z.object({
  private_key: z.string(),
  client_email: z.string(),
  private_key_id: z.string().optional(),
  token_uri: z.string(),
});

/** The JSON that a token endpoint answered with. */
async function asked<T>(
  egress: Egress,
  url: string,
  request: GuardedRequest,
  shape: z.ZodType<T>,
): Promise<T> {
  const answer = await guardedFetch(egress, url, { method: 'POST', ...request });
  if ('unreachable' in answer)
    throw new ApiError(refuse(answer.unreachable === 'timeout' ? 'TARGET_TIMEOUT' : 'TARGET_UNREACHABLE'));
  if (answer.status >= 300)
    throw rejected(`The token endpoint of the upstream answered with status ${answer.status}.`);
  try {
    return shape.parse(JSON.parse(answer.text));
  } catch {
    throw rejected('The token endpoint of the upstream gave no token.');
  }
}

const form = (fields: Record<string, string>): GuardedRequest => ({
  headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
  body: new URLSearchParams(fields).toString(),
});

const lasting = ({ access_token, expires_in = 300 }: z.infer<typeof Token>, now: number): Got => ({
  token: access_token,
  expires_at: now + Number(expires_in) * 1000,
});

/** A private key in PEM: GitHub gives PKCS #1, Google PKCS #8. */
async function keyIn(pem: string) {
  try {
    const spelled = createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' });
    return await importPKCS8(String(spelled), 'RS256');
  } catch {
    throw new ApiError(
      refuse('VALUE_NOT_REPRESENTABLE', { message: 'The private key of the upstream is no RSA key in PEM.' }),
    );
  }
}

async function ofServiceAccount(
  auth: Extract<OwnToken, { type: 'google_service_account' }>,
  { fill }: Filler,
  egress: Egress,
  now: number,
): Promise<Got> {
  let account: z.infer<typeof ServiceAccount>;
  try {
    account = ServiceAccount.parse(JSON.parse(fill(auth.key, false)));
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(
      refuse('VALUE_NOT_REPRESENTABLE', { message: 'The key of the upstream is no service account key.' }),
    );
  }
  const { client_email, private_key, private_key_id, token_uri } = account;
  const assertion = await new SignJWT({ scope: auth.scopes.join(' ') })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(private_key_id && { kid: private_key_id }) })
    .setIssuer(client_email)
    .setAudience(token_uri)
    .setIssuedAt(Math.floor(now / 1000))
    .setExpirationTime(Math.floor(now / 1000) + 3600)
    .sign(await keyIn(private_key));
  const fields = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  return lasting(await asked(egress, token_uri, form(fields), Token), now);
}

async function ofClient(
  auth: Extract<OwnToken, { type: 'oauth2_client_credentials' }>,
  { fill }: Filler,
  egress: Egress,
  now: number,
): Promise<Got> {
  const id = encodeURIComponent(fill(auth.client_id, false));
  const secret = encodeURIComponent(fill(auth.client_secret, false));
  const { headers, body } = form({
    grant_type: 'client_credentials',
    ...(auth.scope !== undefined && { scope: auth.scope }),
    ...(auth.audience !== undefined && { audience: auth.audience }),
  });
  const authorization = `Basic ${toBase64(utf8(`${id}:${secret}`))}`;
  const request = { headers: { ...headers, Authorization: authorization }, ...(body && { body }) };
  return lasting(await asked(egress, auth.token_url, request, Token), now);
}

async function ofApp(
  auth: Extract<OwnToken, { type: 'github_app' }>,
  { fill }: Filler,
  { base_url, egress, now }: { base_url: string; egress: Egress; now: number },
): Promise<Got> {
  const seconds = Math.floor(now / 1000);
  const jwt = await new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(fill(auth.app_id, false))
    // GitHub's clock may be behind, and takes 10 minutes at most.
    .setIssuedAt(seconds - 60)
    .setExpirationTime(seconds + 540)
    .sign(await keyIn(fill(auth.private_key, false)));
  const id = encodeURIComponent(fill(auth.installation_id, false));
  const headers = { Authorization: `Bearer ${jwt}`, Accept: 'application/vnd.github+json' };
  const url = `${base_url}/app/installations/${id}/access_tokens`;
  const { token, expires_at } = await asked(egress, url, { headers }, Installation);
  return { token, expires_at: Date.parse(expires_at) };
}

function tokenOf(auth: OwnToken, plan: UsePlan, egress: Egress, now: number): Promise<Got> {
  // These values go to the token endpoint, of which nobody sees an answer: no list helps to guess them.
  const filling = filler(plan, { guessable: true });
  switch (auth.type) {
    case 'oauth2_client_credentials':
      return ofClient(auth, filling, egress, now);
    case 'google_service_account':
      return ofServiceAccount(auth, filling, egress, now);
    case 'github_app':
      return ofApp(auth, filling, { base_url: plan.upstream.base_url, egress, now });
  }
}

/** The tokens of a plan, by the entry of `auth`: those that are kept, or new ones. */
export async function ownTokens(
  plan: UsePlan,
  egress: Egress,
  ports: Pick<UsePorts, 'ownToken'>,
  now = Date.now(),
): Promise<Map<number, string>> {
  const tokens = new Map<number, string>();
  for (const [at, auth] of plan.auth.entries()) {
    if (!isOwn(auth)) continue;
    tokens.set(at, await ports.ownToken(at, () => tokenOf(auth, plan, egress, now)));
  }
  return tokens;
}
