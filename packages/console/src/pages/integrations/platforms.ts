// Descriptions of the platforms: name, what is written, and the narrowest sufficient credential. The list of
// platforms and their fields comes from the service (GET /integrations/platforms): a platform that is missing
// here is shown by its id.
import type { components } from '@secrets-vault/client';
import '../../styles/integrations.css';
import { here, useRead, vault } from '../../requests/api';

export type Platform = components['schemas']['Platform'];
export type Kind = Platform['kind'];
export type Integration = components['schemas']['Integration'];

interface Known {
  name: string;
  /** What is written or sent. */
  what: string;
  /** How to get a credential with only the necessary permissions. */
  advice?: string;
}

const known: Record<string, Known> = {
  vercel: {
    name: 'Vercel',
    what: 'Environment variables of a project',
    advice: 'Create an access token whose scope is the team that owns the project, with an expiry.',
  },
  netlify: {
    name: 'Netlify',
    what: 'Environment variables of a site',
    advice: 'Create a personal access token with an expiry, of a user that belongs only to this team.',
  },
  heroku: {
    name: 'Heroku',
    what: 'Config vars of an app',
    advice:
      'Create a token only for config vars: heroku authorizations:create --scope read-protected,write-protected',
  },
  fly: {
    name: 'Fly.io',
    what: 'Secrets of an app',
    advice: 'Create a deploy token, which covers one app: fly tokens create deploy -a APP',
  },
  render: {
    name: 'Render',
    what: 'Environment variables of a service or environment group',
    advice: 'Create an API key of a user that belongs only to this workspace.',
  },
  railway: {
    name: 'Railway',
    what: 'Variables of a service or environment',
    advice:
      'Create a project token, which covers one environment of one project. Choose the token type “project”.',
  },
  'cloudflare-workers': {
    name: 'Cloudflare Workers',
    what: 'Secrets of a Worker',
    advice: 'Create an API token with the permission Workers Scripts: Edit, only for this account.',
  },
  'cloudflare-pages': {
    name: 'Cloudflare Pages',
    what: 'Environment variables of a project',
    advice: 'Create an API token with the permission Cloudflare Pages: Edit, only for this account.',
  },
  'cloudflare-secrets-store': {
    name: 'Cloudflare Secrets Store',
    what: 'Secrets of an account, for Workers and AI Gateway',
    advice: 'Create an API token with the permission Secrets Store: Edit, only for this account.',
  },
  digitalocean: {
    name: 'DigitalOcean',
    what: 'Environment variables of an app',
    advice: 'Create a personal access token with the scopes app:read and app:update.',
  },
  supabase: {
    name: 'Supabase',
    what: 'Secrets of Edge Functions',
    advice: 'Create a personal access token of a user that belongs only to this organisation.',
  },
  'github-actions': {
    name: 'GitHub Actions',
    what: 'Actions secrets of a repository or organisation',
    advice:
      'Create a fine-grained personal access token only for this repository, with Secrets: Read and write.',
  },
  'gitlab-ci': {
    name: 'GitLab CI/CD',
    what: 'Variables of a project or group',
    advice: 'Create a project access token with the role Maintainer and the scope api.',
  },
  circleci: {
    name: 'CircleCI',
    what: 'Environment variables of a project',
    advice: 'Create a personal API token of a user that can write only to this project.',
  },
  'bitbucket-pipelines': {
    name: 'Bitbucket Pipelines',
    what: 'Secured variables of a repository',
    advice: 'Create a repository access token with the permission Pipelines: Edit variables.',
  },
  buildkite: {
    name: 'Buildkite',
    what: 'Secrets of a cluster',
    advice: 'Create an API access token with the scopes read_secret_details and write_secrets.',
  },
  'hcp-terraform': {
    name: 'HCP Terraform',
    what: 'Variables of a workspace or variable set',
    advice: 'Create a token of a team that has Variables: Read and write only on this workspace.',
  },
  'aws-secrets-manager': {
    name: 'AWS Secrets Manager',
    what: 'A secret for each name, or one JSON secret',
    advice: 'Create an IAM user with its own access key, limited to the names below your prefix.',
  },
  'aws-ssm': {
    name: 'AWS Parameter Store',
    what: 'SecureString parameters below one path',
    advice: 'Create an IAM user with its own access key, limited to this path.',
  },
  'gcp-secret-manager': {
    name: 'Google Secret Manager',
    what: 'A secret for each name, in one project',
    advice: 'Create a service account only for this project, and a JSON key for it.',
  },
  'azure-key-vault': {
    name: 'Azure Key Vault',
    what: 'A secret for each name, in one vault',
    advice: 'Register an application, and give it the role Key Vault Secrets Officer only on this vault.',
  },
  kubernetes: {
    name: 'Kubernetes',
    what: 'Keys of one Secret',
    advice: 'Create a service account that can get and patch only this Secret.',
  },
  slack: {
    name: 'Slack',
    what: 'Messages to a channel',
    advice: 'Create an incoming webhook for the channel.',
  },
  'microsoft-teams': {
    name: 'Microsoft Teams',
    what: 'Messages to a channel',
    advice: 'Create a workflow that posts to the channel when a webhook request is received.',
  },
  discord: { name: 'Discord', what: 'Messages to a channel', advice: 'Create a webhook for the channel.' },
  'google-chat': {
    name: 'Google Chat',
    what: 'Messages to a space',
    advice: 'Create a webhook for the space.',
  },
  mattermost: {
    name: 'Mattermost',
    what: 'Messages to a channel',
    advice: 'Create an incoming webhook for the channel.',
  },
  telegram: {
    name: 'Telegram',
    what: 'Messages to a chat',
    advice: 'Create a bot with @BotFather, and add it to the chat.',
  },
  pagerduty: {
    name: 'PagerDuty',
    what: 'Incidents of a service',
    advice: 'Add an Events API v2 integration to the service.',
  },
  opsgenie: { name: 'Opsgenie', what: 'Alerts of a team', advice: 'Add an API integration to the team.' },
  webhook: {
    name: 'Webhook',
    what: 'Messages to your own server',
    advice: 'With a secret, each request is signed: X-Svc-Signature is the HMAC-SHA256 of its body.',
  },
  email: {
    name: 'E-mail',
    what: 'Messages through a mail service',
    advice: 'Use an API key of a mail service that has verified the sender.',
  },
};

/** The description of a platform. */
export const aboutPlatform = (platform: string): Known => known[platform] ?? { name: platform, what: '' };
export const platformName = (platform: string): string => aboutPlatform(platform).name;

/** Every platform with the schema of its config. Changes only with a release. */
export const usePlatforms = () =>
  useRead(['platforms'], (signal) =>
    vault().api.GET('/orgs/{org_id}/integrations/platforms', { params: { path: here() }, signal }),
  );
