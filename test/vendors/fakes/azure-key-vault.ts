// Azure Key Vault and its token endpoint, by
// https://learn.microsoft.com/rest/api/keyvault/secrets/operation-groups (7.4): names that fold case,
// versions, soft deletion with a recovery that takes a while, next pages by whole URLs.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface AzureSecret {
  name: string;
  versions: { value: string; enabled: boolean; contentType?: string; tags?: Record<string, string> }[];
  managed: boolean;
  deleted: boolean;
  /** Answers that a recovery or a deletion still takes. */
  pending: number;
}

export interface AzureKeyVaultFake extends Fake {
  tenant: string;
  client: string;
  secret: string;
  tokens: Set<string>;
  /** By the name in lower case. */
  secrets: Map<string, AzureSecret>;
  /** Answers until a recovered secret is there. */
  recovering: number;
  /** The host of next pages. */
  host: string;
  text(name: string): string | undefined;
  seed(name: string, value: string, more?: Partial<AzureSecret>, version?: object): void;
}

const PAGE = 3;
const CHALLENGE =
  'Bearer authorization="https://login.microsoftonline.com/made-up-tenant", resource="https://vault.azure.net"';

class AzureError extends Error {
  readonly status: number;
  readonly code: string;
  readonly inner: string | undefined;
  constructor(status: number, code: string, inner?: string) {
    super(code);
    this.status = status;
    this.code = code;
    this.inner = inner;
  }
}

export async function startAzureKeyVault(): Promise<AzureKeyVaultFake> {
  const fake = (await startFake((request): FakeAnswer => {
    if (request.path === `/${fake.tenant}/oauth2/v2.0/token`) return tokenEndpoint(fake, request);
    try {
      return { status: 200, body: api(fake, request) };
    } catch (error) {
      if (!(error instanceof AzureError)) throw error;
      const { status, code, inner } = error;
      const headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': CHALLENGE } : {};
      return {
        status,
        headers,
        body: {
          error: { code, message: `made up: ${request.text}`, ...(inner && { innererror: { code: inner } }) },
        },
      };
    }
  })) as AzureKeyVaultFake;
  return Object.assign(fake, {
    tenant: 'made-up-tenant',
    client: 'made-up-client',
    secret: 'made-up~client/secret',
    recovering: 2,
    host: 'https://demo.vault.azure.net:443',
    tokens: new Set<string>(),
    secrets: new Map(),
    writes: () => fake.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/token')),
    text(name: string) {
      const secret = fake.secrets.get(name.toLowerCase());
      return secret?.deleted ? undefined : secret?.versions.at(-1)?.value;
    },
    seed(name: string, value: string, more: Partial<AzureSecret> = {}, version: object = {}) {
      const versions = [{ value, enabled: true, ...version }];
      fake.secrets.set(name.toLowerCase(), {
        name,
        versions,
        managed: false,
        deleted: false,
        pending: 0,
        ...more,
      });
    },
  });
}

function tokenEndpoint(fake: AzureKeyVaultFake, { method, headers, text }: FakeRequest): FakeAnswer {
  const refused = (status: number, error: string) => ({
    status,
    body: { error, error_description: `AADSTS7000215: ${text}`, error_codes: [7000215] },
  });
  const form = Object.fromEntries(new URLSearchParams(text));
  if (method !== 'POST' || headers['content-type'] !== 'application/x-www-form-urlencoded')
    return refused(400, 'invalid_request');
  if (headers.authorization !== undefined || Object.keys(form).length !== 4)
    return refused(400, 'invalid_request');
  if (form.grant_type !== 'client_credentials') return refused(400, 'unsupported_grant_type');
  if (form.scope !== 'https://vault.azure.net/.default') return refused(400, 'invalid_scope');
  if (form.client_id !== fake.client) return refused(400, 'unauthorized_client');
  if (form.client_secret !== fake.secret) return refused(401, 'invalid_client');
  const token = `made.up.token-${fake.tokens.size + 1}`;
  fake.tokens.add(token);
  return {
    status: 200,
    body: { token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599, access_token: token },
  };
}

