// Shared by the tests: an organisation for each, and a proxy in front of the service.
import { inject } from 'vitest';
import { startProxy } from '../../../test/packages/proxy.mjs';
import { call, newOrg } from '../../../test/packages/vault.mjs';

/**
 * A new organisation behind a proxy: `url` is the proxy's, `direct` calls the service directly with the first
 * API key.
 */
export async function newVault() {
  const target = inject('vaultUrl');
  const { org, key, enrolmentUrl } = await newOrg(target);
  const proxy = await startProxy(target);
  const direct = (method: string, at: string, body?: unknown) =>
    call(target, key, method, `/orgs/${org}${at}`, body);
  return {
    url: proxy.url,
    target,
    org,
    key,
    enrolmentUrl,
    proxy,
    direct,
    /** Stores a secret without the client's knowledge. */
    put: (name: string, value: string, environment = 'production') =>
      direct('PUT', `/secrets/by-name/${encodeURIComponent(name)}?environment=${environment}`, { value }),
    /** A credential with restricted permissions. */
    agent: async (limits: object = {}) =>
      (await direct('POST', '/agent-credentials', {
        name: 'reader',
        scopes: ['secrets:read', 'secrets:list'],
        rate_limit: 6000,
        ...limits,
      })) as {
        id: string;
        token: string;
      },
  };
}

/** Polls until a condition holds: another process gives no event to wait for. */
export async function until(holds: () => boolean | Promise<boolean>, within = 10_000): Promise<void> {
  for (const end = Date.now() + within; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('it did not come to hold');
}

/** The error that a promise rejects with. */
export const thrown = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error('it did not reject');
    },
    (error: unknown) => error,
  );
