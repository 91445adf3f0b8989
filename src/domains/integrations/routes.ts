// HTTP routes of connections. The Worker encrypts credentials before it calls the gate, and decrypts them
// only to call the platform.
import { z } from '@hono/zod-openapi';
import { platformOf } from '../../adapters/configured';
import type { Message, Severity } from '../../adapters/notify/adapter';
import { clean } from '../../adapters/notify/text';
import { notifyPlatforms, syncPlatforms } from '../../adapters/platforms';
import { newId } from '../../db/ids';
import type { IntegrationRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import { type Context, keysOf } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import { type Config, checked, merged, partsOf } from './config';
import { changeableConfig, decryptConfig, encryptCredentials } from './encryption';
import type { Made } from './gate/operations';
import { defaultEvents } from './kinds';
import { send } from './send';
import * as wire from './wire';

const integrations = '/orgs/{org_id}/integrations';

/** A valid config, with its credentials encrypted for a row; or the problems. */
function stored(context: Context, id: string, platform: string, given: Config) {
  const found = checked(platform, given, context.settings);
  if ('details' in found) return found;
  const { shown, credentials } = partsOf(platform, found.config);
  return {
    config: shown,
    credentials_sealed: encryptCredentials(keysOf(context), context.org, id, credentials),
  };
}

const eventsOf = (events: '*' | string[]): string[] | null => (events === '*' ? null : events);

/** The next config of a row, validated as a whole. */
function changed(context: Context, row: IntegrationRow, given: Config): Made {
  const before = changeableConfig(keysOf(context), context.org, row);
  return {
    revision: row.revision,
    ...stored(context, row.id, row.platform, merged(row.platform, before, given)),
  };
}

const refused = (details: { path: string; message: string }[]) =>
  new ApiError(refuse('VALIDATION_FAILED', { details }));

const platformPage = () => ({
  data: [...syncPlatforms, ...notifyPlatforms].map((platform) => {
    const { kind, config, credentials, oneOf } = platformOf(platform);
    const schema = writeOnly(z.toJSONSchema(config, { io: 'input' }), credentials);
    return {
      platform,
      kind,
      configSchema: { ...schema, ...(oneOf.length && { oneOf: oneOf.map((required) => ({ required })) }) },
    };
  }),
  next_cursor: null,
  has_more: false,
});

function writeOnly(schema: object, credentials: readonly string[]): object {
  const { properties } = schema as { properties: Record<string, object> };
  const marked = credentials.map((name) => [name, { ...properties[name], writeOnly: true }]);
  return { ...schema, properties: { ...properties, ...Object.fromEntries(marked) } };
}

const TEST = 'This is a test notification of this vault.';

/** A message that a caller sends. It is a separate incident. */
function messageOf({ request }: Context, severity: Severity = 'info', text = TEST): Message {
  const title = text === TEST ? 'Test notification' : 'Message from Secrets Vault Service';
  const visible = clean(text).trim() ? text : '(no visible text)';
  return {
    severity,
    title,
    text: visible,
    event: null,
    link: null,
    key: `notify:${request.id}`,
    time: Date.now(),
  };
}

/** The target of a message: the stored connection, or the config in the body. */
function destination(
  context: Context,
  row: IntegrationRow | null,
  body: { platform?: string; config?: Config },
) {
  if (!row) return { platform: body.platform as string, config: body.config as Config };
  const { credentials, shown } = decryptConfig(keysOf(context), context.org, row);
  return { platform: row.platform, config: { ...shown, ...credentials } };
}

const notifyRoute = route({
  method: 'post',
  path: `${integrations}/notify`,
  action: 'integration.notify',
  tag: 'Integrations',
  summary: 'Send a message to a platform',
  description:
    'Sends to a stored connection, or to a platform with a config that is not stored. There is one attempt, and the response contains its result. The text cannot mention, ping or format anything on the platform.',
  body: { schema: wire.NotifyIn },
  answers: { 200: wire.Notified },
  refusals: ['NOT_FOUND', 'TARGET_REJECTED', 'TARGET_UNREACHABLE'],
  unkept: true,
  prepare({ body }, { settings }) {
    const { platform = null, config, integrationId = null } = body;
    const found = platform !== null && config ? checked(platform, config, settings) : null;
    if (found && 'details' in found) throw refused(found.details);
    return { input: { platform, integration: integrationId } };
  },
  async more({ row }: { row: IntegrationRow | null }, { body }, context) {
    const { platform, config } = destination(context, row, body);
    const verdict = await send(
      platform,
      config,
      messageOf(context, body.severity, body.message),
      context.settings,
    );
    return {
      input: { platform: body.platform ?? null, integration: body.integrationId ?? null, sent: { verdict } },
    };
  },
});

export const integrationRoutes = [
  route({
    method: 'get',
    path: `${integrations}/platforms`,
    action: 'integration.platforms',
    tag: 'Integrations',
    summary: 'List the platforms',
    description: 'Returns every platform with the JSON Schema of its config.',
    answers: { 200: wire.PlatformPage },
    render: () => ({ json: platformPage() }),
  }),
  notifyRoute,
  route({
    method: 'post',
    path: integrations,
    action: 'integration.create',
    tag: 'Integrations',
    summary: 'Store a connection',
    description:
      'A connection of kind notify receives messages about events; a credential limited to environments or names cannot store one. A connection of kind sync receives secrets from POST …/sync, or automatically; storing one also needs secrets:read. Credentials in config are encrypted and never returned.',
    body: { schema: wire.IntegrationIn },
    answers: { 201: wire.Integration },
    refusals: ['LIMIT_REACHED', 'NOT_FOUND'],
    prepare({ body }, context) {
      const { kind, platform, name, config } = body;
      const { environments = null, auto = false, prune = false } = body.kind === 'sync' ? body : {};
      const { events = defaultEvents(platform) } = body.kind === 'notify' ? body : {};
      const id = newId('int');
      const made = stored(context, id, platform, config);
      if ('details' in made) throw refused(made.details);
      return {
        input: { id, kind, platform, name, ...made, events: eventsOf(events), environments, auto, prune },
      };
    },
  }),
  listRoute({
    path: integrations,
    action: 'integration.list',
    tag: 'Integrations',
    summary: 'List the connections',
    answers: { 200: wire.IntegrationPage },
  }),
  route({
    method: 'get',
    path: `${integrations}/{id}`,
    action: 'integration.read',
    tag: 'Integrations',
    summary: 'Show a connection',
    answers: { 200: wire.Integration },
    refusals: ['NOT_FOUND'],
    named: by('integration'),
  }),
  route({
    method: 'patch',
    path: `${integrations}/{id}`,
    action: 'integration.update',
    revises: true,
    tag: 'Integrations',
    summary: 'Change a connection',
    description:
      'Fields of config are merged, and the result is validated as a whole. Changing a field that is not a credential erases the stored credentials: send them in the same request. kind and platform cannot be changed. The caller must reach everything that the connection can send.',
    body: { schema: wire.IntegrationPatch },
    answers: { 200: wire.Integration },
    refusals: ['NOT_FOUND', 'CONFLICT'],
    named: by('integration'),
    prepare: ({ body }) => ({ input: patchInput(body) }),
    more: async (row: IntegrationRow, { body }, context) => ({
      input: { ...patchInput(body), made: changed(context, row, body.config ?? {}) },
    }),
  }),
  route({
    method: 'delete',
    path: `${integrations}/{id}`,
    action: 'integration.delete',
    revises: true,
    tag: 'Integrations',
    summary: 'Remove a connection',
    description: 'Nothing is sent to it any more. The caller must reach everything that it can send.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('integration'),
  }),
];

/** The gate's input for a change. The config stays in the Worker until it is encrypted. */
function patchInput({
  name,
  events,
  config,
  environments,
  auto,
  prune,
}: z.output<typeof wire.IntegrationPatch>) {
  return {
    ...(name !== undefined && { name }),
    ...(events !== undefined && { events: eventsOf(events) }),
    ...(environments !== undefined && { environments }),
    ...(auto !== undefined && { auto }),
    ...(prune !== undefined && { prune }),
    configures: config !== undefined,
  };
}
