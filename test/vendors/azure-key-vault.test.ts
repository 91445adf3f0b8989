import { expect, it } from 'vitest';
import { azureKeyVault } from '../../src/adapters/sync/azure-key-vault';
import { startAzureKeyVault } from './fakes/azure-key-vault.ts';
import { startFake } from './fakes/server.ts';
import { digestOf, fastClock, keepsTheContract, running, short, sync } from './sync';

const config = {
  tenantId: 'made-up-tenant',
  clientId: 'made-up-client',
  clientSecret: 'made-up~client/secret',
  vaultUrl: 'https://demo.vault.azure.net',
};

it('sync: azure-key-vault keeps the contract of all platforms', async () => {
  const fake = await running(startAzureKeyVault());
  await keepsTheContract(azureKeyVault, config, fake, {
    read: (name) => fake.text(name),
    foreign: () => fake.seed('FOREIGN', 'theirs'),
    hasForeign: () => fake.text('FOREIGN') === 'theirs',
    wrong: { clientSecret: 'another' },
  });
  expect(fake.tokens.size).toBe(4);
});

it.each([
  'http://demo.vault.azure.net',
  'https://demo.vault.azure.net.evil.example',
  'https://evil.example/.vault.azure.net',
  'https://user@demo.vault.azure.net',
  'https://demo.vault.azure.net:8443',
  'https://demo.vault.azure.net/secrets',
  'https://de.mo.vault.azure.net',
  'https://vault.azure.net',
])('sync: azure-key-vault accepts only the address of a vault, and not %s', (vaultUrl) => {
  expect(azureKeyVault.config.safeParse({ ...config, vaultUrl }).success).toBe(false);
  expect(azureKeyVault.config.parse({ ...config, vaultUrl: 'https://Demo.vault.azure.net' }).vaultUrl).toBe(
    'https://demo.vault.azure.net',
  );
});

it('sync: azure-key-vault maps names, and those that fold to one fail', async () => {
  const fake = await running(startAzureKeyVault());
  fake.seed('Db-Url', 'before');
  const secrets = {
    A_B: '1',
    'a-b': '2',
    'A.b': '3',
    'db/url': 'after',
    X_Y: 'x',
    [`N${'x'.repeat(127)}`]: 'long',
  };
  expect(short(await sync(azureKeyVault, config, fake, secrets))).toEqual([
    'A.b failed NAME_COLLISION',
    'A_B failed NAME_COLLISION',
    `N${'x'.repeat(127)} failed NAME_INVALID`,
    'X_Y created',
    'a-b failed NAME_COLLISION',
    'db/url updated',
  ]);
  expect(fake.text('db-url')).toBe('after');
  expect(fake.secrets.size).toBe(2);
});

it('sync: azure-key-vault follows next pages at the vault, and no other host', async () => {
  const fake = await running(startAzureKeyVault());
  for (let i = 0; i < 10; i++) fake.seed(`NAME-${i}`, 'before');
  expect(short(await sync(azureKeyVault, config, fake, { 'NAME-9': 'after', 'NAME-8': 'before' }))).toEqual([
    'NAME-8 unchanged',
    'NAME-9 updated',
  ]);
  expect(fake.secrets.get('name-8')?.versions).toHaveLength(1);
  const evil = await running(startFake(() => ({ status: 200, body: { value: [] } })));
  fake.host = evil.url;
  expect(short(await sync(azureKeyVault, config, fake, { NEW: 'x' }))).toEqual([
    'NEW failed TARGET_REJECTED',
  ]);
  expect(evil.requests).toEqual([]);
});

it('sync: azure-key-vault keeps content type and tags, and takes no certificate', async () => {
  const fake = await running(startAzureKeyVault());
  fake.seed('TAGGED', 'before', {}, { contentType: 'text/plain', tags: { team: 'theirs' } });
  fake.seed('CERT', 'theirs', { managed: true }, { contentType: 'application/x-pkcs12' });
  fake.seed('PEM', 'theirs', {}, { contentType: 'application/x-pem-file' });
  const result = await sync(azureKeyVault, config, fake, { TAGGED: 'after', CERT: 'c', PEM: 'p' });
  expect(short(result)).toEqual([
    'CERT failed TARGET_REJECTED',
    'PEM failed TARGET_REJECTED',
    'TAGGED updated',
  ]);
  expect(fake.secrets.get('tagged')?.versions.at(-1)).toEqual({
    value: 'after',
    enabled: true,
    contentType: 'text/plain',
    tags: { team: 'theirs' },
  });
  expect([fake.text('CERT'), fake.text('PEM')]).toEqual(['theirs', 'theirs']);
  const owned = ['CERT', 'PEM'].map((name) => ({ name, target: name, digest: digestOf(name, 'theirs') }));
  const pruned = await sync(azureKeyVault, config, fake, {}, { owned, gone: ['CERT', 'PEM'] });
  expect(short(pruned)).toEqual(['CERT failed TARGET_REJECTED', 'PEM failed TARGET_REJECTED']);
});

it('sync: azure-key-vault writes a new version if the newest is disabled', async () => {
  const fake = await running(startAzureKeyVault());
  fake.seed('OFF', 'same', {}, { enabled: false });
  expect(short(await sync(azureKeyVault, config, fake, { OFF: 'same' }))).toEqual(['OFF updated']);
  expect(fake.secrets.get('off')?.versions.at(-1)).toEqual({ value: 'same', enabled: true });
});

