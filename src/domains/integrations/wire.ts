// Request and response schemas of connections to other platforms, in camelCase.
import { z } from '@hono/zod-openapi';
import { severities } from '../../adapters/notify/adapter';
import { notifyPlatforms, syncPlatforms } from '../../adapters/platforms';
import { exampleId } from '../../db/ids';
import type { IntegrationRow } from '../../db/schema';
import { Environments, fieldsOf, iso, Name, pageOf, Revision, Time } from '../../http/wire';
import { eventKinds } from './kinds';

const slack = { webhookUrl: 'https://hooks.slack.com/services/T000/B000/XXXX' };

/** Fields of a config. The schema of the platform validates them later. */
const Whole = z
  .number()
  .min(Number.MIN_SAFE_INTEGER + 1)
  .max(Number.MAX_SAFE_INTEGER - 1);
const Value = z.union([
  z.string().max(16_384),
  Whole,
  z.boolean(),
  z.array(z.union([z.string().max(1024), Whole])).max(100),
  // A key file, such as Google's.
  fieldsOf(z.string().max(4096)),
]);
export const Config = fieldsOf(Value).openapi({
  description:
    'The config for the platform: see GET /integrations/platforms. Credentials in it are never returned.',
  example: slack,
});

const Platform = z.enum(notifyPlatforms).openapi({ example: 'slack' });
export const IntegrationId = z
  .string()
  .max(64)
  .openapi({ example: exampleId('integration') });

const distinct = (list: readonly string[]) => new Set(list).size === list.length;
const Events = z
  .union([
    z.literal('*'),
    z.array(z.enum(eventKinds)).min(1).max(eventKinds.length).refine(distinct, 'must not contain duplicates'),
  ])
  .openapi({
    description: 'Kinds of events to send messages about, or "*" for all.',
    example: ['SECRET_ROTATED', 'SECRET_LEAKED'],
  });

const ofSync = {
  environments: Environments.optional().openapi({
    description:
      'For kind sync: ids or slugs of the only environments that it can sync. By default, those that its creator can read.',
    example: ['production'],
  }),
  auto: z.boolean().optional().openapi({
    description:
      'For kind sync: whether to sync an environment a few seconds after a secret in it changes. false by default.',
    example: false,
  }),
  prune: z.boolean().optional().openapi({
    description: 'For kind sync: whether automatic syncs prune. false by default.',
    example: false,
  }),
};

const Common = { name: Name.openapi({ example: 'Operations channel' }), config: Config };

export const IntegrationIn = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('sync').openapi({ description: 'Secrets are written there.' }),
      platform: z.enum(syncPlatforms).openapi({ example: 'heroku' }),
      ...Common,
      ...ofSync,
    }),
    z.strictObject({
      kind: z.literal('notify').openapi({ description: 'Messages are sent there.' }),
      platform: Platform,
      ...Common,
      events: Events.optional().openapi({
        description:
          'Kinds of events to send messages about, or "*" for all. By default SECRET_ROTATED and SECRET_LEAKED, and also POLICY_VIOLATED except for pagerduty and opsgenie.',
      }),
    }),
  ])
  .openapi('IntegrationIn', {
    example: { kind: 'notify', platform: 'slack', name: 'Operations channel', config: slack },
  });

export const IntegrationPatch = z
  .strictObject({
    name: Name.optional().openapi({ example: 'Operations channel' }),
    config: fieldsOf(Value.nullable()).optional().openapi({
      description:
        'Fields to replace. null removes an optional field; absent fields stay unchanged. If a field that is not a credential changes, the stored credentials are erased and must be sent again.',
      example: slack,
    }),
    events: Events.optional(),
    ...ofSync,
  })
  .openapi('IntegrationPatch');

export const Integration = z
  .object({
    id: IntegrationId,
    revision: Revision,
    kind: z.enum(['sync', 'notify']),
    platform: z.string().openapi({ example: 'slack' }),
    name: z.string().openapi({ example: 'Operations channel' }),
    config: z.record(z.string(), Value).openapi({
      description: 'The config without its credentials; of a webhook URL only the host.',
      example: { webhookUrl: 'hooks.slack.com' },
    }),
    events: Events.optional().openapi({ description: 'For kind notify.' }),
    environments: z
      .array(z.string())
      .nullable()
      .optional()
      .openapi({
        description: 'For kind sync: slugs of environments; null for those that its creator can read.',
        example: ['production'],
      }),
    auto: z.boolean().optional().openapi({ description: 'For kind sync.', example: false }),
    prune: z.boolean().optional().openapi({ description: 'For kind sync.', example: false }),
    createdAt: Time,
    updatedAt: Time,
  })
  .openapi('Integration');
export const IntegrationPage = pageOf(Integration, 'IntegrationPage');

export const PlatformPage = pageOf(
  z
    .object({
      platform: z.string().openapi({ example: 'slack' }),
      kind: z.enum(['sync', 'notify']),
      configSchema: z.record(z.string(), z.unknown()).openapi({
        description: 'JSON Schema (2020-12) of the config. Credentials are writeOnly.',
        example: { type: 'object' },
      }),
    })
    .openapi('Platform'),
  'PlatformPage',
);

/** A message may be as long as a body; it is cut to the platform's limit. */
const MOST_MESSAGE = 1_048_576;

/** A request must name a stored connection, or contain a platform and its config. */
export const destination = [
  ({ platform, config, integrationId }: { platform?: unknown; config?: unknown; integrationId?: unknown }) =>
    integrationId === undefined
      ? platform !== undefined && config !== undefined
      : platform === undefined && config === undefined,
  'must have either integrationId, or platform and config',
] as const;

export const NotifyIn = z
  .strictObject({
    platform: Platform.optional(),
    config: Config.optional(),
    integrationId: IntegrationId.optional().openapi({
      description: 'A stored connection of kind notify, instead of platform and config.',
    }),
    severity: z.enum(severities).optional().openapi({ description: 'info by default.', example: 'info' }),
    message: z.string().min(1).max(MOST_MESSAGE).optional().openapi({
      description:
        "By default, a sentence saying that this is a test. A message that is too long is cut to the platform's limit.",
      example: 'Deployed 1.4.2 to production',
    }),
  })
  .refine(...destination)
  .openapi('NotifyIn', {
    example: { platform: 'slack', config: slack, severity: 'info', message: 'Deployed 1.4.2 to production' },
  });

export const Notified = z
  .object({
    delivered: z.literal(true),
    status: z.int().openapi({ description: "The HTTP status of the platform's response.", example: 200 }),
  })
  .openapi('Notified');

/** A connection as it is shown; its environments by slug. */
export const integrationOut = (
  row: IntegrationRow,
  environments: string[] | null,
): z.infer<typeof Integration> => ({
  id: row.id,
  revision: row.revision,
  kind: row.kind,
  platform: row.platform,
  name: row.name,
  config: row.config as z.infer<typeof Integration>['config'],
  ...(row.kind === 'sync'
    ? { environments, auto: row.auto === 1, prune: row.prune === 1 }
    : { events: (row.events as (typeof eventKinds)[number][] | null) ?? '*' }),
  createdAt: iso(row.created_at),
  updatedAt: iso(row.updated_at),
});
