// Secrets of a Buildkite cluster, by https://buildkite.com/docs/apis/rest-api/clusters/secrets: values never
// come back, keys are fixed, and the value is changed at an address of its own. Pages are named by a `Link`
// header.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface BuildkiteSecret {
  id: string;
  key: string;
  value: string;
  description: string | null;
  policy: string | null;
}

export interface BuildkiteFake extends Fake {
  token: string;
  secrets: BuildkiteSecret[];
}

export const CLUSTER = '0198e45b-c0d5-4a0b-8e37-e140af750d2d';
const BASE = `/v2/organizations/demo/clusters/${CLUSTER}/secrets`;
const PAGE = 3;

let made = 0;
export const secret = (key: string, given: Partial<BuildkiteSecret> = {}): BuildkiteSecret => ({
  id: `9bf7650d-0000-4000-8000-${String(++made).padStart(12, '0')}`,
  key,
  value: 'theirs',
  description: null,
  policy: null,
  ...given,
});

const error = (status: number, message: string): FakeAnswer => ({ status, body: { message } });
const shown = ({ id, key, description, policy }: BuildkiteSecret) => ({
  id,
  key,
  description,
  policy,
  last_read_at: null,
});
const isValue = (value: unknown): boolean =>
  typeof value === 'string' && !/^\p{White_Space}*$/u.test(value) && Buffer.byteLength(value) < 8192;

function list({ secrets }: BuildkiteFake, { query }: FakeRequest): FakeAnswer {
  const page = Number(query.get('page') ?? 1);
  const given = Number(query.get('per_page') ?? 30);
  const size = Math.min(PAGE, given);
  const link = (to: number, rel: string) =>
    `<https://api.buildkite.com${BASE}?page=${to}&per_page=${given}>; rel="${rel}"`;
  const last = Math.max(1, Math.ceil(secrets.length / size));
  const links = [
    ...(page > 1 ? [link(1, 'first'), link(page - 1, 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
  ];
  const body = secrets.slice((page - 1) * size, page * size).map(shown);
  return { status: 200, ...(links.length && { headers: { Link: links.join(', ') } }), body };
}

function create({ secrets }: BuildkiteFake, { json }: FakeRequest): FakeAnswer {
  const { key, value, description = null, policy = null, ...rest } = json ?? {};
  if (Object.keys(rest).length) return error(400, 'made up');
  const isKey = typeof key === 'string' && /^[A-Za-z]\w{0,254}$/.test(key) && !/^(buildkite|bk)/i.test(key);
  if (!isKey || !isValue(value)) return error(422, 'Validation failed');
  if (secrets.some((one) => one.key === key))
    return error(422, 'Validation failed: Key has already been taken');
  const created = secret(key, { value, description, policy });
  secrets.push(created);
  return { status: 201, body: shown(created) };
}

function answer(fake: BuildkiteFake, request: FakeRequest): FakeAnswer {
  const { method, path, headers, json } = request;
  if (headers.authorization !== `Bearer ${fake.token}`) return error(401, 'Authentication required');
  if ((method === 'POST' || method === 'PUT') && !headers['content-type']?.startsWith('application/json'))
    return error(415, 'made up');
  if (path === BASE)
    return method === 'GET'
      ? list(fake, request)
      : method === 'POST'
        ? create(fake, request)
        : error(405, 'made up');
  const [, id, value] = path.match(/\/secrets\/([^/]+)(\/value)?$/) ?? [];
  const found = path.startsWith(`${BASE}/`) ? fake.secrets.find((one) => one.id === id) : undefined;
  if (!found) return error(404, 'No secret found');
  if (method === 'DELETE' && !value) {
    fake.secrets.splice(fake.secrets.indexOf(found), 1);
    return { status: 204 };
  }
  if (method !== 'PUT') return error(405, 'made up');
  if (!value) {
    if ('key' in json || 'value' in json)
      return error(422, 'The value parameter cannot be updated on this endpoint.');
    Object.assign(found, json);
  } else {
    if (Object.keys(json ?? {}).join() !== 'value' || !isValue(json.value))
      return error(422, 'Validation failed');
    found.value = json.value;
  }
  return { status: 200, body: shown(found) };
}

export async function startBuildkite(): Promise<BuildkiteFake> {
  const fake = (await startFake((request) => answer(fake, request))) as BuildkiteFake;
  return Object.assign(fake, { token: 'buildkite-token', secrets: [] });
}
