// Vercel's project environment variables, by https://vercel.com/docs/rest-api: a variable is its key, targets
// and Git branch; one call creates many and answers 201 even where it refuses some; sensitive values are
// never shown.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface Env {
  id: string;
  key: string;
  value: string;
  type: string;
  target: string[];
  gitBranch?: string;
  customEnvironmentIds?: string[];
  comment?: string;
}

export interface VercelFake extends Fake {
  token: string;
  project: string;
  team: string | null;
  envs: Env[];
  page: number;
  /** Adds a variable, as somebody else would. */
  add(env: Partial<Env> & { key: string; value: string; target: string[] }): Env;
  /** What a deployment of a target sees. */
  value(key: string, target?: string): string | undefined;
}

const error = (status: number, code: string) => ({
  status,
  body: { error: { code, message: `made up: ${code}` } },
});
const TARGETS = ['production', 'preview', 'development'];
const same = (a: string[], b: string[]) => [...a].sort().join() === [...b].sort().join();
const meets = (a: string[], b: string[]) => a.some((one) => b.includes(one));

export async function startVercel(): Promise<VercelFake> {
  let ids = 0;
  const fake = (await startFake((request) => {
    const { method, headers, query } = request;
    if (headers.authorization !== `Bearer ${fake.token}`) return error(403, 'forbidden');
    if (query.get('teamId') !== fake.team)
      return error(query.has('teamId') ? 403 : 404, query.has('teamId') ? 'forbidden' : 'not_found');
    const [, version, projects, project, env, id, ...more] = request.path.split('/').map(decodeURIComponent);
    if (projects !== 'projects' || project !== fake.project || env !== 'env' || more.length)
      return error(404, 'not_found');
    if (id === undefined && method === 'GET' && (version === 'v10' || version === 'v9'))
      return pageOf(request, fake);
    if (id === undefined && method === 'POST' && version === 'v10') return create(request, fake);
    if (id === undefined && method === 'DELETE' && version === 'v1') return removeMany(request, fake);
    const found = fake.envs.find((each) => each.id === id);
    if (id === undefined || !found || version !== 'v9') return error(404, 'ENV_NOT_FOUND');
    if (method === 'PATCH') return edit(request, fake, found);
    if (method !== 'DELETE') return error(405, 'method_not_allowed');
    fake.envs = fake.envs.filter((each) => each !== found);
    return { status: 200, body: shown(found) };
  })) as VercelFake;
  return Object.assign(fake, {
    token: 'vercel-token',
    project: 'prj_1',
    team: null,
    envs: [] as Env[],
    page: 3,
    add(env: Partial<Env> & { key: string; value: string; target: string[] }) {
      const added = { type: 'encrypted', ...env, id: `env_${++ids}` };
      fake.envs.push(added);
      return added;
    },
    value(key: string, target = 'production') {
      return fake.envs.find((env) => env.key === key && env.target.includes(target) && !env.gitBranch)?.value;
    },
  });
}

/** Encrypted values are shown as what they are stored as; one target is shown as a text. */
const shown = (env: Env) => ({
  ...env,
  value:
    env.type === 'plain'
      ? env.value
      : env.type === 'sensitive'
        ? ''
        : Buffer.from(`sealed ${env.value}`).toString('base64'),
  target: env.target.length === 1 ? env.target[0] : env.target,
  decrypted: false,
  securityIssues: [],
  createdAt: 1,
  updatedAt: 1,
});

function pageOf({ query }: FakeRequest, fake: VercelFake): FakeAnswer {
  const from = Number(query.get('until') ?? 0);
  const next = from + fake.page < fake.envs.length ? from + fake.page : null;
  const envs = fake.envs.slice(from, from + fake.page).map(shown);
  return { status: 200, body: { envs, pagination: { count: envs.length, next, prev: null } } };
}

const isJson = ({ headers }: FakeRequest) => headers['content-type']?.startsWith('application/json');

