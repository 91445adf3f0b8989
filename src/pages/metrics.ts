// GET /metrics: the sums of the deployment as Prometheus text. Invariants: without METRICS_TOKEN the path
// does not exist; the token is compared in constant time, and attempts with another one are counted by
// address.
import type { Hono } from 'hono';
import { equalSecret } from '../crypto/digest';
import type { Env } from '../env';
import { ApiError, refuse } from '../errors';
import { countRefused } from '../http/caller/refused-attempts';
import type { Trace } from '../http/context';
import { readHeaders } from '../http/input/headers';
import { errorResponse, isRead, readOnly } from '../http/responses';
import { read } from '../metrics/collect';
import { CONTENT_TYPE, prometheus } from '../metrics/prometheus';

const WRONG = 'Send "Authorization: Bearer TOKEN" with the METRICS_TOKEN of this deployment.';

type App = { Bindings: Env; Variables: { trace: Trace; base: string; requestId: string } };

export function metricsRoute(app: Hono<App>): void {
  app.all('/metrics', async (c) => {
    const { env } = c;
    if (!env.METRICS_TOKEN) return c.notFound();
    const trace = c.get('trace');
    const base = c.get('base');
    trace.route = '/metrics';
    if (!isRead(c.req.method)) return readOnly(base, trace);
    const { authorization, ip } = readHeaders(c.req.raw);
    const [, token] = /^Bearer +([\x21-\x7e]{1,1024}) *$/i.exec(authorization ?? '') ?? [];
    // safety: metrics-token
    if (token === undefined || !equalSecret(env.METRICS_TOKEN, token)) {
      const wait = await countRefused(env, ip);
      const refusal = wait
        ? refuse('RATE_LIMITED', { retry_after: wait })
        : refuse('UNAUTHENTICATED', { message: WRONG });
      return errorResponse(refusal, base, trace);
    }
    return new Response(prometheus(await read(env).catch(unavailable)), {
      headers: { 'Content-Type': CONTENT_TYPE },
    });
  });
}

/** The object with the sums is away, or cannot write, as on a full disk. */
const unavailable = (): never => {
  throw new ApiError(refuse('UNAVAILABLE', { retry_after: 2 }));
};
