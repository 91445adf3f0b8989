import { expect, it } from 'vitest';
import { gitlabCi } from '../../../src/adapters/sync/gitlab-ci';
import { startGitlabCi } from '../fakes/gitlab-ci.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const gitbeaker = await sdk('@gitbeaker/rest');

const secrets = {
  ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME_${i}`, `välue-${i}-$x`])),
  LINES: 'one\ntwo "three"',
};

it.skipIf(!gitbeaker)('sync: gitlab-ci and Gitbeaker read the same values, scopes and flags', async () => {
  const fake = await running(startGitlabCi());
  const { ProjectVariables } = new gitbeaker.Gitlab({ host: fake.url, token: fake.token });
  const config = { token: fake.token, projectId: 'demo/app', scope: 'production' };
  const first = await sync(gitlabCi, config, fake, secrets);
  const rows: { key: string; value: string; environment_scope: string; raw: boolean; masked: boolean }[] =
    await ProjectVariables.all('demo/app');
  expect(Object.fromEntries(rows.map(({ key, value }) => [key, value]))).toEqual(secrets);
  expect(
    rows.every(
      ({ key, raw, masked, environment_scope }) =>
        raw && masked === (key !== 'LINES') && environment_scope === 'production',
    ),
  ).toBe(true);
  await ProjectVariables.create('demo/app', 'THEIRS', 'theirs', { environmentScope: 'production' });
  await ProjectVariables.edit('demo/app', 'NAME_0', 'changed-there', {
    filter: { environment_scope: 'production' },
  });
  await ProjectVariables.remove('demo/app', 'NAME_1', { filter: { environment_scope: 'production' } });
  const second = await sync(gitlabCi, config, fake, secrets, { owned: first.owned });
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual([
    'NAME_0 updated',
    'NAME_1 created',
  ]);
  expect((await ProjectVariables.show('demo/app', 'THEIRS')).value).toBe('theirs');
});
