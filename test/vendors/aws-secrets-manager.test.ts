import { expect, it } from 'vitest';
import { awsSecretsManager } from '../../src/adapters/sync/aws-secrets-manager';
import { operationOf } from './fakes/aws.ts';
import { type AwsSecretsManagerFake, startAwsSecretsManager } from './fakes/aws-secrets-manager.ts';
import { keepsTheContract, running, short, sync } from './sync';

const keys = {
  accessKeyId: 'AKIDMADEUP0000000000',
  secretAccessKey: 'made/up+secret/access+key',
  region: 'eu-west-1',
};
const each = { ...keys, prefix: 'app/' };
const one = { ...keys, secretName: 'app/all' };
const operations = (fake: AwsSecretsManagerFake) => fake.requests.map(operationOf);
const keysOf = (fake: AwsSecretsManagerFake) => JSON.parse(fake.text('app/all') ?? 'null');

it('sync: aws-secrets-manager keeps the contract of all platforms with a secret for each name', async () => {
  const fake = await running(startAwsSecretsManager());
  await keepsTheContract(awsSecretsManager, each, fake, {
    read: (name) => fake.text(`app/${name}`),
    foreign: () => fake.seed('app/FOREIGN', 'theirs'),
    hasForeign: () => fake.text('app/FOREIGN') === 'theirs',
    wrong: { secretAccessKey: 'another' },
  });
});

it('sync: aws-secrets-manager keeps the contract of all platforms with one JSON secret', async () => {
  const fake = await running(startAwsSecretsManager());
  await keepsTheContract(awsSecretsManager, one, fake, {
    read: (name) => keysOf(fake)[name],
    foreign: () => fake.seed('app/all', '{"FOREIGN":"theirs"}'),
    hasForeign: () => keysOf(fake).FOREIGN === 'theirs',
    wrong: { accessKeyId: 'AKIDANOTHER000000000' },
  });
});

it('sync: aws-secrets-manager takes either secretName or prefix, which may be empty', async () => {
  const takes = (more: object) => awsSecretsManager.config.safeParse({ ...keys, ...more }).success;
  expect([
    takes({}),
    takes({ secretName: 'a', prefix: 'b' }),
    takes({ secretName: 'a' }),
    takes({ prefix: '' }),
  ]).toEqual([false, false, true, true]);
  expect(takes({ prefix: '', region: 'evil.example/#' })).toBe(false);
  const fake = await running(startAwsSecretsManager());
  fake.seed('A/B', 'before');
  expect(
    short(await sync(awsSecretsManager, { ...keys, prefix: '' }, fake, { 'A/B': 'after', C: 'c' })),
  ).toEqual(['A/B updated', 'C created']);
});

it('sync: aws-secrets-manager reads every page, and ignores other prefixes', async () => {
  const fake = await running(startAwsSecretsManager());
  for (let i = 0; i < 10; i++) fake.seed(`app/NAME_${i}`, 'before');
  fake.seed('other/NAME_1', 'before');
  const result = await sync(awsSecretsManager, each, fake, { NAME_9: 'after', NAME_8: 'before' });
  expect(short(result)).toEqual(['NAME_8 unchanged', 'NAME_9 updated']);
  expect(operations(fake).filter((name) => name === 'ListSecrets')).toHaveLength(4);
  expect(fake.text('other/NAME_1')).toBe('before');
});

it('sync: aws-secrets-manager makes no version of an equal value, and a dry run says so', async () => {
  const fake = await running(startAwsSecretsManager());
  fake.seed('app/SAME', 'same');
  fake.seed('app/OTHER', 'other');
  const secrets = { SAME: 'same', OTHER: 'new', NEW: 'new' };
  expect(short(await sync(awsSecretsManager, each, fake, secrets, { dryRun: true }))).toEqual([
    'NEW created',
    'OTHER updated',
    'SAME unchanged',
  ]);
  expect(fake.writes()).toEqual([]);
  expect(short(await sync(awsSecretsManager, each, fake, secrets))).toEqual([
    'NEW created',
    'OTHER updated',
    'SAME unchanged',
  ]);
  expect(fake.secrets.get('app/SAME')?.versions).toHaveLength(1);
});

