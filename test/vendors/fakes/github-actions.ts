// GitHub's Actions secrets of repositories, environments and organisations, by
// https://docs.github.com/rest/actions/secrets: each scope has a key of its own, which opens what was sealed
// with it; names are stored in upper case; answers to writes are empty. The key pairs are libsodium's.
import sodium from 'libsodium-wrappers';
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface GithubScope {
  keys: { publicKey: Uint8Array; privateKey: Uint8Array };
  keyId: string;
  secrets: Map<string, { value: string; visibility?: string; repositories?: number[] }>;
}

export interface GithubActionsFake extends Fake {
  token: string;
  /** By the path in front of `/secrets`. */
  scopes: Map<string, GithubScope>;
  /** Gives a scope another key. */
  rotate(prefix: string): void;
  value(prefix: string, name: string): string | null;
}

export const REPOSITORY = '/repos/demo/app/actions';
export const ENVIRONMENT = '/repos/demo/app/environments/blue%2Fgreen%20one';
export const ORGANISATION = '/orgs/demo/actions';

const PAGE = 3;
const LARGEST = 49_152;

const error = (status: number, message = 'made up', headers = {}): FakeAnswer => ({
  status,
  headers,
  body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status) },
});

const page = (field: string, all: unknown[], { path, query }: FakeRequest, url: string): FakeAnswer => {
  const number = Number(query.get('page') ?? 1);
  const given = Number(query.get('per_page') ?? 30);
  const size = Math.min(PAGE, given);
  const isMore = number * size < all.length;
  const headers = isMore && { Link: `<${url}${path}?per_page=${given}&page=${number + 1}>; rel="next"` };
  return {
    status: 200,
    headers: headers || {},
    body: { total_count: all.length, [field]: all.slice((number - 1) * size, number * size) },
  };
};

let made = 0;
const newKeys = () => ({ keys: sodium.crypto_box_keypair(), keyId: `5680464${made++}` });

/** The value in a sealed box; null for none that this key opens. */
function opened(box: unknown, { keys }: GithubScope): string | null {
  try {
    const bytes = sodium.from_base64(box as string, sodium.base64_variants.ORIGINAL);
    return Buffer.from(sodium.crypto_box_seal_open(bytes, keys.publicKey, keys.privateKey)).toString('utf8');
  } catch {
    return null;
  }
}

function put(
  scope: GithubScope,
  name: string,
  { headers, json }: FakeRequest,
  isOrganisation: boolean,
): FakeAnswer {
  if (!headers['content-type']?.startsWith('application/json') || typeof json !== 'object' || json === null)
    return error(400);
  const { encrypted_value, key_id, visibility, selected_repository_ids, ...rest } = json;
  if (Object.keys(rest).length || key_id !== scope.keyId) return error(422);
  if (!/^[A-Z_][A-Z0-9_]*$/.test(name) || name.startsWith('GITHUB_')) return error(422);
  const value = opened(encrypted_value, scope);
  if (value === null || Buffer.byteLength(value) > LARGEST) return error(422);
  if (isOrganisation ? !['all', 'private', 'selected'].includes(visibility) : visibility !== undefined)
    return error(422);
  if ((visibility === 'selected') !== Array.isArray(selected_repository_ids)) return error(422);
  const isNew = !scope.secrets.has(name);
  scope.secrets.set(name, {
    value,
    ...(visibility && { visibility }),
    ...(selected_repository_ids && { repositories: selected_repository_ids }),
  });
  return { status: isNew ? 201 : 204 };
}

function answer(fake: GithubActionsFake, request: FakeRequest): FakeAnswer {
  const { method, path, headers } = request;
  if (!headers['user-agent']) return error(403);
  if (![`Bearer ${fake.token}`, `token ${fake.token}`].includes(headers.authorization ?? ''))
    return error(401, 'Bad credentials');
  if (headers.accept !== 'application/vnd.github+json' || headers['x-github-api-version'] !== '2022-11-28')
    return error(400);
  const [, prefix = '', rest = ''] = path.match(/^(.*)\/secrets(\/.*)?$/) ?? [];
  const scope = fake.scopes.get(prefix);
  if (!scope) return error(404, 'Not Found');
  const isOrganisation = prefix.startsWith('/orgs/');
  const names = [...scope.secrets.keys()];
  const times = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' };
  if (method === 'GET' && rest === '')
    return page(
      'secrets',
      names.map((name) => ({
        name,
        ...times,
        ...(isOrganisation && { visibility: scope.secrets.get(name)?.visibility }),
      })),
      request,
      fake.url,
    );
  if (method === 'GET' && rest === '/public-key')
    return {
      status: 200,
      body: { key_id: scope.keyId, key: Buffer.from(scope.keys.publicKey).toString('base64') },
    };
  const [, given = '', repositories] = rest.match(/^\/([^/]+)(\/repositories)?$/) ?? [];
  const name = decodeURIComponent(given).toUpperCase();
  const secret = scope.secrets.get(name);
  if (method === 'PUT' && given && !repositories) return put(scope, name, request, isOrganisation);
  if (!secret) return error(404, 'Not Found');
  if (repositories)
    return method === 'GET' && secret.visibility === 'selected'
      ? page(
          'repositories',
          (secret.repositories ?? []).map((id) => ({ id, name: `repo-${id}` })),
          request,
          fake.url,
        )
      : error(409);
  if (method !== 'DELETE') return error(404);
  scope.secrets.delete(name);
  return { status: 204 };
}

export async function startGithubActions(): Promise<GithubActionsFake> {
  await sodium.ready;
  const fake = (await startFake((request) => answer(fake, request))) as GithubActionsFake;
  const scopes = new Map<string, GithubScope>();
  for (const prefix of [REPOSITORY, ENVIRONMENT, ORGANISATION])
    scopes.set(prefix, { ...newKeys(), secrets: new Map() });
  return Object.assign(fake, {
    token: 'github-token',
    scopes,
    rotate: (prefix: string) => void Object.assign(scopes.get(prefix) as GithubScope, newKeys()),
    value: (prefix: string, name: string) => scopes.get(prefix)?.secrets.get(name)?.value ?? null,
  });
}
