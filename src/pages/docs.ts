// The documentation of a deployment: the OpenAPI document, the reference rendered from it, and a page for
// every error code. Invariants: no page needs a credential or shows data of an organisation; each is rendered
// once per isolate and base URL.
import { createHash } from 'node:crypto';
import type { Hono } from 'hono';
import { html } from 'hono/html';
import QuickLRU from 'quick-lru';
import type { Env } from '../env';
import { type Code, catalogue } from '../errors';
import { isNotModified } from '../etag';
import type { Trace } from '../http/context';
import { json, page, type Rendered, responseOf } from '../http/html-page';
import { remember } from '../http/remember';
import { isRead, readOnly } from '../http/responses';
import { API, type Route } from '../http/route';
import { operationIds } from '../openapi/operation-ids';
import { errorExample, refusalsOf } from '../openapi/refusals';

type App = { Bindings: Env; Variables: { trace: Trace; base: string; requestId: string } };

/** A path, its renderer, and how many renderings are cached at least. */
interface Served {
  path: string;
  most: number;
  render(base: string, code: string): Rendered;
}

const served = (routes: Route[], ids: Map<Route, string>): Served[] => [
  { path: '/docs', most: 1, render: reference },
  { path: '/docs/errors', most: 1, render: errorList },
  {
    path: '/docs/errors/:code',
    most: 2 * codes.length,
    render: (base, code) => errorPage(code as Code, base, routes, ids),
  },
];

export function docsRoutes(app: Hono<App>, routes: Route[]): void {
  for (const { path, most, render } of served(routes, operationIds(routes))) {
    const rendered = remember(most, render);
    app.all(path, (c) => {
      const trace = c.get('trace');
      trace.route = path.replace(/:(\w+)/, '{$1}');
      const base = c.get('base');
      const code = c.req.param('code') ?? '';
      if (path.endsWith(':code') && !Object.hasOwn(catalogue, code)) return c.notFound();
      return isRead(c.req.method) ? responseOf(rendered(base, code)) : readOnly(base, trace);
    });
  }
  app.all(DOCUMENT, async (c) => {
    const trace = c.get('trace');
    trace.route = DOCUMENT;
    if (!isRead(c.req.method)) return readOnly(c.get('base'), trace);
    const { body, headers } = await documentFor(c.env, c.get('base'));
    const isCurrent = isNotModified(c.req.header('If-None-Match') ?? null, headers.ETag);
    return isCurrent ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
  });
}

const DOCUMENT = `${API}/openapi.json`;
/** Stands for the deployment in the document that `npm run openapi` writes. */
const PLACEHOLDER = 'https://vault.example.com';

interface Bytes {
  body: Uint8Array;
  headers: Record<string, string> & { ETag: string };
}
const documents = new QuickLRU<string, Bytes>({ maxSize: 2 });

/** The OpenAPI document with the address of this deployment. */
async function documentFor({ ASSETS }: Env, base: string): Promise<Bytes> {
  const known = documents.get(base);
  if (known) return known;
  const found = await ASSETS.fetch('http://assets/openapi.json');
  if (!found.ok) throw new Error(`the OpenAPI document is missing: status ${found.status}`);
  const body = new TextEncoder().encode((await found.text()).replaceAll(PLACEHOLDER, base));
  const ETag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const made = { body, headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache', ETag } };
  documents.set(base, made);
  return made;
}

const codes = Object.keys(catalogue) as Code[];

/** The page that Swagger UI fills; without JavaScript it links to the document. */
const reference = (): Rendered =>
  page(
    'API reference: Secrets Vault Service',
    html`<main id="reference">
<h1>API reference</h1>
<p>This page needs JavaScript. The <a href="${API}/openapi.json">OpenAPI document</a> contains the same information for programs, and the <a href="/docs/errors">error pages</a> work without it.</p>
</main>`,
    {
      scripts: ['/assets/swagger-ui.js', '/assets/reference.js'],
      styles: ['/assets/swagger-ui.css', '/assets/reference.css'],
      imagesInStyles: true,
    },
  );

const errorList = (): Rendered =>
  page(
    'Errors',
    html`<main class="text">
<h1>Errors</h1>
<p>All error responses have the same form. <code>error.code</code> identifies the error, <code>error.message</code> describes it, and <code>error.docs</code> is the address of the page about the code.</p>
<dl class="codes">${codes.map((code) => html`<div><dt><a href="/docs/errors/${code}"><code>${code}</code></a> <span>${catalogue[code].status}</span></dt><dd>${catalogue[code].message}</dd></div>`)}</dl>
</main>`,
  );

function errorPage(code: Code, base: string, routes: Route[], ids: Map<Route, string>): Rendered {
  const { status, message, cause, remedy } = catalogue[code];
  const given = routes.filter((route) => refusalsOf(route).includes(code));
  return page(
    `${code}: error`,
    html`<main class="text">
<p class="kicker">Error · HTTP status ${status}</p>
<h1><code>${code}</code></h1>
<p class="lead">${message}</p>
<h2>Cause</h2>
<p>${cause}</p>
<h2>Remedy</h2>
<p>${remedy}</p>
<h2>Example</h2>
${json(errorExample(code, base))}
${
  given.length > 0 &&
  html`<h2>Returned by</h2>
${
  given.length === routes.length
    ? html`<p>All routes of the <a href="/docs">API</a>.</p>`
    : html`<ul>${given.map((route) => html`<li><a href="${anchorOf(route, ids.get(route))}">${route.summary}</a></li>`)}</ul>`
}`
}
</main>`,
  );
}

/** Where the reference shows an operation. */
const anchorOf = ({ tag }: Route, operationId = '') => `/docs#/${encodeURIComponent(tag)}/${operationId}`;