it('sync: aws-secrets-manager restores a secret scheduled for deletion before it writes', async () => {
  const fake = await running(startAwsSecretsManager());
  fake.seed('app/GONE', 'before', { deleted: true });
  expect(short(await sync(awsSecretsManager, each, fake, { GONE: 'after' }))).toEqual(['GONE updated']);
  expect(fake.text('app/GONE')).toBe('after');
  fake.seed('app/all', '{"FOREIGN":"theirs"}', { deleted: true });
  expect(short(await sync(awsSecretsManager, one, fake, { A: 'a' }, { dryRun: true }))).toEqual([
    'A created',
  ]);
  expect(fake.secrets.get('app/all')?.deleted).toBe(true);
  expect(short(await sync(awsSecretsManager, one, fake, { A: 'a' }))).toEqual(['A created']);
  expect(keysOf(fake)).toEqual({ FOREIGN: 'theirs', A: 'a' });
});

it('sync: aws-secrets-manager prunes with a recovery window, and a JSON secret loses only the key', async () => {
  const fake = await running(startAwsSecretsManager());
  const first = await sync(awsSecretsManager, each, fake, { A: 'a', B: 'b' });
  expect(
    short(await sync(awsSecretsManager, each, fake, { A: 'a' }, { owned: first.owned, gone: ['B'] })),
  ).toEqual(['A unchanged', 'B deleted']);
  expect(fake.secrets.get('app/B')).toMatchObject({ deleted: true, recoveryDays: 30 });
  const all = await sync(awsSecretsManager, one, fake, { A: 'a', B: 'b' });
  await sync(awsSecretsManager, one, fake, {}, { owned: all.owned, gone: ['A', 'B'] });
  expect(fake.text('app/all')).toBe('{}');
});

it('sync: aws-secrets-manager writes one JSON secret in one call, and none for no change', async () => {
  const fake = await running(startAwsSecretsManager());
  const secrets = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  await sync(awsSecretsManager, one, fake, secrets);
  expect(fake.writes()).toHaveLength(1);
  await sync(awsSecretsManager, one, fake, secrets);
  expect(fake.writes()).toHaveLength(1);
});

it('sync: aws-secrets-manager keeps keys of others in a JSON secret, digit for digit', async () => {
  const fake = await running(startAwsSecretsManager());
  fake.seed(
    'app/all',
    '{"id": 12345678901234567890, "rate": 1.10, "__proto__": {"a": [null, true, 1e400]}, "PORT": 5432, "text": "ü"}',
  );
  const result = await sync(awsSecretsManager, one, fake, { PORT: '5432', A: 'a', constructor: 'c' });
  expect(short(result)).toEqual(['A created', 'PORT updated', 'constructor created']);
  expect(fake.text('app/all')).toBe(
    '{"id":12345678901234567890,"rate":1.10,"__proto__":{"a":[null,true,1e400]},"PORT":"5432","text":"ü","A":"a","constructor":"c"}',
  );
});

it.each(['plain text', '', '[]', '5', '"text"', 'null', '{"broken":', null])(
  'sync: aws-secrets-manager does not overwrite a secret that is not a JSON object: %j',
  async (text) => {
    const fake = await running(startAwsSecretsManager());
    fake.seed('app/all', text);
    expect(short(await sync(awsSecretsManager, one, fake, { A: 'a' }))).toEqual(['A failed TARGET_REJECTED']);
    expect(fake.writes()).toEqual([]);
    expect(fake.text('app/all')).toBe(text);
  },
);

