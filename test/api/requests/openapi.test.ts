// The documentation that the service serves: complete, sound by the rules of OpenAPI 3.1, and pages that need
// no script but for the reference.

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import stored from '../../../packages/client/openapi.json?raw';
import { app } from '../../../src/app';
import { actions, routes } from '../../../src/domains';
import { type Code, catalogue } from '../../../src/errors';
import { openapiDocument } from '../../../src/openapi/build';
import type { Answer, Document, Operation, Parameter, Ref } from '../../../src/openapi/document';
import { type Schema, typesOf } from '../../../src/openapi/examples';
import { accessOf } from '../../../src/openapi/permissions';
import { refusalsOf } from '../../../src/openapi/refusals';
import { assetTypes } from '../../../src/pages/assets';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { approvalIn, newApprovalPolicy } from '../../support/governance/approvals';
import { newUpstream } from '../../support/integrations/upstreams';
import { newWebhook, useReceivers } from '../../support/integrations/webhooks';
import { newGrant, newMember, newTeam } from '../../support/people';
import { newLink } from '../../support/shares';
import { newSignedIn } from '../../support/signin/browser';
import { newDevice } from '../../support/signin/device';
import { newIssuer, newTrust } from '../../support/signin/issuers';
import { newIdp } from '../../support/signin/scim';
import { addConnection, newDomain } from '../../support/signin/sso';
import { slow } from '../../support/slow';
import { newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

/** What can be read without a credential, and nothing else be done with. */
const readable = [
  ...[
    '/healthz',
    '/docs',
    '/docs/errors',
    '/docs/errors/NOT_FOUND',
    '/api/v1/openapi.json',
    '/.well-known/jwks.json',
  ],
  ...['/enrol', '/sign-in', ...Object.keys(assetTypes).map((name) => `/assets/${name}`)],
];

const fetch = (path: string, init?: RequestInit) => exports.default.fetch(`http://localhost${path}`, init);
const codes = Object.keys(catalogue) as Code[];

let document: Document;
beforeAll(async () => {
  document = (await (await fetch('/api/v1/openapi.json')).json()) as Document;
});

/** An operation with the parameters of its path, and with its responses in place of references to them. */
interface Whole extends Omit<Operation, 'responses'> {
  parameters: (Parameter | Ref)[];
  responses: Record<string, Answer>;
}

const operations = (): { path: string; method: string; operation: Whole }[] =>
  Object.entries(document.paths).flatMap(([path, { parameters = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]: [string, Operation]) => {
      const responses = Object.entries(operation.responses).map(([status, found]) => [
        status,
        '$ref' in found ? follow(found.$ref) : found,
      ]);
      const whole = {
        ...operation,
        parameters: [...parameters, ...(operation.parameters ?? [])],
        responses: Object.fromEntries(responses),
      };
      return { path, method, operation: whole };
    }),
  );

const operationAt = (method: string, path: string) =>
  operations().find((each) => each.method === method && each.path === path)?.operation;

/** What a reference stands for; undefined where it stands for nothing. */
const follow = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], document);

/** The example of a schema, composed of the examples of its fields, as tools do. */
function composed(schema: Schema): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref) return composed(follow(schema.$ref) as Schema);
  if (schema.allOf)
    return Object.assign(
      {},
      ...schema.allOf.map(composed),
      ...(schema.properties ? [composed({ ...schema, allOf: undefined } as Schema)] : []),
    );
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice) return composed(choice.find(({ type }) => type !== 'null') as Schema);
  if (schema.enum) return schema.enum[0];
  const [type] = typesOf(schema);
  if (type === 'array') return [composed(schema.items ?? {})];
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, field]) => [name, composed(field)]),
    );
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  return type === 'boolean' ? true : schema.format === 'date-time' ? '2026-11-21T12:00:00.000Z' : 'string';
}

