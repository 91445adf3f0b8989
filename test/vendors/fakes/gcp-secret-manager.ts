// Google Cloud Secret Manager and its token endpoint, by
// https://cloud.google.com/secret-manager/docs/reference/rest and
// https://developers.google.com/identity/protocols/oauth2/service-account: signed assertions, versions,
// checksums, empty fields left out.
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface GcpVersion {
  data: Buffer;
  state: 'ENABLED' | 'DISABLED' | 'DESTROYED';
}

export interface GcpSecretManagerFake extends Fake {
  project: string;
  /** The key file of the service account. */
  key: Record<string, string>;
  secrets: Map<string, { labels: Record<string, string>; versions: GcpVersion[] }>;
  /** Access tokens that were given out. */
  tokens: Set<string>;
  text(id: string): string | undefined;
  seed(id: string, ...texts: string[]): void;
}

const PAGE = 3;
const NUMBER = '123456789012';
const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

class GcpError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** Castagnoli, bit by bit. */
export function castagnoli(bytes: Buffer): string {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return String((crc ^ 0xffffffff) >>> 0);
}

export async function startGcpSecretManager(): Promise<GcpSecretManagerFake> {
  const fake = (await startFake((request): FakeAnswer => {
    if (request.path === '/token') return tokenEndpoint(fake, request);
    try {
      return { status: 200, body: api(fake, request) };
    } catch (error) {
      if (!(error instanceof GcpError)) throw error;
      return {
        status: error.status,
        body: {
          error: { code: error.status, message: `made up: ${request.text}`, status: error.code, details: [] },
        },
      };
    }
  })) as GcpSecretManagerFake;
  return Object.assign(fake, {
    project: 'demo-project',
    key: {
      type: 'service_account',
      project_id: 'demo-project',
      private_key_id: 'made-up-key-id',
      private_key: privateKey,
      client_email: 'sync@demo-project.iam.gserviceaccount.com',
      client_id: '1',
      token_uri: 'https://oauth2.googleapis.com/token',
    },
    secrets: new Map(),
    tokens: new Set<string>(),
    writes: () => fake.requests.filter(({ method, path }) => method !== 'GET' && path !== '/token'),
    text: (id: string) => fake.secrets.get(id)?.versions.at(-1)?.data.toString('utf8'),
    seed(id: string, ...texts: string[]) {
      const versions = texts.map((text): GcpVersion => ({ data: Buffer.from(text), state: 'ENABLED' }));
      fake.secrets.set(id, { labels: { team: 'theirs' }, versions });
    },
  });
}

