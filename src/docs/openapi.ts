// The OpenAPI 3.1 document, made from the route declarations: what a route declares is what is documented. Invariant: every operation
// names its access, its answers with an example each, and every refusal it can give; nothing here is written per route.

import { OpenAPIHono } from '@hono/zod-openapi';
import QuickLRU from 'quick-lru';
import { kindNames } from '../auth/authorize';
import { credentialPrefixes, exampleId, type Prefix } from '../db/ids';
import { tags } from '../domains';
import { type Code, catalogue, errorBody, refuse } from '../errors';
import { API, type Route } from '../http/route';
import { exampleFor, exampleOf, nameOf, resolved, type Schema, type Schemas, typesOf } from './examples';

interface Ref {
  $ref: string;
}
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
}
interface Media {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, Ref>;
}
export interface Answer {
  description: string;
  headers?: Record<string, Ref>;
  content?: Record<string, Media>;
}
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters?: (Parameter | Ref)[];
  requestBody?: { required: boolean; description: string; content: Record<string, Media> };
  responses: Record<string, Answer>;
}
export interface Document {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Schemas;
    parameters: Record<string, Parameter>;
    headers: Record<string, { description: string; schema: Schema; example?: unknown }>;
    examples: Record<string, { summary: string; value: unknown }>;
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>;
  };
}

const pathDescriptions: Record<string, string> = {
  org_id: 'Id of the organisation that the credential belongs to.',
  id: 'Id of the resource.',
  passkey_id: 'Id of the passkey.',
  name: 'Name of the secret. It may contain slashes, percent-encoded or not.',
  environment: 'Id or slug of the environment.',
};

const queryDescriptions: Record<string, string> = {
  environment: 'Id or slug of the environment. By default, lists cover all environments; other calls use the default environment.',
  type: 'Only secrets of this type.',
  prefix: 'Only secrets whose names start with this prefix.',
  status: 'Only secrets with this status. Without it, all except deleted ones.',
  action: 'Only entries with this action.',
  outcome: 'Only entries with this outcome.',
  from: 'Only entries at or after this time.',
  to: 'Only entries before this time.',
  version: 'The version to read. The current one by default.',
  permanent: 'Whether to destroy all values now, so that the secret cannot be restored.',
};

const parameters: Record<string, Parameter> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Makes the request safe to repeat. For 24 hours, the same request with the same key returns the stored response of the first one. 1 to 255 printable ASCII characters, bare or as a quoted string.',
    schema: { type: 'string', minLength: 1, maxLength: 512 },
    example: '7c9f0d0e-4c1b-4b0e-9a57-1d2f8c1f6a55',
  },
  AccessReason: {
    name: 'X-Access-Reason',
    in: 'header',
    required: false,
    description: 'The reason for the request, stored in its audit log entry. 1 to 256 printable characters in UTF-8.',
    schema: { type: 'string', minLength: 1, maxLength: 1024 },
    example: 'deploying release 42',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The ETag of the resource when you read it. If the resource has changed since then, nothing is done and the response is 412.',
    schema: { type: 'string', maxLength: 1000 },
    example: '"v1"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of the copy that you have. If it is still current, the response is 304 without a body.',
    schema: { type: 'string', maxLength: 1000 },
    example: '"v1"',
  },
};

const headers: Document['components']['headers'] = {
  'Request-Id': {
    description: 'Id of this request. Include it when you report a problem.',
    schema: { type: 'string' },
    example: exampleId('request'),
  },
  'RateLimit-Policy': {
    description: 'The rate limit of the credential: q requests in w seconds.',
    schema: { type: 'string' },
    example: '"credential";q=600;w=60',
  },
  RateLimit: {
    description:
      'What is left of the rate limit: r requests in the next t seconds. X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset hold the same information.',
    schema: { type: 'string' },
    example: '"credential";r=598;t=41',
  },
  ETag: {
    description: 'Identifies this state of the resource. Send it in If-Match or If-None-Match.',
    schema: { type: 'string' },
    example: '"v1"',
  },
  'Idempotency-Replayed': {
    description: 'true if this is the stored response to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'After how many seconds to repeat the request.',
    schema: { type: 'integer', minimum: 0 },
    example: 12,
  },
  'WWW-Authenticate': { description: 'The authentication scheme.', schema: { type: 'string', enum: ['Bearer'] } },
  Allow: { description: 'The methods that the path supports.', schema: { type: 'string' }, example: 'GET, POST' },
};