/** What is wrong with a value by a schema: the part of JSON Schema that the document uses. */
function faults(value: unknown, schema: Schema, at = ''): string[] {
  if (schema.$ref) return faults(value, follow(schema.$ref) as Schema, at);
  const parts = (schema.allOf ?? []).flatMap((part) => faults(value, part, at));
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice && !choice.some((each) => faults(value, each, at).length === 0))
    return [`${at}: none of the choices`];
  if (schema.enum && !schema.enum.includes(value)) return [`${at}: not in the enum`];
  const type =
    value === null
      ? 'null'
      : Array.isArray(value)
        ? 'array'
        : Number.isInteger(value)
          ? 'integer'
          : typeof value;
  const types = typesOf(schema);
  if (types.length > 0 && !types.includes(type)) return [`${at}: ${type} is not ${types}`];
  if (typeof value === 'string' && schema.pattern && !new RegExp(schema.pattern).test(value))
    return [`${at}: not by the pattern`];
  if (typeof value === 'number' && (value < (schema.minimum ?? value) || value > (schema.maximum ?? value)))
    return [`${at}: out of bounds`];
  if (Array.isArray(value))
    return [...parts, ...value.flatMap((item, index) => faults(item, schema.items ?? {}, `${at}[${index}]`))];
  if (type !== 'object') return parts;
  const fields = value as Record<string, unknown>;
  const missing = (schema.required ?? [])
    .filter((name) => !(name in fields))
    .map((name) => `${at}.${name}: missing`);
  const wrong = Object.entries(fields).flatMap(([name, field]) => {
    const own = schema.properties?.[name];
    if (own) return faults(field, own, `${at}.${name}`);
    if (schema.additionalProperties === false) return [`${at}.${name}: unknown`];
    return typeof schema.additionalProperties === 'object'
      ? faults(field, schema.additionalProperties, `${at}.${name}`)
      : [];
  });
  return [...parts, ...missing, ...wrong];
}

