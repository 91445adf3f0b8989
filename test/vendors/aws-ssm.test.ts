import { expect, it } from 'vitest';
import { awsSsm } from '../../src/adapters/sync/aws-ssm';
import { SKEWED_CLOCK } from '../../src/adapters/sync/target-error';
import { operationOf } from './fakes/aws.ts';
import { startAwsSsm } from './fakes/aws-ssm.ts';
import { keepsTheContract, running, short, sync } from './sync';

const keys = {
  accessKeyId: 'AKIDMADEUP0000000000',
  secretAccessKey: 'made/up+secret/access+key',
  region: 'eu-west-1',
};
const config = { ...keys, pathPrefix: '/production/api' };

it('sync: aws-ssm keeps the contract of all platforms', async () => {
  const fake = await running(startAwsSsm());
  await keepsTheContract(awsSsm, config, fake, {
    read: (name) => fake.parameters.get(`/production/api/${name}`)?.Value,
    foreign: () => fake.seed('/production/api/FOREIGN', 'theirs'),
    hasForeign: () => fake.parameters.get('/production/api/FOREIGN')?.Value === 'theirs',
    wrong: { secretAccessKey: 'another' },
  });
  for (const { Type, tier } of fake.parameters.values())
    expect([Type, tier]).toEqual(['SecureString', 'Standard']);
});

it.each([
  [
    'RequestTimeTooSkewed',
    'The difference between the request time and the current time is too large.',
    true,
  ],
  ['RequestExpired', 'Request has expired.', true],
  [
    'InvalidSignatureException',
    'Signature expired: 20270101T000000Z is now earlier than 20270101T000500Z',
    true,
  ],
  [
    'InvalidSignatureException',
    'Signature not yet current: 20270101T001000Z is still later than 20270101T000500Z',
    true,
  ],
  [
    'InvalidSignatureException',
    'The request signature we calculated does not match the signature you provided.',
    false,
  ],
])('sync: aws-ssm tells a wrong clock from a refused credential: %s, %s', async (type, message, isClock) => {
  const fake = await running(startAwsSsm());
  fake.interrupt = () => ({ status: 400, body: { __type: `com.amazon.coral.service#${type}`, message } });
  const { results } = await sync(awsSsm, config, fake, { A: 'a', B: 'b' });
  expect(results.map(({ code }) => code)).toEqual(Array(2).fill(isClock ? 'TARGET_REJECTED' : 'TARGET_AUTH'));
  expect(results[0]?.message).toBe(
    `The target answered with status 400 (${type}).${isClock ? ` ${SKEWED_CLOCK}` : ''}`,
  );
  expect(fake.requests).toHaveLength(1);
});

it('sync: aws-ssm reads every page, also after an empty one, and no other path', async () => {
  const fake = await running(startAwsSsm());
  for (let i = 0; i < 10; i++) fake.seed(`/production/api/NAME_${i}`, 'before');
  fake.seed('/production/apis/NAME_1', 'before');
  const result = await sync(awsSsm, config, fake, { NAME_9: 'after', NAME_8: 'before', NAME_1: 'after' });
  expect(short(result)).toEqual(['NAME_1 updated', 'NAME_8 unchanged', 'NAME_9 updated']);
  expect(fake.parameters.get('/production/api/NAME_8')?.Version).toBe(1);
  expect(fake.parameters.get('/production/apis/NAME_1')?.Value).toBe('before');
  expect(fake.requests.map(operationOf)).not.toContain('GetParameter');
});

it('sync: aws-ssm makes large values advanced parameters, which stay so', async () => {
  const fake = await running(startAwsSsm());
  const secrets = { MOST: 'x'.repeat(4096), MORE: 'x'.repeat(4097), TOO: 'é'.repeat(4097), EMPTY: '' };
  const first = await sync(awsSsm, config, fake, secrets);
  expect(short(first)).toEqual([
    'EMPTY failed VALUE_NOT_ALLOWED',
    'MORE created',
    'MOST created',
    'TOO failed VALUE_TOO_LARGE',
  ]);
  const tierOf = (name: string) => fake.parameters.get(`/production/api/${name}`)?.tier;
  expect([tierOf('MOST'), tierOf('MORE')]).toEqual(['Standard', 'Advanced']);
  expect(short(await sync(awsSsm, config, fake, { MORE: 'small' }))).toEqual(['MORE updated']);
  expect(fake.parameters.get('/production/api/MORE')).toMatchObject({
    Value: 'small',
    tier: 'Advanced',
    Version: 2,
  });
});