const errorSchema: Schema = {
  type: 'object',
  description: 'The body of every error response.',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'docs'],
      properties: {
        code: {
          type: 'string',
          description: 'Identifies the error. Codes never change: use them in programs.',
          enum: Object.keys(catalogue),
        },
        message: { type: 'string', description: 'Describes the error for people. It may change.' },
        docs: { type: 'string', format: 'uri', description: 'Address of the page about this code.' },
        details: {
          type: 'array',
          description: 'What is wrong with the request, by field.',
          items: {
            type: 'object',
            required: ['path', 'message'],
            properties: {
              path: { type: 'string', description: 'Path of the field, such as owner.email or scopes.0.' },
              message: { type: 'string', description: 'What is expected of the field.' },
            },
          },
        },
        retry_after: { type: 'integer', minimum: 0, description: 'After how many seconds to repeat the request.' },
      },
    },
  },
};

const statusWords: Record<number, string> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted. The work continues in the background.',
  204: 'Success, without a body.',
  304: 'Not modified: your copy is current. There is no body.',
};

const everywhere: Code[] = [
  'VALIDATION_FAILED',
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'TOKEN_REVOKED',
  'CREDENTIAL_KIND_NOT_ALLOWED',
  'ADDRESS_NOT_ALLOWED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
  'OVERLOADED',
  'MISCONFIGURED',
];
const sending: Code[] = ['MALFORMED_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
const creating: Code[] = ['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_KEY_REUSED'];

/** Whether an answer is kept for a repeat under its Idempotency-Key. */
const isKept = ({ method, public: isPublic, unkept }: Route) => method === 'post' && !isPublic && !unkept;

/** Every refusal that a route can give, in the order of the catalogue. */
export function refusalsOf(route: Route): Code[] {
  const codes = new Set<Code>([...everywhere, ...(route.refusals ?? [])]);
  if (route.public) codes.delete('CREDENTIAL_KIND_NOT_ALLOWED');
  const { scopes, kinds, owner, fresh, reveals } = route.need;
  if (scopes.length > 0 || owner) codes.add('INSUFFICIENT_SCOPE');
  if (fresh) codes.add('REAUTHENTICATION_REQUIRED');
  if (reveals && kinds.includes('agent')) codes.add('SECRET_ACCESS_DENIED');
  if (route.method !== 'get') for (const code of sending) codes.add(code);
  if (isKept(route)) for (const code of creating) codes.add(code);
  return (Object.keys(catalogue) as Code[]).filter((code) => codes.has(code));
}

/** The body that goes with a code, as an example. */
export function errorExample(code: Code, base: string) {
  if (code === 'VALIDATION_FAILED') return errorBody(refuse(code, { details: [{ path: 'name', message: 'is not a known field' }] }), base);
  const waits: Code[] = ['RATE_LIMITED', 'IDEMPOTENCY_IN_PROGRESS', 'UNAVAILABLE', 'OVERLOADED'];
  return errorBody(refuse(code, waits.includes(code) ? { retry_after: code === 'RATE_LIMITED' ? 12 : 1 } : {}), base);
}

/** Who may make a call, in words. */
export function accessOf(route: Route): string {
  if (route.public) return 'Needs no credential.';
  const confirmation = route.need.fresh
    ? ' A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).'
    : '';
  return callersOf(route) + confirmation;
}

function callersOf(route: Route): string {
  const { scopes, kinds, owner } = route.need;
  const words = kinds.map((kind) => kindNames[kind]);
  const who = `Accepts ${[words.slice(0, -1).join(', '), words.at(-1)].filter(Boolean).join(' or ')}`;
  if (kinds.includes('system')) return `${who}.`;
  if (owner) return 'Accepts a browser session of an owner, or an API key that holds `*` without limits.';
  if (scopes.length === 0) return `${who}. No scope is needed.`;
  const names = scopes.map((scope) => `\`${scope}\``);
  return names.length === 1 ? `${who} with the scope ${names[0]}.` : `${who} with one of the scopes ${names.join(', ')}.`;
}

const kept = new QuickLRU<string, Document>({ maxSize: 2 });

/** The document of this deployment, made once an isolate for each base; a few are kept, since a base may be what a client makes of it. */
export function openapiDocument(routes: Route[], base: string, version: string): Document {
  const known = kept.get(base);
  if (known) return known;
  const document = build(routes, base, version);
  kept.set(base, document);
  return document;
}

function build(routes: Route[], base: string, version: string): Document {
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
  // The generator's types are those of the whole standard; what it is given here keeps to the part that Document spells.
  const made = hono.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version } }) as unknown as Document;
  const schemas: Schemas = { ...made.components?.schemas, Error: errorSchema };
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
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of any kind: API key (svc_live_…), session token (svcsess_…), agent credential (svcag_…), provider token (svcprov_…), break-glass token (svcbg_…) or the JWT of a browser session.',
        },
        bootstrap: {
          type: 'http',
          scheme: 'bearer',
          description: 'The bootstrap token of the deployment. It creates and recovers organisations.',
        },
      },
    },
  };
  const ids = new Set<string>();
  for (const route of routes) {
    const generated = made.paths[route.path]?.[route.method] as Operation;
    const operation = operationOf(route, generated, document, base);
    if (ids.has(operation.operationId)) operation.operationId = idOf(`${route.method} ${route.path}`);
    ids.add(operation.operationId);
    document.paths[route.path] = { ...document.paths[route.path], [route.method]: operation };
  }
  keepUsed(document);
  return document;
}