describe('OpenAPI: the document', () => {
  slow('is the one that the routes generate, in at most 2.2 kB an operation', async () => {
    // `npm run openapi` writes it, for this address.
    const base = 'https://vault.example.com';
    expect(JSON.parse(JSON.stringify(openapiDocument(routes, base)))).toEqual(JSON.parse(stored));
    expect(document).toEqual(JSON.parse(stored.replaceAll(base, 'http://localhost')));
    expect(new TextEncoder().encode(JSON.stringify(document)).length).toBeLessThan(2200 * routes.length);
  });

  it('has an ETag, with which a client that has it gets no copy', async () => {
    const response = await fetch('/api/v1/openapi.json');
    const etag = response.headers.get('etag') as string;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    for (const value of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await fetch('/api/v1/openapi.json', { headers: { 'If-None-Match': value } });
      expect([again.status, again.headers.get('etag'), await again.text()], value).toEqual([304, etag, '']);
    }
    expect((await fetch('/api/v1/openapi.json', { headers: { 'If-None-Match': '"other"' } })).status).toBe(
      200,
    );
  });

  slow('has every route, with its access, responses and refusals', () => {
    expect(operations().length).toBe(routes.length);
    for (const route of routes) {
      const operation = operationAt(route.method, route.path);
      if (!operation) throw new Error(`${route.method} ${route.path} is not in the document`);
      expect(operation.summary).toBe(route.summary);
      expect(operation.tags).toEqual([route.tag]);
      expect(operation.description).toContain(accessOf(route));
      for (const scope of actions[route.action].scopes) expect(operation.description).toContain(scope);
      const [security] = operation.security ?? document.security;
      const scheme = actions[route.action].kinds.includes('system') ? 'bootstrap' : 'bearer';
      expect(Object.keys(security ?? {})).toEqual(route.public ? [] : [scheme]);
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true);
      expect(Object.keys(operation.responses).some((status) => /^4|default/.test(status))).toBe(true);
      for (const code of refusalsOf(route)) {
        const status = route.statuses?.[code] ?? catalogue[code].status;
        const answer = operation.responses[status] ?? operation.responses.default;
        expect(answer?.description, `${route.method} ${route.path}`).toContain(`\`${code}\``);
      }
      const [first] = Object.keys(route.answers);
      for (const type of route.alsoAs ?? [])
        expect(operation.responses[first as string]?.content).toHaveProperty(type);
      const idempotency = { $ref: '#/components/parameters/IdempotencyKey' };
      if (route.method === 'post' && !route.public && route.unkept !== true)
        expect(operation.parameters).toContainEqual(idempotency);
      else expect(operation.parameters).not.toContainEqual(idempotency);
    }
  });

  it('has examples that match its schemas and that the routes accept', () => {
    for (const { method, path, operation } of operations()) {
      for (const [status, answer] of Object.entries(operation.responses)) {
        for (const [type, media] of Object.entries(answer.content ?? {})) {
          const example = media.example ?? composed(media.schema);
          // A JSON object or list, or the text of another type.
          expect(typeof example, `${method} ${path} ${status} ${type}`).toBe(
            /[/+]json$|event-stream/.test(type) ? 'object' : 'string',
          );
          expect(faults(example, media.schema), `${method} ${path} ${status} ${type}`).toEqual([]);
        }
      }
      const route = routes.find((each) => each.method === method && each.path === path);
      if (!route?.body) continue;
      const example = operation.requestBody?.content['application/json']?.example;
      const parsed = route.body.schema.safeParse(example);
      expect(parsed.error?.issues, `${method} ${path}: ${JSON.stringify(example)}`).toBeUndefined();
    }
  });

  it('passes the linter', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.license.identifier).toBe('Apache-2.0');
    expect(document.servers[0]?.url).toBe('http://localhost/api/v1');
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9_]*$/);
    const tags = document.tags.map(({ name }) => name);
    expect(new Set(tags).size).toBe(tags.length);
    for (const { description, name } of document.tags)
      expect(description.length, name).toBeGreaterThan(name.length + 1);

    const spelled = JSON.stringify(document);
    const refs = new Set([...spelled.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref as string));
    for (const ref of refs) expect(follow(ref), ref).toEqual(expect.any(Object));
    for (const kind of ['schemas', 'responses', 'parameters', 'headers'] as const) {
      for (const name of Object.keys(document.components[kind]))
        expect(refs, `${kind} ${name} is used`).toContain(`#/components/${kind}/${name}`);
    }

    for (const { method, path, operation } of operations()) {
      const where = `${method} ${path}`;
      for (const tag of operation.tags) expect(tags, where).toContain(tag);
      for (const scheme of (operation.security ?? document.security).flatMap(Object.keys))
        expect(document.components.securitySchemes, where).toHaveProperty(scheme);
      const parameters = operation.parameters.map((found) =>
        '$ref' in found ? (follow(found.$ref) as Parameter) : found,
      );
      const keys = parameters.map(({ name, in: place }) => `${place} ${name}`);
      expect(new Set(keys).size, where).toBe(keys.length);
      for (const { description, name } of parameters) expect(description, `${where} ${name}`).toMatch(/\S/);
      for (const { example, name, schema } of parameters)
        expect(faults(example, schema), `${where} ${name}`).toEqual([]);
      const inPath = parameters
        .filter(({ in: place, required }) => place === 'path' && required)
        .map(({ name }) => name);
      expect(inPath.sort(), where).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort());
      for (const answer of Object.values(operation.responses))
        expect(answer.description, where).toMatch(/\S/);
    }
  });
});

