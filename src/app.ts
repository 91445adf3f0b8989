// The HTTP application: routing, common response headers and one log line per request. Invariant: every
// response has Request-Id, no-store and nosniff (and HSTS if PUBLIC_URL is https), and every error has the
// format of the error catalogue.
import { type Context, Hono } from 'hono';
import { answerAws } from './compat/aws';
import { answerScim } from './compat/scim';
import { answerVault } from './compat/vault';
import { newId } from './db/ids';
import { routes } from './domains';
import { answerAcs, answerCallback, answerLogout, answerMetadata } from './domains/sso-signin/pages';
import { answerUse } from './domains/upstreams/use-route';
import { type Env, settingsOf } from './env';
import { ApiError, refuse } from './errors';
import { health } from './health/check';
import { boundOf } from './http/caller/bound';
import { placeOfRequest } from './http/calls/region';
import type { Incoming, Trace } from './http/context';
import { refusalOfFault } from './http/faults';
import { handle } from './http/handle';
import { readHeaders } from './http/input/headers';
import { handlePublic } from './http/public';
import { logRequest, measureRequest } from './http/request-log';
import { errorResponse, isRead, readOnly } from './http/responses';
import { API, type Route } from './http/route';
import { docsRoutes } from './pages/docs';
import { metricsRoute } from './pages/metrics';
import { pageRoutes } from './pages/routes';
import { running } from './version';

interface Variables {
  trace: Trace;
  base: string;
  requestId: string;
}
type App = { Bindings: Env; Variables: Variables };

/** Converts OpenAPI's `{id}` to the router's syntax; a secret's name may contain slashes. */
const routed = (path: string) => path.replace('{name}', ':name{.+}').replace(/\{(\w+)\}/g, ':$1');

export const app = new Hono<App>({ strict: true });

/** The input for handling a request. */
function incomingOf(c: Context<App>, params: Record<string, string>): Incoming {
  const settings = settingsOf(c.env);
  if ('problem' in settings) throw new ApiError(refuse('MISCONFIGURED', { message: settings.problem }));
  const headers = readHeaders(c.req.raw);
  const bound = boundOf(c.req.raw);
  const { user_agent, reason } = headers;
  // safety: bound-worker-names-no-address
  const ip = bound ? 'unknown' : headers.ip;
  return {
    request: c.req.raw,
    headers,
    env: c.env,
    settings,
    base: c.get('base'),
    trace: c.get('trace'),
    facts: { id: c.get('requestId'), ip, user_agent, reason, place: bound ? null : placeOf(c.req.raw) },
    params,
    place: placeOfRequest(c.req.raw, c.env),
    ...(bound && { bound }),
    defer: (work) => c.executionCtx.waitUntil(work),
  };
}

/** Where a request came from, according to Cloudflare; null outside Cloudflare. */
function placeOf({ cf }: Request): string | null {
  if (!cf) return null;
  const { city, country, colo } = cf as Partial<IncomingRequestCfProperties>;
  const town = [city, country].filter(Boolean).join(', ');
  return [town, colo && `(${colo})`].filter(Boolean).join(' ') || null;
}

app.use(async (c, next) => {
  const started = Date.now();
  const settings = settingsOf(c.env);
  const trace: Trace = {
    route: 'unmatched',
    org: null,
    credential: null,
    gate_calls: 0,
    gate_ms: 0,
    d1_calls: 0,
    code: null,
  };
  const base = ('publicUrl' in settings && settings.publicUrl) || new URL(c.req.url).origin;
  c.set('trace', trace);
  c.set('base', base);
  c.set('requestId', newId('req'));
  if ('problem' in settings)
    c.res = errorResponse(refuse('MISCONFIGURED', { message: settings.problem }), base, trace);
  else await next();

  // Every response was created here, so its headers can be set: a copy would turn its body into a stream.
  const response = c.res;
  response.headers.set('Request-Id', c.get('requestId'));
  // An intermediary that compresses weakens or drops an ETag, such as Cloudflare, and If-Match would match
  // nothing. Clients of Vault and AWS send none, and expect what these send.
  const isMatched = response.headers.has('ETag') && c.req.path.startsWith(API);
  // Only console files set their own: their names contain a hash of their content.
  if (!response.headers.has('Cache-Control'))
    response.headers.set('Cache-Control', isMatched ? 'no-store, no-transform' : 'no-store');
  response.headers.set('X-Content-Type-Options', 'nosniff');
  // Only for this host: subdomains may belong to others and may not support https.
  if (/^https:/i.test(c.env.PUBLIC_URL ?? ''))
    response.headers.set('Strict-Transport-Security', 'max-age=31536000');
  const handled = { started, id: c.get('requestId'), method: c.req.method, status: response.status };
  logRequest(handled, trace);
  measureRequest(c.env, handled, trace, (work) => c.executionCtx.waitUntil(work));
});

