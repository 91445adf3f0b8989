// Approvals of calls by clients of AWS Secrets Manager: what is held, what an approval serves for, and what
// deciders are shown.
import { describe, expect, it } from 'vitest';
import { faults } from '../../support/faults';
import { colleague, newApprovalPolicy, newOffice, under } from '../../support/governance/approvals';
import {
  awsOf,
  type How,
  newAwsKey,
  type Pair,
  sendSigned,
  signed,
  typeOf,
} from '../../support/integrations/aws';
import type { Browser } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Answer, type Caller, newSecret, send, useWorld } from '../../support/world';

useWorld();

const READ = { SecretId: 'db' };
const BINARY = btoa('another-value');
const PUT = { ...READ, SecretString: 'another-value' };
const DENIED = [400, 'AccessDeniedException'];
const MISMATCH = [400, 'InvalidRequestException'];
const OK = [200, undefined];

/** An office with a held secret `db`, and a client with the access key of an admin. */
async function held(
  operations = ['secret.read', 'secret.update', 'secret.delete'],
  config: object = {},
  before: (o: Caller) => Promise<void> = async () => {},
) {
  const office = await newOffice();
  await before(office.o);
  const secret = await newSecret(office.o, { name: 'db', value: 'a-held-value' });
  const key = await newAwsKey(office.bob.o, { scopes: ['secrets:*'] });
  await newApprovalPolicy(office.o, operations, { config });
  const aws = awsOf(office.o, key.pair);
  return { ...office, secret, key, aws };
}

/** The approval that a refusal names. */
const approvalIn = (answer: Answer): string => {
  expect(typeOf(answer)).toEqual(DENIED);
  const [, id] = /The approval is (apr_\w+)\.$/.exec(answer.json.Message) ?? [];
  return id as string;
};
const approve = (ann: Awaited<ReturnType<typeof held>>['ann'], id: string, body?: object) =>
  ann.o.post(`/approvals/${id}/approve`, body);
const using = (id: string): How => ({ sent: { headers: under(id) } });

