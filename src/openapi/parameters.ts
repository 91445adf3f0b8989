// Parameters of operations in paths, queries and headers.
import { exampleId, type IdKind } from '../db/ids';
import type { Route } from '../http/route';
import type { Components, Operation, Parameter, Ref } from './document';
import { exampleFor } from './examples';
import { refusalsOf } from './refusals';
import { isKept } from './responses';

const pathDescriptions: Record<string, string> = {
  org_id: 'Id of the organisation that the credential belongs to.',
  name: 'Name of the secret. It may contain slashes, percent-encoded or not.',
  environment: 'Id or slug of the environment.',
};

/** Examples of path parameters that are not ids. */
const pathExamples: Record<string, string> = { name: 'DATABASE_URL', environment: 'production' };

const queryDescriptions: Record<string, string> = {
  environment:
    'Id or slug of the environment. By default, lists cover all environments; other requests use the default environment.',
  type: 'Only secrets of this type.',
  prefix: 'Only secrets whose names start with this prefix.',
  status: 'Only secrets with this status. Without it, all except deleted ones.',
  action: 'Only entries with this action.',
  outcome: 'Only entries with this outcome.',
  from: 'Only entries at or after this time.',
  to: 'Only entries before this time.',
  version: 'The version to read. The current one by default.',
  permanent: 'Whether to destroy all values immediately, so that the secret cannot be restored.',
};

const parameters: Record<string, Parameter> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the request safe to repeat. For 24 hours, the same request with the same key returns the stored response of the first one. 1 to 255 printable ASCII characters, bare or as a quoted string.',
    schema: { type: 'string', minLength: 1, maxLength: 512 },
    example: '7c9f0d0e-4c1b-4b0e-9a57-1d2f8c1f6a55',
  },
  ApprovalId: {
    name: 'Approval-Id',
    in: 'header',
    description:
      'The approval for this request, if a policy requires one. Method, path, query, body, X-Access-Call and credential must be the same as in the approved request. It can be used once, within 24 hours.',
    schema: { type: 'string', maxLength: 64 },
    example: exampleId('approval'),
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description:
      'The id of the last event that the client received: the stream continues after it. Takes precedence over after.',
    schema: { type: 'string', maxLength: 15 },
    example: '42',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The ETag of the resource when you read it. If the resource has changed since then, nothing is done and the response is 412.',
    schema: { type: 'string', maxLength: 1000 },
    example: '"v1"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The ETag of the copy that you have. If it is still current, the response is 304 without a body.',
    schema: { type: 'string', maxLength: 1000 },
    example: '"v1"',
  },
};

export function parametersOf(
  route: Route,
  generated: Operation,
  components: Components,
): (Parameter | Ref)[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): Parameter => {
    const resource = resourceOf(route, name);
    const words =
      resource && `Id${resource.words === 'environment' ? ' or slug' : ''} of the ${resource.words}.`;
    return {
      name,
      in: 'path',
      required: true,
      description: pathDescriptions[name] ?? words ?? `The ${name.replaceAll('_', ' ')}.`,
      schema: { type: 'string', maxLength: name === 'name' ? 255 : 64 },
      example: pathExamples[name] ?? (resource ? exampleId(resource.kind) : undefined),
    };
  });
  const inQuery = (generated.parameters ?? [])
    .filter((found): found is Parameter => 'in' in found && found.in === 'query')
    .map((found): Parameter => {
      const { description, ...schema } = found.schema;
      return {
        name: found.name,
        in: 'query',
        ...(found.required && { required: true }),
        description:
          found.description ??
          description ??
          queryDescriptions[found.name] ??
          `The ${found.name.replaceAll('_', ' ')}.`,
        schema,
        example: exampleFor(found.name, schema, components.schemas),
      };
    });
  const shared = [
    ...(route.conditional ?? []).map((name) => (name === 'if-match' ? 'IfMatch' : 'IfNoneMatch')),
    ...(route.revises ? ['IfMatch'] : []),
    ...(route.streams ? ['LastEventId'] : []),
    ...(isKept(route) ? ['IdempotencyKey'] : []),
    ...(refusalsOf(route).includes('APPROVAL_MISMATCH') ? ['ApprovalId'] : []),
  ];
  for (const name of shared) components.parameters[name] = parameters[name] as Parameter;
  return [...inPath, ...inQuery, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

/** The kind of resource for each collection in a path. */
const kinds: Record<string, IdKind> = {
  'api-keys': 'api_key',
  'access-tokens': 'session',
  'agent-credentials': 'agent',
  credentials: 'api_key',
  'provider-tokens': 'provider',
  'break-glass-tokens': 'break_glass',
  'scim-tokens': 'scim',
  sessions: 'browser',
  secrets: 'secret',
  environments: 'environment',
  members: 'member',
  orgs: 'org',
  passkeys: 'passkey',
  teams: 'team',
  policies: 'policy',
  approvals: 'approval',
  devices: 'device',
  webhooks: 'webhook',
  'log-streams': 'log_stream',
  upstreams: 'upstream',
  deliveries: 'delivery',
  integrations: 'integration',
  syncs: 'sync',
  shares: 'share',
  s: 'share',
  grants: 'grant',
  trusts: 'trust',
  incidents: 'incident',
  domains: 'domain',
  'sso-connections': 'sso_connection',
};
const singular: Record<string, string> = {
  'api-keys': 'API key',
  'access-tokens': 'session token',
  sessions: 'browser session',
  policies: 'policy',
  deliveries: 'delivery',
  s: 'link',
  'sso-connections': 'connection',
};

/** The resource that an id in a path refers to, by the collection before it. */
function resourceOf(route: Route, name: string): { words: string; kind: IdKind } | null {
  const collection =
    name in pathExamples ? undefined : new RegExp(`([a-z-]+)/\\{${name}\\}`).exec(route.path)?.[1];
  if (collection === undefined) return null;
  const words = singular[collection] ?? collection.replace(/s$/, '').replaceAll('-', ' ');
  const kind = kinds[collection];
  if (!kind) throw new Error(`no kind is known for ${collection}`);
  return { words, kind };
}