const introduction = `Stores the secrets of organisations in encrypted form and controls who can read them.

Send a credential with each request: \`Authorization: Bearer TOKEN\`. Bodies are JSON objects. Unknown fields are refused.
Lists are paginated: pass \`next_cursor\` as \`cursor\` while \`has_more\` is true. A POST with an \`Idempotency-Key\` is safe to repeat.
All error responses have the same form. The pages at /docs/errors explain each code and what to do about it.`;

const idOf = (words: string) => words.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '');

function operationOf(route: Route, generated: Operation, document: Document, base: string): Operation {
  const { components } = document;
  const { schemas } = components;
  const byBootstrap = route.need.kinds.includes('system');
  const isUnbudgeted = byBootstrap || route.public !== undefined;
  const requestBody = generated.requestBody && route.body && bodyOf(generated.requestBody.content, !route.body.optional, schemas);
  return {
    operationId: idOf(route.operation ?? route.action),
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, accessOf(route)].filter(Boolean).join('\n\n'),
    security: route.public ? [] : [{ [byBootstrap ? 'bootstrap' : 'bearer']: [] }],
    parameters: parametersOf(route, generated, components),
    ...(requestBody && { requestBody }),
    responses: { ...answersOf(route, generated, components, isUnbudgeted), ...refusedOf(route, components, base, isUnbudgeted) },
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

function parametersOf(route: Route, generated: Operation, components: Document['components']): (Parameter | Ref)[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): Parameter => {
    const resource = name === 'id' ? resourceOf(route) : null;
    return {
      name,
      in: 'path',
      required: true,
      description: resource
        ? `Id${resource.words === 'environment' ? ' or slug' : ''} of the ${resource.words}.`
        : (pathDescriptions[name] ?? `The ${name.replaceAll('_', ' ')}.`),
      schema: { type: 'string', maxLength: name === 'name' ? 255 : 64 },
      example: resource
        ? `${resource.prefix}_01M9xQeKcX3vTz6nWJfQ4b`
        : name === 'name'
          ? 'DATABASE_URL'
          : exampleFor(name, { type: 'string' }, components.schemas),
    };
  });
  const inQuery = (generated.parameters ?? [])
    .filter((found): found is Parameter => 'in' in found && found.in === 'query')
    .map((found): Parameter => {
      const { description, ...schema } = found.schema;
      return {
        name: found.name,
        in: 'query',
        required: found.required ?? false,
        description: found.description ?? description ?? queryDescriptions[found.name] ?? `The ${found.name.replaceAll('_', ' ')}.`,
        schema,
        example: exampleFor(found.name, schema, components.schemas),
      };
    });
  const shared = [
    ...(route.conditional ?? []).map((name) => (name === 'if-match' ? 'IfMatch' : 'IfNoneMatch')),
    ...(isKept(route) ? ['IdempotencyKey'] : []),
    'AccessReason',
  ];
  for (const name of shared) components.parameters[name] = parameters[name] as Parameter;
  return [...inPath, ...inQuery, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

/** The prefix of ids by the collection that they stand in. */
const prefixes: Record<string, Prefix> = {
  'api-keys': credentialPrefixes.api_key,
  'access-tokens': credentialPrefixes.session,
  'agent-credentials': credentialPrefixes.agent,
  credentials: credentialPrefixes.api_key,
  'provider-tokens': credentialPrefixes.provider,
  'break-glass-tokens': credentialPrefixes.break_glass,
  sessions: credentialPrefixes.browser,
  secrets: 'sec',
  environments: 'env',
  members: 'mem',
  teams: 'team',
  grants: 'grt',
};
const singular: Record<string, string> = { 'api-keys': 'API key', 'access-tokens': 'session token', sessions: 'browser session' };

/** What `{id}` stands for: the collection before it says so. */
function resourceOf(route: Route): { words: string; prefix: string } | null {
  const collection = /([a-z-]+)\/\{id\}/.exec(route.path)?.[1];
  if (collection === undefined) return null;
  const words = singular[collection] ?? collection.replace(/s$/, '').replaceAll('-', ' ');
  const prefix = prefixes[collection];
  if (!prefix) throw new Error(`no prefix of ids is known for ${collection}`);
  return { words, prefix };
}

function headersOf(names: string[], components: Document['components']): Record<string, Ref> {
  for (const name of names) components.headers[name] = headers[name] as Document['components']['headers'][string];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const tagged = new Set(['Secret', 'SecretWithValue', 'RotatedSecret']);

function answersOf(route: Route, generated: Operation, components: Document['components'], isUnbudgeted: boolean): Record<string, Answer> {
  const { schemas } = components;
  const found: Record<string, Answer> = {};
  for (const status of Object.keys(route.answers)) {
    const schema = generated.responses[status]?.content?.['application/json']?.schema;
    const hasTag = status === '304' || (schema && (route.conditional?.length || tagged.has(nameOf(schema.$ref ?? ''))));
    const names = ['Request-Id', ...(isUnbudgeted ? [] : ['RateLimit', 'RateLimit-Policy'])];
    if (hasTag) names.push('ETag');
    if (isKept(route)) names.push('Idempotency-Replayed');
    found[status] = {
      description: statusWords[Number(status)] ?? 'Success.',
      headers: headersOf(names, components),
      ...(schema && {
        content: {
          'application/json': { schema, example: exampleOf(schema, schemas) },
          ...(status === '200' && furtherForms(route, schema, schemas)),
        },
      }),
    };
  }
  return found;
}

/** The further forms of a list's answer: one item a line. */
function furtherForms(route: Route, schema: Schema, schemas: Schemas): Record<string, Media> {
  const item = resolved(schema, schemas).properties?.data?.items;
  const form: Media = {
    schema: { type: 'string', description: item?.$ref ? `One ${nameOf(item.$ref)} per line, as JSON.` : 'Text.' },
    example: item ? `${JSON.stringify(exampleOf(item, schemas))}\n` : 'text',
  };
  return Object.fromEntries((route.alsoAs ?? []).map((type) => [type, form]));
}

function refusedOf(route: Route, components: Document['components'], base: string, isUnbudgeted: boolean): Record<string, Answer> {
  const byStatus = new Map<number, Code[]>();
  for (const code of refusalsOf(route)) {
    const status = route.statuses?.[code] ?? catalogue[code].status;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const found: Record<string, Answer> = {};
  for (const [status, codes] of byStatus) {
    for (const code of codes) components.examples[code] ??= { summary: catalogue[code].message, value: errorExample(code, base) };
    const names = ['Request-Id'];
    if (!isUnbudgeted && ![401, 405].includes(status)) names.push('RateLimit', 'RateLimit-Policy');
    if (status === 401) names.push('WWW-Authenticate');
    if (status === 405) names.push('Allow');
    if ([429, 503].includes(status) || codes.includes('IDEMPOTENCY_IN_PROGRESS')) names.push('Retry-After');
    found[status] = {
      description: codes.map((code) => `\`${code}\`: ${catalogue[code].message}`).join('\n\n'),
      headers: headersOf(names, components),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
    };
  }
  return found;
}

/** Leaves out the components that nothing refers to. */
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
    if (!spelled.includes(`"security":[{"${name}"`)) delete document.components.securitySchemes[name];
  }
}

/** A field of a body, with the fields inside it named by their path. */
export interface Field {
  path: string;
  type: string;
  required: boolean;
  words: string;
}

/** The fields of a schema, for people. */
export function fieldsOf(schema: Schema, schemas: Schemas, prefix = '', depth = 0): Field[] {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).flatMap(([name, field]) => {
    const whole = resolved(field, schemas);
    const path = `${prefix}${name}`;
    const own: Field = { path, type: typeWords(field, schemas), required: required.includes(name), words: limitsOf(whole) };
    const items = whole.items && resolved(whole.items, schemas);
    if (depth >= 3) return [own];
    return [
      own,
      ...fieldsOf(field, schemas, `${path}.`, depth + 1),
      ...(items?.properties ? fieldsOf(items, schemas, `${path}[].`, depth + 1) : []),
    ];
  });
}