describe('AWS: approvals', () => {
  slow('approval: held calls name it, do nothing and show deciders no value', async () => {
    const { o, ann, aws } = await held();
    const ids = [
      await aws('GetSecretValue', READ),
      await aws('PutSecretValue', { ...PUT, ClientRequestToken: crypto.randomUUID() }),
      await aws('PutSecretValue', { ...READ, SecretBinary: BINARY }),
      await aws('UpdateSecret', { ...READ, Description: 'words' }),
      await aws('TagResource', { ...READ, Tags: [{ Key: 'a', Value: 'b' }] }),
      await aws('DeleteSecret', READ),
    ].map(approvalIn);
    expect(new Set(ids).size).toBe(6);
    const pending = await ann.o.get('/approvals?status=pending');
    expect(pending.json.data.map(({ operation }: { operation: string }) => operation).sort()).toEqual([
      'secret.delete',
      'secret.read',
      ...Array(4).fill('secret.update'),
    ]);
    for (const id of ids) {
      const { json, text } = await ann.o.get(`/approvals/${id}`);
      for (const hidden of ['a-held-value', 'another-value', BINARY.replaceAll('=', '')])
        expect(text).not.toContain(hidden);
      expect(json.target).toMatchObject({ name: 'db', environment: 'production' });
    }
    expect((await o.get('/secrets/by-name/db?environment=production')).status).toBe(403);
    expect((await aws('DescribeSecret', READ)).json).toMatchObject({
      Tags: [],
      VersionIdsToStages: { '00000000-0000-4000-8000-000000000001': ['AWSCURRENT'] },
    });
  });

  slow(
    'approval: serves the call that it was given for, once, whatever its token and its signature',
    async () => {
      const { ann, aws } = await held();
      const read = approvalIn(await aws('GetSecretValue', READ));
      const ClientRequestToken = crypto.randomUUID();
      const put = approvalIn(await aws('PutSecretValue', { ...PUT, ClientRequestToken }));
      expect(
        approvalIn(await aws('PutSecretValue', { ...PUT, ClientRequestToken: crypto.randomUUID() })),
      ).toBe(put);
      expect(typeOf(await aws('GetSecretValue', READ, using(read)))).toEqual(MISMATCH);
      await approve(ann, read);
      // Without the header, one for a single use is not used.
      expect(approvalIn(await aws('GetSecretValue', READ))).toBe(read);
      expect((await aws('GetSecretValue', READ, using(read))).json.SecretString).toBe('a-held-value');
      expect(typeOf(await aws('GetSecretValue', READ, using(read)))).toEqual(MISMATCH);
      await approve(ann, put);
      const done = await aws('PutSecretValue', { ...PUT, ClientRequestToken }, using(put));
      expect(done.json.VersionStages).toEqual(['AWSCURRENT']);
      // The token answers with the version that it made, without another approval: nothing is written.
      expect((await aws('PutSecretValue', { ...PUT, ClientRequestToken })).json).toEqual(done.json);
      expect(typeOf(await aws('PutSecretValue', PUT, using(put)))).toEqual(MISMATCH);
    },
  );

  slow('approval: holds only for its own operation, secret, value, environment and version', async () => {
    const { o, ann, aws, key } = await held();
    await newSecret(o, { name: 'db2', value: 'a-second-value' });
    await newSecret(o, { name: 'db', environment: 'staging', value: 'a-third-value' });
    const read = approvalIn(await aws('GetSecretValue', READ));
    await approve(ann, read);
    const others: [string, object, How?][] = [
      ['GetSecretValue', { SecretId: 'db2' }],
      ['GetSecretValue', READ, { environment: 'staging' }],
      ['GetSecretValue', { ...READ, VersionStage: 'AWSCURRENT' }],
      ['GetSecretValue', { ...READ, VersionId: '00000000-0000-4000-8000-000000000001' }],
      ['DeleteSecret', READ],
      ['PutSecretValue', PUT],
      ['UpdateSecret', { ...READ, Description: 'x' }],
    ];
    for (const [operation, members, how] of others)
      expect(typeOf(await aws(operation, members, { ...how, ...using(read) }))).toEqual(MISMATCH);
    const put = approvalIn(await aws('PutSecretValue', PUT));
    await approve(ann, put);
    for (const [operation, members] of [
      ['PutSecretValue', { ...PUT, SecretString: 'other' }],
      ['PutSecretValue', { ...READ, SecretBinary: 'YQ==' }],
      ['UpdateSecret', PUT],
      ['DeleteSecret', { ...READ, ForceDeleteWithoutRecovery: true }],
    ] as const)
      expect(typeOf(await aws(operation, members, using(put)))).toEqual(MISMATCH);
    // Nor of another root, nor by our own API, nor by a session of another key.
    const other = await newAwsKey(o);
    expect(typeOf(await awsOf(o, other.pair)('GetSecretValue', READ, using(read)))).toEqual(MISMATCH);
    expect((await o.as(key.token).get('/secrets/by-name/db', under(read))).status).toBe(409);
    expect(typeOf(await aws('GetSecretValue', READ, using(read)))).toEqual(OK);
  });

  slow('approval: a captured call spends none, and with the header of another it does nothing', async () => {
    const { o, ann, key, aws } = await held();
    const request = await signed(o, key.pair, 'PutSecretValue', PUT);
    const id = approvalIn(await sendSigned(request));
    await approve(ann, id);
    expect(approvalIn(await sendSigned(request))).toBe(id);
    const done = await sendSigned({ ...request, headers: { ...request.headers, 'approval-id': id } });
    expect(typeOf(done)).toEqual(OK);
    const again = await sendSigned({ ...request, headers: { ...request.headers, 'approval-id': id } });
    expect(again.json).toEqual(done.json);
    expect(typeOf(await sendSigned(request))).toEqual(MISMATCH);
    expect(Object.keys((await aws('DescribeSecret', READ)).json.VersionIdsToStages)).toHaveLength(2);
  });

  it('approval: for a while serves a client that can add no header, the same credential alone', async () => {
    const { o, ann, key, aws } = await held(['secret.read'], { max_valid_seconds: 3600 });
    const session = async () =>
      (await send('POST', '/api/v1/auth/aws', { token: key.token, body: {} })).json as Pair;
    const id = approvalIn(await aws('GetSecretValue', READ));
    await approve(ann, id, { valid_for_seconds: 600 });
    for (let n = 0; n < 2; n++)
      expect((await aws('GetSecretValue', READ)).json.SecretString).toBe('a-held-value');
    expect(typeOf(await awsOf(o, await session())('GetSecretValue', READ))).toEqual(DENIED);
    expect(typeOf(await aws('GetSecretValue', { ...READ, VersionStage: 'AWSCURRENT' }))).toEqual(DENIED);
    faults.clock = Date.now() + 601_000;
    expect(typeOf(await aws('GetSecretValue', READ))).toEqual(DENIED);
  });

  it('approval: a batch has the error of each held secret, whatever has been approved', async () => {
    const { o, ann, aws } = await held();
    await newSecret(o, { name: 'free', environment: 'staging', value: 'x' });
    const id = approvalIn(await aws('GetSecretValue', READ));
    await approve(ann, id);
    for (const members of [{ SecretIdList: ['db'] }, { Filters: [{ Key: 'name', Values: ['db'] }] }]) {
      const { json, text } = await aws('BatchGetSecretValue', members, using(id));
      expect(json).toEqual({
        SecretValues: [],
        Errors: [{ SecretId: 'db', ErrorCode: 'AccessDeniedException', Message: expect.any(String) }],
      });
      expect(text).not.toContain('a-held-value');
    }
    expect(typeOf(await aws('GetSecretValue', READ, using(id)))).toEqual(OK);
  });

  it('approval: an ARN means the secret that it named when it was held', async () => {
    const { o, ann, aws, secret } = await held(['secret.read']);
    const arn = (name: string) => `arn:aws:secretsmanager:eu-central-1:000000000000:secret:${name}`;
    // What somebody named like the ARN of a held secret is not read in its place.
    const whole = `db-${secret.id.slice(-6)}`;
    await newSecret(o, { name: whole, value: 'a-planted-value' });
    const read = approvalIn(await aws('GetSecretValue', { SecretId: arn(whole) }));
    expect((await ann.o.get(`/approvals/${read}`)).json.target.name).toBe('db');
    // A name that looks like one with an end is held by itself, and says by what.
    const plain = await newSecret(o, { name: 'db-abcdef', value: 'a-fourth-value' });
    const SecretId = arn('db-abcdef');
    const id = approvalIn(await aws('GetSecretValue', { SecretId }));
    expect((await ann.o.get(`/approvals/${id}`)).json.target.name).toBe('db-abcdef');
    await approve(ann, id);
    await o.del(`/secrets/${plain.id}`);
    await newSecret(o, { name: 'db-abcdef', value: 'a-fifth-value' });
    expect(typeOf(await aws('GetSecretValue', { SecretId }, using(id)))).toEqual(MISMATCH);
  });

  it('attack: whoever acts as the maker of a key spends nothing that was approved for the key', async () => {
    const cats: Browser[] = [];
    const { o, ann, bob, key, aws } = await held(['secret.read'], { max_valid_seconds: 3600 }, async (o) => {
      cats.push(await colleague(o, 'owner'));
    });
    const [cat] = cats as [Browser];
    const id = approvalIn(await aws('GetSecretValue', READ));
    await approve(ann, id, { valid_for_seconds: 600 });
    await cat.confirm();
    expect((await cat.o.post(`/members/${bob.member.id}/enrolments`)).status).toBe(201);
    const { json } = await bob.o.patch(`/api-keys/${key.id}`, { aws: true });
    expect(typeOf(await awsOf(o, json.aws)('GetSecretValue', READ))).toEqual(DENIED);
  });
});
