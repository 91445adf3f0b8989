// HTTP routes of credentials. The Worker creates tokens, shows them once and sends only hashes to the gate.

import { accessKeyOf, MARK_BYTES, markOf, sessionTokenOf } from '../../auth/authentication/aws-keys';
import { newToken, type TokenKind } from '../../auth/authentication/token';
import { randomBytes } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';
import { credentialPrefixes, newId } from '../../db/ids';
import { type Context, keysOf } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import * as wire from './wire';

/** A new token: its hash for the gate, and the one-time value for the response. */
export function issue(kind: TokenKind, context: Context, place = 'token') {
  const { token, hash, hint } = newToken(kind, context.org, context.deployment.tokenTag);
  return { token: { id: newId(credentialPrefixes[kind]), hash, hint }, once: { [place]: token } };
}

/** A new access key of an API key: its mark for the gate, and the one-time values for the response. */
function awsKey(id: string, context: Context) {
  const random = randomBytes(MARK_BYTES);
  const roots = { tokenTag: context.deployment.tokenTag, root: keysOf(context).aws };
  const { access_key_id, secret_access_key } = accessKeyOf(
    'api_key',
    { org: context.org, id, random },
    roots,
  );
  return {
    aws: markOf(random),
    once: { 'aws.access_key_id': access_key_id, 'aws.secret_access_key': secret_access_key },
  };
}

/** A new API key, with an access key if there is to be one. */
function issueKey(context: Context, hasAws: boolean) {
  const { token, once } = issue('api_key', context);
  const { aws = null, once: shown = {} } = hasAws ? awsKey(token.id, context) : {};
  return { token: { ...token, aws }, once: { ...once, ...shown } };
}

/** How much longer than its row the token of a session is good: the gate decides by the row. */
const SLACK = 60_000;

/** A new session for clients of AWS. It has no token for the other routes. */
function awsSession(ttlSeconds: number, context: Context) {
  const { org, deployment } = context;
  const id = newId(credentialPrefixes.session);
  const random = randomBytes(MARK_BYTES);
  const roots = { tokenTag: deployment.tokenTag, root: keysOf(context).aws };
  const pair = accessKeyOf('session', { org, id, random }, roots);
  const until = Date.now() + ttlSeconds * 1000 + SLACK;
  const session_token = sessionTokenOf({ org, id, random, until }, deployment.tokenTag);
  const hint = `svcaws_…${session_token.slice(-4)}`;
  return {
    token: { id, hash: sha256(session_token), hint, aws: markOf(random) },
    once: { ...pair, session_token },
  };
}

const keys = '/orgs/{org_id}/api-keys';
const tokens = '/orgs/{org_id}/access-tokens';
const agents = '/orgs/{org_id}/agent-credentials';
const providers = '/orgs/{org_id}/provider-tokens';
const emergencies = '/orgs/{org_id}/break-glass-tokens';

/** The fields that a new credential may omit. */
const silent = {
  environments: null,
  secrets: null,
  upstreams: null,
  allowed_addresses: null,
  expires_at: null,
};