export function typeWords(schema: Schema, schemas: Schemas): string {
  const whole = resolved(schema, schemas);
  const choice = whole.anyOf ?? whole.oneOf;
  if (choice) return choice.map((each) => typeWords(each, schemas)).join(' or ');
  const words = typesOf(whole).map((type) => (type === 'array' && whole.items ? `list of ${typeWords(whole.items, schemas)}` : type));
  const format = whole.format ? ` (${whole.format})` : '';
  return (words.join(' or ') || 'any') + format;
}

/** What a schema says besides its type, in words. */
export function limitsOf(schema: Schema): string {
  const range = (least: number | undefined, most: number | undefined, what: string) => {
    if (least !== undefined && most !== undefined) return `${least} to ${most}${what}.`;
    if (most !== undefined) return `At most ${most}${what}.`;
    return least !== undefined ? `At least ${least}${what}.` : '';
  };
  const bounded = (value: number | undefined) => (value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined);
  return [
    schema.description,
    schema.enum && `One of ${schema.enum.join(', ')}.`,
    range(schema.minLength, schema.maxLength, ' characters'),
    range(bounded(schema.minimum), bounded(schema.maximum), ''),
    range(schema.minItems, schema.maxItems, ' items'),
  ]
    .filter(Boolean)
    .join(' ');
}
