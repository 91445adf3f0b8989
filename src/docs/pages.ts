// The documentation that this deployment serves about itself: the OpenAPI document, the reference made from it, and a page for every
// error code. Invariants: nothing here needs a credential, and nothing of any organisation is shown; each page is rendered once an isolate
// for each base, of which a few are kept, since a base may be what a client makes of it.
import type { OpenAPIHono } from '@hono/zod-openapi';
import QuickLRU from 'quick-lru';
import type { Env } from '../env';
import { type Code, catalogue } from '../errors';
import type { Trace } from '../http/context';
import { isRead, readOnly } from '../http/responses';
import { API, type Route } from '../http/route';
import { version } from '../version';
import { html, json, type Markup, page, prose, type Rendered, responseOf } from './html';
import {
  type Answer,
  type Document,
  errorExample,
  type Field,
  fieldsOf,
  limitsOf,
  type Operation,
  openapiDocument,
  type Parameter,
  refusalsOf,
  typeWords,
} from './openapi';

type App = { Bindings: Env; Variables: { trace: Trace; base: string; requestId: string } };

/** A path, what is rendered there, and how many renderings are kept at least; at most twice as many. */
interface Served {
  path: string;
  most: number;
  render(base: string, code: Code): Rendered;
}

const served = (routes: Route[]): Served[] => [
  { path: `${API}/openapi.json`, most: 2, render: (base) => asJson(openapiDocument(routes, base, version)) },
  { path: '/docs', most: 2, render: (base) => reference(openapiDocument(routes, base, version)) },
  { path: '/docs/errors', most: 2, render: () => errorList() },
  { path: '/docs/errors/:code', most: 2 * codes.length, render: (base, code) => errorPage(code, base, routes) },
];

export function docsRoutes(app: OpenAPIHono<App>, routes: Route[]): void {
  for (const { path, most, render } of served(routes)) {
    const kept = new QuickLRU<string, Rendered>({ maxSize: most });
    app.all(path, (c) => {
      const trace = c.get('trace');
      trace.route = path.replace(/:(\w+)/, '{$1}');
      const base = c.get('base');
      const code = c.req.param('code') ?? '';
      if (path.endsWith(':code') && !Object.hasOwn(catalogue, code)) return c.notFound();
      if (!isRead(c.req.method)) return readOnly(base, trace);
      const key = `${code} ${base}`;
      let rendered = kept.get(key);
      if (!rendered) {
        rendered = render(base, code as Code);
        kept.set(key, rendered);
      }
      return responseOf(rendered);
    });
  }
}

const codes = Object.keys(catalogue) as Code[];

const asJson = (value: unknown): Rendered => ({ body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } });

// ---------------------------------------------------------------- the reference

function reference(document: Document): Rendered {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const of = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag));
  return page(
    `${document.info.title} API`,
    html`<main>
<h1>${document.info.title} API</h1>
<p class="facts">Version ${document.info.version}, at <code>${document.servers[0]?.url}</code></p>
${prose(document.info.description)}
<nav aria-label="Operations">${document.tags.map(
      ({ name }) =>
        html`<strong><a href="#${anchor(name)}">${name}</a></strong>
<ul>${of(name).map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`)}</ul>`,
    )}</nav>
${document.tags.map(
  ({ name, description }) => html`<h2 id="${anchor(name)}">${name}</h2>
<p>${description}</p>
${of(name).map(({ path, method, operation }) => operationPart(path, method, operation, document))}`,
)}
</main>
<footer>${document.info.title} ${document.info.version}, ${document.info.license.name}</footer>`,
  );
}

const anchor = (name: string) => `tag-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;