it('sync: aws-ssm refuses names and values that AWS reserves before it writes', async () => {
  const fake = await running(startAwsSsm());
  const refused = await sync(awsSsm, config, fake, {
    'a/b/c/d/e/f/g/h/i/j/k/l/m': 'fifteen levels',
    'a/b/c/d/e/f/g/h/i/j/k/l/m/n': 'sixteen',
    BRACES: 'see {{ssm:/other}}',
    OPEN: '{{ no end',
  });
  expect(short(refused)).toEqual([
    'BRACES failed VALUE_NOT_ALLOWED',
    'OPEN created',
    'a/b/c/d/e/f/g/h/i/j/k/l/m created',
    'a/b/c/d/e/f/g/h/i/j/k/l/m/n failed NAME_INVALID',
  ]);
  const root = await sync(awsSsm, { ...keys, pathPrefix: '/' }, fake, {
    AWS_REGION: 'x',
    ssmX: 'y',
    MY_AWS: 'z',
  });
  expect(short(root)).toEqual([
    'AWS_REGION failed NAME_INVALID',
    'MY_AWS created',
    'ssmX failed NAME_INVALID',
  ]);
  expect(fake.parameters.get('/MY_AWS')?.Value).toBe('z');
});

it.each(['production', '/production/', '//', '/a b', ''])(
  'sync: aws-ssm refuses the path prefix %j',
  (pathPrefix) => {
    expect(awsSsm.config.safeParse({ ...keys, pathPrefix }).success).toBe(false);
  },
);

it('sync: aws-ssm does not change the type of a parameter, and says that AWS refuses to change it', async () => {
  const fake = await running(startAwsSsm());
  fake.seed('/production/api/PLAIN', 'before', { Type: 'String' });
  const result = await sync(awsSsm, config, fake, { PLAIN: 'after' });
  expect(short(result)).toEqual(['PLAIN failed TARGET_REJECTED']);
  expect(result.results[0]?.message).toBe(
    'The target answered with status 400 (HierarchyTypeMismatchException).',
  );
  expect(fake.parameters.get('/production/api/PLAIN')).toMatchObject({ Value: 'before', Type: 'String' });
});

it('sync: aws-ssm makes one version of a write whose answer was lost', async () => {
  const fake = await running(startAwsSsm());
  fake.seed('/production/api/B', 'before');
  let lost = 0;
  fake.interrupt = (request) => (operationOf(request) === 'PutParameter' && lost++ < 2 ? 'after' : null);
  expect(short(await sync(awsSsm, config, fake, { A: 'a', B: 'b' }))).toEqual(['A created', 'B updated']);
  expect([...fake.parameters.values()].map(({ Name, Version }) => [Name, Version])).toEqual([
    ['/production/api/B', 2],
    ['/production/api/A', 1],
  ]);
});

it('sync: aws-ssm repeats a lost write if it may not read, at the price of a version', async () => {
  const fake = await running(startAwsSsm());
  fake.denied.add('GetParameter');
  let lost = 0;
  fake.interrupt = (request) => (operationOf(request) === 'PutParameter' && lost++ < 1 ? 'after' : null);
  expect(short(await sync(awsSsm, config, fake, { A: 'a' }))).toEqual(['A created']);
  expect(fake.parameters.get('/production/api/A')?.Version).toBe(2);
});

it('sync: aws-ssm settles begun steps by reading', async () => {
  const fake = await running(startAwsSsm());
  fake.seed('/production/api/A', 'before');
  fake.interrupt = (request) =>
    operationOf(request) === 'GetParametersByPath' ? { status: 200, body: { Parameters: [] } } : null;
  fake.seed('/production/api/A', 'a');
  expect(short(await sync(awsSsm, config, fake, { A: 'a', B: 'b' }, { begun: ['A', 'B'] }))).toEqual([
    'A created',
    'B created',
  ]);
  expect(fake.parameters.get('/production/api/A')?.Version).toBe(1);
  expect(fake.parameters.get('/production/api/B')?.Value).toBe('b');
});

it('sync: aws-ssm deletes what it wrote, and a missing name counts as deleted', async () => {
  const fake = await running(startAwsSsm());
  const first = await sync(awsSsm, config, fake, { A: 'a', B: 'b' });
  fake.interrupt = (request) => {
    if (operationOf(request) === 'DeleteParameters') fake.parameters.delete('/production/api/B');
    return null;
  };
  const result = await sync(awsSsm, config, fake, { A: 'a' }, { owned: first.owned, gone: ['B'] });
  expect(short(result)).toEqual(['A unchanged', 'B deleted']);
});

it('sync: aws-ssm waits when AWS throttles, with status 400', async () => {
  const fake = await running(startAwsSsm());
  let n = 0;
  fake.interrupt = () =>
    n++ % 2 === 0 ? { status: 400, body: { __type: 'ThrottlingException', message: 'Rate exceeded' } } : null;
  expect(short(await sync(awsSsm, config, fake, { A: 'a', B: 'b' }))).toEqual(['A created', 'B created']);
});

it('sync: aws-ssm takes a listing of another shape for no empty one', async () => {
  const fake = await running(startAwsSsm());
  for (const body of [{}, { Parameters: {} }, { Parameters: [{ Name: '/production/api/A' }] }, [], 'text']) {
    fake.interrupt = () => ({ status: 200, body });
    expect(short(await sync(awsSsm, config, fake, { A: 'a' }))).toEqual(['A failed TARGET_REJECTED']);
  }
  expect(fake.writes()).toEqual([]);
});