it('sync: aws-secrets-manager holds sizes and names before it writes', async () => {
  const fake = await running(startAwsSecretsManager());
  const secrets = {
    EMPTY: '',
    MOST: 'é'.repeat(32_768),
    MORE: `${'é'.repeat(32_768)}x`,
    [`${'N'.repeat(249)}`]: 'x',
  };
  const long = { ...keys, prefix: `${'p'.repeat(263)}/` };
  expect(short(await sync(awsSecretsManager, each, fake, secrets))).toEqual([
    'EMPTY failed VALUE_NOT_ALLOWED',
    'MORE failed VALUE_TOO_LARGE',
    'MOST created',
    `${'N'.repeat(249)} created`,
  ]);
  expect(short(await sync(awsSecretsManager, long, fake, { [`${'N'.repeat(249)}`]: 'x', A: 'a' }))).toEqual([
    'A created',
    `${'N'.repeat(249)} failed NAME_INVALID`,
  ]);
});

it('sync: aws-secrets-manager writes nothing into a JSON secret that would become too large, and removes still', async () => {
  const fake = await running(startAwsSecretsManager());
  const first = await sync(awsSecretsManager, one, fake, { A: 'x'.repeat(30_000), EMPTY: '', B: 'b' });
  const result = await sync(
    awsSecretsManager,
    one,
    fake,
    { C: 'x'.repeat(40_000) },
    { owned: first.owned, gone: ['B'] },
  );
  expect(short(result)).toEqual(['B deleted', 'C failed VALUE_TOO_LARGE']);
  expect(Object.keys(keysOf(fake))).toEqual(['A', 'EMPTY']);
});

it('sync: aws-secrets-manager makes one version of a write whose answer was lost', async () => {
  const fake = await running(startAwsSecretsManager());
  fake.seed('app/B', 'before');
  const lost = new Set<string>();
  fake.interrupt = (request) => {
    const operation = operationOf(request);
    if (!/^(Create|Put)/.test(operation) || lost.has(operation)) return null;
    lost.add(operation);
    return 'after';
  };
  expect(short(await sync(awsSecretsManager, each, fake, { A: 'a', B: 'after' }))).toEqual([
    'A created',
    'B updated',
  ]);
  expect(fake.secrets.get('app/A')?.versions).toHaveLength(1);
  expect(fake.secrets.get('app/B')?.versions).toHaveLength(2);
});

it('sync: aws-secrets-manager settles begun steps by reading', async () => {
  const fake = await running(startAwsSecretsManager());
  const first = await sync(awsSecretsManager, each, fake, { A: 'a', B: 'b' }, { id: 'one' });
  const before = fake.writes().length;
  expect(
    short(
      await sync(
        awsSecretsManager,
        each,
        fake,
        { A: 'a', B: 'b' },
        { begun: ['A', 'B'], id: 'one', owned: first.owned },
      ),
    ),
  ).toEqual(['A updated', 'B updated']);
  expect(fake.writes()).toHaveLength(before);
});

it('sync: aws-secrets-manager writes a value that it wrote before, two versions ago', async () => {
  const fake = await running(startAwsSecretsManager());
  for (const value of ['one', 'two', 'one']) await sync(awsSecretsManager, each, fake, { A: value });
  expect(fake.text('app/A')).toBe('one');
});

it('sync: aws-secrets-manager updates if a create is refused as existing, and creates if an update finds nothing', async () => {
  const fake = await running(startAwsSecretsManager());
  fake.seed('app/B', 'before');
  fake.interrupt = (request) => {
    if (operationOf(request) === 'CreateSecret' && !fake.secrets.has('app/A'))
      fake.seed('app/A', 'meanwhile');
    if (operationOf(request) === 'PutSecretValue' && request.json.SecretId === 'app/B')
      fake.secrets.delete('app/B');
    return null;
  };
  expect(short(await sync(awsSecretsManager, each, fake, { A: 'a', B: 'b' }))).toEqual([
    'A updated',
    'B created',
  ]);
  expect([fake.text('app/A'), fake.text('app/B')]).toEqual(['a', 'b']);
});

