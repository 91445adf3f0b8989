import { expect, it } from 'vitest';
import { bitbucketPipelines } from '../../../src/adapters/sync/bitbucket-pipelines';
import { ENVIRONMENT_ID, startBitbucketPipelines } from '../fakes/bitbucket-pipelines.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const client = await sdk('bitbucket');

const repository = { workspace: 'demo', repo_slug: 'app' };

it.skipIf(!client)('sync: bitbucket-pipelines and the bitbucket package see the same variables', async () => {
  const fake = await running(startBitbucketPipelines());
  const { repositories } = new client.Bitbucket({
    baseUrl: `${fake.url}/2.0`,
    auth: { token: 'bitbucket-token' },
    notice: false,
  });
  const config = { apiToken: 'bitbucket-token', workspace: 'demo', repo: 'app' };
  const first = await sync(bitbucketPipelines, config, fake, { ALPHA: 'a', BETA: 'b' });
  const { data } = await repositories.listPipelineVariables(repository);
  expect(
    data.values.map(({ key, secured, value }: Record<string, unknown>) => [key, secured, value]).sort(),
  ).toEqual([
    ['ALPHA', true, undefined],
    ['BETA', true, undefined],
  ]);
  await repositories.createPipelineVariable({
    ...repository,
    _body: { type: 'pipeline_variable', key: 'OPEN', value: 'theirs', secured: false },
  });
  // The package does not take an answer without a body, which a deletion has.
  fake.repository.splice(1, 1);
  const second = await sync(
    bitbucketPipelines,
    config,
    fake,
    { ALPHA: 'a', BETA: 'b', OPEN: 'ours' },
    { owned: first.owned },
  );
  expect(short(second)).toEqual(['ALPHA unchanged', 'BETA created', 'OPEN updated']);
  const environment = `{${ENVIRONMENT_ID}}`;
  await sync(bitbucketPipelines, { ...config, environment }, fake, { GAMMA: 'c' });
  const deployed = await repositories.listDeploymentVariables({
    ...repository,
    environment_uuid: environment,
  });
  expect(deployed.data.values).toMatchObject([{ key: 'GAMMA', secured: true }]);
});
