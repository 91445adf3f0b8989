// A Pages project, by https://developers.cloudflare.com/api/resources/pages/subresources/projects/: secrets
// are blank when read; a PATCH merges variables, and replaces each other setting that it has.
import { ok, refused, unauthorized } from './cloudflare.ts';
import { type Fake, startFake } from './server.ts';

interface Variable {
  type: 'plain_text' | 'secret_text';
  value: string;
}

type Config = Record<string, unknown> & { env_vars: Record<string, Variable> | null };

export interface CloudflarePagesFake extends Fake {
  token: string;
  account: string;
  project: string;
  configs: { production: Config; preview: Config };
}

const shown = (config: Config) => ({
  ...config,
  env_vars:
    config.env_vars &&
    Object.fromEntries(
      Object.entries(config.env_vars).map(([name, { type, value }]) => [
        name,
        { type, value: type === 'secret_text' ? '' : value },
      ]),
    ),
});

const isVariable = (name: string, variable: unknown): boolean => {
  if (variable === null) return true;
  const { type, value, ...rest } = variable as Record<string, unknown>;
  const isKnown = type === 'plain_text' || type === 'secret_text';
  return isKnown && typeof value === 'string' && !Object.keys(rest).length && /^[A-Za-z_]\w*$/.test(name);
};

export async function startCloudflarePages(): Promise<CloudflarePagesFake> {
  const fake = (await startFake((request) => {
    const { method, path, headers, json } = request;
    const denied = unauthorized(request, fake.token);
    if (denied) return denied;
    if (path !== `/client/v4/accounts/${fake.account}/pages/projects/${fake.project}`)
      return refused(404, 8000007);
    const project = () => {
      const { production, preview } = fake.configs;
      return ok({
        name: fake.project,
        deployment_configs: { production: shown(production), preview: shown(preview) },
      });
    };
    if (method === 'GET') return project();
    if (method !== 'PATCH') return refused(405, 10405);
    if (
      !headers['content-type']?.startsWith('application/json') ||
      typeof json?.deployment_configs !== 'object'
    )
      return refused(400, 8000000);
    for (const [environment, patch] of Object.entries(json.deployment_configs as Record<string, Config>)) {
      if (environment !== 'production' && environment !== 'preview') return refused(400, 8000000);
      const { env_vars, ...rest } = patch;
      const config = fake.configs[environment];
      if (!Object.entries(env_vars ?? {}).every(([name, variable]) => isVariable(name, variable)))
        return refused(400, 8000031);
      const merged = Object.entries({ ...config.env_vars, ...env_vars }).filter(
        ([, variable]) => variable !== null,
      );
      fake.configs[environment] = { ...config, ...rest, env_vars: Object.fromEntries(merged) };
    }
    return project();
  })) as CloudflarePagesFake;
  return Object.assign(fake, {
    token: 'cloudflare-token',
    account: '0123456789abcdef0123456789abcdef',
    project: 'demo-site',
    configs: {
      production: {
        compatibility_date: '2026-01-01',
        kv_namespaces: { KV: { namespace_id: 'made-up' } },
        env_vars: null,
      },
      preview: { compatibility_date: '2026-02-02', env_vars: {} },
    },
  });
}
