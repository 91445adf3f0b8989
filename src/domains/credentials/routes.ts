// Credentials over HTTP. Tokens are made here, shown once, and leave for the gate as hashes.

import { z } from '@hono/zod-openapi';
import { newToken } from '../../auth/token';
import { newId } from '../../db/ids';
import { type Context, pageOf } from '../../http/context';
import { type Input, route } from '../../http/route';
import { pageQuery } from '../../http/wire';
import * as wire from './wire';

const PageQuery = z.strictObject(pageQuery);

/** A new token for the gate, and the one-time value that only the answer bears. */
export function issue(kind: 'api_key' | 'session', context: Context, place = 'token') {
  const { token, hash, hint } = newToken(kind, context.org, context.deployment.tokenTag);
  return { token: { id: newId(kind === 'api_key' ? 'key' : 'tok'), hash, hint }, once: { [place]: token } };
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
    description: 'It can hold no more than its creator does. What a session token creates dies with it.',
    body: { schema: wire.ApiKeyIn },
    answers: { 201: wire.NewApiKey },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('api_key', context);
      const { name, scopes, expires_at, environments, secrets, allowed_addresses } = body;
      return {
        input: {
          token,
          name,
          scopes,
          expires_at: expires_at ?? null,
          environments: environments ?? null,
          secrets: secrets ?? null,
          allowed_addresses: allowed_addresses ?? null,
        },
        once,
      };
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
    refusals: ['NOT_FOUND', 'CONFLICT', 'SCOPE_EXCEEDS_PARENT', 'CREDENTIAL_KIND_NOT_ALLOWED'],
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
    refusals: ['CREDENTIAL_KIND_NOT_ALLOWED', 'SCOPE_EXCEEDS_PARENT'],
    prepare({ body }, context) {
      const { token, once } = issue('session', context);
      return {
        input: { token, ttlSeconds: body.ttlSeconds, scopes: body.scopes ?? null, allowed_addresses: body.allowedAddresses ?? null },
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
];
