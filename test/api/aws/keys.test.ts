// Access keys for clients of AWS Secrets Manager, and attacks on the signature.
import { describe, expect, it } from 'vitest';
import {
  accessKeyOf,
  endOfSession,
  readAccessKey,
  sessionTokenOf,
} from '../../../src/auth/authentication/aws-keys';
import { randomBytes } from '../../../src/crypto/bytes';
import { newId } from '../../../src/db/ids';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import {
  amzDate,
  awsOf,
  type How,
  newAwsKey,
  type Pair,
  sendSigned,
  signed,
  typeOf,
} from '../../support/integrations/aws';
import { slow } from '../../support/slow';
import { codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const READ = { SecretId: 's' };
const UNKNOWN = [400, 'UnrecognizedClientException'];
const MISMATCH = [400, 'InvalidSignatureException'];

/** An org with a secret `s`, an API key with an access key, and calls with it. */
async function world(fields: Record<string, unknown> = {}) {
  const o = await newOrg();
  await newSecret(o, { name: 's', value: 'hunter2' });
  const key = await newAwsKey(o, fields);
  const aws = awsOf(o, key.pair);
  return { o, key, aws, read: async (how: How = {}) => typeOf(await aws('GetSecretValue', READ, how)) };
}

const session = async (token: string, body: object = {}) => send('POST', '/api/v1/auth/aws', { token, body });

describe('AWS: signature', () => {
  slow('accepted: with and without a slash at the end, from any region and any loopback name', async () => {
    const { read } = await world();
    expect(await read()).toEqual([200, undefined]);
    expect(await read({ slash: true })).toEqual([200, undefined]);
    expect(await read({ region: 'auto' })).toEqual([200, undefined]);
    expect(await read({ host: '127.0.0.1', sent: {} })).toEqual(MISMATCH);
    const { o, key } = await world();
    const at = await signed(o, key.pair, 'GetSecretValue', READ, { host: '127.0.0.1' });
    expect(typeOf(await sendSigned({ ...at, url: at.url.replace('localhost', '127.0.0.1') }))).toEqual([
      200,
      undefined,
    ]);
  });

  it('skew: five minutes either way, told with the time of this service', async () => {
    const { aws, read } = await world();
    expect(await read({ datetime: amzDate(-290) })).toEqual([200, undefined]);
    expect(await read({ datetime: amzDate(290) })).toEqual([200, undefined]);
    const late = await aws('GetSecretValue', READ, { datetime: amzDate(-310) });
    expect(late.json).toEqual({
      __type: 'RequestTimeTooSkewed',
      Message: expect.stringMatching(/^Signature expired: \d{8}T\d{6}Z is now earlier than/),
    });
    expect(Math.abs(Date.parse(late.headers.get('date') ?? '') - Date.now())).toBeLessThan(10_000);
    const early = await aws('GetSecretValue', READ, { datetime: amzDate(310) });
    expect(early.json.Message).toMatch(/^Signature not yet current: /);
  });

  it('altered: another body, path, host, operation or header than was signed', async () => {
    const { o, read } = await world();
    expect(await read({ sent: { body: '{"SecretId":"other"}' } })).toEqual(MISMATCH);
    expect(await read({ sent: { url: `http://localhost/compat/aws/${o.id}/staging` } })).toEqual(MISMATCH);
    expect(await read({ sent: { url: `http://elsewhere.example/compat/aws/${o.id}/production` } })).toEqual(
      MISMATCH,
    );
    const elsewhere = `http://elsewhere.example/compat/aws/${o.id}/production`;
    expect(await read({ host: 'elsewhere.example', sent: { url: elsewhere } })).toEqual(MISMATCH);
    expect(await read({ sent: { headers: { 'x-amz-target': 'secretsmanager.DeleteSecret' } } })).toEqual(
      MISMATCH,
    );
    expect(await read({ sent: { headers: { 'content-type': 'text/plain' } } })).toEqual(MISMATCH);
    expect(await read({ sent: { headers: { 'x-amz-date': amzDate(1) } } })).toEqual(MISMATCH);
    expect(await read({ service: 's3' })).toEqual(MISMATCH);
  });

  it('unsigned: every x-amz header must be signed, the operation first', async () => {
    const { read } = await world();
    expect(await read({ unsigned: ['x-amz-target'] })).toEqual(MISMATCH);
    expect(await read({ sent: { headers: { 'x-amz-more': 'x' } } })).toEqual(MISMATCH);
    expect(await read({ headers: { 'x-amz-more': 'x' } })).toEqual([200, undefined]);
  });

  it('body hash: that of the body as read; UNSIGNED-PAYLOAD, chunks and presigned URLs are refused', async () => {
    const { o, read } = await world();
    for (const hash of ['UNSIGNED-PAYLOAD', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD', '0'.repeat(64)])
      expect(await read({ headers: { 'x-amz-content-sha256': hash } })).toEqual(MISMATCH);
    const url = `http://localhost/compat/aws/${o.id}/production?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0`;
    expect(await read({ sent: { url } })).toEqual([400, 'IncompleteSignatureException']);
    expect(await read({ sent: { url, headers: { authorization: null } } })).toEqual([
      400,
      'IncompleteSignatureException',
    ]);
  });

  slow('malformed: no signature, a bearer token, another algorithm; and what is no call', async () => {
    const { o, key, aws, read } = await world();
    expect(await read({ sent: { headers: { authorization: null } } })).toEqual([
      400,
      'MissingAuthenticationTokenException',
    ]);
    for (const authorization of [
      `Bearer ${key.token}`,
      'AWS4-HMAC-SHA256 Credential=x',
      'AWS4-ECDSA-P256-SHA256 x',
    ])
      expect(await read({ sent: { headers: { authorization } } })).toEqual([
        400,
        'IncompleteSignatureException',
      ]);
    expect(typeOf(await aws('NoSuchThing'))).toEqual([400, 'UnknownOperationException']);
    expect(typeOf(await aws('toString'))).toEqual([400, 'UnknownOperationException']);
    for (const body of ['', '[]', '"x"', '{', 'null'])
      expect(typeOf(await aws('GetSecretValue', body))[1]).toBe(
        body === '' ? 'InvalidParameterException' : 'SerializationException',
      );
    expect(typeOf(await read({ sent: { method: 'GET' } }).then(() => aws('X')))).toEqual([
      400,
      'UnknownOperationException',
    ]);
    const got = await sendSigned({ ...(await signed(o, key.pair, 'GetSecretValue', READ)), method: 'GET' });
    expect([got.status, got.json.__type, got.headers.get('allow')]).toEqual([
      405,
      'UnknownOperationException',
      'POST',
    ]);
    const large = await aws('GetSecretValue', JSON.stringify({ SecretId: 'x'.repeat(1_100_000) }));
    expect(typeOf(large)).toEqual([413, 'RequestEntityTooLargeException']);
  });

  slow('limit: wrong signatures count against the address, and never against the key', async () => {
    const { o, key, aws, read } = await world();
    const ip = '198.51.100.77';
    const wrong = awsOf(o, { ...key.pair, secret_access_key: 'x'.repeat(40) }, { ip });
    const types = [];
    for (let n = 0; n < 21; n++) types.push(await wrong('GetSecretValue', READ));
    expect(typeOf(types[0] as never)).toEqual(MISMATCH);
    expect(typeOf(types.at(-1) as never)).toEqual([400, 'ThrottlingException']);
    expect(Number(types.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await read({ ip })).toEqual([200, undefined]);
    expect((await aws('GetSecretValue', READ)).headers.get('x-ratelimit-remaining')).toBe('1198');
  });
});

describe('AWS: access keys', () => {
  slow('shown: once, at creation and when switched on; a list says only that there is one', async () => {
    const { o, key } = await world();
    expect(key.pair).toEqual({
      access_key_id: expect.stringMatching(/^SVCA[A-Z2-7]{72}$/),
      secret_access_key: expect.stringMatching(/^[A-Za-z0-9+/]{40}$/),
    });
    const none = { access_key_id: null, secret_access_key: null };
    expect((await o.get(`/api-keys/${key.id}`)).json.aws).toEqual(none);
    expect((await o.get(`/api-keys/${o.keyId}`)).json.aws).toBe(null);
    const renamed = await o.patch(`/api-keys/${key.id}`, { name: 'b' });
    expect(renamed.json.aws).toEqual(none);
    const on = await o.patch(`/api-keys/${o.keyId}`, { aws: true });
    expect(typeOf(await awsOf(o, on.json.aws)('GetSecretValue', READ))).toEqual([200, undefined]);
  });

  it('ended: switched off, drawn anew, rotated, revoked and contained, an old pair never lives again', async () => {
    const { o, key, read } = await world();
    const old = key.pair;
    const off = await o.patch(`/api-keys/${key.id}`, { aws: false });
    expect(off.json.aws).toBe(null);
    expect(await read()).toEqual(UNKNOWN);
    const on = (await o.patch(`/api-keys/${key.id}`, { aws: true })).json.aws as Pair;
    const get = async (pair: Pair) => typeOf(await awsOf(o, pair)('GetSecretValue', READ));
    expect([await get(old), await get(on)]).toEqual([UNKNOWN, [200, undefined]]);
    const again = (await o.patch(`/api-keys/${key.id}`, { aws: true })).json.aws as Pair;
    expect([await get(on), await get(again)]).toEqual([UNKNOWN, [200, undefined]]);
    const next = (await o.post(`/api-keys/${key.id}/rotate`)).json;
    expect([await get(again), await get(next.aws)]).toEqual([UNKNOWN, [200, undefined]]);
    await o.del(`/api-keys/${next.id}`);
    expect(await get(next.aws)).toEqual(UNKNOWN);
    const plain = await newKey(o, { scopes: ['secrets:read'] });
    expect((await o.post(`/api-keys/${plain.id}/rotate`)).json.aws).toBe(null);
  });

  it('forged: a wrong tag, another organisation, another kind and another secret', async () => {
    const { o, key, aws } = await world();
    const { access_key_id: id, secret_access_key } = key.pair;
    const as = async (access_key_id: string) =>
      typeOf(await awsOf(o, { access_key_id, secret_access_key })('GetSecretValue', READ));
    const last = id.at(-1) === 'A' ? 'B' : 'A';
    expect(await as(id.slice(0, -1) + last)).toEqual(UNKNOWN);
    expect(await as(`SVCS${id.slice(4)}`)).toEqual(UNKNOWN);
    expect(await as('AKIAIOSFODNN7EXAMPLE')).toEqual(UNKNOWN);
    const other = await newOrg();
    expect(typeOf(await aws('GetSecretValue', READ, { org: other.id }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
    expect(typeOf(await aws('GetSecretValue', READ, { org: newId('org') }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
    expect(typeOf(await aws('GetSecretValue', READ, { org: 'x' }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
    expect(typeOf(await aws('GetSecretValue', READ, { environment: 'nowhere' }))).toEqual([
      400,
      'ResourceNotFoundException',
    ]);
    await o.del('', { confirm: (await o.get('')).json.name });
    expect(typeOf(await aws('GetSecretValue', READ))).toEqual(UNKNOWN);
  });

  it('limits: scopes, environments, names and addresses of the key hold', async () => {
    const { o } = await world();
    const denied = [400, 'AccessDeniedException'];
    const use = async (
      fields: object,
      operation = 'GetSecretValue',
      members: object = READ,
      how: How = {},
    ) => {
      const { pair } = await newAwsKey(o, { scopes: ['secrets:read'], ...fields });
      return typeOf(await awsOf(o, pair)(operation, members, how));
    };
    expect(await use({})).toEqual([200, undefined]);
    expect(await use({ environments: ['staging'] })).toEqual(denied);
    expect(await use({ secrets: ['app/*'] })).toEqual(denied);
    expect(await use({ allowed_addresses: ['10.0.0.0/8'] })).toEqual(denied);
    expect(await use({}, 'PutSecretValue', { ...READ, SecretString: 'x' })).toEqual(denied);
    expect(await use({}, 'CreateSecret', { Name: 'n' })).toEqual(denied);
    expect(await use({}, 'DeleteSecret')).toEqual(denied);
    expect(await use({ scopes: ['secrets:list'] })).toEqual(denied);
    expect(await use({ scopes: ['secrets:list'] }, 'DescribeSecret')).toEqual([200, undefined]);
    expect(await use({ secrets: ['app/*'] }, 'ListSecrets', {})).toEqual([200, undefined]);
    const { pair } = await newAwsKey(o, { scopes: ['secrets:read'], secrets: ['app/*'] });
    const aws = awsOf(o, pair);
    expect((await aws('ListSecrets')).json.SecretList).toEqual([]);
    expect((await aws('BatchGetSecretValue', { SecretIdList: ['s'] })).json.Errors[0].ErrorCode).toBe(
      'AccessDeniedException',
    );
  });

  it('permission: nobody switches on the access key of an API key that holds more than they do', async () => {
    const { o } = await world();
    const weak = await newKey(o, { scopes: ['tokens:write', 'secrets:read'] });
    const strong = await newKey(o, { scopes: ['secrets:write'] });
    expect(codeOf(await weak.o.patch(`/api-keys/${strong.id}`, { aws: true }))).toEqual([
      403,
      'SCOPE_EXCEEDS_PARENT',
    ]);
    expect(codeOf(await weak.o.patch(`/api-keys/${o.keyId}`, { aws: true }))).toEqual([
      403,
      'SCOPE_EXCEEDS_PARENT',
    ]);
    const { json } = await o.post('/access-tokens', { ttlSeconds: 600 });
    expect(codeOf(await o.as(json.token).patch(`/api-keys/${weak.id}`, { aws: true }))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    expect((await weak.o.patch(`/api-keys/${strong.id}`, { aws: false })).status).toBe(200);
  });

  it('tokens: an access key says nothing about the token, and no part of it is a bearer token', async () => {
    const { o, key } = await world();
    const { json } = await session(key.token);
    for (const token of [...Object.values(key.pair), json.session_token, json.secret_access_key])
      expect(codeOf(await o.as(token).get('/secrets'))).toEqual([401, 'UNAUTHENTICATED']);
  });
});

describe('AWS: sessions', () => {
  slow('works: narrowed, listed, counted by its key, and ended by DELETE or with its key', async () => {
    const { o, key } = await world();
    const made = await session(key.token, { ttlSeconds: 900 });
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^tok_/),
        access_key_id: expect.stringMatching(/^SVCS[A-Z2-7]{72}$/),
        secret_access_key: expect.any(String),
        session_token: expect.stringMatching(/^svcaws_/),
        expiresAt: expect.any(String),
      },
    ]);
    const get = async (pair: Pair) => typeOf(await awsOf(o, pair)('GetSecretValue', READ));
    expect(await get(made.json)).toEqual([200, undefined]);
    expect((await o.as(key.token).get('/access-tokens')).json.data[0].id).toBe(made.json.id);
    await o.del(`/access-tokens/${made.json.id}`);
    expect(await get(made.json)).toEqual(UNKNOWN);
    const narrow = (await session(key.token, { environments: ['staging'] })).json;
    expect(await get(narrow)).toEqual([400, 'AccessDeniedException']);
    const last = (await session(key.token)).json;
    await o.patch(`/api-keys/${key.id}`, { aws: false });
    expect(await get(last)).toEqual([200, undefined]);
    await o.del(`/api-keys/${key.id}`);
    expect(await get(last)).toEqual(UNKNOWN);
  });

  it('pair: a session token serves with its own access key alone, and a static key takes none', async () => {
    const { o, key } = await world();
    const one = (await session(key.token)).json as Pair;
    const two = (await session(key.token)).json as Pair;
    const get = async (pair: Pair) => typeOf(await awsOf(o, pair)('GetSecretValue', READ));
    const { session_token, ...bare } = one;
    expect(await get(bare)).toEqual(UNKNOWN);
    expect(await get({ ...one, session_token: two.session_token as string })).toEqual(UNKNOWN);
    expect(await get({ ...key.pair, session_token: session_token as string })).toEqual(UNKNOWN);
    const altered = session_token?.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    expect(await get({ ...one, session_token: altered })).toEqual(UNKNOWN);
  });

  slow('kind: only an API key makes one', async () => {
    const { o, key } = await world();
    const { json } = await o.as(key.token).post('/access-tokens', { ttlSeconds: 600 });
    expect(codeOf(await session(json.token))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    const agent = await o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] });
    expect(codeOf(await session(agent.json.token))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect(codeOf(await session(key.token, { scopes: ['*'] }))).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('token: expired by itself, and genuine for one deployment alone', () => {
    const org = newId('org');
    const id = newId('tok');
    const random = randomBytes(8);
    const tokenTag = randomBytes(32);
    const root = randomBytes(32);
    const key = readAccessKey(accessKeyOf('session', { org, id, random }, { tokenTag, root }).access_key_id);
    const until = 1_900_000_000_123;
    const token = sessionTokenOf({ org, id, random, until }, tokenTag);
    expect(key && endOfSession(token, key, tokenTag)).toBe(until);
    expect(key && endOfSession(token, key, randomBytes(32))).toBe(null);
    expect([key?.isGenuine(tokenTag), key?.isGenuine(randomBytes(32))]).toEqual([true, false]);
  });
});

describe('AWS: replays', () => {
  it('write: the same signature gets the same answer and does nothing', async () => {
    const { o, key, aws } = await world();
    const request = await signed(o, key.pair, 'DeleteSecret', READ);
    const first = await sendSigned(request);
    await aws('RestoreSecret', READ);
    const again = await sendSigned(request);
    expect([again.status, again.json]).toEqual([200, first.json]);
    expect(typeOf(await aws('GetSecretValue', READ))).toEqual([200, undefined]);
    const put = await signed(o, key.pair, 'PutSecretValue', { ...READ, SecretString: 'new' });
    const versions = [await sendSigned(put), await sendSigned(put)].map(({ json }) => json.VersionId);
    expect(versions[0]).toBe(versions[1]);
    const tag = await signed(o, key.pair, 'TagResource', { ...READ, Tags: [{ Key: 'a', Value: '1' }] });
    await sendSigned(tag);
    await aws('UntagResource', { ...READ, TagKeys: ['a'] });
    expect((await sendSigned(tag)).text).toBe('{}');
    expect((await aws('DescribeSecret', READ)).json.Tags).toEqual([]);
  });

  it('token: one version for one ClientRequestToken, also after later ones and for another root never', async () => {
    const { o, aws } = await world();
    const ClientRequestToken = crypto.randomUUID();
    const put = (SecretString: string, by = aws) =>
      by('PutSecretValue', { ...READ, SecretString, ClientRequestToken });
    const first = (await put('a')).json.VersionId;
    await aws('PutSecretValue', { ...READ, SecretString: 'b' });
    expect((await put('a')).json).toMatchObject({ VersionId: first, VersionStages: ['AWSPREVIOUS'] });
    expect((await aws('GetSecretValue', READ)).json.SecretString).toBe('b');
    expect(typeOf(await put('c'))).toEqual([400, 'ResourceExistsException']);
    const bytes = { ...READ, SecretBinary: 'YQ==', ClientRequestToken };
    expect(typeOf(await aws('PutSecretValue', bytes))).toEqual([400, 'ResourceExistsException']);
    const other = awsOf(o, (await newAwsKey(o, { scopes: ['secrets:write'] })).pair);
    expect((await put('a', other)).json.VersionId).not.toBe(first);
  });

  it('token: while D1 is away, a write goes on if its token is new, and does nothing if it is known', async () => {
    const { o, aws } = await world();
    const put = async (value: string, ClientRequestToken: string = crypto.randomUUID()) => {
      const members = { ...READ, SecretString: value, ClientRequestToken };
      const { json } = await aws('PutSecretValue', members);
      return json.__type ?? Number(json.VersionId.slice(-12));
    };
    const token = crypto.randomUUID();
    expect(await put('a', token)).toBe(2);
    faults.fail = () => 'before';
    expect(await put('b')).toBe(3);
    expect(await put('a', token)).toBe(2);
    expect(await put('c', token)).toBe('ResourceExistsException');
    expect((await aws('GetSecretValue', READ)).json.SecretString).toBe('b');
    faults.fail = null;
    // Beyond the newest, D1 knows it.
    for (let n = 4; n <= 14; n++) expect(await put(`v${n}`)).toBe(n);
    expect(await put('a', token)).toBe(2);
    // One of the newest that has left the gate may have it.
    const { id } = (await o.get('/secrets/by-name/s')).json;
    await inCore(o, (core) => ciphertexts(core).drop(id, 10));
    faults.fail = () => 'before';
    expect(await put('z')).toBe('InternalServiceError');
    faults.fail = null;
    expect(await put('z')).toBe(15);
  });

  slow('create: a constant token is one of each secret, as External Secrets Operator sends it', async () => {
    const { aws } = await world();
    const ClientRequestToken = '00000000-0000-0000-0000-000000000001';
    const create = (Name: string, SecretString: string) =>
      aws('CreateSecret', { Name, SecretString, ClientRequestToken });
    const one = (await create('one', 'a')).json;
    expect((await create('two', 'a')).json.Name).toBe('two');
    expect((await create('one', 'a')).json).toEqual(one);
    expect(typeOf(await create('one', 'b'))).toEqual([400, 'ResourceExistsException']);
  });
});