export const credentialRoutes = [
  route({
    method: 'get',
    path: '/whoami',
    action: 'caller.read',
    tag: 'Credentials',
    summary: 'Show the calling credential',
    description:
      'Returns its kind, scopes, environments, names, lifetime and rate limit, and the default environment.',
    answers: { 200: wire.WhoAmI },
  }),
  route({
    method: 'post',
    path: keys,
    action: 'api_key.create',
    tag: 'API keys',
    summary: 'Create an API key',
    description:
      'The key cannot hold more than its creator. A key created by a session token or an agent is revoked together with its creator. To create a key that acts as an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).',
    body: { schema: wire.ApiKeyIn, nulls: wire.OMITTABLE },
    answers: { 201: wire.NewApiKey },
    refusals: ['REAUTHENTICATION_REQUIRED', 'SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body: { aws = false, ...body } }, context) {
      const { token, once } = issueKey(context, aws);
      return { input: { ...silent, ttlSeconds: null, ...body, token }, once };
    },
  }),
  listRoute({
    path: keys,
    action: 'api_key.list',
    tag: 'API keys',
    summary: 'List live API keys',
    answers: { 200: wire.ApiKeyPage },
  }),
  route({
    method: 'get',
    path: `${keys}/{id}`,
    action: 'api_key.read',
    tag: 'API keys',
    summary: 'Show an API key',
    answers: { 200: wire.ApiKey },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'patch',
    path: `${keys}/{id}`,
    action: 'api_key.update',
    revises: true,
    tag: 'API keys',
    summary: 'Change the name, allowed addresses or access key of an API key',
    description:
      'For aws, the caller must hold all that the key holds. To lift limits of a key with the scope `*` that an owner created, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`). If somebody else than an owner lifts them, the key no longer acts as an owner.',
    body: { schema: wire.ApiKeyPatch },
    answers: { 200: wire.ApiKey },
    refusals: [
      'NOT_FOUND',
      'SCOPE_EXCEEDS_PARENT',
      'CREDENTIAL_KIND_NOT_ALLOWED',
      'REAUTHENTICATION_REQUIRED',
    ],
    named: by('credential'),
    prepare({ body, params }, context) {
      const { aws = null, once } = body.aws ? awsKey(params.id as string, context) : {};
      return {
        input: {
          name: body.name ?? null,
          ...(body.allowed_addresses !== undefined && { allowed_addresses: body.allowed_addresses }),
          ...(body.aws !== undefined && { aws }),
        },
        ...(once && { once }),
      };
    },
  }),
  route({
    method: 'post',
    path: `${keys}/{id}/rotate`,
    action: 'api_key.rotate',
    revises: true,
    tag: 'API keys',
    summary: 'Rotate an API key',
    description:
      'Creates a new key with the same scopes and limits. The old key and its session tokens expire after overlap_seconds, or immediately without it.',
    body: { schema: wire.ApiKeyRotate, optional: true },
    answers: { 201: wire.NewApiKey },
    refusals: [
      'REAUTHENTICATION_REQUIRED',
      'NOT_FOUND',
      'CONFLICT',
      'SCOPE_EXCEEDS_PARENT',
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ],
    named: by('credential'),
    prepare({ body }, context) {
      // The gate leaves the access key out if the old key has none.
      const { token, once } = issueKey(context, true);
      return { input: { token, overlap_seconds: body.overlap_seconds ?? 0 }, once };
    },
  }),
  route({
    method: 'delete',
    path: `${keys}/{id}`,
    action: 'api_key.revoke',
    revises: true,
    tag: 'API keys',
    summary: 'Revoke an API key',
    description:
      'The key and its session tokens are refused as soon as this request returns. A key can revoke itself without a scope.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'post',
    path: tokens,
    action: 'access_token.create',
    tag: 'Session tokens',
    summary: 'Create a session token',
    description:
      "An API key creates its own session tokens. A token holds a subset of the key's permissions and is revoked together with the key. With device_id, each request with the token needs a DPoP proof (RFC 9449) of that device.",
    body: { schema: wire.AccessTokenIn, nulls: wire.OMITTABLE },
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
          upstreams: body.upstreams ?? null,
          allowed_addresses: body.allowedAddresses ?? null,
          device_id: body.device_id ?? null,
        },
        once,
      };
    },
  }),
  route({
    method: 'post',
    path: '/auth/aws',
    action: 'access_token.create',
    operation: 'access_token.create_aws',
    tag: 'Session tokens',
    summary: 'Create a session for clients of AWS',
    description: 'It works for /compat/aws alone. It is listed and revoked like any session token.',
    body: { schema: wire.AwsSessionIn, nulls: wire.OMITTABLE, optional: true },
    answers: { 201: wire.AwsSession },
    refusals: ['CREDENTIAL_KIND_NOT_ALLOWED', 'SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body: { ttlSeconds = 3600, environments = null, secrets = null } }, context) {
      const { token, once } = awsSession(ttlSeconds, context);
      const same = { scopes: null, upstreams: null, allowed_addresses: null, device_id: null, role: null };
      return { input: { ...same, ttlSeconds, environments, secrets, token }, once };
    },
  }),
  listRoute({
    path: tokens,
    action: 'access_token.list',
    tag: 'Session tokens',
    summary: 'List live session tokens',
    answers: { 200: wire.AccessTokenPage },
  }),
  route({
    method: 'delete',
    path: `${tokens}/{id}`,
    action: 'access_token.revoke',
    tag: 'Session tokens',
    summary: 'Revoke a session token',
    description:
      'The token is refused as soon as this request returns. A token can revoke itself, and a key can revoke its own tokens, without a scope.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'post',
    path: agents,
    action: 'agent.create',
    tag: 'Agents',
    summary: 'Create an agent credential',
    description:
      'For an AI agent. It is limited to the scopes, environments and names that you specify, and cannot hold more than its creator. Credentials created by an agent are revoked together with it. With device_id, each request with the token needs a DPoP proof (RFC 9449) of that device. The token is also accepted with the prefix svc_agent_.',
    body: { schema: wire.AgentIn, nulls: wire.OMITTABLE },
    answers: { 201: wire.NewAgent },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('agent', context);
      return {
        input: {
          ...silent,
          ttlSeconds: null,
          rate_limit: null,
          device_id: null,
          mcp_limits: null,
          ...body,
          token,
        },
        once,
      };
    },
  }),
  listRoute({
    path: agents,
    action: 'agent.list',
    tag: 'Agents',
    summary: 'List live agent credentials',
    answers: { 200: wire.AgentPage },
  }),
  route({
    method: 'get',
    path: `${agents}/{id}`,
    action: 'agent.read',
    tag: 'Agents',
    summary: 'Show an agent credential',
    answers: { 200: wire.Agent },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'patch',
    path: `${agents}/{id}`,
    action: 'agent.update',
    revises: true,
    tag: 'Agents',
    summary: 'Change an agent credential',
    description:
      "The change applies from the agent's next request. The caller must hold everything the change adds. To remove permissions, tokens:write is enough.",
    body: { schema: wire.AgentPatch },
    answers: { 200: wire.Agent },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT'],
    named: by('credential'),
    prepare: ({ body }) => ({ input: { ...body, name: body.name ?? null } }),
  }),
  route({
    method: 'delete',
    path: `${agents}/{id}`,
    action: 'agent.revoke',
    revises: true,
    tag: 'Agents',
    summary: 'Revoke an agent credential',
    description:
      'The agent and all credentials it created are refused as soon as this request returns. An agent can revoke itself without a scope.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'post',
    path: providers,
    action: 'provider_token.create',
    tag: 'Provider tokens',
    summary: 'Create a provider token',
    description:
      'For a platform that issues credentials. The token works only for /provider/*. Its creator must hold secrets:write for the scope issue, secrets:rotate for rotate and secrets:delete for revoke, and must not have an expiry.',
    body: { schema: wire.ProviderTokenIn, nulls: wire.OMITTABLE },
    answers: { 201: wire.NewProviderToken },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('provider', context);
      return { input: { ...silent, ...body, token }, once };
    },
  }),
  listRoute({
    path: providers,
    action: 'provider_token.list',
    tag: 'Provider tokens',
    summary: 'List live provider tokens',
    answers: { 200: wire.ProviderTokenPage },
  }),
  route({
    method: 'delete',
    path: `${providers}/{id}`,
    action: 'provider_token.revoke',
    revises: true,
    tag: 'Provider tokens',
    summary: 'Revoke a provider token',
    description: 'The token is refused as soon as this request returns. Secrets that it issued are kept.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'post',
    path: emergencies,
    action: 'break_glass.create',
    tag: 'Break-glass',
    summary: 'Create a break-glass token',
    description:
      'For emergencies. The token can list, read, write, rotate and delete all secrets of the organisation and read the audit log, for at most four hours. An owner, an admin or an API key with the scope * can create one, but no API key that is revoked together with another credential; at most five can be live. The audit log marks its creation and every use.',
    body: { schema: wire.BreakGlassIn, nulls: wire.OMITTABLE },
    answers: { 201: wire.NewBreakGlass },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'LIMIT_REACHED'],
    prepare({ body }, context) {
      const { token, once } = issue('break_glass', context);
      return { input: { token, reason: body.reason, ttlSeconds: body.ttlSeconds ?? 3600 }, once };
    },
  }),
  listRoute({
    path: emergencies,
    action: 'break_glass.list',
    tag: 'Break-glass',
    summary: 'List live break-glass tokens',
    answers: { 200: wire.BreakGlassPage },
  }),
  route({
    method: 'delete',
    path: `${emergencies}/{id}`,
    action: 'break_glass.revoke',
    revises: true,
    tag: 'Break-glass',
    summary: 'Revoke a break-glass token',
    description: 'The token is refused as soon as this request returns.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
];
