// The documentation pages of a deployment: the OpenAPI document, the reference rendered from it, and a page for every error code.
// Invariants: no page needs a credential or shows data of an organisation; each page is rendered once per isolate and base URL.
import type { OpenAPIHono } from '@hono/zod-openapi';
import { html } from 'hono/html';
import type { Env } from '../env';
import { type Code, catalogue } from '../errors';
import type { Trace } from '../http/context';
import { json, page, type Rendered, responseOf } from '../http/page';
import { remember } from '../http/remember';
import { isRead, readOnly } from '../http/responses';
import { API, type Route } from '../http/route';
import type { Document } from './document';
import { openapiDocument } from './openapi';
import { errorExample, refusalsOf } from './refusals';

type App = { Bindings: Env; Variables: { trace: Trace; base: string; requestId: string } };

/** A path, its renderer, and how many renderings are cached at least. */
interface Served {
  path: string;
  most: number;
  render(base: string, code: string): Rendered;
}

type DocumentOf = (base: string) => Document;

const served = (routes: Route[], documentOf: DocumentOf): Served[] => [
  { path: `${API}/openapi.json`, most: 2, render: (base) => asJson(documentOf(base)) },
  { path: '/docs', most: 1, render: reference },
  { path: '/docs/errors', most: 1, render: errorList },
  { path: '/docs/errors/:code', most: 2 * codes.length, render: (base, code) => errorPage(code as Code, base, routes, documentOf) },
];

export function docsRoutes(app: OpenAPIHono<App>, routes: Route[]): void {
  const documentOf = remember(2, (base: string) => openapiDocument(routes, base));
  for (const { path, most, render } of served(routes, documentOf)) {
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
}

const codes = Object.keys(catalogue) as Code[];

const asJson = (value: unknown): Rendered => ({ body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } });

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

function errorPage(code: Code, base: string, routes: Route[], documentOf: DocumentOf): Rendered {
  const { status, message, cause, remedy } = catalogue[code];
  const given = routes.filter((route) => refusalsOf(route).includes(code));
  const { paths } = documentOf(base);
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
    : html`<ul>${given.map((route) => html`<li><a href="${anchorOf(route, paths[route.path]?.[route.method]?.operationId)}">${route.summary}</a></li>`)}</ul>`
}`
}
</main>`,
  );
}

/** Where the reference shows an operation. */
const anchorOf = ({ tag }: Route, operationId = '') => `/docs#/${encodeURIComponent(tag)}/${operationId}`;
