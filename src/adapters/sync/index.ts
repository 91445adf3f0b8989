// The platforms that secrets can be written to. A new platform is a file, a name in ../platforms.ts and a
// line here.
import type { SyncPlatform } from '../platforms';
import type { SyncAdapter } from './adapter';
import { awsSecretsManager } from './aws-secrets-manager';
import { awsSsm } from './aws-ssm';
import { azureKeyVault } from './azure-key-vault';
import { bitbucketPipelines } from './bitbucket-pipelines';
import { buildkite } from './buildkite';
import { circleci } from './circleci';
import { cloudflarePages } from './cloudflare-pages';
import { cloudflareSecretsStore } from './cloudflare-secrets-store';
import { cloudflareWorkers } from './cloudflare-workers';
import { digitalocean } from './digitalocean';
import { fly } from './fly';
import { gcpSecretManager } from './gcp-secret-manager';
import { githubActions } from './github-actions';
import { gitlabCi } from './gitlab-ci';
import { hcpTerraform } from './hcp-terraform';
import { heroku } from './heroku';
import { kubernetes } from './kubernetes';
import { netlify } from './netlify';
import { railway } from './railway';
import { render } from './render';
import { supabase } from './supabase';
import { vercel } from './vercel';

const list = [
  ...[vercel, netlify, heroku, fly, render, railway],
  ...[cloudflareWorkers, cloudflarePages, cloudflareSecretsStore, digitalocean],
  ...[supabase, githubActions, gitlabCi, circleci, bitbucketPipelines, buildkite, hcpTerraform],
  ...[awsSecretsManager, awsSsm, gcpSecretManager, azureKeyVault, kubernetes],
];

export const syncAdapters = Object.fromEntries(list.map((each) => [each.platform, each])) as Record<
  SyncPlatform,
  SyncAdapter
>;