app.all('/healthz', async (c) => {
  const trace = c.get('trace');
  trace.route = '/healthz';
  if (!isRead(c.req.method)) return readOnly(c.get('base'), trace);
  const settings = settingsOf(c.env);
  if ('problem' in settings) throw new ApiError(refuse('MISCONFIGURED', { message: settings.problem }));
  const found = await health(c.env, settings, running(c.env), (work) => c.executionCtx.waitUntil(work));
  return c.json(found, found.status === 'down' ? 503 : 200);
});

// Before all others: its path is the upstream's, and may look like any.
for (const path of ['/orgs/:org_id/use/:upstream', '/orgs/:org_id/use/:upstream/*'])
  app.all(`${API}${path}`, (c) => answerUse(incomingOf(c, {})));

metricsRoute(app);
docsRoutes(app, routes);
pageRoutes(app);

const methods = new Map<string, string[]>();
for (const route of routes)
  methods.set(route.path, [...(methods.get(route.path) ?? []), route.method.toUpperCase()]);

/**
 * Paths in matching order: a literal segment comes before a parameter in its place, regardless of the domain
 * order.
 */
const inOrder = (a: string, b: string): number => {
  const spelled = (path: string) =>
    path.split('/').map((segment) => (segment.startsWith('{') ? '~' : `!${segment}`));
  return spelled(a).join('/') < spelled(b).join('/') ? -1 : 1;
};

for (const path of [...methods.keys()].sort(inOrder)) {
  const allowed = methods.get(path) as string[];
  const here = routes.filter((route) => route.path === path);
  const isPage = here.some((route) => route.isPage);
  const whole = isPage ? path : API + path;
  // Pages are read at `pageRoutes`.
  if (isPage) allowed.unshift('GET', 'HEAD');
  app.all(routed(whole), async (c) => {
    const trace = c.get('trace');
    trace.route = whole;
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const route = here.find((candidate: Route) => candidate.method.toUpperCase() === method);
    if (!route)
      return errorResponse(refuse('METHOD_NOT_ALLOWED'), c.get('base'), trace, null, {
        Allow: allowed.join(', '),
      });
    return (route.public ? handlePublic : handle)(route, incomingOf(c, c.req.param()));
  });
}

for (const [path, method, answer] of [
  ['/sso/callback', 'GET', answerCallback],
  ['/sso/acs', 'POST', answerAcs],
  ['/sso/saml/:connection_id', 'GET', answerMetadata],
  ['/sso/:connection_id/logout', 'POST', answerLogout],
] as const)
  app.all(path, (c) => {
    const trace = c.get('trace');
    trace.route = path.replace(':connection_id', '{connection_id}');
    return c.req.method === method
      ? answer(incomingOf(c, c.req.param()))
      : errorResponse(refuse('METHOD_NOT_ALLOWED'), c.get('base'), trace, null, { Allow: method });
  });

for (const path of ['/v1/*', '/compat/vault/*']) app.all(path, (c) => answerVault(incomingOf(c, {})));

for (const path of ['/compat/aws/:org_id/:environment', '/compat/aws/:org_id/:environment/', '/compat/aws/*'])
  app.all(path, (c) => answerAws(incomingOf(c, c.req.param())));

for (const path of ['/scim/v2', '/scim/v2/*']) app.all(path, (c) => answerScim(incomingOf(c, {})));

app.notFound((c) => {
  const message = 'This path is not part of the API. The API reference is at /docs.';
  return errorResponse(refuse('NOT_FOUND', { message }), c.get('base'), c.get('trace'));
});

app.onError((error, c) => {
  const refusal = refusalOfFault(error, c.get('requestId'));
  return errorResponse(refusal, c.get('base'), c.get('trace'));
});
