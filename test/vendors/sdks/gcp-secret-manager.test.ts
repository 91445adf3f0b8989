import { expect, it } from 'vitest';
import { gcpSecretManager } from '../../../src/adapters/sync/gcp-secret-manager';
import { startGcpSecretManager } from '../fakes/gcp-secret-manager.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const google = await sdk('@google-cloud/secret-manager');
const auth = await sdk('google-auth-library');

const secrets: Record<string, string> = {
  ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME_${i}`, `välue-${i}-$x`])),
  LINES: 'one\ntwo "three" ✓',
};

it.skipIf(!google)("sync: gcp-secret-manager and Google's client read the same values", async () => {
  const fake = await running(startGcpSecretManager());
  fake.tokens.add('theirs');
  const authClient = new auth.OAuth2Client();
  authClient.setCredentials({ access_token: 'theirs', expiry_date: Date.now() + 3_600_000 });
  const { hostname, port } = new URL(fake.url);
  const client = new google.SecretManagerServiceClient({
    fallback: true,
    protocol: 'http',
    apiEndpoint: hostname,
    port: Number(port),
    authClient,
  });
  const parent = 'projects/demo-project';
  const text = async (id: string) => {
    const [{ payload }] = await client.accessSecretVersion({
      name: `${parent}/secrets/${id}/versions/latest`,
    });
    return Buffer.from(payload.data).toString('utf8');
  };
  const config = { serviceAccountJson: fake.key };
  const first = await sync(gcpSecretManager, config, fake, secrets);
  const [listed] = await client.listSecrets({ parent });
  expect(listed).toHaveLength(8);
  for (const [id, value] of Object.entries(secrets)) expect(await text(id)).toBe(value);
  await client.deleteSecret({ name: `${parent}/secrets/NAME_1` });
  const second = await sync(
    gcpSecretManager,
    config,
    fake,
    { ...secrets, NAME_0: 'new' },
    { owned: first.owned },
  );
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual([
    'NAME_0 updated',
    'NAME_1 created',
  ]);
  expect([await text('NAME_0'), await text('NAME_1')]).toEqual(['new', secrets.NAME_1]);
});
