// The platforms that secrets are written to, as GET /integrations/platforms shows them: their fields, which
// of them are credentials, and where they may lead.
import { afterEach, expect, it, vi } from 'vitest';
import { type SyncPlatform, syncPlatforms } from '../../../src/adapters/platforms';
import { faults } from '../../support/faults';
import { type Targets, useTargets } from '../../support/integrations/syncs';
import { slow } from '../../support/slow';
import { codeOf, newOrg, useWorld } from '../../support/world';
import { hostileTargets } from '../../unit/delivery/targets';

useWorld();
afterEach(() => {
  vi.unstubAllGlobals();
  faults.variables = {};
});

/**
 * Of each platform: the fields that are required, those of which exactly one group is given, and those that
 * may be absent.
 */
const fields: Record<SyncPlatform, { required: string; oneOf?: string[]; optional?: string }> = {
  vercel: { required: 'token projectId', optional: 'teamId targets type' },
  netlify: { required: 'token accountId siteId', optional: 'contexts scopes' },
  heroku: { required: 'token appName' },
  fly: { required: 'token appName' },
  render: { required: 'token', oneOf: ['serviceId', 'envGroupId'] },
  railway: { required: 'token projectId environmentId', optional: 'serviceId tokenType' },
  'cloudflare-workers': { required: 'token accountId scriptName' },
  'cloudflare-pages': { required: 'token accountId projectName', optional: 'environment' },
  'cloudflare-secrets-store': { required: 'token accountId storeId', optional: 'scopes' },
  digitalocean: { required: 'token appId', optional: 'component scope' },
  supabase: { required: 'token projectRef' },
  'github-actions': {
    required: 'token',
    oneOf: ['owner repo', 'org'],
    optional: 'environment visibility selectedRepositoryIds',
  },
  'gitlab-ci': { required: 'token', oneOf: ['projectId', 'groupId'], optional: 'host scope protected' },
  circleci: { required: 'token projectSlug' },
  'bitbucket-pipelines': { required: 'apiToken workspace repo', optional: 'email environment' },
  buildkite: { required: 'token org clusterId' },
  'hcp-terraform': { required: 'token', oneOf: ['workspaceId', 'varsetId'], optional: 'category' },
  'aws-secrets-manager': {
    required: 'accessKeyId secretAccessKey region',
    oneOf: ['secretName', 'prefix'],
    optional: 'sessionToken',
  },
  'aws-ssm': { required: 'accessKeyId secretAccessKey region pathPrefix', optional: 'sessionToken' },
  'gcp-secret-manager': { required: 'serviceAccountJson', optional: 'projectId' },
  'azure-key-vault': { required: 'tenantId clientId clientSecret vaultUrl' },
  kubernetes: { required: 'apiServer token namespace secretName' },
};
const CREDENTIALS = [
  'token',
  'apiToken',
  'secretAccessKey',
  'sessionToken',
  'clientSecret',
  'serviceAccountJson',
];

const split = (text = '') => text.split(' ').filter((name) => name !== '');

it.each(syncPlatforms)('sync: %s shows the schema of its config, its credentials writeOnly', async (name) => {
  const o = await newOrg();
  const { json } = await o.get('/integrations/platforms');
  const { kind, configSchema } = json.data.find(({ platform }: { platform: string }) => platform === name);
  const { required, oneOf = [], optional } = fields[name];
  expect([kind, configSchema.type, configSchema.additionalProperties]).toEqual(['sync', 'object', false]);
  expect(configSchema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
  expect([...configSchema.required].sort()).toEqual(split(required).sort());
  expect((configSchema.oneOf ?? []).map((group: { required: string[] }) => group.required.join(' '))).toEqual(
    oneOf,
  );
  const all = [...split(required), ...oneOf.flatMap(split), ...split(optional)];
  expect(Object.keys(configSchema.properties).sort()).toEqual(all.sort());
  const hidden = Object.entries(configSchema.properties as Record<string, { writeOnly?: boolean }>).filter(
    ([, field]) => field.writeOnly,
  );
  expect(hidden.map(([field]) => field).sort()).toEqual(
    all.filter((field) => CREDENTIALS.includes(field)).sort(),
  );
});

const KEY = {
  project_id: 'demo',
  client_email: 'sync@demo.iam.gserviceaccount.com',
  private_key: '-----BEGIN PRIVATE KEY-----',
};

/** The configs in which a user chooses a host. */
const led = (url: string): [string, Record<string, unknown>][] => [
  ['kubernetes', { apiServer: url, token: 'x', namespace: 'default', secretName: 'app' }],
  ['azure-key-vault', { tenantId: 'x', clientId: 'x', clientSecret: 'x', vaultUrl: url }],
  ['gitlab-ci', { token: 'x', projectId: 1, host: url.replace(/^https?:\/\//, '') }],
  ['gcp-secret-manager', { serviceAccountJson: { ...KEY, token_uri: url } }],
];

slow(
  'sync: no config leads to an address that is not public, and nothing is called',
  {
    timeout: 120_000,
  },
  async () => {
    const targets: Targets = useTargets();
    const o = await newOrg();
    for (const url of hostileTargets)
      for (const [platform, config] of led(url))
        for (const body of [
          { platform, config, environmentId: 'production' },
          { platform, config, environmentId: 'production', dryRun: true },
        ]) {
          const answer = await o.post('/integrations/sync', body);
          expect([platform, url, ...codeOf(answer)]).toEqual([platform, url, 400, 'VALIDATION_FAILED']);
          if (url.length > 8) expect(answer.text).not.toContain(url);
        }
    expect(targets.calls).toEqual([]);
    expect((await o.get('/integrations/syncs')).json.data).toEqual([]);
  },
);

it('sync: a host that no URL can have is refused, also where PLATFORM_BASE_URLS replaces it', async () => {
  const o = await newOrg();
  for (const base of [undefined, 'https://gitlab.example.com']) {
    faults.variables =
      base === undefined ? {} : { PLATFORM_BASE_URLS: JSON.stringify({ 'gitlab-ci': base }) };
    for (const host of [
      '1.2.3.4.5',
      '256.1.1.1',
      'gitlab.com:99999',
      '[::1',
      '[1:2]',
      'xn--0',
      '0x1ffffffff',
    ])
      for (const [path, body] of [
        ['/integrations/sync', { environmentId: 'production' }],
        ['/integrations/sync', { environmentId: 'production', dryRun: true }],
        ['/integrations', { kind: 'sync', name: 'GitLab' }],
      ] as const) {
        const answer = await o.post(path, {
          ...body,
          platform: 'gitlab-ci',
          config: { token: 'x', projectId: 1, host },
        });
        expect([host, ...codeOf(answer)]).toEqual([host, 400, 'VALIDATION_FAILED']);
        expect(answer.json.error.details[0].path).toBe('config.host');
      }
  }
});

it('sync: port 6443 is allowed only for a Kubernetes API server', async () => {
  const targets: Targets = useTargets();
  const o = await newOrg();
  const asked = async (url: string) => {
    const answers = await Promise.all(
      led(url).map(([platform, config]) =>
        o.post('/integrations', { kind: 'sync', platform, name: platform, config }),
      ),
    );
    return answers.map(({ status }) => status);
  };
  expect(await asked('https://cluster.example.com:6443')).toEqual([201, 400, 400, 400]);
  expect(await asked('https://cluster.example.com:6379')).toEqual([400, 400, 400, 400]);
  expect(await asked('https://10.0.0.1:6443')).toEqual([400, 400, 400, 400]);
  expect(targets.calls).toEqual([]);
});
