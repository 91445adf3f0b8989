// Responses: JSON or an error of the catalogue, with the state of the caller's rate limit in the headers.
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { errorBody, type Refusal, refuse, statusOf } from '../errors';
import type { RateLimitState } from '../gate/request/call';
import type { Trace } from './context';

export function errorResponse(
  refusal: Refusal,
  base: string,
  trace: Trace,
  rate_limit: RateLimitState | null = null,
  headers: Record<string, string> = {},
): Response {
  const status = statusOf(refusal);
  const scheme = refusal.code.startsWith('DEVICE_PROOF') ? 'DPoP algs="ES256 EdDSA"' : 'Bearer';
  trace.code = refusal.code;
  return Response.json(errorBody(refusal, base), {
    status,
    headers: {
      ...rateLimitHeaders(rate_limit),
      ...(status === 401 && { 'WWW-Authenticate': scheme }),
      ...(refusal.retry_after !== undefined && { 'Retry-After': String(refusal.retry_after) }),
      ...headers,
    },
  });
}

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Whether a browser asks. Programs that accept anything get JSON. */
export function prefersHtml(c: Context): boolean {
  const json = 'application/json';
  return accepts(c, { header: 'Accept', supports: [json, 'text/html'], default: json }) === 'text/html';
}

/** The refusal of other methods on a read-only path. */
export const readOnly = (base: string, trace: Trace): Response =>
  errorResponse(refuse('METHOD_NOT_ALLOWED'), base, trace, null, { Allow: 'GET, HEAD' });

export function rendered(
  shown: { json: unknown; headers?: Record<string, string> } | Response,
  status: number,
  rate_limit: RateLimitState | null,
  headers: Record<string, string> = {},
): Response {
  const all = { ...rateLimitHeaders(rate_limit), ...headers };
  if (shown instanceof Response) {
    for (const [name, value] of Object.entries(all)) shown.headers.set(name, value);
    return shown;
  }
  if (shown.json === undefined || shown.json === null) return new Response(null, { status, headers: all });
  return Response.json(shown.json, { status, headers: { ...all, ...shown.headers } });
}

/** draft-ietf-httpapi-ratelimit-headers, and the older headers that many clients read. */
const rateLimitHeaders = (rate_limit: RateLimitState | null): Record<string, string> =>
  rate_limit
    ? {
        'RateLimit-Policy': `"credential";q=${rate_limit.limit};w=60`,
        RateLimit: `"credential";r=${rate_limit.remaining};t=${rate_limit.reset}`,
        'X-RateLimit-Limit': String(rate_limit.limit),
        'X-RateLimit-Remaining': String(rate_limit.remaining),
        'X-RateLimit-Reset': String(Math.ceil(Date.now() / 1000) + rate_limit.reset),
      }
    : {};
