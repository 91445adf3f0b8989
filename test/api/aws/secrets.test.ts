// Secrets through the endpoint for clients of AWS Secrets Manager.
import { describe, expect, it } from 'vitest';
import type { CredentialRow } from '../../../src/db/schema';
import { revision } from '../../../src/gate/request/writes';
import { awsOf, newAwsKey, typeOf } from '../../support/integrations/aws';
import { change } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Answer, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const version = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const ARN = /^arn:aws:secretsmanager:eu-central-1:000000000000:secret:(.+)-[A-Za-z0-9]{6}$/;
const MARKED = "You can't perform this operation on the secret because it was marked for deletion.";

async function world() {
  const o = await newOrg();
  const { pair, id, token } = await newAwsKey(o);
  return { o, pair, id, token, aws: awsOf(o, pair) };
}

describe('AWS: values', () => {
  it('read: a value of ours has an ARN, a version, its label and a time in seconds', async () => {
    const { o, aws } = await world();
    const secret = await newSecret(o, { name: 'app/db', value: 'hunter2' });
    const { json, headers, status } = await aws('GetSecretValue', { SecretId: 'app/db' });
    expect([status, json]).toEqual([
      200,
      {
        ARN: `arn:aws:secretsmanager:eu-central-1:000000000000:secret:app/db-${secret.id.slice(-6)}`,
        Name: 'app/db',
        VersionId: version(1),
        SecretString: 'hunter2',
        VersionStages: ['AWSCURRENT'],
        CreatedDate: expect.any(Number),
      },
    ]);
    expect(Math.abs(json.CreatedDate - Date.now() / 1000)).toBeLessThan(60);
    expect(headers.get('content-type')).toBe('application/x-amz-json-1.1');
    expect(headers.get('x-amzn-requestid')).toBe(headers.get('request-id'));
    expect(headers.get('x-ratelimit-limit')).toBe('1200');
  });

  it('id: a name, an ARN and an ARN without its end name a secret; another end does not', async () => {
    const { aws } = await world();
    const { ARN: arn } = (await aws('CreateSecret', { Name: 'a-b', SecretString: 'x' })).json;
    const bare = arn.slice(0, -7);
    for (const SecretId of ['a-b', arn, bare, arn.replace('eu-central-1', 'auto')])
      expect((await aws('GetSecretValue', { SecretId })).json.SecretString).toBe('x');
    for (const SecretId of [`${bare}-zzzzzz`, 'a', '/a-b', 'a+b', 'arn:aws:s3:::a-b'])
      expect(typeOf(await aws('GetSecretValue', { SecretId }))).toEqual([400, 'ResourceNotFoundException']);
    await aws('CreateSecret', { Name: 'svc-abcdef', SecretString: 'y' });
    const { json } = await aws('GetSecretValue', {
      SecretId: 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:svc-abcdef',
    });
    expect(json.SecretString).toBe('y');
    const put = await aws('PutSecretValue', {
      SecretId: `${bare.replace('a-b', 'svc-abcdef')}`,
      SecretString: 'z',
    });
    expect(put.json.VersionId).toBe(version(2));
  });

  it('versions: labels follow from versions, and any other id is not found', async () => {
    const { aws } = await world();
    await aws('CreateSecret', { Name: 's', SecretString: '1' });
    for (const value of ['2', '3']) await aws('PutSecretValue', { SecretId: 's', SecretString: value });
    const get = async (more: object) => {
      const { json } = await aws('GetSecretValue', { SecretId: 's', ...more });
      return json.__type ?? [json.SecretString, json.VersionStages];
    };
    expect(await get({})).toEqual(['3', ['AWSCURRENT']]);
    expect(await get({ VersionStage: 'AWSPREVIOUS' })).toEqual(['2', ['AWSPREVIOUS']]);
    expect(await get({ VersionId: version(1) })).toEqual(['1', undefined]);
    expect(await get({ VersionId: version(3), VersionStage: 'AWSCURRENT' })).toEqual(['3', ['AWSCURRENT']]);
    expect(await get({ VersionId: version(2), VersionStage: 'AWSCURRENT' })).toBe('InvalidRequestException');
    expect(await get({ VersionId: version(4) })).toBe('ResourceNotFoundException');
    expect(await get({ VersionId: crypto.randomUUID() })).toBe('ResourceNotFoundException');
    expect(await get({ VersionStage: 'AWSPENDING' })).toBe('ResourceNotFoundException');
  });

  slow('bytes: a mark on the version, so that the next one may be a text', async () => {
    const { o, aws } = await world();
    const bytes = Buffer.from([0, 255, 1, 254]).toString('base64');
    await aws('CreateSecret', { Name: 'b', SecretBinary: bytes });
    const first = (await aws('GetSecretValue', { SecretId: 'b' })).json;
    expect([first.SecretBinary, first.SecretString]).toEqual([bytes, undefined]);
    await aws('PutSecretValue', { SecretId: 'b', SecretString: 'text' });
    expect((await aws('GetSecretValue', { SecretId: 'b' })).json.SecretString).toBe('text');
    expect((await aws('GetSecretValue', { SecretId: 'b', VersionId: version(1) })).json.SecretBinary).toBe(
      bytes,
    );
    const { id } = (await o.get('/secrets/by-name/b')).json;
    await o.post(`/secrets/${id}/rollback`, { version: 1 });
    expect((await aws('GetSecretValue', { SecretId: 'b' })).json.SecretBinary).toBe(bytes);
    const most = Buffer.alloc(49_152, 7).toString('base64');
    expect((await aws('PutSecretValue', { SecretId: 'b', SecretBinary: most })).status).toBe(200);
    expect((await aws('GetSecretValue', { SecretId: 'b' })).json.SecretBinary).toBe(most);
    const over = Buffer.alloc(49_153, 7).toString('base64');
    for (const more of [
      { SecretBinary: over },
      { SecretBinary: '*' },
      {},
      { SecretBinary: bytes, SecretString: 'x' },
    ])
      expect(typeOf(await aws('PutSecretValue', { SecretId: 'b', ...more }))).toEqual([
        400,
        'InvalidParameterException',
      ]);
  });

  slow('batch: by ids with an error for each that is not there, and by filters in pages', async () => {
    const { aws, o } = await world();
    for (const n of [1, 2, 3]) await aws('CreateSecret', { Name: `app/${n}`, SecretString: `v${n}` });
    await newSecret(o, { name: 'other', value: 'x' });
    const some = (await aws('BatchGetSecretValue', { SecretIdList: ['app/1', 'no', 'app/2'] })).json;
    expect(some.SecretValues.map(({ SecretString }: { SecretString: string }) => SecretString)).toEqual([
      'v1',
      'v2',
    ]);
    expect(some.Errors).toEqual([
      {
        SecretId: 'no',
        ErrorCode: 'ResourceNotFoundException',
        Message: "Secrets Manager can't find the specified secret.",
      },
    ]);
    const Filters = [{ Key: 'name', Values: ['app/'] }];
    const one = (await aws('BatchGetSecretValue', { Filters, MaxResults: 2 })).json;
    const two = (await aws('BatchGetSecretValue', { Filters, MaxResults: 2, NextToken: one.NextToken })).json;
    expect([...one.SecretValues, ...two.SecretValues].map(({ Name }) => Name)).toEqual([
      'app/1',
      'app/2',
      'app/3',
    ]);
    expect(two.NextToken).toBeUndefined();
    expect(typeOf(await aws('BatchGetSecretValue', {}))).toEqual([400, 'InvalidParameterException']);
    expect(typeOf(await aws('BatchGetSecretValue', { Filters, NextToken: 'x' }))).toEqual([
      400,
      'InvalidNextTokenException',
    ]);
  });
});