function operationPart(path: string, method: string, operation: Operation, document: Document): Markup {
  const { components } = document;
  const parameters = (operation.parameters ?? []).map((found) =>
    'in' in found ? found : (components.parameters[found.$ref.split('/').at(-1) ?? ''] as Parameter),
  );
  const body = operation.requestBody?.content['application/json'];
  const answers = Object.entries(operation.responses);
  return html`<section class="operation" id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="call"><b>${method}</b>${API}${path}</p>
${prose(operation.description)}
${
  parameters.length > 0 &&
  html`<h4>Parameters</h4>
<dl>${parameters.map(({ name, in: place, required, description, schema }) => field({ path: name, type: `${typeWords(schema, components.schemas)}, in ${place}`, required: required ?? false, words: [description, limitsOf(schema)].filter(Boolean).join(' ') }))}</dl>`
}
${
  body &&
  html`<h4>Body${!operation.requestBody?.required && ' (optional)'}</h4>
<dl>${fieldsOf(body.schema, components.schemas).map(field)}</dl>
${json(body.example)}`
}
<h4>Responses</h4>
${answers.filter(([status]) => Number(status) < 400).map(([status, answer]) => answerPart(status, answer, document))}
<h4>Errors</h4>
<dl>${answers.filter(([status]) => Number(status) >= 400).map(([status, answer]) => refusedPart(status, answer))}</dl>
</section>
`;
}

const field = ({ path, type, required, words }: Field): Markup =>
  html`<dt><code>${path}</code> <span>${type}${required && ', required'}</span></dt>${words && html`<dd>${words}</dd>`}`;

function answerPart(status: string, answer: Answer, document: Document): Markup {
  const shown = answer.content?.['application/json'];
  const others = Object.keys(answer.content ?? {}).filter((type) => type !== 'application/json');
  if (!shown) return html`<p><strong>${status}</strong> ${answer.description}</p>`;
  return html`<p><strong>${status}</strong> ${answer.description}${others.length > 0 && ` Also as ${others.join(', ')}.`}</p>
${json(shown.example)}
<details><summary>Fields</summary><dl>${fieldsOf(shown.schema, document.components.schemas).map((each) => field({ ...each, required: false }))}</dl></details>`;
}

const refusedPart = (status: string, answer: Answer): Markup =>
  html`<dt>${status}</dt><dd><ul class="codes">${Object.keys(answer.content?.['application/json']?.examples ?? {}).map(
    (code) => html`<li><a href="/docs/errors/${code}"><code>${code}</code></a></li>`,
  )}</ul></dd>`;

// ---------------------------------------------------------------- errors

const errorList = (): Rendered =>
  page(
    'Errors',
    html`<main>
<h1>Errors</h1>
<p>All error responses have the same form. <code>error.code</code> identifies the error, <code>error.message</code> describes it, and <code>error.docs</code> is the address of the page about the code.</p>
<dl>${codes.map((code) => html`<dt><a href="/docs/errors/${code}"><code>${code}</code></a> <span>${catalogue[code].status}</span></dt><dd>${catalogue[code].message}</dd>`)}</dl>
</main>`,
  );

function errorPage(code: Code, base: string, routes: Route[]): Rendered {
  const { status, message, cause, remedy } = catalogue[code];
  const given = routes.filter((route) => refusalsOf(route).includes(code));
  const { paths } = openapiDocument(routes, base, version);
  return page(
    `${code}: error`,
    html`<main>
<h1>${code}</h1>
<p class="facts">HTTP status ${status}</p>
<p>${message}</p>
<h4>Cause</h4>
<p>${cause}</p>
<h4>Remedy</h4>
<p>${remedy}</p>
<h4>Example</h4>
${json(errorExample(code, base))}
${
  given.length > 0 &&
  html`<h4>Returned by</h4>
${
  given.length === routes.length
    ? html`<p>All calls of the <a href="/docs">API</a>.</p>`
    : html`<ul class="plain">${given.map((route) => html`<li><a href="/docs#${paths[route.path]?.[route.method]?.operationId}">${route.summary}</a></li>`)}</ul>`
}`
}
</main>`,
  );
}
