// The host that receives values on each platform, for people who decide whether they are sent there. A
// deployment's override of a platform's address (PLATFORM_BASE_URLS) replaces it.
import type { SyncPlatform } from '../platforms';
import { awsHost } from './aws';

type Config = Record<string, unknown>;

const hostIn = (field: string) => (config: Config) => new URL(String(config[field])).host;

const hosts: Record<SyncPlatform, string | ((config: Config) => string)> = {
  vercel: 'api.vercel.com',
  netlify: 'api.netlify.com',
  heroku: 'api.heroku.com',
  fly: 'api.machines.dev',
  render: 'api.render.com',
  railway: 'backboard.railway.com',
  'cloudflare-workers': 'api.cloudflare.com',
  'cloudflare-pages': 'api.cloudflare.com',
  'cloudflare-secrets-store': 'api.cloudflare.com',
  digitalocean: 'api.digitalocean.com',
  supabase: 'api.supabase.com',
  'github-actions': 'api.github.com',
  'gitlab-ci': ({ host }) => String(host),
  circleci: 'circleci.com',
  'bitbucket-pipelines': 'api.bitbucket.org',
  buildkite: 'api.buildkite.com',
  'hcp-terraform': 'app.terraform.io',
  'aws-secrets-manager': ({ region }) => awsHost('secretsmanager', String(region)),
  'aws-ssm': ({ region }) => awsHost('ssm', String(region)),
  'gcp-secret-manager': 'secretmanager.googleapis.com',
  'azure-key-vault': hostIn('vaultUrl'),
  kubernetes: hostIn('apiServer'),
};

/** The host of a platform, by a config without its credentials. */
export function hostOf(platform: string, config: Config, base: string | undefined): string {
  if (base !== undefined) return new URL(base).host;
  const host = hosts[platform as SyncPlatform];
  return typeof host === 'string' ? host : host(config);
}
