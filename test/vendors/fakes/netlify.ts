// Netlify's environment variables, by https://open-api.netlify.com/#tag/environmentVariables: one value for
// each deploy context; secret values are shown for local development alone. Without site_id they are the
// team's.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface Value {
  id: string;
  context: string;
  context_parameter?: string;
  value: string;
}

export interface Variable {
  key: string;
  scopes: string[];
  is_secret: boolean;
  values: Value[];
}

export interface NetlifyFake extends Fake {
  token: string;
  account: string;
  site: string;
  vars: Map<string, Variable>;
  team: Map<string, Variable>;
  /** Adds a value, as somebody else would. */
  add(key: string, contexts: Record<string, string>, more?: Partial<Variable>): void;
  /** What code in a deploy context sees. */
  value(key: string, context?: string): string | undefined;
}

const error = (status: number) => ({ status, body: { code: status, message: 'made up' } });
const CONTEXTS = ['all', 'dev', 'dev-server', 'branch-deploy', 'deploy-preview', 'production', 'branch'];
const SCOPES = ['builds', 'functions', 'runtime', 'post-processing'];

export async function startNetlify(): Promise<NetlifyFake> {
  let ids = 0;
  const idOf = () => `value-${++ids}`;
  const fake = (await startFake((request) => {
    if (request.headers.authorization !== `Bearer ${fake.token}`) return error(401);
    const [, api, v1, accounts, account, env, ...rest] = request.path.split('/').map(decodeURIComponent);
    if (`${api}/${v1}/${accounts}/${env}` !== 'api/v1/accounts/env' || account !== fake.account)
      return error(404);
    const site = request.query.get('site_id');
    if (site !== null && site !== fake.site) return error(404);
    const vars = site === null ? fake.team : fake.vars;
    if (!rest.length)
      return request.method === 'GET'
        ? { status: 200, body: [...vars.values()].map(shown) }
        : create(request, vars, idOf);
    const found = vars.get(rest[0] as string);
    if (!found) return error(404);
    return rest[1] === 'value' ? removeValue(request, vars, found, rest[2]) : one(request, vars, found, idOf);
  })) as NetlifyFake;
  return Object.assign(fake, {
    token: 'netlify-token',
    account: 'demo-team',
    site: 'site-1',
    vars: new Map<string, Variable>(),
    team: new Map<string, Variable>(),
    add(key: string, contexts: Record<string, string>, more: Partial<Variable> = {}) {
      const values = Object.entries(contexts).map(([context, value]) => ({ id: idOf(), context, value }));
      fake.vars.set(key, { key, scopes: SCOPES, is_secret: false, values, ...more });
    },
    value(key: string, context = 'production') {
      const values = fake.vars.get(key)?.values ?? [];
      return (
        values.find((each) => each.context === context) ?? values.find((each) => each.context === 'all')
      )?.value;
    },
  });
}

const shown = (variable: Variable) => ({
  ...variable,
  values: variable.values.map((each) => ({
    ...each,
    value: variable.is_secret && each.context !== 'dev' ? '********************' : each.value,
  })),
});

const isValue = ({ context, context_parameter, value }: Partial<Value>) =>
  CONTEXTS.includes(context as string) &&
  typeof value === 'string' &&
  (context === 'branch') === (context_parameter !== undefined);

function create(
  { method, headers, json }: FakeRequest,
  vars: Map<string, Variable>,
  idOf: () => string,
): FakeAnswer {
  if (method !== 'POST') return error(405);
  if (!headers['content-type']?.startsWith('application/json') || !Array.isArray(json) || !json.length)
    return error(422);
  for (const { key, scopes, values, is_secret, ...rest } of json) {
    if (
      !/^[A-Za-z_]\w*$/.test(key) ||
      Object.keys(rest).length ||
      !Array.isArray(values) ||
      !values.every(isValue)
    )
      return error(422);
    if (
      scopes !== undefined &&
      !(Array.isArray(scopes) && scopes.length && scopes.every((scope) => SCOPES.includes(scope)))
    )
      return error(422);
    if (is_secret && (values.some(({ context }) => context === 'all') || scopes?.includes('post-processing')))
      return error(422);
    // A key exists once: the whole call is refused.
    if (vars.has(key)) return error(409);
  }
  for (const { key, scopes, values, is_secret = false } of json) {
    const all = is_secret ? SCOPES.slice(0, 3) : SCOPES;
    vars.set(key, {
      key,
      scopes: scopes ?? all,
      is_secret,
      values: values.map((each: Value) => ({ ...each, id: idOf() })),
    });
  }
  return { status: 201, body: json.map(({ key }) => shown(vars.get(key) as Variable)) };
}

function one(
  { method, headers, json }: FakeRequest,
  vars: Map<string, Variable>,
  found: Variable,
  idOf: () => string,
): FakeAnswer {
  if (method === 'GET') return { status: 200, body: shown(found) };
  if (method === 'DELETE') {
    vars.delete(found.key);
    return { status: 204 };
  }
  if (!headers['content-type']?.startsWith('application/json')) return error(422);
  if (method === 'PUT') {
    if (!Array.isArray(json?.values) || !json.values.every(isValue)) return error(422);
    Object.assign(found, { ...json, values: json.values.map((each: Value) => ({ ...each, id: idOf() })) });
    return { status: 200, body: shown(found) };
  }
  if (method !== 'PATCH') return error(405);
  if (
    !isValue(json ?? {}) ||
    Object.keys(json).some((field) => !['context', 'context_parameter', 'value'].includes(field))
  )
    return error(422);
  if (found.is_secret && json.context === 'all') return error(422);
  const at = found.values.find(
    ({ context, context_parameter }) =>
      context === json.context && context_parameter === json.context_parameter,
  );
  if (at) at.value = json.value;
  else found.values.push({ ...json, id: idOf() });
  return { status: 201, body: shown(found) };
}

function removeValue(
  { method }: FakeRequest,
  vars: Map<string, Variable>,
  found: Variable,
  id: string | undefined,
): FakeAnswer {
  if (method !== 'DELETE') return error(405);
  if (!found.values.some((each) => each.id === id)) return error(404);
  found.values = found.values.filter((each) => each.id !== id);
  vars.set(found.key, found);
  return { status: 204 };
}
