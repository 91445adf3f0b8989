// Credentials over HTTP. Tokens are made here, shown once, and leave for the gate as hashes.

import { z } from '@hono/zod-openapi';
import { type Kind, newToken } from '../../auth/token';
import { credentialPrefixes, newId } from '../../db/ids';
import { type Context, pageOf } from '../../http/context';
import { type Input, route } from '../../http/route';
import { pageQuery } from '../../http/wire';
import * as wire from './wire';

const PageQuery = z.strictObject(pageQuery);

/** A new token for the gate, and the one-time value that only the answer bears. */
export function issue(kind: Kind, context: Context, place = 'token') {
  const { token, hash, hint } = newToken(kind, context.org, context.deployment.tokenTag);
  return { token: { id: newId(credentialPrefixes[kind]), hash, hint }, once: { [place]: token } };
}

const byCredential = ({ params }: { params: Record<string, string> }) => ({ credential: params.id as string });
const list = (name: string) => (slice: { items: unknown[]; next: string | null }, _: Input, context: Context) => ({
  json: pageOf(context, name, slice),
});
const page = ({ query }: Input<{ limit?: number; cursor?: string }>) => ({
  input: { limit: query.limit ?? 50, after: query.cursor ?? null },
});

const keys = '/orgs/{org_id}/api-keys';
const tokens = '/orgs/{org_id}/access-tokens';
const agents = '/orgs/{org_id}/agent-credentials';
const providers = '/orgs/{org_id}/provider-tokens';
const emergencies = '/orgs/{org_id}/break-glass-tokens';

/** What a new credential may leave out. */
const silent = { environments: null, secrets: null, allowed_addresses: null, expires_at: null };

