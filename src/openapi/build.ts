// The OpenAPI 3.1 document, generated from the route declarations by `npm run openapi`; the Worker serves
// what that wrote. Invariant: every operation documents its access, its responses with an example each, and
// every refusal it can return; nothing here is specific to a route.

import { OpenAPIHono } from '@hono/zod-openapi';
import { tags } from '../domains';
import { API, type Route } from '../http/route';
import { version } from '../version';
import type { Document, Media, Operation } from './document';
import { exampleOf, type Schemas, withExamples } from './examples';
import { named } from './named';
import { operationIds } from './operation-ids';
import { parametersOf } from './parameters';
import { accessOf } from './permissions';
import { errorExample, errorSchema, refusedOf } from './refusals';
import { answersOf } from './responses';
import { shareRepeated } from './shared';
import { introduction, securitySchemes } from './texts';

/** The document of a deployment at `base`. */
export function openapiDocument(routes: Route[], base: string): Document {
  const hono = new OpenAPIHono();
  const registry = hono.openAPIRegistry;
  for (const route of routes) {
    registry.registerPath({
      method: route.method,
      path: route.path,
      request: {
        ...(route.query && { query: route.query as never }),
        ...(route.body && { body: { content: { 'application/json': { schema: route.body.schema } } } }),
      },
      responses: Object.fromEntries(
        Object.entries(route.answers).map(([status, schema]) => [
          status,
          { description: '', ...(schema && { content: { 'application/json': { schema } } }) },
        ]),
      ),
    });
  }
  // The generator's types cover the whole standard; this document uses only the part in Document.
  const made = hono.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: '', version },
  }) as unknown as Document;
  const schemas: Schemas = withExamples(
    named({
      ...made.components?.schemas,
      Error: { ...errorSchema, example: errorExample('NOT_FOUND', base) },
    }),
  );
  const names = [...new Set(routes.map((route) => route.tag))];
  const document: Document = {
    openapi: '3.1.0',
    info: {
      title: 'Secrets Vault Service',
      version,
      summary: 'A secrets manager on Cloudflare Workers.',
      description: introduction,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${base}${API}`, description: 'This deployment.' }],
    security: [{ bearer: [] }, { dpop: [] }],
    tags: names.map((name) => ({ name, description: tags[name] ?? `${name}.` })),
    paths: {},
    components: {
      schemas,
      responses: {},
      parameters: {},
      headers: {},
      securitySchemes: { ...securitySchemes },
    },
  };
  for (const [route, id] of operationIds(routes)) {
    const generated = made.paths[route.path]?.[route.method] as Operation;
    document.paths[route.path] = {
      ...document.paths[route.path],
      [route.method]: operationOf(route, id, generated, document, base),
    };
  }
  keepUsed(document);
  shareRepeated(document);
  return document;
}

function operationOf(
  route: Route,
  id: string,
  generated: Operation,
  document: Document,
  base: string,
): Operation {
  const { components } = document;
  const { schemas } = components;
  const byBootstrap = route.need.kinds.includes('system');
  const requestBody =
    generated.requestBody &&
    route.body &&
    bodyOf(generated.requestBody.content, !route.body.optional, schemas);
  return {
    operationId: id,
    ...(route.isPage && { servers: [{ url: base }] }),
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, accessOf(route)].filter(Boolean).join('\n\n'),
    ...((route.public || byBootstrap) && { security: route.public ? [] : [{ bootstrap: [] }] }),
    parameters: parametersOf(route, generated, components),
    ...(requestBody && { requestBody }),
    responses: { ...answersOf(route, generated, components), ...refusedOf(route, components) },
  };
}

const bodyOf = (
  content: Record<string, Media>,
  required: boolean,
  schemas: Schemas,
): Operation['requestBody'] => {
  const schema = content['application/json']?.schema ?? {};
  return {
    required,
    content: { 'application/json': { schema, example: exampleOf(schema, schemas, { leanest: true }) } },
  };
};

/** Drops unreferenced components. */
function keepUsed(document: Document) {
  const { schemas } = document.components;
  const used = new Set<string>();
  const visit = (part: unknown) => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(schemas[name] ?? {});
    }
  };
  visit(document.paths);
  for (const name of Object.keys(schemas)) if (!used.has(name)) delete schemas[name];
  const spelled = JSON.stringify([document.security, document.paths]);
  for (const name of Object.keys(document.components.securitySchemes)) {
    if (!spelled.includes(`{"${name}":[]}`)) delete document.components.securitySchemes[name];
  }
}
