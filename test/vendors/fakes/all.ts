// A server for each platform that secrets are written to, with a config that it takes: for tests and benches
// of the whole service.
import { startAwsSecretsManager } from './aws-secrets-manager.ts';
import { startAwsSsm } from './aws-ssm.ts';
import { startAzureKeyVault } from './azure-key-vault.ts';
import { startBitbucketPipelines } from './bitbucket-pipelines.ts';
import { CLUSTER, startBuildkite } from './buildkite.ts';
import { startCircleci } from './circleci.ts';
import { startCloudflarePages } from './cloudflare-pages.ts';
import { startCloudflareSecretsStore } from './cloudflare-secrets-store.ts';
import { startCloudflareWorkers } from './cloudflare-workers.ts';
import { startDigitalocean } from './digitalocean.ts';
import { startFly } from './fly.ts';
import { startGcpSecretManager } from './gcp-secret-manager.ts';
import { startGithubActions } from './github-actions.ts';
import { startGitlabCi } from './gitlab-ci.ts';
import { startHcpTerraform } from './hcp-terraform.ts';
import { startHeroku } from './heroku.ts';
import { startKubernetes } from './kubernetes.ts';
import { startNetlify } from './netlify.ts';
import { startRailway } from './railway.ts';
import { startRender } from './render.ts';
import type { Fake } from './server.ts';
import { startSupabase } from './supabase.ts';
import { startVercel } from './vercel.ts';

const aws = {
  accessKeyId: 'AKIDMADEUP0000000000',
  secretAccessKey: 'made/up+secret/access+key',
  region: 'eu-west-1',
};
const cloudflare = { token: 'cloudflare-token', accountId: '0123456789abcdef0123456789abcdef' };

export interface Platform {
  start(): Promise<Fake>;
  config: Record<string, unknown> | ((fake: Fake) => Record<string, unknown>);
}

export const platforms: Record<string, Platform> = {
  vercel: { start: startVercel, config: { token: 'vercel-token', projectId: 'prj_1' } },
  netlify: {
    start: startNetlify,
    config: { token: 'netlify-token', accountId: 'demo-team', siteId: 'site-1' },
  },
  heroku: { start: startHeroku, config: { token: 'heroku-token', appName: 'demo-app' } },
  fly: { start: startFly, config: { token: 'fly-token', appName: 'demo-app' } },
  render: { start: startRender, config: { token: 'render-token', serviceId: 'srv-1' } },
  railway: {
    start: startRailway,
    config: { token: 'account-token', projectId: 'project-1', environmentId: 'environment-1' },
  },
  'cloudflare-workers': {
    start: startCloudflareWorkers,
    config: { ...cloudflare, scriptName: 'demo-worker' },
  },
  'cloudflare-pages': { start: startCloudflarePages, config: { ...cloudflare, projectName: 'demo-site' } },
  'cloudflare-secrets-store': {
    start: startCloudflareSecretsStore,
    config: { ...cloudflare, storeId: 'fedcba9876543210fedcba9876543210' },
  },
  digitalocean: { start: startDigitalocean, config: { token: 'digitalocean-token', appId: 'app-1' } },
  supabase: { start: startSupabase, config: { token: 'supabase-token', projectRef: 'abcdefghijklmnopqrst' } },
  'github-actions': {
    start: startGithubActions,
    config: { token: 'github-token', owner: 'demo', repo: 'app' },
  },
  'gitlab-ci': { start: startGitlabCi, config: { token: 'glpat-made-up', projectId: 'demo/app' } },
  circleci: { start: startCircleci, config: { token: 'circleci-token', projectSlug: 'gh/demo/app' } },
  'bitbucket-pipelines': {
    start: startBitbucketPipelines,
    config: { apiToken: 'bitbucket-token', workspace: 'demo', repo: 'app' },
  },
  buildkite: { start: startBuildkite, config: { token: 'buildkite-token', org: 'demo', clusterId: CLUSTER } },
  'hcp-terraform': { start: startHcpTerraform, config: { token: 'terraform-token', workspaceId: 'ws-demo' } },
  'aws-secrets-manager': { start: startAwsSecretsManager, config: { ...aws, prefix: 'app/' } },
  'aws-ssm': { start: startAwsSsm, config: { ...aws, pathPrefix: '/production/api' } },
  'gcp-secret-manager': {
    start: startGcpSecretManager,
    config: (fake) => ({ serviceAccountJson: (fake as unknown as { key: unknown }).key }),
  },
  'azure-key-vault': {
    start: startAzureKeyVault,
    config: {
      tenantId: 'made-up-tenant',
      clientId: 'made-up-client',
      clientSecret: 'made-up~client/secret',
      vaultUrl: 'https://demo.vault.azure.net',
    },
  },
  kubernetes: {
    start: startKubernetes,
    config: {
      apiServer: 'https://cluster.example',
      token: 'made.up.service-account-token',
      namespace: 'demo',
      secretName: 'app-secrets',
    },
  },
};

/** The config that a server takes. */
export const configOf = ({ config }: Platform, fake: Fake): Record<string, unknown> =>
  typeof config === 'function' ? config(fake) : config;
