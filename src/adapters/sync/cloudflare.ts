// The common part of Cloudflare's API for Workers and Pages: https://developers.cloudflare.com/api. Each
// response has `success` and the codes of its errors.
import type { Reply, Vendor } from './call';
import { entry } from './listing';
import { unreadable } from './target-error';

export const CLOUDFLARE = 'https://api.cloudflare.com/client/v4';

/** Codes for a malformed or unknown token, and for one without permission, regardless of the status. */
const UNKNOWN = new Set<unknown>([6003, 9103, 9106]);
const REFUSED = new Set<unknown>([9109, 10000]);
/**
 * The newest version of a Worker is not deployed:
 * https://developers.cloudflare.com/workers/configuration/versions-and-deployments/.
 */
const NOT_DEPLOYED = 10215;

const codesOf = (body: unknown): unknown[] => {
  const errors = (body as { errors?: unknown } | undefined | null)?.errors;
  return Array.isArray(errors) ? errors.map((error) => (error as { code?: unknown } | null)?.code) : [];
};

export const cloudflareVendor = (token: string): Vendor => ({
  headers: { Authorization: `Bearer ${token}` },
  code: (body) => codesOf(body)[0],
  advice: ({ body }) =>
    codesOf(body).includes(NOT_DEPLOYED)
      ? 'The newest version of the Worker is not deployed: deploy it, then sync again.'
      : null,
  meaning({ status, body }) {
    const codes = codesOf(body);
    if (codes.some((code) => UNKNOWN.has(code))) return 'unauthenticated';
    if (codes.some((code) => REFUSED.has(code))) return 'auth';
    return status <= 299 && (body as { success?: unknown } | undefined | null)?.success !== true
      ? 'rejected'
      : null;
  },
});

/** The result in a response. */
export function resultOf({ body }: Reply): unknown {
  const { result } = entry(body);
  if (result === undefined) throw unreadable();
  return result;
}