it('sync: aws-secrets-manager tells a throttled call, an expired key and a denied operation apart', async () => {
  const fake = await running(startAwsSecretsManager());
  let throttled = 0;
  fake.interrupt = () =>
    throttled++ < 2
      ? { status: 400, body: { __type: 'ThrottlingException', message: 'Rate exceeded' } }
      : null;
  expect(short(await sync(awsSecretsManager, each, fake, { A: 'a' }))).toEqual(['A created']);
  fake.interrupt = (request) =>
    operationOf(request) === 'CreateSecret'
      ? { status: 400, body: { __type: 'a.b#ExpiredTokenException' } }
      : null;
  const expired = await sync(awsSecretsManager, each, fake, { B: 'b', C: 'c', D: 'd', E: 'e', F: 'f' });
  expect(short(expired)).toEqual(['B', 'C', 'D', 'E', 'F'].map((name) => `${name} failed TARGET_AUTH`));
  fake.interrupt = null;
  fake.denied.add('CreateSecret');
  expect(short(await sync(awsSecretsManager, each, fake, { A: 'new', B: 'b' }))).toEqual([
    'A updated',
    'B failed TARGET_AUTH',
  ]);
  fake.denied.add('ListSecrets');
  expect(short(await sync(awsSecretsManager, each, fake, { A: 'newer' }))).toEqual(['A failed TARGET_AUTH']);
});

it('sync: aws-secrets-manager signs the session token, and the host that is called', async () => {
  const fake = await running(startAwsSecretsManager());
  fake.sessionToken = 'made-up-session-token==';
  expect(short(await sync(awsSecretsManager, each, fake, { A: 'a' }))).toEqual(['A failed TARGET_AUTH']);
  expect(
    short(await sync(awsSecretsManager, { ...each, sessionToken: fake.sessionToken }, fake, { A: 'a' })),
  ).toEqual(['A created']);
});

it('sync: aws-secrets-manager takes a listing of another shape for no empty one', async () => {
  const fake = await running(startAwsSecretsManager());
  for (const body of [{}, { SecretList: null }, { SecretList: [null] }, { SecretList: [{}] }, [], 'text']) {
    fake.interrupt = () => ({ status: 200, body });
    expect(short(await sync(awsSecretsManager, each, fake, { A: 'a' }))).toEqual([
      'A failed TARGET_REJECTED',
    ]);
  }
  expect(fake.writes()).toEqual([]);
});

it('sync: the fake aws-secrets-manager refuses what the vendor would', async () => {
  const fake = await running(startAwsSecretsManager());
  const type = async (headers: Record<string, string>, body = '{}') => {
    const response = await fetch(fake.url, { method: 'POST', headers, body });
    return [response.status, ((await response.json()) as { __type: string }).__type.replace(/.*#/, '')];
  };
  const headers = {
    'Content-Type': 'application/x-amz-json-1.1',
    'X-Amz-Target': 'secretsmanager.ListSecrets',
  };
  expect(await type({ ...headers, 'Content-Type': 'application/json' })).toEqual([
    404,
    'UnknownOperationException',
  ]);
  expect(await type({ ...headers, 'X-Amz-Target': 'secretsmanager.Nothing' })).toEqual([
    400,
    'UnknownOperationException',
  ]);
  expect(await type(headers)).toEqual([400, 'MissingAuthenticationTokenException']);
  expect(await type({ ...headers, Authorization: 'AWS4-HMAC-SHA256 x' })).toEqual([
    400,
    'IncompleteSignatureException',
  ]);
});

it('sync: aws-secrets-manager does not prune what somebody else has replaced with bytes', async () => {
  const fake = await running(startAwsSecretsManager());
  const first = await sync(awsSecretsManager, each, fake, { A: 'a' });
  fake.seed('app/A', null);
  const pruned = await sync(awsSecretsManager, each, fake, {}, { owned: first.owned, gone: ['A'] });
  expect([pruned.results, pruned.owned]).toEqual([[], []]);
  expect(fake.secrets.get('app/A')?.deleted === false).toBe(true);
});