function tokenEndpoint(fake: GcpSecretManagerFake, { method, headers, text }: FakeRequest): FakeAnswer {
  const refused = (error: string) => ({ status: 400, body: { error, error_description: 'made up' } });
  const form = new URLSearchParams(text);
  if (method !== 'POST' || headers['content-type'] !== 'application/x-www-form-urlencoded')
    return refused('invalid_request');
  if (headers.authorization !== undefined) return refused('invalid_request');
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return refused('unsupported_grant_type');
  const [head = '', payload = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  const isSigned = createVerify('RSA-SHA256')
    .update(`${head}.${payload}`)
    .verify(publicKey, Buffer.from(signature, 'base64url'));
  if (!isSigned || read(head).alg !== 'RS256' || read(head).kid !== fake.key.private_key_id)
    return refused('invalid_grant');
  const { iss, aud, scope, iat, exp } = read(payload);
  const now = Date.now() / 1000;
  if (
    iss !== fake.key.client_email ||
    aud !== fake.key.token_uri ||
    Math.abs(now - iat) > 60 ||
    exp - iat > 3600
  )
    return refused('invalid_grant');
  if (scope !== 'https://www.googleapis.com/auth/cloud-platform') return refused('invalid_scope');
  const token = `ya29.made-up-${fake.tokens.size + 1}`;
  fake.tokens.add(token);
  return { status: 200, body: { access_token: token, expires_in: 3599, token_type: 'Bearer' } };
}

function api(fake: GcpSecretManagerFake, { method, path, query, headers, json }: FakeRequest): object {
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
  if (!token || !fake.tokens.has(token)) throw new GcpError(401, 'UNAUTHENTICATED');
  const found =
    /^\/v1\/projects\/([^/]+)\/secrets(?:\/([^/:]+))?(\/versions\/latest:access|:addVersion)?$/.exec(path);
  if (!found) throw new GcpError(404, 'NOT_FOUND');
  const [, project = '', id, action] = found;
  if (decodeURIComponent(project) !== fake.project) throw new GcpError(403, 'PERMISSION_DENIED');
  if (method === 'POST' && !headers['content-type']?.startsWith('application/json'))
    throw new GcpError(400, 'INVALID_ARGUMENT');
  if (id === undefined)
    return method === 'GET' ? list(fake, query) : create(fake, method, query.get('secretId') ?? '', json);
  const secret = fake.secrets.get(decodeURIComponent(id));
  if (!secret) throw new GcpError(404, 'NOT_FOUND');
  const name = `projects/${NUMBER}/secrets/${id}`;
  if (method === 'DELETE' && action === undefined) {
    fake.secrets.delete(decodeURIComponent(id));
    return {};
  }
  if (method === 'GET' && action === '/versions/latest:access') {
    const newest = secret.versions.at(-1);
    if (!newest) throw new GcpError(404, 'NOT_FOUND');
    if (newest.state !== 'ENABLED') throw new GcpError(400, 'FAILED_PRECONDITION');
    const payload = { data: newest.data.toString('base64'), dataCrc32c: castagnoli(newest.data) };
    return { name: `${name}/versions/${secret.versions.length}`, payload };
  }
  if (method !== 'POST' || action !== ':addVersion') throw new GcpError(404, 'NOT_FOUND');
  const data = Buffer.from(json?.payload?.data ?? '', 'base64');
  const isWhole = typeof json.payload.dataCrc32c === 'string' && json.payload.dataCrc32c === castagnoli(data);
  if (!isWhole || data.length === 0 || data.length > 65_536) throw new GcpError(400, 'INVALID_ARGUMENT');
  if (Object.keys(json).join() !== 'payload' || data.toString('base64') !== json.payload.data)
    throw new GcpError(400, 'INVALID_ARGUMENT');
  secret.versions.push({ data, state: 'ENABLED' });
  return { name: `${name}/versions/${secret.versions.length}`, state: 'ENABLED' };
}

function list(fake: GcpSecretManagerFake, query: URLSearchParams): object {
  const size = Number(query.get('pageSize') ?? 25_000);
  if (!(size >= 0 && size <= 25_000)) throw new GcpError(400, 'INVALID_ARGUMENT');
  const all = [...fake.secrets.keys()];
  const start = Number(query.get('pageToken') || 0);
  const secrets = all
    .slice(start, start + PAGE)
    .map((id) => ({ name: `projects/${NUMBER}/secrets/${id}`, replication: { automatic: {} } }));
  const next = start + PAGE < all.length ? String(start + PAGE) : undefined;
  return { ...(secrets.length && { secrets, totalSize: all.length }), ...(next && { nextPageToken: next }) };
}

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape.
function create(fake: GcpSecretManagerFake, method: string, id: string, json: any): object {
  if (method !== 'POST' || !/^[A-Za-z0-9_-]{1,255}$/.test(id) || !json?.replication?.automatic)
    throw new GcpError(400, 'INVALID_ARGUMENT');
  if (fake.secrets.has(id)) throw new GcpError(409, 'ALREADY_EXISTS');
  fake.secrets.set(id, { labels: {}, versions: [] });
  return { name: `projects/${NUMBER}/secrets/${id}`, replication: { automatic: {} } };
}