describe('documentation: the pages', () => {
  const sound = async (response: Response) => {
    const text = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(text).not.toMatch(
      /<script|<style|<iframe|<form|\son\w+=|\sstyle=|javascript:|(?:src|<link[^>]*href)="(?!\/assets\/)/i,
    );
    expect(text).toContain('name="viewport"');
    return text;
  };

  it('the reference loads only files of this deployment, and has links without JavaScript', async () => {
    const response = await fetch('/docs');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; script-src 'self'; connect-src 'self'",
    );
    const text = await response.text();
    expect(text).not.toMatch(/<style|<iframe|<form|\son\w+=|\sstyle=|javascript:|<script[^>]*>[^<]/i);
    const loaded = [...text.matchAll(/(?:<script src|<link rel="stylesheet" href)="([^"]+)"/g)].map(
      ([, path]) => path as string,
    );
    const styles = ['swagger-ui.css', 'reference.css', 'tokens.css', 'pages.css'];
    expect(loaded).toEqual([...styles, 'swagger-ui.js', 'reference.js'].map((name) => `/assets/${name}`));
    for (const path of loaded) expect((await fetch(path)).status).toBe(200);
    for (const path of ['/docs/errors', '/api/v1/openapi.json', '/console'])
      expect(text).toContain(`href="${path}"`);
  });

  it('files of pages have their content type and the usual headers; no other file of their folder is served', async () => {
    for (const [name, type] of Object.entries(assetTypes)) {
      const response = await fetch(`/assets/${name}`);
      expect([response.status, response.headers.get('content-type')], name).toEqual([200, type]);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect((await response.text()).length).toBeGreaterThan(100);
    }
    for (const path of [
      '/assets/',
      '/assets/index.html',
      '/assets/swagger-ui.js.map',
      '/swagger-ui.js',
      '/assets/..%2fwrangler.toml',
    ])
      expect((await fetch(path)).status, path).toBe(404);
  });

  it('pages of errors link the operations with the code, at their place in the reference', async () => {
    const text = await (await fetch('/docs/errors/SLUG_TAKEN')).text();
    const links = [...text.matchAll(/href="\/docs#\/([^/"]+)\/([^"]+)"/g)];
    expect(links.length).toBeGreaterThan(0);
    for (const [, tag = '', id] of links) {
      const found = operations().find(({ operation }) => operation.operationId === id);
      expect(found?.operation.tags).toEqual([decodeURIComponent(tag)]);
    }
  });

  slow('every error code has a page that says what it means and what to do', async () => {
    const list = await sound(await fetch('/docs/errors'));
    for (const code of codes) {
      expect(list).toContain(`href="/docs/errors/${code}"`);
      const response = await fetch(`/docs/errors/${code}`);
      expect(response.status).toBe(200);
      const text = (await sound(response))
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&');
      const { status, message, cause, remedy } = catalogue[code];
      for (const part of [
        code,
        `HTTP status ${status}`,
        message,
        cause,
        remedy,
        `http://localhost/docs/errors/${code}`,
      ])
        expect(text).toContain(part);
    }
  });

  slow('unknown paths and methods get the usual error body', async () => {
    for (const path of [
      '/docs/errors/NO_SUCH_CODE',
      '/docs/errors/toString',
      '/docs/errors/%3Cscript%3E',
      '/docs/nothing',
    ]) {
      const response = await fetch(path);
      expect(response.status, path).toBe(404);
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe('NOT_FOUND');
    }
    expect((await fetch('/docs/errors/NOPE', { method: 'POST' })).status).toBe(404);
    for (const path of readable)
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const response = await fetch(path, { method });
        expect(response.status, `${method} ${path}`).toBe(405);
        expect(response.headers.get('allow')).toBe('GET, HEAD');
        expect(((await response.json()) as { error: { code: string } }).error.code).toBe(
          'METHOD_NOT_ALLOWED',
        );
      }
    for (const path of readable) {
      const head = await fetch(path, { method: 'HEAD' });
      expect(head.status, path).toBe((await fetch(path)).status);
      expect(head.status === 200 || path === '/healthz', path).toBe(true);
      expect(await head.text()).toBe('');
    }
  });

  slow('are rendered once for each base URL, and contain the one that was used', async () => {
    const assets = (env as unknown as { ASSETS: Fetcher }).ASSETS;
    const read = vi.fn((url: string) => assets.fetch(url));
    const ASSETS = { fetch: read };
    const at = async (host: string, path: string) => {
      const context = createExecutionContext();
      const response = await app.fetch(
        new Request(`https://${host}${path}`),
        { ...env, ASSETS, PUBLIC_URL: '' } as never,
        context,
      );
      await waitOnExecutionContext(context);
      return response.text();
    };
    const spelled = vi.spyOn(JSON, 'stringify');
    for (const path of ['/api/v1/openapi.json', '/docs/errors/SLUG_TAKEN']) {
      const first = await at('one.example.com', path);
      expect(first).toContain('https://one.example.com');
      spelled.mockClear();
      read.mockClear();
      expect(await at('one.example.com', path)).toBe(first);
      // Examples are spelled while a page is rendered; the line of the log is not one.
      expect(spelled.mock.calls.filter(([value]) => !(value as { request_id?: string }).request_id)).toEqual(
        [],
      );
      expect(read).not.toHaveBeenCalled();
    }
    // More bases than are kept.
    const document = '/api/v1/openapi.json';
    for (let host = 0; host < 12; host++)
      expect(await at(`${host}.example.com`, document)).toContain(`https://${host}.example.com`);
    expect(await at('one.example.com', document)).toContain('https://one.example.com');
    vi.restoreAllMocks();
  });
});

