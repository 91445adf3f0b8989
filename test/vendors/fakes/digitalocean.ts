// DigitalOcean's App Platform, by https://docs.digitalocean.com/reference/api/reference/apps/: an app's spec
// is read and written whole. Secret values are encrypted when they come in, and shown as ciphertext; a
// ciphertext that comes back stays what it was.
import { type Fake, type FakeRequest, startFake } from './server.ts';

export interface Variable {
  key: string;
  value?: string;
  scope?: string;
  type?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: a spec is looked into field by field.
type Spec = any;

export interface DigitaloceanFake extends Fake {
  token: string;
  appId: string;
  spec: Spec;
  /** What stands behind a ciphertext. */
  plain: Map<string, string>;
  deployments: number;
  /** The value that a running component sees. */
  value(key: string, component?: string): string | undefined;
}

const error = (status: number, id: string) => ({
  status,
  body: { id, message: `made up: ${id}`, request_id: 'x' },
});
const KINDS = ['services', 'workers', 'jobs', 'static_sites', 'functions'];
const SCOPES = ['UNSET', 'RUN_TIME', 'BUILD_TIME', 'RUN_AND_BUILD_TIME'];

export async function startDigitalocean(): Promise<DigitaloceanFake> {
  const fake = (await startFake((request) => {
    if (request.headers.authorization !== `Bearer ${fake.token}`) return error(401, 'Unauthorized');
    if (request.path !== `/v2/apps/${fake.appId}`) return error(404, 'not_found');
    if (request.method === 'GET')
      return { status: 200, body: { app: { id: fake.appId, spec: fake.spec, updated_at: 'x' } } };
    return request.method === 'PUT' ? write(fake, request) : error(405, 'method_not_allowed');
  })) as DigitaloceanFake;
  const spec = {
    name: 'demo',
    region: 'ams',
    services: [{ name: 'web', instance_count: 2, http_port: 8080 }],
    workers: [{ name: 'queue' }],
  };
  const value = (key: string, component?: string) => {
    const holder =
      component === undefined ? fake.spec : componentsOf(fake.spec).find(({ name }) => name === component);
    const found = holder?.envs?.find((each: Variable) => each.key === key);
    return found?.type === 'SECRET' ? fake.plain.get(found.value) : found?.value;
  };
  return Object.assign(fake, {
    token: 'digitalocean-token',
    appId: 'app-1',
    spec,
    plain: new Map(),
    deployments: 0,
    value,
  });
}

const componentsOf = (spec: Spec): Spec[] => KINDS.flatMap((kind) => spec[kind] ?? []);

function write(fake: DigitaloceanFake, { headers, json }: FakeRequest) {
  const spec = json?.spec;
  if (
    !headers['content-type']?.startsWith('application/json') ||
    typeof spec !== 'object' ||
    spec === null ||
    Object.keys(json).length !== 1
  )
    return error(400, 'bad_request');
  if (typeof spec.name !== 'string' || componentsOf(spec).some(({ name }) => typeof name !== 'string'))
    return error(400, 'bad_request');
  for (const holder of [spec, ...componentsOf(spec)]) {
    for (const each of holder.envs ?? []) {
      const { key, value, scope = 'RUN_AND_BUILD_TIME', type = 'GENERAL', ...rest } = each;
      if (!/^[_A-Za-z][_A-Za-z0-9]*$/.test(key) || typeof value !== 'string' || Object.keys(rest).length)
        return error(400, 'bad_request');
      if (!SCOPES.includes(scope) || !['GENERAL', 'SECRET'].includes(type)) return error(400, 'bad_request');
      if (value.startsWith('EV[') && (type !== 'SECRET' || !fake.plain.has(value)))
        return error(400, 'bad_request');
    }
    const keys = (holder.envs ?? []).map(({ key }: Variable) => key);
    if (new Set(keys).size !== keys.length) return error(400, 'bad_request');
  }
  for (const holder of [spec, ...componentsOf(spec)]) {
    for (const each of holder.envs ?? []) {
      if (each.type !== 'SECRET' || each.value.startsWith('EV[')) continue;
      const sealed = `EV[1:${fake.plain.size}:made-up]`;
      fake.plain.set(sealed, each.value);
      each.value = sealed;
    }
  }
  fake.spec = spec;
  fake.deployments++;
  return { status: 200, body: { app: { id: fake.appId, spec } } };
}