export const credentialRoutes = [
  route({
    method: 'get',
    path: '/whoami',
    action: 'caller.read',
    tag: 'Credentials',
    summary: 'What the calling credential is and holds',
    answers: { 200: wire.WhoAmI },
  }),
  route({
    method: 'post',
    path: keys,
    action: 'api_key.create',
    tag: 'API keys',
    summary: 'Create an API key',
    description:
      'It can hold no more than its creator does. What a session token creates ends with it. To create one that acts as an owner, a browser session must have been confirmed in the last five minutes (`POST /auth/confirm`).',
    body: { schema: wire.ApiKeyIn },
    answers: { 201: wire.NewApiKey },
    refusals: ['REAUTHENTICATION_REQUIRED', 'SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context);
      return { input: { ...silent, ttlSeconds: null, ...body, token }, once };
    },
  }),
  route({
    method: 'get',
    path: keys,
    action: 'api_key.list',
    tag: 'API keys',
    summary: 'List the live API keys',
    query: PageQuery,
    answers: { 200: wire.ApiKeyPage },
    refusals: ['INVALID_CURSOR'],
    prepare: page,
    render: list(keys),
  }),
  route({
    method: 'get',
    path: `${keys}/{id}`,
    action: 'api_key.read',
    tag: 'API keys',
    summary: 'Show an API key',
    answers: { 200: wire.ApiKey },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
  route({
    method: 'patch',
    path: `${keys}/{id}`,
    action: 'api_key.update',
    tag: 'API keys',
    summary: 'Rename an API key, or change where it may be used from',
    body: { schema: wire.ApiKeyPatch },
    answers: { 200: wire.ApiKey },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT'],
    named: byCredential,
    prepare: ({ body }) => ({
      input: { name: body.name ?? null, ...(body.allowed_addresses !== undefined && { allowed_addresses: body.allowed_addresses }) },
    }),
  }),
  route({
    method: 'post',
    path: `${keys}/{id}/rotate`,
    action: 'api_key.rotate',
    tag: 'API keys',
    summary: 'Replace an API key',
    description:
      'Issues a successor that holds the same; the old one, with its session tokens, ends after the overlap, at once without one.',
    body: { schema: wire.ApiKeyRotate, optional: true },
    answers: { 201: wire.NewApiKey },
    refusals: ['REAUTHENTICATION_REQUIRED', 'NOT_FOUND', 'CONFLICT', 'SCOPE_EXCEEDS_PARENT', 'CREDENTIAL_KIND_NOT_ALLOWED'],
    named: byCredential,
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context);
      return { input: { token, overlap_seconds: body.overlap_seconds ?? 0 }, once };
    },
  }),
  route({
    method: 'delete',
    path: `${keys}/{id}`,
    action: 'api_key.revoke',
    tag: 'API keys',
    summary: 'Revoke an API key',
    description:
      'It and every session token minted from it are refused from the moment this is answered. A key may revoke itself without any scope.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
  route({
    method: 'post',
    path: tokens,
    action: 'access_token.create',
    tag: 'Session tokens',
    summary: 'Mint a session token',
    description: 'By an API key alone, and of itself: needs no scope. The token carries a subset of what the key holds, and dies with it.',
    body: { schema: wire.AccessTokenIn },
    answers: { 201: wire.NewAccessToken },
    refusals: ['CREDENTIAL_KIND_NOT_ALLOWED', 'SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('session', context);
      return {
        input: {
          token,
          ttlSeconds: body.ttlSeconds,
          scopes: body.scopes ?? null,
          environments: body.environments ?? null,
          secrets: body.secrets ?? null,
          allowed_addresses: body.allowedAddresses ?? null,
        },
        once,
      };
    },
  }),
  route({
    method: 'get',
    path: tokens,
    action: 'access_token.list',
    tag: 'Session tokens',
    summary: 'List the live session tokens',
    query: PageQuery,
    answers: { 200: wire.AccessTokenPage },
    refusals: ['INVALID_CURSOR'],
    prepare: page,
    render: list(tokens),
  }),
  route({
    method: 'delete',
    path: `${tokens}/{id}`,
    action: 'access_token.revoke',
    tag: 'Session tokens',
    summary: 'Revoke a session token',
    description: 'Refused from the moment this is answered. A token may revoke itself, and a key its own tokens, without any scope.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
  route({
    method: 'post',
    path: agents,
    action: 'agent.create',
    tag: 'Agents',
    summary: 'Create an agent credential',
    description:
      'For an AI agent: limited to what it needs, within what its creator holds. What an agent creates ends with it. The token is also accepted with the prefix svc_agent_.',
    body: { schema: wire.AgentIn },
    answers: { 201: wire.NewAgent },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('agent', context);
      return { input: { ...silent, ttlSeconds: null, rate_limit: null, ...body, token }, once };
    },
  }),
  route({
    method: 'get',
    path: agents,
    action: 'agent.list',
    tag: 'Agents',
    summary: 'List the live agent credentials',
    query: PageQuery,
    answers: { 200: wire.AgentPage },
    refusals: ['INVALID_CURSOR'],
    prepare: page,
    render: list(agents),
  }),
  route({
    method: 'get',
    path: `${agents}/{id}`,
    action: 'agent.read',
    tag: 'Agents',
    summary: 'Show an agent credential',
    answers: { 200: wire.Agent },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
  route({
    method: 'patch',
    path: `${agents}/{id}`,
    action: 'agent.update',
    tag: 'Agents',
    summary: 'Change an agent credential',
    description:
      'Acts from its next request on. What widens it has to lie within what the caller holds; narrowing needs no more than tokens:write.',
    body: { schema: wire.AgentPatch },
    answers: { 200: wire.Agent },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT'],
    named: byCredential,
    prepare: ({ body }) => ({ input: { ...body, name: body.name ?? null } }),
  }),
  route({
    method: 'delete',
    path: `${agents}/{id}`,
    action: 'agent.revoke',
    tag: 'Agents',
    summary: 'Revoke an agent credential',
    description: 'It and all that it created are refused from the moment this is answered. An agent may revoke itself without any scope.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
  route({
    method: 'post',
    path: providers,
    action: 'provider_token.create',
    tag: 'Provider tokens',
    summary: 'Create a provider token',
    description:
      'For an internal platform that issues credentials. Its scopes need secrets:write, secrets:rotate and secrets:delete of its creator, who must not have an end. It works on /provider/* alone.',
    body: { schema: wire.ProviderTokenIn },
    answers: { 201: wire.NewProviderToken },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('provider', context);
      return { input: { ...silent, ...body, token }, once };
    },
  }),
  route({
    method: 'get',
    path: providers,
    action: 'provider_token.list',
    tag: 'Provider tokens',
    summary: 'List the live provider tokens',
    query: PageQuery,
    answers: { 200: wire.ProviderTokenPage },
    refusals: ['INVALID_CURSOR'],
    prepare: page,
    render: list(providers),
  }),
  route({
    method: 'delete',
    path: `${providers}/{id}`,
    action: 'provider_token.revoke',
    tag: 'Provider tokens',
    summary: 'Revoke a provider token',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
  route({
    method: 'post',
    path: emergencies,
    action: 'break_glass.create',
    tag: 'Break-glass',
    summary: 'Issue a break-glass token',
    description:
      'By an owner, an admin, or an API key that holds *. For the whole organisation and four hours at most: lists, reads, writes, rotates and deletes secrets and reads the audit log, and nothing else. At most five may be alive. Issue and every use are marked in the audit log.',
    body: { schema: wire.BreakGlassIn },
    answers: { 201: wire.NewBreakGlass },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('break_glass', context);
      return { input: { token, reason: body.reason, ttlSeconds: body.ttlSeconds ?? 3600 }, once };
    },
  }),
  route({
    method: 'get',
    path: emergencies,
    action: 'break_glass.list',
    tag: 'Break-glass',
    summary: 'List the live break-glass tokens',
    query: PageQuery,
    answers: { 200: wire.BreakGlassPage },
    refusals: ['INVALID_CURSOR'],
    prepare: page,
    render: list(emergencies),
  }),
  route({
    method: 'delete',
    path: `${emergencies}/{id}`,
    action: 'break_glass.revoke',
    tag: 'Break-glass',
    summary: 'End a break-glass token',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: byCredential,
  }),
];
