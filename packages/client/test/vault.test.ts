// Reading and writing secrets with the client, in a real vault.
import { createVault, NotFoundError, type Vault, VaultError } from '@secrets-vault/client';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { call, newOrg } from '../../../test/packages/vault.mjs';

let at: { url: string; org: string; key: string };
let vault: Vault;
beforeAll(async () => {
  at = await newOrg(inject('vaultUrl'));
  vault = createVault({ url: at.url, org: at.org, credential: at.key });
});

describe('client', () => {
  it('secret: a stored value is read back by name and environment', async () => {
    const stored = await vault.set('app/DATABASE_URL', 'postgres://one', {
      type: 'database_url',
      environment: 'staging',
    });
    expect(stored).toMatchObject({
      name: 'app/DATABASE_URL',
      environment: 'staging',
      version: 1,
      type: 'database_url',
    });
    const secret = await vault.get('app/DATABASE_URL', { environment: 'staging' });
    expect(secret.reveal()).toBe('postgres://one');
    expect(secret).toMatchObject({ name: 'app/DATABASE_URL', environment: 'staging', version: 1 });
    await expect(vault.get('app/DATABASE_URL')).rejects.toThrow(NotFoundError);
  });

  it('environment: a name that exists elsewhere too means the secret in the default environment', async () => {
    for (const environment of ['development', 'staging', 'production'])
      await vault.set('SAME', environment, { environment });
    await vault.set('SAME_AND_LONGER', 'x');
    expect(await vault.find('SAME')).toMatchObject({ name: 'SAME', environment: 'production' });
    expect((await vault.rotate('SAME', { value: 'rotated' })).info).toMatchObject({
      environment: 'production',
      version: 2,
    });
    expect(await vault.find('SAME', { environment: 'development' })).toMatchObject({
      environment: 'development',
      version: 1,
    });
    expect(await vault.find('SAM')).toBeUndefined();
    await expect(vault.rotate('SAM', { value: 'x' })).rejects.toThrow(NotFoundError);
  });

  it('environment: a credential without the default environment has to name one', async () => {
    const body = { name: 'staging', scopes: ['secrets:read', 'secrets:list'], environments: ['staging'] };
    const { token } = await call(at.url, at.key, 'POST', `/orgs/${at.org}/api-keys`, body);
    const limited = createVault({ url: at.url, org: at.org, credential: token });
    await expect(limited.values()).rejects.toMatchObject({
      name: 'InvalidRequestError',
      code: 'ENVIRONMENT_NEEDED',
    });
    expect((await limited.values({ environment: 'staging' })).get('SAME')?.reveal()).toBe('staging');
  });

  it('options: a missing credential and a remote http address are refused at once', () => {
    const options = { url: 'https://vault.example.com', org: 'org_1' };
    for (const credential of [undefined, null, ''])
      expect(() => createVault({ ...options, credential: credential as string })).toThrow(
        /credential is missing/,
      );
    for (const credential of [12345, true, {}])
      expect(() => createVault({ ...options, credential: credential as never })).toThrow(
        /^credential must be a token, or an object/,
      );
    expect(() => createVault({ ...options, org: undefined as unknown as string, credential: 'x' })).toThrow(
      'org is missing',
    );
    for (const url of ['http://vault.example.com', 'http://10.0.0.1', 'ftp://vault.example.com'])
      expect(() => createVault({ ...options, url, credential: 'x' })).toThrow(/must begin with https/);
    for (const url of ['http://localhost:8787', 'http://127.0.0.1', 'http://[::1]:1'])
      expect(createVault({ ...options, url, credential: 'x' }).org).toBe('org_1');
  });

  it('operation: every operation is typed by the document', async () => {
    const { data, response } = await vault.api.GET('/orgs/{org_id}/environments', {
      params: { path: { org_id: vault.org } },
    });
    expect(response.status).toBe(200);
    expect(data.data.map(({ slug }) => slug)).toEqual(['development', 'staging', 'production']);
  });

  it('operation: an id of dots is refused and reaches no other operation', async () => {
    const path = `/orgs/${at.org}/members`;
    const member = await call(at.url, at.key, 'POST', path, {
      email: 'dots@example.com',
      name: 'Bob',
      role: 'developer',
    });
    const refused = { name: 'InvalidRequestError', code: 'INVALID_PATH_PARAMETER' };
    for (const id of ['.', '..']) {
      const params = { path: { org_id: at.org, id, member_id: member.id } };
      await expect(
        vault.api.DELETE('/orgs/{org_id}/teams/{id}/members/{member_id}', { params }),
      ).rejects.toMatchObject(refused);
      await expect(vault.get(id)).rejects.toMatchObject(refused);
    }
    expect(await call(at.url, at.key, 'GET', `${path}/${member.id}`)).toMatchObject({ id: member.id });
  });

  it.each([
    ['null', 200, 'null'],
    ['a text', 200, '"text"'],
    ['no value', 200, '{}'],
    ['a value that is no text', 200, '{"name":"A","value":5,"version":1,"environment":"production"}'],
    ['nothing new, to a first read', 304, null],
    [
      'a refusal of wrong types',
      422,
      '{"error":{"code":"X","message":{},"docs":5,"retry_after":"x","details":{},"approval":5}}',
    ],
    [
      'a refusal with wrong details',
      403,
      '{"error":{"code":"X","message":null,"details":[null,{"path":5}],"approval":{"id":7}}}',
    ],
  ])('response: %s is an error of the client, and no TypeError', async (_, status, body) => {
    const fetch = async () => new Response(body, { status, headers: { 'Content-Type': 'application/json' } });
    const hostile = createVault({
      url: 'https://vault.example.com',
      org: 'org_1',
      credential: 'svcag_x',
      retries: 0,
      fetch,
    });
    const error = await hostile.get('A', { environment: 'staging' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VaultError);
    expect(typeof (error as VaultError).message).toBe('string');
    expect((error as VaultError).message).not.toBe('');
    expect(error).toMatchObject({ details: [], docs: undefined, retryAfter: undefined });
    expect(error).not.toHaveProperty('approval');
  });

  it('error: a refusal is an instance of its class with code, status, docs and request id', async () => {
    const error = await vault.get('NOT_THERE').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({ code: 'NOT_FOUND', status: 404, docs: `${at.url}/docs/errors/NOT_FOUND` });
    expect((error as VaultError).requestId).toMatch(/^req_/);
  });
});
