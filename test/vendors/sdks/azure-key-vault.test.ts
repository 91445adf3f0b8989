import { expect, it } from 'vitest';
import { azureKeyVault } from '../../../src/adapters/sync/azure-key-vault';
import { startAzureKeyVault } from '../fakes/azure-key-vault.ts';
import { running, short, sync } from '../sync';
import { type Sdk, sdk } from './sdk';

const azure = await sdk('@azure/keyvault-secrets');
const pipeline = await sdk('@azure/core-rest-pipeline');

const secrets: Record<string, string> = {
  ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME-${i}`, `välue-${i}-$x`])),
  LINES: 'one\ntwo "three" ✓',
};
const vaultUrl = 'https://demo.vault.azure.net';

it.skipIf(!azure)("sync: azure-key-vault and Azure's client read the same values", async () => {
  const fake = await running(startAzureKeyVault());
  fake.tokens.add('theirs');
  const httpClient = {
    // The client insists on https: the address alone is changed.
    async sendRequest(request: Sdk) {
      const url = request.url.replace(vaultUrl, fake.url).replace(`${vaultUrl}:443`, fake.url);
      const response = await fetch(url.replace(':443', ''), {
        method: request.method,
        headers: request.headers.toJSON(),
        body: request.body ?? null,
      });
      const headers = pipeline.createHttpHeaders(Object.fromEntries(response.headers));
      return { request, status: response.status, headers, bodyAsText: await response.text() };
    },
  };
  fake.host = vaultUrl;
  const credential = {
    getToken: async () => ({ token: 'theirs', expiresOnTimestamp: Date.now() + 3_600_000 }),
  };
  const client = new azure.SecretClient(vaultUrl, credential, {
    httpClient,
    serviceVersion: '7.4',
    retryOptions: { maxRetries: 0 },
  });
  const config = { tenantId: fake.tenant, clientId: fake.client, clientSecret: fake.secret, vaultUrl };
  const first = await sync(azureKeyVault, config, fake, secrets);
  const names: string[] = [];
  for await (const { name } of client.listPropertiesOfSecrets()) names.push(name);
  expect(names.sort()).toEqual(Object.keys(secrets).sort());
  for (const [name, value] of Object.entries(secrets))
    expect((await client.getSecret(name)).value).toBe(value);
  await client.setSecret('NAME-0', 'changed there', { tags: { team: 'theirs' } });
  await client.beginDeleteSecret('NAME-1');
  const second = await sync(azureKeyVault, config, fake, secrets, { owned: first.owned });
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual([
    'NAME-0 updated',
    'NAME-1 updated',
  ]);
  const { value, properties } = await client.getSecret('NAME-0');
  expect([value, properties.tags]).toEqual([secrets['NAME-0'], { team: 'theirs' }]);
});
