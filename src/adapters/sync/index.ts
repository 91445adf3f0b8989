// The platforms that secrets are written to. A new one is a file, a name in ../platforms.ts and a line here.
import type { SyncPlatform } from '../platforms';
import type { SyncAdapter } from './adapter';
import { bitbucketPipelines } from './bitbucket-pipelines';
import { buildkite } from './buildkite';
import { circleci } from './circleci';
import { cloudflarePages } from './cloudflare-pages';
import { cloudflareWorkers } from './cloudflare-workers';
import { githubActions } from './github-actions';
import { gitlabCi } from './gitlab-ci';
import { hcpTerraform } from './hcp-terraform';
import { heroku } from './heroku';

const list = [
  ...[heroku],
  ...[cloudflareWorkers, cloudflarePages],
  ...[githubActions, gitlabCi, circleci, bitbucketPipelines, buildkite, hcpTerraform],
];

export const syncAdapters = Object.fromEntries(list.map((each) => [each.platform, each])) as Record<SyncPlatform, SyncAdapter>;
