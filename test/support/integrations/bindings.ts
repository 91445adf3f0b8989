// Workers that are bound to the service, for tests.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import type { Env } from '../../../src/env';
import { Vault } from '../../../src/vault-binding';
import type { Caller } from '../world';

export const ISSUER = 'cloudflare:service-binding';
/** A valid body of a new trust of bound Workers. */
export const trustIn = {
  name: 'workers',
  issuer: ISSUER,
  claims: { name: 'billing' },
  scopes: ['secrets:read'],
};

/** A new trust of bound Workers. @returns its id */
export async function newTrust(o: Caller, fields: Record<string, unknown> = {}): Promise<string> {
  const { json, status, text } = await o.post('/trusts', { ...trustIn, ...fields });
  if (status !== 201) throw new Error(`no trust: ${status} ${text}`);
  return json.id;
}

/** Calls the entrypoint as a Worker with these props does. */
export function bound(props: unknown) {
  const use = async <T>(call: (vault: Vault) => Promise<T>): Promise<T> => {
    const context = createExecutionContext();
    Object.defineProperty(context, 'props', { value: props });
    try {
      return await call(new Vault(context, env as unknown as Env));
    } finally {
      await waitOnExecutionContext(context);
    }
  };
  const thrown = (call: (vault: Vault) => Promise<unknown>): Promise<string> =>
    use(call).then(
      () => 'nothing',
      (error: Error) => error.message,
    );
  const request = async (path: string, init: RequestInit = {}) => {
    const response = await use((vault) => vault.fetch(new Request(`http://any.example${path}`, init)));
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    let json: any;
    try {
      json = JSON.parse(text);
    } catch {}
    return { status: response.status, json, text, headers: response.headers };
  };
  return { use, thrown, request, get: (name: string) => thrown((vault) => vault.get(name)) };
}
