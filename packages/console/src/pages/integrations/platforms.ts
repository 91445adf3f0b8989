// The platforms as people know them: their names, what is written there, and the narrowest credential that does it. Which there are, and
// what each needs, the service says (GET /integrations/platforms): one that is missing here is shown by its id.
import type { components } from '@secrets-vault/client';
import '../../styles/integrations.css';
import { here, useRead, vault } from '../../api';

export type Platform = components['schemas']['Platform'];
export type Kind = Platform['kind'];
export type Integration = components['schemas']['Integration'];

interface Known {
  name: string;
  /** What is written or sent there. */
  what: string;
  /** How to get a credential that may do this and no more. */
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
    advice: 'Create a personal access token with an expiry, of a user that belongs to this team alone.',
  },
  heroku: {
    name: 'Heroku',
    what: 'Config vars of an app',
    advice: 'Create a token for config vars alone: heroku authorizations:create --scope read-protected,write-protected',
  },
  fly: {
    name: 'Fly.io',
    what: 'Secrets of an app',
    advice: 'Create a deploy token, which is for one app: fly tokens create deploy -a APP',
  },
  render: {
    name: 'Render',
    what: 'Environment variables of a service or environment group',
    advice: 'Create an API key of a user that belongs to this workspace alone.',
  },
  railway: {
    name: 'Railway',
    what: 'Variables of a service or environment',
    advice: 'Create a project token: it is for one environment of one project. Choose the token type “project”.',
  },
  'cloudflare-workers': {
    name: 'Cloudflare Workers',
    what: 'Secrets of a Worker',
    advice: 'Create an API token with the permission Workers Scripts: Edit, for this account alone.',
  },
  'cloudflare-pages': {
    name: 'Cloudflare Pages',
    what: 'Environment variables of a project',
    advice: 'Create an API token with the permission Cloudflare Pages: Edit, for this account alone.',
  },
  digitalocean: {
    name: 'DigitalOcean',
    what: 'Environment variables of an app',
    advice: 'Create a personal access token with the scopes app:read and app:update.',
  },
  supabase: {
    name: 'Supabase',
    what: 'Secrets of Edge Functions',
    advice: 'Create a personal access token of a user that belongs to this organisation alone.',
  },
  'github-actions': {
    name: 'GitHub Actions',
    what: 'Actions secrets of a repository or organisation',
    advice: 'Create a fine-grained personal access token for this repository alone, with Secrets: Read and write.',
  },
  'gitlab-ci': {
    name: 'GitLab CI/CD',
    what: 'Variables of a project or group',
    advice: 'Create a project access token with the role Maintainer and the scope api.',
  },
  circleci: {
    name: 'CircleCI',
    what: 'Environment variables of a project',
    advice: 'Create a personal API token of a user that may write to this project alone.',
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
    advice: 'Create a token of a team that has Variables: Read and write on this workspace alone.',
  },
  'aws-secrets-manager': {
    name: 'AWS Secrets Manager',
    what: 'A secret for each name, or one JSON secret',
    advice: 'Create an IAM user with an access key of its own, limited to the names below your prefix.',
  },
  'aws-ssm': {
    name: 'AWS Parameter Store',
    what: 'SecureString parameters below one path',
    advice: 'Create an IAM user with an access key of its own, limited to this path.',
  },
  'gcp-secret-manager': {
    name: 'Google Secret Manager',
    what: 'A secret for each name, in one project',
    advice: 'Create a service account for this project alone, and a JSON key for it.',
  },
  'azure-key-vault': {
    name: 'Azure Key Vault',
    what: 'A secret for each name, in one vault',
    advice: 'Register an application, and give it the role Key Vault Secrets Officer on this vault alone.',
  },
  kubernetes: {
    name: 'Kubernetes',
    what: 'Keys of one Secret',
    advice: 'Create a service account that may get and patch this one Secret.',
  },
  slack: { name: 'Slack', what: 'Messages to a channel', advice: 'Create an incoming webhook of the channel.' },
  'microsoft-teams': {
    name: 'Microsoft Teams',
    what: 'Messages to a channel',
    advice: 'Create a workflow that posts to the channel when a webhook request is received.',
  },
  discord: { name: 'Discord', what: 'Messages to a channel', advice: 'Create a webhook of the channel.' },
  'google-chat': { name: 'Google Chat', what: 'Messages to a space', advice: 'Create a webhook of the space.' },
  mattermost: { name: 'Mattermost', what: 'Messages to a channel', advice: 'Create an incoming webhook of the channel.' },
  telegram: { name: 'Telegram', what: 'Messages to a chat', advice: 'Create a bot with @BotFather, and add it to the chat.' },
  pagerduty: { name: 'PagerDuty', what: 'Incidents of a service', advice: 'Add an Events API v2 integration to the service.' },
  opsgenie: { name: 'Opsgenie', what: 'Alerts of a team', advice: 'Add an API integration to the team.' },
  webhook: {
    name: 'Webhook',
    what: 'Messages to a server of yours',
    advice: 'With a secret, each request is signed: X-Svc-Signature is the HMAC-SHA256 of its body.',
  },
  email: { name: 'E-mail', what: 'Messages by a mail service', advice: 'Use an API key of a mail service that has verified the sender.' },
};

/** What people know of a platform. */
export const aboutPlatform = (platform: string): Known => known[platform] ?? { name: platform, what: '' };
export const platformName = (platform: string): string => aboutPlatform(platform).name;

/** Every platform with the schema of its config; it changes only with a release. */
export const usePlatforms = () =>
  useRead(['platforms'], (signal) => vault().api.GET('/orgs/{org_id}/integrations/platforms', { params: { path: here() }, signal }));
