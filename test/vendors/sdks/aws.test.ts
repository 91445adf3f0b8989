import { expect, it } from 'vitest';
import { awsSecretsManager } from '../../../src/adapters/sync/aws-secrets-manager';
import { awsSsm } from '../../../src/adapters/sync/aws-ssm';
import type { AwsFake } from '../fakes/aws.ts';
import { startAwsSecretsManager } from '../fakes/aws-secrets-manager.ts';
import { startAwsSsm } from '../fakes/aws-ssm.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const manager = await sdk('@aws-sdk/client-secrets-manager');
const ssm = await sdk('@aws-sdk/client-ssm');

const secrets: Record<string, string> = {
  ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME_${i}`, `välue-${i}-$x`])),
  LINES: 'one\ntwo "three" ✓',
};
const keysOf = ({ accessKeyId, secretAccessKey, region }: AwsFake) => ({
  accessKeyId,
  secretAccessKey,
  region,
});
const optionsOf = ({ url, accessKeyId, secretAccessKey, region }: AwsFake) => ({
  endpoint: url,
  region,
  credentials: { accessKeyId, secretAccessKey },
  maxAttempts: 1,
});

it.skipIf(!manager)('sync: aws-secrets-manager and the AWS SDK read the same values', async () => {
  const fake = await running(startAwsSecretsManager());
  const client = new manager.SecretsManagerClient(optionsOf(fake));
  const text = async (SecretId: string) =>
    (await client.send(new manager.GetSecretValueCommand({ SecretId }))).SecretString;
  const config = { ...keysOf(fake), prefix: 'app/' };
  const first = await sync(awsSecretsManager, config, fake, secrets);
  for (const [name, value] of Object.entries(secrets)) expect(await text(`app/${name}`)).toBe(value);
  await client.send(new manager.CreateSecretCommand({ Name: 'app/THEIRS', SecretString: 'theirs' }));
  await client.send(
    new manager.PutSecretValueCommand({ SecretId: 'app/NAME_0', SecretString: 'changed there' }),
  );
  await client.send(new manager.DeleteSecretCommand({ SecretId: 'app/NAME_1', RecoveryWindowInDays: 7 }));
  const second = await sync(awsSecretsManager, config, fake, secrets, { owned: first.owned });
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual([
    'NAME_0 updated',
    'NAME_1 updated',
  ]);
  expect([await text('app/NAME_1'), await text('app/THEIRS')]).toEqual([secrets.NAME_1, 'theirs']);
  await sync(awsSecretsManager, { ...keysOf(fake), secretName: 'all' }, fake, secrets);
  expect(JSON.parse(await text('all'))).toEqual(secrets);
});

it.skipIf(!ssm)('sync: aws-ssm and the AWS SDK read the same values', async () => {
  const fake = await running(startAwsSsm());
  const client = new ssm.SSMClient(optionsOf(fake));
  const config = { ...keysOf(fake), pathPrefix: '/production/api' };
  const first = await sync(awsSsm, config, fake, secrets);
  const pages = ssm.paginateGetParametersByPath(
    { client },
    { Path: '/production/api', WithDecryption: true },
  );
  const read: Record<string, string> = {};
  for await (const { Parameters } of pages)
    for (const { Name, Value } of Parameters) read[Name.replace('/production/api/', '')] = Value;
  expect(read).toEqual(secrets);
  await client.send(
    new ssm.PutParameterCommand({
      Name: '/production/api/NAME_0',
      Value: 'changed there',
      Type: 'SecureString',
      Overwrite: true,
    }),
  );
  await client.send(new ssm.DeleteParametersCommand({ Names: ['/production/api/NAME_1'] }));
  const second = await sync(awsSsm, config, fake, secrets, { owned: first.owned });
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual([
    'NAME_0 updated',
    'NAME_1 created',
  ]);
});
