import { expect, it } from 'vitest';
import { vercel } from '../../../src/adapters/sync/vercel';
import { startVercel } from '../fakes/vercel.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const client = await sdk('@vercel/sdk');

it.skipIf(!client)('sync: vercel and the @vercel/sdk package see the same variables', async () => {
  const fake = await running(startVercel());
  fake.team = 'team_1';
  fake.page = 100;
  const { projects } = new client.Vercel({ bearerToken: fake.token, serverURL: fake.url });
  const project = { idOrName: fake.project, teamId: 'team_1' };
  const config = { token: fake.token, projectId: fake.project, teamId: 'team_1', type: 'sensitive' };
  const created = await projects.createProjectEnv({
    ...project,
    requestBody: [{ key: 'WIDE', value: 'theirs', type: 'encrypted', target: ['production', 'preview'] }],
  });
  expect(created.failed).toEqual([]);
  const first = await sync(vercel, config, fake, { ALPHA: 'a', BETA: 'b', WIDE: 'ours' });
  expect(short(first)).toEqual(['ALPHA created', 'BETA created', 'WIDE updated']);
  const listed = async (): Promise<Record<string, unknown>[]> =>
    (await projects.filterProjectEnvs(project)).envs;
  expect((await listed()).map(({ key, type, target }) => [key, type, [target].flat()])).toEqual([
    ['WIDE', 'encrypted', ['preview']],
    ['ALPHA', 'sensitive', ['production']],
    ['BETA', 'sensitive', ['production']],
    ['WIDE', 'sensitive', ['production']],
  ]);
  const idOf = async (key: string) => (await listed()).find((env) => env.key === key)?.id;
  await projects.editProjectEnv({
    ...project,
    id: await idOf('ALPHA'),
    requestBody: { target: ['production', 'preview'] },
  });
  await projects.removeProjectEnv({ ...project, id: await idOf('BETA') });
  const second = await sync(
    vercel,
    config,
    fake,
    { ALPHA: 'changed', BETA: 'b', WIDE: 'ours' },
    { owned: first.owned },
  );
  expect(short(second)).toEqual(['ALPHA updated', 'BETA created', 'WIDE unchanged']);
  expect([fake.value('ALPHA'), fake.value('ALPHA', 'preview'), fake.value('WIDE', 'preview')]).toEqual([
    'changed',
    'a',
    'theirs',
  ]);
  expect(
    short(await sync(vercel, config, fake, {}, { owned: second.owned, gone: ['ALPHA', 'BETA', 'WIDE'] })),
  ).toHaveLength(3);
  expect((await listed()).map(({ key, target }) => [key, [target].flat()])).toEqual([
    ['WIDE', ['preview']],
    ['ALPHA', ['preview']],
  ]);
});
