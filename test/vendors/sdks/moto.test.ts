// Moto is a third party's implementation of AWS services:
// https://docs.getmoto.org/en/latest/docs/server_mode.html.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awsSecretsManager } from '../../../src/adapters/sync/aws-secrets-manager';
import { awsSsm } from '../../../src/adapters/sync/aws-ssm';
import { short, sync } from '../sync';
import { folder, sdk } from './sdk';

const program = path.join(folder, 'venv/bin/moto_server');
const ssm = await sdk('@aws-sdk/client-ssm');
const manager = await sdk('@aws-sdk/client-secrets-manager');
const isThere = existsSync(program) && ssm && manager;

const keys = { accessKeyId: 'AKIDMADEUP0000000000', secretAccessKey: 'made-up', region: 'eu-west-1' };
const secrets: Record<string, string> = {
  ...Object.fromEntries(Array.from({ length: 23 }, (_, i) => [`NAME_${i}`, `välue-${i}-$x`])),
  LINES: 'one\ntwo "three" ✓',
};
let server: ChildProcess | null = null;
let url = '';
const options = () => ({ endpoint: url, region: keys.region, credentials: { ...keys } });

const freePort = () =>
  new Promise<number>((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => done(port));
    });
  });

beforeAll(async () => {
  if (!isThere) return;
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  server = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  for (let tries = 0; tries < 300; tries++) {
    if (await fetch(url).catch(() => null)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error('Moto does not start.');
});

afterAll(() => server?.kill());

const unlikeUnchanged = (lines: string[]) => lines.filter((line) => !line.endsWith('unchanged'));

it.skipIf(!isThere)('sync: aws-secrets-manager writes to Moto, and changes nothing twice', async () => {
  const config = { ...keys, prefix: 'app/' };
  const client = new manager.SecretsManagerClient(options());
  const text = async (SecretId: string) =>
    (await client.send(new manager.GetSecretValueCommand({ SecretId }))).SecretString;
  const first = await sync(awsSecretsManager, config, { url }, secrets);
  expect(new Set(short(first).map((line) => line.split(' ')[1]))).toEqual(new Set(['created']));
  for (const [name, value] of Object.entries(secrets)) expect(await text(`app/${name}`)).toBe(value);
  expect(unlikeUnchanged(short(await sync(awsSecretsManager, config, { url }, secrets)))).toEqual([]);
  const { NAME_1, ...rest } = secrets;
  const second = await sync(
    awsSecretsManager,
    config,
    { url },
    { ...rest, NAME_0: 'new' },
    { owned: first.owned, gone: ['NAME_1'] },
  );
  expect(unlikeUnchanged(short(second))).toEqual(['NAME_0 updated', 'NAME_1 deleted']);
  // It is scheduled for deletion: written again, it is restored.
  expect(short(await sync(awsSecretsManager, config, { url }, { NAME_1: 'again' }))).toEqual([
    'NAME_1 updated',
  ]);
  expect(await text('app/NAME_1')).toBe('again');
});

it.skipIf(!isThere)('sync: aws-secrets-manager keeps foreign keys of a JSON secret in Moto', async () => {
  const config = { ...keys, secretName: 'all' };
  const client = new manager.SecretsManagerClient(options());
  const text = async () =>
    (await client.send(new manager.GetSecretValueCommand({ SecretId: 'all' }))).SecretString;
  await client.send(
    new manager.CreateSecretCommand({ Name: 'all', SecretString: '{"FOREIGN":12345678901234567890}' }),
  );
  const first = await sync(awsSecretsManager, config, { url }, { A: 'ä', B: 'b' });
  expect(await text()).toBe('{"FOREIGN":12345678901234567890,"A":"ä","B":"b"}');
  await client.send(new manager.DeleteSecretCommand({ SecretId: 'all' }));
  const again = await sync(
    awsSecretsManager,
    config,
    { url },
    { A: 'ä' },
    { owned: first.owned, gone: ['B'] },
  );
  expect(short(again)).toEqual(['A updated']);
  expect(await text()).toBe('{"FOREIGN":12345678901234567890,"A":"ä","B":"b"}');
  await sync(awsSecretsManager, config, { url }, { A: 'ä' }, { owned: first.owned, gone: ['B'] });
  expect(await text()).toBe('{"FOREIGN":12345678901234567890,"A":"ä"}');
});

it.skipIf(!isThere)('sync: aws-ssm writes to Moto, and changes nothing twice', async () => {
  const config = { ...keys, pathPrefix: '/production/api' };
  const client = new ssm.SSMClient(options());
  const large = { LARGE: 'x'.repeat(5000) };
  const first = await sync(awsSsm, config, { url }, { ...secrets, ...large });
  expect(new Set(short(first).map((line) => line.split(' ')[1]))).toEqual(new Set(['created']));
  const { Parameters } = await client.send(
    new ssm.GetParametersCommand({
      Names: ['/production/api/LINES', '/production/api/LARGE'],
      WithDecryption: true,
    }),
  );
  const read = new Map(
    Parameters.map(({ Name, Value, Type, Version }: Record<string, unknown>) => [
      Name,
      [Value, Type, Version],
    ]),
  );
  expect(read.get('/production/api/LARGE')).toEqual([large.LARGE, 'SecureString', 1]);
  expect(read.get('/production/api/LINES')).toEqual([secrets.LINES, 'SecureString', 1]);
  expect(unlikeUnchanged(short(await sync(awsSsm, config, { url }, secrets)))).toEqual([]);
  const { NAME_1, ...rest } = secrets;
  const second = await sync(
    awsSsm,
    config,
    { url },
    { ...rest, NAME_0: 'new' },
    { owned: first.owned, gone: ['NAME_1'] },
  );
  expect(unlikeUnchanged(short(second))).toEqual(['NAME_0 updated', 'NAME_1 deleted']);
});
