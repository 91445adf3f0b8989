// Render's environment variables, by https://api-docs.render.com/reference: of a service in wrapped pages, of
// a group inside the group.
import { type Fake, type FakeRequest, startFake } from './server.ts';

export interface RenderFake extends Fake {
  token: string;
  services: Record<string, Record<string, string>>;
  groups: Record<string, Record<string, string>>;
  page: number;
}

const error = (status: number) => ({ status, body: { id: 'req-made-up', message: 'made up' } });

export async function startRender(): Promise<RenderFake> {
  const fake = (await startFake((request) => {
    if (request.headers.authorization !== `Bearer ${fake.token}`) return error(401);
    const [, version, kind, id, part, key, ...more] = request.path.split('/').map(decodeURIComponent);
    const vars = (kind === 'services' ? fake.services : kind === 'env-groups' ? fake.groups : {})[id ?? ''];
    if (version !== 'v1' || !vars || more.length) return error(404);
    if (part === undefined)
      return kind === 'env-groups' && request.method === 'GET' ? group(id as string, vars) : error(404);
    if (part !== 'env-vars') return error(404);
    if (key !== undefined)
      return one(request, vars, key, kind === 'env-groups' ? group(id as string, vars) : null);
    if (kind === 'env-groups') return error(404);
    return request.method === 'GET' ? pageOf(request, vars, fake.page) : all(request, vars);
  })) as RenderFake;
  const services = { 'srv-1': {} };
  return Object.assign(fake, { token: 'render-token', services, groups: { 'evg-1': {} }, page: 3 });
}

const listOf = (vars: Record<string, string>) => Object.entries(vars).map(([key, value]) => ({ key, value }));

const group = (id: string, vars: Record<string, string>) => ({
  status: 200,
  body: {
    id,
    name: 'demo',
    ownerId: 'tea-1',
    createdAt: 'x',
    updatedAt: 'x',
    serviceLinks: [],
    secretFiles: [],
    envVars: listOf(vars),
  },
});

function pageOf({ query }: FakeRequest, vars: Record<string, string>, most: number) {
  const limit = Number(query.get('limit') ?? 20);
  if (!(limit >= 1 && limit <= 100)) return error(400);
  const from = Number((query.get('cursor') ?? 'c0').slice(1));
  const page = listOf(vars).slice(from, from + Math.min(limit, most));
  return { status: 200, body: page.map((envVar, i) => ({ cursor: `c${from + i + 1}`, envVar })) };
}

/** The dangerous one: what is not in the list is deleted. */
function all({ method, json }: FakeRequest, vars: Record<string, string>) {
  if (method !== 'PUT' || !Array.isArray(json)) return error(405);
  for (const key of Object.keys(vars)) delete vars[key];
  for (const { key, value } of json) vars[key] = value;
  return { status: 200, body: listOf(vars) };
}

function one(
  { method, headers, json }: FakeRequest,
  vars: Record<string, string>,
  key: string,
  whole: ReturnType<typeof group> | null,
) {
  if (method === 'DELETE') {
    if (!(key in vars)) return error(404);
    delete vars[key];
    return { status: 204 };
  }
  if (method !== 'PUT') return error(405);
  if (!headers['content-type']?.startsWith('application/json')) return error(400);
  if (!/^[A-Za-z_][\w.-]*$/.test(key) || typeof json?.value !== 'string' || Object.keys(json).length !== 1)
    return error(400);
  vars[key] = json.value;
  return whole
    ? { ...whole, body: { ...whole.body, envVars: listOf(vars) } }
    : { status: 200, body: { key, value: json.value } };
}