describe('OpenAPI: ids in examples', () => {
  const prefixOf = (id: unknown) => /^([a-z]+)_[0-9A-Za-z]{22}$/.exec(String(id))?.[1];

  /** The prefixes of the ids in a value, by their place. */
  function placesOf(value: unknown, at = ''): [place: string, prefix: string][] {
    const prefix = prefixOf(value);
    if (prefix) return [[at, prefix]];
    if (Array.isArray(value)) return value.slice(0, 1).flatMap((item) => placesOf(item, `${at}[]`));
    return value && typeof value === 'object'
      ? Object.entries(value).flatMap(([name, field]) => placesOf(field, `${at}.${name}`))
      : [];
  }

  slow('those in paths have the kind of real ids', async () => {
    const o = await newOrg();
    const member = await newMember(o);
    const team = await newTeam(o, member.id);
    const first = async (path: string) => (await o.get(path)).json.data[0].id as string;
    const { browser } = await newSignedIn();
    const policy = await newApprovalPolicy(o, ['secret.read'], {
      applies_to: { names: ['held'], environments: ['staging'] },
    });
    const approval = approvalIn(
      await o.get(`/secrets/${(await newSecret(o, { name: 'held', environment: 'staging' })).id}`),
    );
    useReceivers();
    const webhook = await newWebhook(o);
    const passkeys = await browser.o.get(`/members/${browser.member.id}/passkeys`);
    const real: Record<string, string> = {
      orgs: o.id,
      environments: await first('/environments'),
      members: member.id,
      passkeys: passkeys.json.data[0].id,
      teams: team,
      domains: (await newDomain(o)).id,
      'sso-connections': await addConnection(o),
      grants: (await newGrant(o, 'team', team, { environments: ['production'] })).id,
      'api-keys': o.keyId,
      credentials: o.keyId,
      'access-tokens': (await newSession(o)).id,
      'agent-credentials': (await newAgent(o)).id,
      'provider-tokens': (await newProvider(o)).id,
      'break-glass-tokens': (await newBreakGlass(o)).id,
      'scim-tokens': (await newIdp(o)).id,
      secrets: (await newSecret(o)).id,
      shares: (await newLink(o, (await newSecret(o)).id)).id,
      s: (await newLink(o, (await newSecret(o)).id)).id,
      approvals: approval.id,
      policies: policy,
      trusts: (await newTrust(o, await newIssuer())).id,
      incidents: (await o.post(`/credentials/${(await newKey(o)).id}/contain`, {})).json.incident_id,
      devices: (await newDevice(o)).id,
      webhooks: webhook.id,
      'log-streams': (
        await o.post('/log-streams', {
          name: 'x',
          kind: 'https',
          config: { url: 'https://siem.example.com' },
        })
      ).json.id,
      upstreams: (await newUpstream(o)).id,
      syncs: (
        await o.post('/integrations/sync', {
          platform: 'heroku',
          config: { token: 'x', appName: 'x' },
          environmentId: 'production',
        })
      ).json.syncId,
      integrations: (
        await o.post('/integrations', {
          kind: 'notify',
          platform: 'pagerduty',
          name: 'x',
          config: { routingKey: 'x' },
        })
      ).json.id,
      deliveries: (await o.post(`/webhooks/${webhook.id}/test`)).json.id,
      sessions: (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data[0].id,
    };
    for (const { path, operation } of operations())
      for (const [, collection = '', name] of path.matchAll(/([a-z-]+)\/\{(\w+)\}/g)) {
        if (name === 'environment' || name === 'name') continue;
        const parameters = operation.parameters.map((found) =>
          '$ref' in found ? (follow(found.$ref) as Parameter) : found,
        );
        const parameter = parameters.find((found) => found.name === name) as Parameter;
        expect(prefixOf(parameter.example), `${path} ${name}`).toBe(
          prefixOf(real[collection] ?? 'no such id is made here'),
        );
      }
    vi.unstubAllGlobals();
  });

  slow('those in responses have the kind of ids in real responses', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    const member = await newMember(o);
    const team = await newTeam(o, member.id);
    await newGrant(o, 'team', team);
    await Promise.all([newSession(o), newAgent(o), newProvider(o), newBreakGlass(o)]);
    await newDevice(o);
    const asked = [
      'devices',
      'environments',
      'members',
      'teams',
      'grants',
      'api-keys',
      'access-tokens',
      'agent-credentials',
      'provider-tokens',
    ];
    const paths = [
      ...asked.map((name) => [`/orgs/{org_id}/${name}`, `/${name}`]),
      ...[
        ['/orgs/{org_id}', ''],
        ['/orgs/{org_id}/break-glass-tokens', '/break-glass-tokens'],
        ['/orgs/{org_id}/secrets', '/secrets'],
        ['/orgs/{org_id}/secrets/{id}', `/secrets/${secret.id}`],
        ['/orgs/{org_id}/secrets/{id}/versions', `/secrets/${secret.id}/versions`],
        ['/orgs/{org_id}/teams/{id}/members', `/teams/${team}/members`],
        ['/orgs/{org_id}/audit-log', '/audit-log?action=secret.create'],
        ['/orgs/{org_id}/credentials/{id}/graph', `/credentials/${o.keyId}/graph`],
      ],
    ];
    let compared = 0;
    for (const [path = '', target = ''] of paths) {
      const example = composed(
        operationAt('get', path)?.responses['200']?.content?.['application/json']?.schema ?? {},
      );
      const real = new Map(placesOf((await o.get(target)).json));
      for (const [place, prefix] of placesOf(example)) {
        // Who made or did something may be of several kinds.
        if (!real.has(place) || /created_by|actor/.test(place)) continue;
        expect(`${path}${place} ${prefix}`).toBe(`${path}${place} ${real.get(place)}`);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(15);
  });

  it('have only the prefixes that ids of this service have', () => {
    const known =
      'org env sec key tok agt prv bgt mem team aud evt ses psk grt req pol apr dev whk dlv int log syn shr scn trs inc dom sso lnk scm ups'.split(
        ' ',
      );
    const found = new Set(
      [...JSON.stringify(document).matchAll(/\b([a-z]+)_[0-9A-Za-z]{22}\b/g)].map(([, prefix]) => prefix),
    );
    expect([...found].filter((prefix) => !known.includes(prefix as string))).toEqual([]);
  });
});