describe('AWS: secrets', () => {
  slow('create: with a value, its tags and its description; a name that is in use exists', async () => {
    const { aws, o } = await world();
    const made = await aws('CreateSecret', {
      Name: 'app/db',
      SecretString: '{"user":"app"}',
      Description: 'main',
      KmsKeyId: 'alias/aws/secretsmanager',
      Tags: [{ Key: 'managed-by', Value: 'external-secrets' }],
      ClientRequestToken: crypto.randomUUID(),
    });
    expect(made.json).toEqual({ ARN: expect.stringMatching(ARN), Name: 'app/db', VersionId: version(1) });
    expect((await o.get('/secrets/by-name/app/db')).json).toMatchObject({
      type: 'json',
      value: '{"user":"app"}',
      description: 'main',
      tags: { 'managed-by': 'external-secrets' },
    });
    expect(typeOf(await aws('CreateSecret', { Name: 'app/db', SecretString: 'x' }))).toEqual([
      400,
      'ResourceExistsException',
    ]);
    for (const more of [
      { Name: '/x' },
      { Name: 'a@b' },
      { KmsKeyId: 'arn:aws:kms:x' },
      { AddReplicaRegions: [{ Region: 'x' }] },
      { Tags: [{ Key: 'a', Value: '' }] },
      { ClientRequestToken: 'short' },
    ])
      expect(typeOf(await aws('CreateSecret', { Name: 'n', SecretString: 'x', ...more }))).toEqual([
        400,
        'InvalidParameterException',
      ]);
  });

  slow('without a value: it is described, has no value, and its first version keeps its ARN', async () => {
    const { aws, o } = await world();
    const ClientRequestToken = 'terraform-20261128180000000000000001';
    const create = () =>
      aws('CreateSecret', {
        Name: 'tf',
        Description: '',
        Tags: [{ Key: 'a', Value: 'b' }],
        ClientRequestToken,
      });
    const made = (await create()).json;
    expect(made).toEqual({ ARN: expect.stringMatching(ARN), Name: 'tf' });
    expect((await create()).json).toEqual(made);
    expect(typeOf(await aws('CreateSecret', { Name: 'tf' }))).toEqual([400, 'ResourceExistsException']);
    const shown = (await aws('DescribeSecret', { SecretId: made.ARN })).json;
    expect(shown).toMatchObject({ ARN: made.ARN, Tags: [{ Key: 'a', Value: 'b' }] });
    expect(shown.VersionIdsToStages).toBeUndefined();
    expect(typeOf(await aws('GetSecretValue', { SecretId: made.ARN }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
    expect((await o.get('/secrets')).json.data).toEqual([]);
    expect((await aws('ListSecrets')).json.SecretList.map(({ Name }: { Name: string }) => Name)).toEqual([
      'tf',
    ]);
    await aws('UpdateSecret', { SecretId: made.ARN, Description: 'later' });
    await aws('TagResource', { SecretId: made.ARN, Tags: [{ Key: 'c', Value: 'd' }] });
    const put = (await aws('PutSecretValue', { SecretId: made.ARN, SecretString: 'v' })).json;
    expect(put).toEqual({ ...made, VersionId: version(1), VersionStages: ['AWSCURRENT'] });
    expect((await o.get('/secrets/by-name/tf')).json).toMatchObject({
      value: 'v',
      description: 'later',
      tags: { a: 'b', c: 'd' },
    });
    await aws('CreateSecret', { Name: 'gone' });
    await aws('DeleteSecret', { SecretId: 'gone' });
    expect(typeOf(await aws('DescribeSecret', { SecretId: 'gone' }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
  });

  slow('describe: labels of versions, and what is marked for deletion with its date', async () => {
    const { aws } = await world();
    await aws('CreateSecret', { Name: 's', SecretString: '1' });
    await aws('PutSecretValue', { SecretId: 's', SecretString: '2' });
    const shown = (await aws('DescribeSecret', { SecretId: 's' })).json;
    expect(shown).toEqual({
      ARN: expect.stringMatching(ARN),
      Name: 's',
      RotationEnabled: false,
      Tags: [],
      VersionIdsToStages: { [version(2)]: ['AWSCURRENT'], [version(1)]: ['AWSPREVIOUS'] },
      CreatedDate: expect.any(Number),
      LastChangedDate: expect.any(Number),
    });
    await aws('DeleteSecret', { SecretId: 's' });
    expect((await aws('DescribeSecret', { SecretId: 's' })).json.DeletedDate).toEqual(expect.any(Number));
  });

  slow(
    'delete: marked for seven days in the words of AWS, restored, created anew, and gone at once',
    async () => {
      const { aws, o } = await world();
      const made = (await aws('CreateSecret', { Name: 's', SecretString: '1' })).json;
      const gone = (await aws('DeleteSecret', { SecretId: 's', RecoveryWindowInDays: 30 })).json;
      expect(gone).toEqual({ ARN: made.ARN, Name: 's', DeletionDate: expect.any(Number) });
      expect(Math.round(gone.DeletionDate - Date.now() / 1000)).toBeGreaterThan(7 * 86_400 - 60);
      for (const [operation, more] of [
        ['GetSecretValue', {}],
        ['PutSecretValue', { SecretString: 'x' }],
        ['UpdateSecret', { Description: 'x' }],
        ['TagResource', { Tags: [{ Key: 'a', Value: 'b' }] }],
        ['UntagResource', { TagKeys: ['a'] }],
        ['DeleteSecret', {}],
        ['ListSecretVersionIds', {}],
      ] as const)
        expect((await aws(operation, { SecretId: 's', ...more })).json).toEqual({
          __type: 'InvalidRequestException',
          Message: MARKED,
        });
      expect((await aws('ListSecrets')).json.SecretList).toEqual([]);
      expect((await aws('ListSecrets', { IncludePlannedDeletion: true })).json.SecretList).toHaveLength(1);
      expect((await aws('RestoreSecret', { SecretId: 's' })).json).toEqual({ ARN: made.ARN, Name: 's' });
      expect((await aws('GetSecretValue', { SecretId: 's' })).json.SecretString).toBe('1');
      await aws('DeleteSecret', { SecretId: 's' });
      const anew = (await aws('CreateSecret', { Name: 's', SecretString: '2' })).json;
      expect(anew.VersionId).toBe(version(1));
      expect(typeOf(await aws('RestoreSecret', { SecretId: made.ARN }))).toEqual([
        400,
        'InvalidRequestException',
      ]);
      await aws('DeleteSecret', { SecretId: 's', ForceDeleteWithoutRecovery: true });
      expect((await o.get(`/secrets?status=deleted`)).json.data).toHaveLength(1);
      expect(
        (await aws('DeleteSecret', { SecretId: 'never', ForceDeleteWithoutRecovery: true })).status,
      ).toBe(200);
      expect(typeOf(await aws('DeleteSecret', { SecretId: 'never' }))).toEqual([
        400,
        'ResourceNotFoundException',
      ]);
      expect(
        typeOf(
          await aws('DeleteSecret', {
            SecretId: 's',
            ForceDeleteWithoutRecovery: true,
            RecoveryWindowInDays: 7,
          }),
        ),
      ).toEqual([400, 'InvalidParameterException']);
    },
  );

  it('delete at once: an ARN that is a whole name deletes that secret, and what is not there is 200', async () => {
    const { aws, o } = await world();
    const arn = 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:my-secret';
    const force = { SecretId: arn, ForceDeleteWithoutRecovery: true };
    await aws('CreateSecret', { Name: 'my-secret', SecretString: '1' });
    // Out of this key's reach, the longer name is as if it were not there.
    const near = awsOf(o, (await newAwsKey(o, { scopes: ['secrets:*'], secrets: ['my'] })).pair);
    const answer = (await near('DeleteSecret', force)).json;
    expect(answer.Name).toBe('my');
    expect((await aws('DeleteSecret', force)).json.Name).toBe('my-secret');
    expect((await o.get('/secrets?status=deleted')).json.data).toEqual([]);
    expect(typeOf(await aws('GetSecretValue', { SecretId: 'my-secret' }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
    expect((await near('DeleteSecret', force)).json).toEqual({
      ...answer,
      DeletionDate: expect.any(Number),
    });
    await aws('CreateSecret', { Name: 'my-secret' });
    expect((await aws('DeleteSecret', force)).json.Name).toBe('my-secret');
    expect((await aws('ListSecrets')).json.SecretList).toEqual([]);
  });

  it('without a value: its environment is not empty', async () => {
    const { aws, o } = await world();
    await o.post('/environments', { name: 'Preview', slug: 'preview' });
    await aws('CreateSecret', { Name: 'tf' }, { environment: 'preview' });
    expect(codeOf(await o.del('/environments/preview'))).toEqual([409, 'ENVIRONMENT_NOT_EMPTY']);
    await aws('DeleteSecret', { SecretId: 'tf' }, { environment: 'preview' });
    expect((await o.del('/environments/preview')).status).toBe(204);
  });

  slow('update: a version is told of only where the request made one', async () => {
    const { aws } = await world();
    const { ARN, Name } = (await aws('CreateSecret', { Name: 's', SecretString: '1' })).json;
    expect((await aws('UpdateSecret', { SecretId: 's', Description: 'words' })).json).toEqual({ ARN, Name });
    expect(
      (await aws('UpdateSecret', { SecretId: 's', Description: '', SecretString: '2' })).json.VersionId,
    ).toBe(version(2));
  });

  slow('rate limit: each secret of a batch and each part of a list is a request', async () => {
    const { aws, o } = await world();
    for (const Name of ['a', 'b']) await aws('CreateSecret', { Name, SecretString: 'v' });
    const limited = async (rate_limit: number, fields: Record<string, unknown> = {}) => {
      const { pair, id } = await newAwsKey(o, fields);
      await change(o.id, (call) => {
        const row = call.core.rows.get('credential', id) as CredentialRow;
        return { status: 200, data: null, writes: [revision(call, 'credential', row, { rate_limit })] };
      });
      return awsOf(o, pair);
    };
    const few = await limited(6);
    const left = (answer: Answer) => answer.headers.get('x-ratelimit-remaining');
    expect((await few('BatchGetSecretValue', { SecretIdList: ['a', 'b'] })).json.SecretValues).toHaveLength(
      2,
    );
    expect(left(await few('ListSecrets'))).toBe('2');
    const over = await few('BatchGetSecretValue', { SecretIdList: ['a', 'b', 'no'] });
    expect([typeOf(over), over.text.includes('SecretValues')]).toEqual([[400, 'ThrottlingException'], false]);
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
    // As wide as patterns can be, so that one part compares few names with them.
    const secrets = Array.from({ length: 16 }, (_, i) => `${'*A'.repeat(5)}${'A'.repeat(230)}${i}`);
    const names = Array.from({ length: 600 }, (_, n) => `${'A'.repeat(230)}${1000 + n}=v`);
    await o.post('/integrations/import', { source: 'dotenv', data: names.join('\n'), onConflict: 'fail' });
    const wide = { scopes: ['secrets:list'], secrets };
    expect(typeOf(await (await limited(3, wide))('ListSecrets'))).toEqual([400, 'ThrottlingException']);
    expect((await (await limited(100, wide))('ListSecrets')).json.SecretList).toEqual([]);
  });

  slow('tags: added, replaced and taken away', async () => {
    const { aws } = await world();
    await aws('CreateSecret', { Name: 's', SecretString: '1', Tags: [{ Key: 'a', Value: '1' }] });
    const tags = [
      { Key: 'a', Value: '2' },
      { Key: 'app.kubernetes.io/name', Value: 'x' },
    ];
    expect((await aws('TagResource', { SecretId: 's', Tags: tags })).text).toBe('{}');
    expect((await aws('DescribeSecret', { SecretId: 's' })).json.Tags).toEqual(tags);
    await aws('UntagResource', { SecretId: 's', TagKeys: ['a', 'no'] });
    expect((await aws('DescribeSecret', { SecretId: 's' })).json.Tags).toEqual([tags[1]]);
  });

  slow('list: filters, negation, orders and pages', async () => {
    const { aws } = await world();
    for (const [name, description, tag] of [
      ['app/b', 'The main Database', 'x'],
      ['app/a', 'cache', 'y'],
      ['App/c', '', 'x'],
    ])
      await aws('CreateSecret', {
        Name: name,
        SecretString: 'v',
        Description: description,
        Tags: [{ Key: `k-${tag}`, Value: `v-${tag}` }],
      });
    const names = async (members: object) =>
      (await aws('ListSecrets', members)).json.SecretList.map(({ Name }: { Name: string }) => Name);
    const by = (Key: string, ...Values: string[]) => names({ Filters: [{ Key, Values }] });
    expect(await names({})).toEqual(['app/b', 'app/a', 'App/c']);
    expect(await by('name', 'app/')).toEqual(['app/b', 'app/a']);
    expect(await by('name', '!app/')).toEqual(['App/c']);
    expect(await by('name', 'app/a', 'App')).toEqual(['app/a', 'App/c']);
    expect(await by('description', 'database')).toEqual(['app/b']);
    expect(await by('tag-key', 'k-x')).toEqual(['app/b', 'App/c']);
    expect(await by('tag-value', 'v-y')).toEqual(['app/a']);
    expect(await by('all', 'CACHE')).toEqual(['app/a']);
    expect(await by('owning-service', 'rds')).toEqual([]);
    expect(
      await names({
        Filters: [
          { Key: 'name', Values: ['app/'] },
          { Key: 'tag-key', Values: ['k-x'] },
        ],
      }),
    ).toEqual(['app/b']);
    expect(await names({ SortOrder: 'desc' })).toEqual(['App/c', 'app/a', 'app/b']);
    expect(await names({ SortBy: 'name' })).toEqual(['App/c', 'app/a', 'app/b']);
    const pages: string[] = [];
    for (const order of [{}, { SortBy: 'name', SortOrder: 'desc' }])
      for (let NextToken: string | undefined, first = true; first || NextToken; first = false) {
        const { json } = await aws('ListSecrets', { MaxResults: 1, NextToken, ...order });
        pages.push(...json.SecretList.map(({ Name }: { Name: string }) => Name));
        ({ NextToken } = json);
      }
    expect(pages).toEqual(['app/b', 'app/a', 'App/c', 'app/b', 'app/a', 'App/c']);
    const { NextToken } = (await aws('ListSecrets', { MaxResults: 1 })).json;
    expect(
      typeOf(await aws('ListSecrets', { NextToken, Filters: [{ Key: 'name', Values: ['a'] }] })),
    ).toEqual([400, 'InvalidNextTokenException']);
  });

  slow('versions: those with a label, and all of them in pages', async () => {
    const { aws } = await world();
    await aws('CreateSecret', { Name: 's', SecretString: '1' });
    for (const value of ['2', '3']) await aws('PutSecretValue', { SecretId: 's', SecretString: value });
    const two = (await aws('ListSecretVersionIds', { SecretId: 's' })).json;
    expect(two.Versions.map(({ VersionId }: { VersionId: string }) => VersionId)).toEqual([
      version(3),
      version(2),
    ]);
    const first = (
      await aws('ListSecretVersionIds', { SecretId: 's', IncludeDeprecated: true, MaxResults: 2 })
    ).json;
    const rest = (
      await aws('ListSecretVersionIds', {
        SecretId: 's',
        IncludeDeprecated: true,
        MaxResults: 2,
        NextToken: first.NextToken,
      })
    ).json;
    expect(rest.Versions).toEqual([
      { VersionId: version(1), VersionStages: [], CreatedDate: expect.any(Number) },
    ]);
    expect(rest.NextToken).toBeUndefined();
  });

  slow('labels: AWSPREVIOUS can be taken away, AWSCURRENT stays', async () => {
    const { aws } = await world();
    await aws('CreateSecret', { Name: 's', SecretString: '1' });
    await aws('PutSecretValue', { SecretId: 's', SecretString: '2' });
    const move = (VersionStage: string, more: object) =>
      aws('UpdateSecretVersionStage', { SecretId: 's', VersionStage, ...more });
    expect(
      typeOf(await move('AWSCURRENT', { MoveToVersionId: version(1), RemoveFromVersionId: version(2) })),
    ).toEqual([400, 'InvalidRequestException']);
    expect((await move('AWSCURRENT', { MoveToVersionId: version(2) })).status).toBe(200);
    expect((await move('AWSPREVIOUS', { RemoveFromVersionId: version(1) })).status).toBe(200);
    expect((await aws('DescribeSecret', { SecretId: 's' })).json.VersionIdsToStages).toEqual({
      [version(2)]: ['AWSCURRENT'],
    });
    const gone = await aws('GetSecretValue', { SecretId: 's', VersionStage: 'AWSPREVIOUS' });
    expect(typeOf(gone)).toEqual([400, 'ResourceNotFoundException']);
    await aws('PutSecretValue', { SecretId: 's', SecretString: '3' });
    expect(
      (await aws('GetSecretValue', { SecretId: 's', VersionStage: 'AWSPREVIOUS' })).json.SecretString,
    ).toBe('2');
    expect(typeOf(await move('mine', { MoveToVersionId: version(1) }))).toEqual([
      400,
      'InvalidParameterException',
    ]);
  });

  slow('policies, rotation and replicas: none, said in the types that clients know', async () => {
    const { aws } = await world();
    const { ARN: arn } = (await aws('CreateSecret', { Name: 's', SecretString: '1' })).json;
    for (const operation of ['GetResourcePolicy', 'DeleteResourcePolicy']) {
      expect((await aws(operation, { SecretId: 's' })).json).toEqual({ ARN: arn, Name: 's' });
      expect(typeOf(await aws(operation, { SecretId: 'no' }))).toEqual([400, 'ResourceNotFoundException']);
    }
    for (const operation of ['PutResourcePolicy', 'RotateSecret', 'ReplicateSecretToRegions'])
      expect(typeOf(await aws(operation, { SecretId: 's' }))).toEqual([400, 'InvalidRequestException']);
  });

  it('password: has the requested length and characters', async () => {
    const { aws } = await world();
    const password = async (members: object) => (await aws('GetRandomPassword', members)).json.RandomPassword;
    expect(await password({})).toHaveLength(32);
    expect(await password({ PasswordLength: 8, ExcludePunctuation: true })).toMatch(
      /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9]{8}$/,
    );
    expect(
      await password({ PasswordLength: 40, ExcludeNumbers: true, ExcludeCharacters: 'abc' }),
    ).not.toMatch(/[\dabc]/);
    expect(typeOf(await aws('GetRandomPassword', { PasswordLength: 2 }))).toEqual([
      400,
      'InvalidParameterException',
    ]);
  });
});
