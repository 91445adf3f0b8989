// Calls as clients of Vault make them.
import { type Caller, send } from '../world';

/** Calls on the Vault-compatible API with one token; `base` is before `/v1`. */
export function vaultOf({ token }: Pick<Caller, 'token'>, base = '') {
  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    send(method, `${base}/v1/${path}`, {
      body,
      headers: { 'X-Vault-Token': token, 'X-Vault-Request': 'true', ...headers },
    });
  return {
    call,
    get: (path: string, headers?: Record<string, string>) => call('GET', path, undefined, headers),
    put: (path: string, body?: unknown, headers?: Record<string, string>) => call('PUT', path, body, headers),
    del: (path: string) => call('DELETE', path),
    patch: (path: string, body?: unknown) =>
      call('PATCH', path, body, { 'Content-Type': 'application/merge-patch+json' }),
  };
}

/** Statuses and the whole body, for comparison. */
export const seen = ({ status, json }: { status: number; json: unknown }) => [status, json];
