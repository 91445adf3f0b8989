// How many calls a request takes: of the gate, and of D1.
import { evictAllDurableObjects } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newAgent, newBreakGlass, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { awsOf, newAwsKey } from '../../support/integrations/aws';
import { vaultOf } from '../../support/integrations/vault';
import { newSignedIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Answer, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

/** The calls that one request takes. */
async function costOf(request: () => Promise<Answer>) {
  Object.assign(faults, { gate: 0, d1: 0 });
  const answer = await request();
  return { status: answer.status, gate: faults.gate, d1: faults.d1 };
}

describe('cost: calls of the gate and of D1', () => {
  it('a warm secret by id or by name: one gate call, no D1', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
    expect(await costOf(() => o.get('/secrets/by-name/A'))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('a version that is not in the ciphertext cache: one gate call and one query, and none the next time', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await inCore(o, (core) => ciphertexts(core).drop(id));
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  slow('after eviction of the gate: one query more, by which it compares its storage with D1', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await evictAllDurableObjects();
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('in a new isolate without keys: one query more', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    faults.isolate++;
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('a list of secrets: one gate call; a list of versions: one query more', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    expect(await costOf(() => o.get('/secrets'))).toEqual({ status: 200, gate: 1, d1: 0 });
    expect(await costOf(() => o.get(`/secrets/${id}/versions`))).toEqual({ status: 200, gate: 1, d1: 1 });
  });

  it('warm bulk values: one gate call and no D1, with or without a 304', async () => {
    const o = await newOrg();
    for (let i = 0; i < 5; i++) await newSecret(o);
    const first = await o.get('/environments/production/values');
    expect(await costOf(() => o.get('/environments/production/values'))).toEqual({
      status: 200,
      gate: 1,
      d1: 0,
    });
    const etag = first.headers.get('etag') as string;
    expect(await costOf(() => o.get('/environments/production/values', { 'If-None-Match': etag }))).toEqual({
      status: 304,
      gate: 1,
      d1: 0,
    });
  });

  it('promotion: two gate calls and one batch; a dry run: one call and no D1', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', environment: 'staging' });
    const promote = (fields: object) =>
      o.post('/environments/production/promote', { from: 'staging', ...fields });
    expect(await costOf(() => promote({ dryRun: true }))).toEqual({ status: 200, gate: 1, d1: 0 });
    expect(await costOf(() => promote({}))).toEqual({ status: 200, gate: 2, d1: 1 });
    expect(await costOf(() => promote({}))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('create, PATCH, rotate and revoke: one gate call and one batch; mint without one; two calls to generate a value', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { type: 'password' });
    expect(await costOf(() => o.post('/secrets', { name: 'N', type: 'generic', value: 'v' }))).toEqual({
      status: 201,
      gate: 1,
      d1: 1,
    });
    expect(await costOf(() => o.patch(`/secrets/${id}`, { value: 'v' }))).toEqual({
      status: 200,
      gate: 1,
      d1: 1,
    });
    expect(await costOf(() => o.post(`/secrets/${id}/rotate`, { value: 'w' }))).toEqual({
      status: 200,
      gate: 1,
      d1: 1,
    });
    expect(await costOf(() => o.post(`/secrets/${id}/rotate`))).toEqual({ status: 200, gate: 2, d1: 1 });
    expect(await costOf(() => o.post('/access-tokens', { ttlSeconds: 60 }))).toEqual({
      status: 201,
      gate: 1,
      d1: 0,
    });
    const token = await newSession(o);
    expect(await costOf(() => o.del(`/access-tokens/${token.id}`))).toEqual({ status: 204, gate: 1, d1: 1 });
  });

  it('issue, rotate and revoke as a provider: one gate call and one batch, and one call more if this isolate does not know the name', async () => {
    const o = await newOrg();
    const { token } = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] }))
      .json;
    const costs = (verb: string, fields: object) =>
      costOf(() =>
        send('POST', `/api/v1/provider/${verb}`, { token, body: { environment: 'production', ...fields } }),
      );
    const issue = (secretName: string) => costs('issue', { secretName, value: 'v', ttlSeconds: 60 });
    expect(await issue('A')).toEqual({ status: 201, gate: 1, d1: 1 });
    expect(await issue('A')).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('rotate', { secretName: 'A', newValue: 'w' })).toEqual({
      status: 200,
      gate: 1,
      d1: 1,
    });
    expect(await costs('revoke', { secretName: 'A' })).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('revoke', { secretName: 'A' })).toEqual({ status: 200, gate: 1, d1: 0 });
    await newSecret(o, { name: 'B' });
    await newSecret(o, { name: 'C' });
    expect(await issue('B')).toEqual({ status: 200, gate: 2, d1: 1 });
    expect(await issue('B')).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('rotate', { secretName: 'C', newValue: 'w' })).toEqual({
      status: 200,
      gate: 2,
      d1: 1,
    });
    expect(await costs('rotate', { secretName: 'C', newValue: 'x' })).toEqual({
      status: 200,
      gate: 1,
      d1: 1,
    });
    expect(await costs('rotate', { secretName: 'nobody', newValue: 'x' })).toEqual({
      status: 404,
      gate: 1,
      d1: 0,
    });
  });

  slow('a warm secret by each kind of credential: one gate call, no D1', async () => {
    const { o, browser } = await newSignedIn();
    const { id } = await newSecret(o);
    const agent = await newAgent(o);
    const child = await newAgent((await newAgent(o, { scopes: ['*'] })).o);
    const callers = [(await newSession(o)).o, agent.o, child.o, (await newBreakGlass(o)).o, browser.o];
    for (const caller of callers) {
      // The first request of a member in an isolate fetches the keys that check the signature.
      await caller.get('/secrets');
      expect(await costOf(() => caller.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
      expect(await costOf(() => caller.get('/environments/production/values'))).toEqual({
        status: 200,
        gate: 1,
        d1: 0,
      });
    }
  });

  slow('panic: one gate call and one batch, regardless of the number of credentials', async () => {
    const o = await newOrg();
    await Promise.all(Array.from({ length: 30 }, () => newSession(o)));
    expect(await costOf(() => o.post('/panic', { reason: 'a rehearsal' }))).toEqual({
      status: 200,
      gate: 1,
      d1: 1,
    });
  });

  it('a junk token: no call at all', async () => {
    const o = await newOrg();
    const junk = `${o.token.slice(0, -1)}${o.token.endsWith('a') ? 'b' : 'a'}`;
    expect(await costOf(() => send('GET', `/api/v1/orgs/${o.id}/secrets`, { token: junk }))).toEqual({
      status: 401,
      gate: 0,
      d1: 0,
    });
  });

  slow('clients of Vault: as the same requests of the API', async () => {
    const o = await newOrg();
    const vault = vaultOf(o);
    await newSecret(o, { name: 'app/db/user' });
    const costs = async (requests: Record<string, () => Promise<Answer>>) => {
      const found: Record<string, number[]> = {};
      for (const [name, request] of Object.entries(requests)) {
        const { status, gate, d1 } = await costOf(request);
        found[name] = [status, gate, d1];
      }
      return found;
    };
    const data = { user: 'changed' };
    expect(
      await costs({
        health: () => vault.get('sys/health'),
        preflight: () => vault.get('sys/internal/ui/mounts/production/app/db/user'),
        'lookup-self': () => vault.get('auth/token/lookup-self'),
        read: () => vault.get('production/data/app/db/user'),
        metadata: () => vault.get('production/metadata/app/db/user'),
        list: () => vault.get('production/metadata/app?list=true'),
        folder: () => vault.get('production.folders/data/app/db'),
        'list of folders': () => vault.get('production.folders/metadata?list=true'),
        'write of a new secret': () => vault.put('production/data/new', { data: { value: 'x' } }),
        'write of a known id': () => vault.put('production/data/new', { data: { value: 'y' } }),
        'write of an unknown id': () => vault.put('production/data/app/db/user', { data: { value: 'x' } }),
        'write of a folder': () => vault.put('production.folders/data/app/db', { data }),
        delete: () => vault.del('production/data/new'),
        login: () => vault.put('auth/approle/login', { role_id: o.id, secret_id: o.token }),
        'login with a wrong key': () => vault.put('auth/approle/login', { role_id: o.id, secret_id: 'x' }),
      }),
    ).toEqual({
      health: [200, 0, 0],
      preflight: [200, 1, 0],
      'lookup-self': [200, 1, 0],
      read: [200, 1, 0],
      metadata: [200, 1, 1],
      list: [200, 1, 0],
      folder: [200, 1, 0],
      'list of folders': [200, 1, 0],
      'write of a new secret': [200, 1, 1],
      'write of a known id': [200, 1, 1],
      'write of an unknown id': [200, 2, 1],
      'write of a folder': [200, 1, 1],
      delete: [204, 1, 1],
      login: [200, 1, 0],
      'login with a wrong key': [400, 0, 0],
    });
  });

  slow(
    'clients of AWS: as the same requests of the API, and one query for a ClientRequestToken of an older version',
    async () => {
      const o = await newOrg();
      const { pair } = await newAwsKey(o);
      const aws = awsOf(o, pair);
      for (const name of ['app', 'other']) await newSecret(o, { name });
      const costs = async (requests: Record<string, () => Promise<Answer>>) => {
        const found: Record<string, number[]> = {};
        for (const [name, request] of Object.entries(requests)) {
          const { status, gate, d1 } = await costOf(request);
          found[name] = [status, gate, d1];
        }
        return found;
      };
      const app = { SecretId: 'app' };
      const token = () => ({ ClientRequestToken: crypto.randomUUID() });
      const wrong = awsOf(o, { ...pair, secret_access_key: 'x'.repeat(40) });
      expect(
        await costs({
          GetSecretValue: () => aws('GetSecretValue', app),
          DescribeSecret: () => aws('DescribeSecret', app),
          ListSecrets: () => aws('ListSecrets'),
          ListSecretVersionIds: () => aws('ListSecretVersionIds', app),
          'BatchGetSecretValue of two': () => aws('BatchGetSecretValue', { SecretIdList: ['app', 'other'] }),
          'an ARN of another end': () =>
            aws('GetSecretValue', { SecretId: 'arn:aws:secretsmanager:x:0:secret:app-abcdef' }),
          CreateSecret: () => aws('CreateSecret', { Name: 'new', SecretString: 'x', ...token() }),
          'PutSecretValue of a known id': () => aws('PutSecretValue', { SecretId: 'new', SecretString: 'y' }),
          'PutSecretValue of an unknown id': () => aws('PutSecretValue', { ...app, SecretString: 'y' }),
          TagResource: () => aws('TagResource', { ...app, Tags: [{ Key: 'a', Value: 'b' }] }),
          DeleteSecret: () => aws('DeleteSecret', app),
          'a wrong signature': () => wrong('GetSecretValue', app),
        }),
      ).toEqual({
        GetSecretValue: [200, 1, 0],
        DescribeSecret: [200, 1, 0],
        ListSecrets: [200, 1, 0],
        ListSecretVersionIds: [200, 1, 1],
        'BatchGetSecretValue of two': [200, 3, 0],
        'an ARN of another end': [400, 2, 0],
        CreateSecret: [200, 1, 1],
        'PutSecretValue of a known id': [200, 1, 1],
        'PutSecretValue of an unknown id': [200, 2, 1],
        TagResource: [200, 1, 1],
        DeleteSecret: [200, 1, 1],
        'a wrong signature': [400, 0, 0],
      });
      const put = () =>
        costOf(() => aws('PutSecretValue', { SecretId: 'new', SecretString: 'z', ...token() }));
      expect(await put()).toEqual({ status: 200, gate: 1, d1: 1 });
      // One of the newest versions, which may have the token, is in D1 alone.
      const { id } = (await o.get('/secrets/by-name/new')).json;
      await inCore(o, (core) => ciphertexts(core).drop(id, 1));
      expect(await put()).toEqual({ status: 200, gate: 1, d1: 2 });
    },
  );
});
