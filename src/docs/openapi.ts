// The OpenAPI 3.1 document, generated from the route declarations. Invariant: every operation documents its access, its responses with an
// example each, and every refusal it can return; nothing here is specific to a route.

import { OpenAPIHono } from '@hono/zod-openapi';
import { tags } from '../domains';
import { API, type Route } from '../http/route';
import { version } from '../version';
import { accessOf } from './access';
import type { Document, Media, Operation } from './document';
import { exampleOf, type Schemas } from './examples';
import { named } from './named';
import { parametersOf } from './parameters';
import { errorSchema, refusedOf } from './refusals';
import { answersOf } from './responses';
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
  const made = hono.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version } }) as unknown as Document;
  const schemas: Schemas = named({ ...made.components?.schemas, Error: errorSchema });
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
    tags: names.map((name) => ({ name, description: tags[name] ?? `${name}.` })),
    paths: {},
    components: {
      schemas,
      parameters: {},
      headers: {},
      examples: {},
      securitySchemes: { ...securitySchemes },
    },
  };
  const ids = new Set<string>();
  for (const route of routes) {
    const generated = made.paths[route.path]?.[route.method] as Operation;
    const operation = operationOf(route, generated, document, base);
    if (ids.has(operation.operationId))
      operation.operationId = route.path.endsWith('}') ? `${operation.operationId}_one` : idOf(`${route.method} ${route.path}`);
    ids.add(operation.operationId);
    document.paths[route.path] = { ...document.paths[route.path], [route.method]: operation };
  }
  keepUsed(document);
  return document;
}

const idOf = (words: string) => words.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '');

function operationOf(route: Route, generated: Operation, document: Document, base: string): Operation {
  const { components } = document;
  const { schemas } = components;
  const byBootstrap = route.need.kinds.includes('system');
  const isUnlimited = byBootstrap || route.public !== undefined;
  const requestBody = generated.requestBody && route.body && bodyOf(generated.requestBody.content, !route.body.optional, schemas);
  return {
    operationId: idOf(route.operation ?? route.action),
    ...(route.isPage && { servers: [{ url: base }] }),
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, accessOf(route)].filter(Boolean).join('\n\n'),
    security: route.public ? [] : byBootstrap ? [{ bootstrap: [] }] : [{ bearer: [] }, { dpop: [] }],
    parameters: parametersOf(route, generated, components),
    ...(requestBody && { requestBody }),
    responses: { ...answersOf(route, generated, components, isUnlimited), ...refusedOf(route, components, base, isUnlimited) },
  };
}

const bodyOf = (content: Record<string, Media>, required: boolean, schemas: Schemas): Operation['requestBody'] => {
  const schema = content['application/json']?.schema ?? {};
  return {
    required,
    description: required ? 'A JSON object of at most 1 MiB.' : 'A JSON object of at most 1 MiB, or no body.',
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
  const spelled = JSON.stringify(document.paths);
  for (const name of Object.keys(document.components.securitySchemes)) {
    if (!spelled.includes(`{"${name}":[]}`)) delete document.components.securitySchemes[name];
  }
}