it('sync: azure-key-vault recovers a deleted secret, waits until it is there, and keeps its tags', async () => {
  const fake = await running(startAzureKeyVault());
  fake.seed('GONE', 'before', { deleted: true, pending: 2 }, { tags: { team: 'theirs' } });
  fake.recovering = 6;
  const clock = fastClock();
  expect(short(await sync(azureKeyVault, config, fake, { GONE: 'after' }, { clock }))).toEqual([
    'GONE updated',
  ]);
  expect(fake.secrets.get('gone')?.versions.at(-1)).toEqual({
    value: 'after',
    enabled: true,
    tags: { team: 'theirs' },
  });
  expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(30_000);
});

it('sync: azure-key-vault waits for a recovery no longer than 30 s, and carries it on the next time', async () => {
  const fake = await running(startAzureKeyVault());
  fake.seed('GONE', 'before', { deleted: true });
  fake.recovering = 1000;
  const clock = fastClock();
  expect(short(await sync(azureKeyVault, config, fake, { GONE: 'after' }, { clock }))).toEqual([
    'GONE failed TARGET_REJECTED',
  ]);
  expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(30_000);
  Object.assign(fake.secrets.get('gone') ?? {}, { pending: 2 });
  expect(short(await sync(azureKeyVault, config, fake, { GONE: 'after' }))).toEqual(['GONE created']);
  expect(fake.text('GONE')).toBe('after');
});

it('sync: azure-key-vault prunes by soft deletion, and a missing name counts as deleted', async () => {
  const fake = await running(startAzureKeyVault());
  const first = await sync(azureKeyVault, config, fake, { A: 'a', B: 'b' });
  fake.interrupt = ({ method, path }) => {
    if (method === 'DELETE' && path === '/secrets/B') fake.secrets.delete('b');
    return null;
  };
  const result = await sync(azureKeyVault, config, fake, {}, { owned: first.owned, gone: ['A', 'B'] });
  expect(short(result)).toEqual(['A deleted', 'B deleted']);
  expect(fake.secrets.get('a')?.deleted).toBe(true);
});

it('sync: azure-key-vault creates one version for a write whose response was lost, and settles begun steps', async () => {
  const fake = await running(startAzureKeyVault());
  fake.seed('B', 'before');
  let lost = 0;
  fake.interrupt = ({ method }) => (method === 'PUT' && lost++ < 2 ? 'after' : null);
  expect(short(await sync(azureKeyVault, config, fake, { A: 'a', B: 'b' }))).toEqual([
    'A created',
    'B updated',
  ]);
  expect(short(await sync(azureKeyVault, config, fake, { A: 'a', B: 'b' }, { begun: ['A', 'B'] }))).toEqual([
    'A updated',
    'B updated',
  ]);
  expect([...fake.secrets.values()].map(({ name, versions }) => [name, versions.length])).toEqual([
    ['B', 2],
    ['A', 1],
  ]);
});

it('sync: azure-key-vault holds sizes before it writes, and takes an empty value', async () => {
  const fake = await running(startAzureKeyVault());
  const result = await sync(azureKeyVault, config, fake, {
    EMPTY: '',
    MOST: 'é'.repeat(12_800),
    MORE: `${'é'.repeat(12_800)}x`,
  });
  expect(short(result)).toEqual(['EMPTY created', 'MORE failed VALUE_TOO_LARGE', 'MOST created']);
});

it('sync: azure-key-vault recognises a refused secret only by its code', async () => {
  const fake = await running(startAzureKeyVault());
  const { results } = await sync(azureKeyVault, { ...config, clientSecret: 'invalid_client' }, fake, {
    A: 'a',
  });
  expect(results).toEqual([
    {
      name: 'A',
      targetName: 'A',
      action: 'failed',
      code: 'TARGET_AUTH',
      message: 'The target answered with status 401.',
    },
  ]);
  const other = await sync(azureKeyVault, { ...config, clientSecret: 'other' }, fake, { A: 'a' });
  expect(other.results[0]?.message).toBe('The target answered with status 401 (invalid_client).');
});

it('sync: azure-key-vault takes a listing of another shape for no empty one', async () => {
  const fake = await running(startAzureKeyVault());
  for (const body of [
    {},
    { value: {} },
    { value: [{}] },
    { value: [{ id: 'https://demo.vault.azure.net/keys/a' }] },
    [],
    'text',
  ]) {
    fake.interrupt = ({ method }) => (method === 'GET' ? { status: 200, body } : null);
    expect(short(await sync(azureKeyVault, config, fake, { A: 'a' }))).toEqual(['A failed TARGET_REJECTED']);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: the fake azure-key-vault refuses what the vendor would', async () => {
  const fake = await running(startAzureKeyVault());
  fake.tokens.add('t');
  const headers = { Authorization: 'Bearer t', 'Content-Type': 'application/json' };
  const status = async (method: string, path: string, body?: string, more: object = headers) =>
    (await fetch(fake.url + path, { method, headers: { ...more }, ...(body !== undefined && { body }) }))
      .status;
  expect(await status('GET', '/secrets?api-version=7.4', undefined, {})).toBe(401);
  expect(await status('GET', '/secrets')).toBe(400);
  expect(await status('GET', '/secrets?api-version=7.4&maxresults=26')).toBe(400);
  expect(await status('PUT', '/secrets/A_B?api-version=7.4', '{"value":"x"}')).toBe(400);
  expect(await status('PUT', '/secrets/A?api-version=7.4', '{"value":1}')).toBe(400);
  fake.seed('GONE', 'x', { deleted: true });
  expect(await status('PUT', '/secrets/gone?api-version=7.4', '{"value":"x"}')).toBe(409);
  expect(await status('GET', '/secrets/gone?api-version=7.4')).toBe(404);
});
