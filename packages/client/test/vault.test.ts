// Reading and writing secrets with the client, in a real vault.
import { createVault, NotFoundError, type Vault, VaultError } from '@secrets-vault/client';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { newOrg } from '../../../test/packages/vault.mjs';

let at: { url: string; org: string; key: string };
let vault: Vault;
beforeAll(async () => {
  at = await newOrg(inject('vaultUrl'));
  vault = createVault({ url: at.url, org: at.org, credential: at.key });
});

describe('client', () => {
  it('secret: a stored value is read back by name and environment', async () => {
    const stored = await vault.set('app/DATABASE_URL', 'postgres://one', { type: 'database_url', environment: 'staging' });
    expect(stored).toMatchObject({ name: 'app/DATABASE_URL', environment: 'staging', version: 1, type: 'database_url' });
    const secret = await vault.get('app/DATABASE_URL', { environment: 'staging' });
    expect(secret.reveal()).toBe('postgres://one');
    expect(secret).toMatchObject({ name: 'app/DATABASE_URL', environment: 'staging', version: 1 });
    await expect(vault.get('app/DATABASE_URL')).rejects.toThrow(NotFoundError);
  });

  it('operation: every operation is typed by the document', async () => {
    const { data, response } = await vault.api.GET('/orgs/{org_id}/environments', { params: { path: { org_id: vault.org } } });
    expect(response.status).toBe(200);
    expect(data.data.map(({ slug }) => slug)).toEqual(['development', 'staging', 'production']);
  });

  it('error: a refusal is an instance of its class with code, status, docs and request id', async () => {
    const error = await vault.get('NOT_THERE').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({ code: 'NOT_FOUND', status: 404, docs: `${at.url}/docs/errors/NOT_FOUND` });
    expect((error as VaultError).requestId).toMatch(/^req_/);
  });
});
