// A store of Cloudflare's Secrets Store, by https://developers.cloudflare.com/api/resources/secrets_store/:
// values never come back, a POST creates all of its secrets or none, and a PATCH changes what it has. An
// error's code stands for several: its message names which.
import { ok, unauthorized } from './cloudflare.ts';
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface StoredSecret {
  id: string;
  name: string;
  value: string;
  scopes: string[];
  comment: string;
  status: 'active' | 'pending' | 'deleted';
}

export interface CloudflareSecretsStoreFake extends Fake {
  token: string;
  account: string;
  store: string;
  secrets: StoredSecret[];
  /** The most secrets of an account. */
  most: number;
}

const LARGEST = 65_536;
const PAGE = 3;
const SCOPES = ['workers', 'ai_gateway', 'dex', 'access'];

let made = 0;
export const secret = (name: string, given: Partial<StoredSecret> = {}): StoredSecret => ({
  id: String(++made).padStart(32, '0'),
  name,
  value: 'theirs',
  scopes: ['workers'],
  comment: '',
  status: 'active',
  ...given,
});

const refused = (status: number, code: number, message: string): FakeAnswer => ({
  status,
  body: { success: false, errors: [{ code, message }], messages: [], result: null },
});
const shown = ({ value: _, ...rest }: StoredSecret) => ({
  ...rest,
  created: '2026-01-01T00:00:00Z',
  modified: '2026-01-01T00:00:00Z',
});

/** What is wrong with fields of a secret; null where nothing is. */
function problem({ value, scopes, comment = '', ...rest }: Record<string, unknown>): FakeAnswer | null {
  if (Object.keys(rest).length || typeof comment !== 'string') return refused(400, 1001, 'invalid_json_body');
  if (value !== undefined && (typeof value !== 'string' || Buffer.byteLength(value) > LARGEST))
    return refused(400, 1001, 'secret_value_invalid');
  if (scopes === undefined) return null;
  if (!Array.isArray(scopes) || !scopes.length) return refused(400, 1001, 'secret_scopes_empty');
  return scopes.every((scope) => SCOPES.includes(scope)) ? null : refused(400, 1001, 'secret_scope_invalid');
}

function list({ secrets }: CloudflareSecretsStoreFake, { query }: FakeRequest): FakeAnswer {
  const page = Number(query.get('page') ?? 1);
  const size = Math.min(PAGE, Number(query.get('per_page') ?? 20));
  return ok(secrets.slice((page - 1) * size, page * size).map(shown));
}

function create(fake: CloudflareSecretsStoreFake, { json }: FakeRequest): FakeAnswer {
  if (!Array.isArray(json) || !json.length) return refused(400, 1001, 'invalid_json_body');
  for (const { name, ...rest } of json) {
    if (typeof name !== 'string' || !/^[\w-]+$/.test(name)) return refused(400, 1001, 'secret_name_empty');
    const wrong = problem({ scopes: [], ...rest });
    if (wrong || typeof rest.value !== 'string') return wrong ?? refused(400, 1001, 'secret_value_invalid');
    if (fake.secrets.some((one) => one.name === name && one.status !== 'deleted'))
      return refused(409, 1003, `secret_name_already_exists: ${name}`);
  }
  if (fake.secrets.length + json.length > fake.most) return refused(400, 1003, 'maximum_secrets_exceeded');
  const created = json.map(({ name, ...rest }) => secret(name, rest));
  fake.secrets.push(...created);
  return ok(created.map(shown));
}

function answer(fake: CloudflareSecretsStoreFake, request: FakeRequest): FakeAnswer {
  const { method, path, headers, json } = request;
  const denied = unauthorized(request, fake.token);
  if (denied) return denied;
  const stores = `/client/v4/accounts/${fake.account}/secrets_store/stores`;
  const base = `${stores}/${fake.store}/secrets`;
  if (!path.startsWith(base))
    return path.startsWith(stores) ? refused(404, 1001, 'store_not_found') : refused(404, 7003, 'made up');
  if (method !== 'GET' && method !== 'DELETE' && !headers['content-type']?.startsWith('application/json'))
    return refused(415, 1001, 'made up');
  if (path === base && method === 'GET') return list(fake, request);
  if (path === base && method === 'POST') return create(fake, request);
  const found = fake.secrets.find(({ id }) => path === `${base}/${id}`);
  if (!found) return refused(404, 1001, 'secret_not_found');
  if (method === 'DELETE') fake.secrets.splice(fake.secrets.indexOf(found), 1);
  else if (method !== 'PATCH') return refused(405, 10405, 'made up');
  else {
    const wrong = problem(json ?? {});
    if (wrong) return wrong;
    Object.assign(found, json);
  }
  return ok(shown(found));
}

export async function startCloudflareSecretsStore(): Promise<CloudflareSecretsStoreFake> {
  const fake = (await startFake((request) => answer(fake, request))) as CloudflareSecretsStoreFake;
  return Object.assign(fake, {
    token: 'cloudflare-token',
    account: '0123456789abcdef0123456789abcdef',
    store: 'fedcba9876543210fedcba9876543210',
    secrets: [],
    most: 100,
  });
}
