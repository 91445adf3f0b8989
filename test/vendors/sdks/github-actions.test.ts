import { expect, it } from 'vitest';
import { githubActions } from '../../../src/adapters/sync/github-actions';
import { ORGANISATION, REPOSITORY, startGithubActions } from '../fakes/github-actions.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const octokits = await sdk('@octokit/rest');
const sodium = (await import('libsodium-wrappers')).default;

const started = async () => {
  const fake = await running(startGithubActions());
  const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
  const octokit = new octokits.Octokit({
    auth: fake.token,
    baseUrl: fake.url,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  octokit.hook.before(
    'request',
    (options: { headers: object }) => void Object.assign(options.headers, headers),
  );
  return { fake, octokit };
};

const repository = { owner: 'demo', repo: 'app' };
const secrets = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`NAME_${i}`, `välue ${i}`]));

it.skipIf(!octokits)('sync: github-actions and Octokit see the same secrets', async () => {
  const { fake, octokit } = await started();
  await sync(githubActions, { token: fake.token, ...repository }, fake, secrets);
  const listed = await octokit.paginate(octokit.rest.actions.listRepoSecrets, {
    ...repository,
    per_page: 100,
  });
  expect(listed.map(({ name }: { name: string }) => name).sort()).toEqual(Object.keys(secrets).sort());
  await sync(
    githubActions,
    { token: fake.token, org: 'demo', visibility: 'selected', selectedRepositoryIds: [7, 8] },
    fake,
    {
      ALPHA: 'a',
    },
  );
  const { data } = await octokit.rest.actions.getOrgPublicKey({ org: 'demo' });
  expect(data.key_id).toBe(fake.scopes.get(ORGANISATION)?.keyId);
  const access = await octokit.paginate(octokit.rest.actions.listSelectedReposForOrgSecret, {
    org: 'demo',
    secret_name: 'ALPHA',
  });
  expect(access.map(({ id }: { id: number }) => id)).toEqual([7, 8]);
});

it.skipIf(!octokits)(
  'sync: github-actions updates secrets written by Octokit and libsodium, and vice versa',
  async () => {
    const { fake, octokit } = await started();
    await sodium.ready;
    const { data } = await octokit.rest.actions.getRepoPublicKey(repository);
    const box = sodium.crypto_box_seal(
      'theirs',
      sodium.from_base64(data.key, sodium.base64_variants.ORIGINAL),
    );
    const encrypted_value = sodium.to_base64(box, sodium.base64_variants.ORIGINAL);
    await octokit.rest.actions.createOrUpdateRepoSecret({
      ...repository,
      secret_name: 'alpha',
      encrypted_value,
      key_id: data.key_id,
    });
    expect(fake.value(REPOSITORY, 'ALPHA')).toBe('theirs');
    expect(
      short(await sync(githubActions, { token: fake.token, ...repository }, fake, { alpha: 'ours' })),
    ).toEqual(['alpha updated']);
    expect(fake.value(REPOSITORY, 'ALPHA')).toBe('ours');
    await octokit.rest.actions.deleteRepoSecret({ ...repository, secret_name: 'ALPHA' });
    expect(
      short(await sync(githubActions, { token: fake.token, ...repository }, fake, { alpha: 'ours' })),
    ).toEqual(['alpha created']);
  },
);