function create(request: FakeRequest, fake: VercelFake): FakeAnswer {
  if (!isJson(request)) return error(400, 'bad_request');
  const isUpsert = request.query.get('upsert') === 'true';
  const created: unknown[] = [];
  const failed: unknown[] = [];
  for (const env of Array.isArray(request.json) ? request.json : [request.json]) {
    const code = problemOf(env) ?? store(env, fake, isUpsert, created);
    // The vendor echoes what it was sent.
    if (code)
      failed.push({
        error: {
          code,
          message: `made up: ${code}`,
          key: env?.key,
          envVarKey: env?.key,
          target: env?.target,
          value: env?.value,
        },
      });
  }
  return { status: 201, body: { created: created.length === 1 ? created[0] : created, failed } };
}

function problemOf(env: Partial<Env>): string | null {
  const { key, value, type, target, customEnvironmentIds = [], comment, gitBranch, ...rest } = env;
  if (typeof key !== 'string' || !/^[A-Za-z_]\w{0,255}$/.test(key)) return 'INVALID_KEY';
  if (typeof value !== 'string' || value.length > 65_536 || Object.keys(rest).length) return 'BAD_REQUEST';
  if (!['plain', 'encrypted', 'sensitive'].includes(type as string)) return 'BAD_REQUEST';
  if (!Array.isArray(target) || (!target.length && !customEnvironmentIds.length)) return 'BAD_REQUEST';
  if (!target.every((one) => TARGETS.includes(one))) return 'BAD_REQUEST';
  if (type === 'sensitive' && target.includes('development')) return 'BAD_REQUEST';
  return gitBranch !== undefined && !same(target, ['preview']) ? 'BAD_REQUEST' : null;
}

function store(env: Env, fake: VercelFake, isUpsert: boolean, created: unknown[]): string | null {
  const others = fake.envs.filter(({ key, gitBranch }) => key === env.key && gitBranch === env.gitBranch);
  const equal = others.find(
    (other) =>
      same(other.target, env.target) &&
      same(other.customEnvironmentIds ?? [], env.customEnvironmentIds ?? []),
  );
  if (equal && !isUpsert) return 'ENV_ALREADY_EXISTS';
  if (!equal && others.some((other) => meets(other.target, env.target))) return 'ENV_CONFLICT';
  if (equal?.type === 'sensitive' && env.type !== 'sensitive') return 'BAD_REQUEST';
  if (equal) {
    delete equal.comment;
    created.push(shown(Object.assign(equal, env)));
  } else created.push(shown(fake.add(env)));
  return null;
}

function edit(request: FakeRequest, fake: VercelFake, found: Env): FakeAnswer {
  const { json } = request;
  if (!isJson(request) || typeof json !== 'object' || json === null) return error(400, 'bad_request');
  if (found.type === 'sensitive' && 'key' in json) return error(400, 'bad_request');
  const next = { ...found, ...json };
  const { id: _, ...rest } = next;
  if (problemOf(rest)) return error(400, 'bad_request');
  const others = fake.envs.filter(
    (each) => each !== found && each.key === next.key && each.gitBranch === next.gitBranch,
  );
  if (others.some((other) => meets(other.target, next.target))) return error(409, 'ENV_CONFLICT');
  return { status: 200, body: shown(Object.assign(found, json)) };
}

function removeMany(request: FakeRequest, fake: VercelFake): FakeAnswer {
  const ids = request.json?.ids;
  if (!isJson(request) || !Array.isArray(ids) || !ids.length) return error(400, 'bad_request');
  // Nothing is deleted where one is not there.
  if (ids.some((id) => !fake.envs.some((env) => env.id === id))) return error(404, 'ENV_NOT_FOUND');
  fake.envs = fake.envs.filter((env) => !ids.includes(env.id));
  return { status: 200, body: { deleted: ids.length, ids } };
}
