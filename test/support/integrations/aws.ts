// Calls as clients of AWS Secrets Manager make them: signed by aws4fetch.

import { exports } from 'cloudflare:workers';
import { AwsV4Signer } from 'aws4fetch';
import type { Answer, Caller } from '../world';

export interface Pair {
  access_key_id: string;
  secret_access_key: string;
  session_token?: string;
}

/** How a request differs from that of an ordinary client. */
export interface How {
  environment?: string;
  org?: string;
  /** What goes on the wire instead of what was signed. */
  sent?: { url?: string; headers?: Record<string, string | null>; body?: string; method?: string };
  /** Further headers, signed but for those in `unsigned`. */
  headers?: Record<string, string>;
  unsigned?: string[];
  datetime?: string;
  service?: string;
  region?: string;
  host?: string;
  ip?: string;
  slash?: boolean;
}

/** A time as in X-Amz-Date, some seconds from now. */
export const amzDate = (seconds = 0): string =>
  new Date(Date.now() + seconds * 1000).toISOString().replace(/[:-]|\.\d{3}/g, '');

/** A signed request, not yet sent. */
export async function signed(
  o: Pick<Caller, 'id'>,
  pair: Pair,
  operation: string,
  members: object | string,
  how: How = {},
) {
  const { environment = 'production', org = o.id, host = 'localhost', headers = {}, unsigned = [] } = how;
  const path = `/compat/aws/${org}/${environment}${how.slash ? '/' : ''}`;
  const body = typeof members === 'string' ? members : JSON.stringify(members);
  const all = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': `secretsmanager.${operation}`,
    // As clients in Go, Java and JavaScript send it: two requests of one second differ.
    'amz-sdk-invocation-id': crypto.randomUUID(),
    ...headers,
  };
  const signer = new AwsV4Signer({
    method: 'POST',
    url: `http://${host}${path}`,
    headers: Object.fromEntries(Object.entries(all).filter(([name]) => !unsigned.includes(name))),
    body,
    accessKeyId: pair.access_key_id,
    secretAccessKey: pair.secret_access_key,
    ...(pair.session_token && { sessionToken: pair.session_token }),
    service: how.service ?? 'secretsmanager',
    region: how.region ?? 'eu-central-1',
    datetime: how.datetime ?? amzDate(),
    allHeaders: true,
  });
  const { headers: made } = await signer.sign();
  const on: Record<string, string> = {
    ...Object.fromEntries(made),
    'CF-Connecting-IP': how.ip ?? '203.0.113.7',
  };
  for (const name of unsigned) on[name] = all[name as keyof typeof all];
  for (const [name, value] of Object.entries(how.sent?.headers ?? {}))
    if (value === null) delete on[name.toLowerCase()];
    else on[name.toLowerCase()] = value;
  return {
    url: how.sent?.url ?? `http://localhost${path}`,
    method: how.sent?.method ?? 'POST',
    body: how.sent?.body ?? body,
    headers: on,
  };
}

export async function sendSigned({
  url,
  method,
  body,
  headers,
}: Awaited<ReturnType<typeof signed>>): Promise<Answer> {
  const response = await exports.default.fetch(url, {
    method,
    headers,
    ...(method !== 'GET' && { body }),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {}
  return { status: response.status, json, text, headers: response.headers };
}

/** Calls with one access key. */
export const awsOf =
  (o: Pick<Caller, 'id'>, pair: Pair, usual: How = {}) =>
  async (operation: string, members: object | string = {}, how: How = {}): Promise<Answer> =>
    sendSigned(await signed(o, pair, operation, members, { ...usual, ...how }));

/** What a refusal says. */
export const typeOf = ({ status, json }: Answer) => [status, json?.__type];

/** A new API key with an access key. */
export async function newAwsKey(o: Caller, fields: Record<string, unknown> = {}) {
  const { status, json, text } = await o.post('/api-keys', {
    name: 'aws',
    scopes: ['*'],
    aws: true,
    ...fields,
  });
  if (status !== 201) throw new Error(`no key: ${status} ${text}`);
  return { ...(json as { id: string; token: string }), pair: json.aws as Pair };
}