function api(fake: AzureKeyVaultFake, request: FakeRequest): object {
  const { method, path, query, headers } = request;
  if (!fake.tokens.has(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''))
    throw new AzureError(401, 'Unauthorized');
  if (query.get('api-version') !== '7.4') throw new AzureError(400, 'BadParameter');
  if (method === 'GET' && path === '/secrets') return list(fake, query);
  const [, collection, name = '', action] =
    /^\/(secrets|deletedsecrets)\/([^/]+)(\/recover)?\/?$/.exec(path) ?? [];
  if (!/^[0-9a-zA-Z-]{1,127}$/.test(name)) throw new AzureError(400, 'BadParameter');
  const secret = fake.secrets.get(name.toLowerCase());
  if (collection === 'deletedsecrets' && method === 'POST' && action) return recover(fake, secret);
  if (collection !== 'secrets' || action) throw new AzureError(404, 'NotFound');
  if (method === 'PUT') return set(fake, name, secret, request);
  if (!secret || secret.deleted || secret.pending-- > 0) throw new AzureError(404, 'SecretNotFound');
  if (method === 'DELETE') {
    secret.deleted = true;
    return { recoveryId: `https://demo.vault.azure.net/deletedsecrets/${name}`, ...shown(secret) };
  }
  const newest = secret.versions.at(-1);
  if (method !== 'GET' || !newest) throw new AzureError(405, 'MethodNotAllowed');
  if (!newest.enabled) throw new AzureError(403, 'Forbidden', 'SecretDisabled');
  return { value: newest.value, ...shown(secret), id: `${shown(secret).id}/0123456789abcdef` };
}

function set(
  fake: AzureKeyVaultFake,
  name: string,
  secret: AzureSecret | undefined,
  { headers, json }: FakeRequest,
): object {
  if (!headers['content-type']?.startsWith('application/json'))
    throw new AzureError(415, 'UnsupportedMediaType');
  const { value, contentType, tags, attributes, ...rest } = json ?? {};
  if (typeof value !== 'string' || typeof (attributes ?? {}) !== 'object' || Object.keys(rest).length)
    throw new AzureError(400, 'BadParameter');
  if (Buffer.byteLength(value) > 25_600) throw new AzureError(400, 'BadParameter');
  if (secret?.deleted)
    throw new AzureError(
      409,
      'Conflict',
      secret.pending-- > 0 ? 'ObjectIsBeingDeleted' : 'ObjectIsDeletedButRecoverable',
    );
  if (secret && secret.pending-- > 0) throw new AzureError(409, 'Conflict', 'ObjectIsBeingRecovered');
  if (secret?.managed) throw new AzureError(403, 'Forbidden');
  const there = secret ?? { name, versions: [], managed: false, deleted: false, pending: 0 };
  there.versions.push({ value, enabled: true, ...(contentType && { contentType }), ...(tags && { tags }) });
  fake.secrets.set(name.toLowerCase(), there);
  return { value, ...shown(there) };
}

function recover(fake: AzureKeyVaultFake, secret: AzureSecret | undefined): object {
  if (!secret?.deleted) throw new AzureError(404, 'SecretNotFound');
  Object.assign(secret, { deleted: false, pending: fake.recovering });
  return shown(secret);
}

function shown({ name, versions, managed }: AzureSecret) {
  const { enabled = true, contentType, tags } = versions.at(-1) ?? {};
  const attributes = {
    enabled,
    created: 1,
    updated: 1,
    recoveryLevel: 'Recoverable+Purgeable',
    recoverableDays: 90,
  };
  const kind = { ...(contentType && { contentType }), ...(tags && { tags }), ...(managed && { managed }) };
  return { id: `https://demo.vault.azure.net/secrets/${name}`, attributes, ...kind };
}

function list(fake: AzureKeyVaultFake, query: URLSearchParams): object {
  const size = Number(query.get('maxresults') ?? 25);
  if (!(size >= 1 && size <= 25)) throw new AzureError(400, 'BadParameter');
  const all = [...fake.secrets.values()].filter(({ deleted, pending }) => !deleted && pending <= 0);
  const start = Number(query.get('$skiptoken') ?? 0);
  const more = start + PAGE < all.length;
  const nextLink = more
    ? `${fake.host}/secrets?api-version=7.4&$skiptoken=${start + PAGE}&maxresults=${size}`
    : null;
  return { value: all.slice(start, start + PAGE).map(shown), nextLink };
}
