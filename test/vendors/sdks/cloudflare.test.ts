import { expect, it } from 'vitest';
import { cloudflarePages } from '../../../src/adapters/sync/cloudflare-pages';
import { cloudflareWorkers } from '../../../src/adapters/sync/cloudflare-workers';
import { startCloudflarePages } from '../fakes/cloudflare-pages.ts';
import { startCloudflareWorkers } from '../fakes/cloudflare-workers.ts';
import { running, short, sync } from '../sync';
import { type Sdk, sdk } from './sdk';

const cloudflare = await sdk('cloudflare');

const clientOf = (fake: { url: string; token: string }): Sdk =>
  new cloudflare.default({ apiToken: fake.token, baseURL: `${fake.url}/client/v4`, maxRetries: 0 });

it.skipIf(!cloudflare)(
  'sync: cloudflare-workers and the cloudflare package see the same secrets',
  async () => {
    const fake = await running(startCloudflareWorkers());
    const { secrets } = clientOf(fake).workers.scripts;
    const account = { account_id: fake.account };
    const config = { token: fake.token, accountId: fake.account, scriptName: fake.script };
    const first = await sync(cloudflareWorkers, config, fake, { ALPHA: 'a', BETA: 'b' });
    const names: string[] = [];
    for await (const { name } of secrets.list(fake.script, account)) names.push(name);
    expect(names).toEqual(['ALPHA', 'BETA']);
    const theirs = { THEIRS: { name: 'THEIRS', text: 'theirs', type: 'secret_text' }, BETA: null };
    await secrets.bulkUpdate(fake.script, { ...account, secrets: theirs });
    await secrets.update(fake.script, { ...account, name: 'OTHER', text: 'theirs', type: 'secret_text' });
    const second = await sync(
      cloudflareWorkers,
      config,
      fake,
      { ALPHA: 'a', BETA: 'b', THEIRS: 'ours' },
      { owned: first.owned },
    );
    expect(short(second)).toEqual(['ALPHA unchanged', 'BETA created', 'THEIRS updated']);
    await secrets.delete('ALPHA', { ...account, script_name: fake.script });
    expect(fake.secrets).toEqual({ THEIRS: 'ours', OTHER: 'theirs', BETA: 'b' });
  },
);

it.skipIf(!cloudflare)(
  'sync: cloudflare-pages and the cloudflare package see the same variables',
  async () => {
    const fake = await running(startCloudflarePages());
    const { projects } = clientOf(fake).pages;
    const account = { account_id: fake.account };
    const config = { token: fake.token, accountId: fake.account, projectName: fake.project };
    const first = await sync(cloudflarePages, config, fake, { ALPHA: 'a', BETA: 'b' });
    const { deployment_configs } = await projects.get(fake.project, account);
    expect(deployment_configs.production.env_vars).toEqual({
      ALPHA: { type: 'secret_text', value: '' },
      BETA: { type: 'secret_text', value: '' },
    });
    const env_vars = { THEIRS: { type: 'plain_text', value: 'theirs' }, BETA: null };
    await projects.edit(fake.project, { ...account, deployment_configs: { production: { env_vars } } });
    const second = await sync(
      cloudflarePages,
      config,
      fake,
      { ALPHA: 'a', BETA: 'b' },
      { owned: first.owned },
    );
    expect(short(second)).toEqual(['ALPHA unchanged', 'BETA created']);
    expect(fake.configs.production.env_vars?.THEIRS).toEqual({ type: 'plain_text', value: 'theirs' });
  },
);
