// Request and response schemas of syncs, in camelCase.
import { z } from '@hono/zod-openapi';
import { type SyncPlatform, syncPlatforms } from '../../adapters/platforms';
import { syncAdapters } from '../../adapters/sync';
import type { Result } from '../../adapters/sync/steps';
import { sorted } from '../../adapters/sync/steps';
import { exampleId } from '../../db/ids';
import { type SyncRow, type SyncStatus, syncStatuses } from '../../db/schema';
import { EnvironmentRef, iso, isoOrNull, pageOf, Time } from '../../http/wire';
import { Config, destination, IntegrationId } from '../integrations/wire';
import { redeployRequired } from './redeploy';

const heroku = { token: 'HRKU-00000000-0000-0000-0000-000000000000', appName: 'demo-app' };

export const SyncIn = z
  .strictObject({
    platform: z.enum(syncPlatforms).optional().openapi({ example: 'heroku' }),
    config: Config.optional().openapi({ example: heroku }),
    integrationId: IntegrationId.optional().openapi({
      description: 'A stored connection of kind sync, instead of platform and config.',
    }),
    environmentId: EnvironmentRef.openapi({
      description: 'Id or slug of the environment whose secrets are sent.',
    }),
    names: z
      .array(z.string().min(1).max(255))
      .min(1)
      .max(1000)
      .optional()
      .openapi({
        description: 'Exact names of the secrets to send. By default, all.',
        example: ['DATABASE_URL'],
      }),
    prune: z.boolean().optional().openapi({
      description:
        'Whether to also delete names that this service wrote to this target from this environment and that are now gone from the environment. false by default.',
    }),
    dryRun: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether to only report what would happen. false by default.' }),
  })
  .refine(...destination)
  .openapi('SyncIn', { example: { platform: 'heroku', config: heroku, environmentId: 'production' } });

const SyncId = z.string().openapi({ example: exampleId('sync') });

export const Queued = z.object({ syncId: SyncId, status: z.literal('queued') }).openapi('QueuedSync');

const SyncResult = z
  .object({
    name: z.string().openapi({
      description: 'The name of the secret, or the former name of a deleted one.',
      example: 'DATABASE_URL',
    }),
    targetName: z
      .string()
      .nullable()
      .openapi({ description: 'The full name at the target.', example: 'DATABASE_URL' }),
    action: z.enum(['created', 'updated', 'unchanged', 'deleted', 'skipped', 'failed']),
    code: z
      .string()
      .optional()
      .openapi({ description: 'Why a name failed or was skipped.', example: 'NAME_INVALID' }),
    message: z.string().optional().openapi({ example: 'The target reserves names like this one.' }),
  })
  .openapi('SyncResult');

export const DryRun = z
  .object({
    platform: z.enum(syncPlatforms),
    environmentId: z.string().openapi({ example: exampleId('environment') }),
    dryRun: z.literal(true),
    results: z.array(SyncResult),
    redeployRequired: z.boolean(),
  })
  .openapi('SyncDryRun');

export const Sync = z
  .object({
    id: SyncId,
    platform: z.enum(syncPlatforms),
    integrationId: z
      .string()
      .nullable()
      .openapi({ example: exampleId('integration') }),
    environmentId: z.string().openapi({ example: exampleId('environment') }),
    status: z.enum(syncStatuses).openapi({
      description:
        'completed: nothing failed. partial: some names failed, others did not. failed: some names failed, and none was written or found unchanged.',
    }),
    results: z.array(SyncResult).openapi({ description: 'One result per name, sorted by name.' }),
    redeployRequired: z.boolean().openapi({
      description: 'Whether the written values take effect only with the next deployment on the platform.',
    }),
    retryAfter: z.int().nullable().openapi({
      description: 'Seconds to wait before the next sync to this target, if the target sent them.',
      example: null,
    }),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  })
  .openapi('Sync');
export const SyncPage = pageOf(Sync, 'SyncPage');

/** The status of a sync on which work started at this time, if it did. */
export const statusNow = ({ finished_at, status }: SyncRow, started: number | null): SyncStatus =>
  finished_at !== null ? status : started === null ? 'queued' : 'running';

/** A sync, with the recorded results of its names and when work on it started. */
export const syncOut = (row: SyncRow, results: Result[], started: number | null): z.infer<typeof Sync> => ({
  id: row.id,
  platform: row.platform as SyncPlatform,
  integrationId: row.integration_id,
  environmentId: row.environment_id,
  status: statusNow(row, started),
  results: sorted(results),
  redeployRequired: redeployRequired(syncAdapters[row.platform as SyncPlatform], results),
  retryAfter: row.retry_after,
  createdAt: iso(row.created_at),
  startedAt: isoOrNull(row.started_at ?? started),
  finishedAt: isoOrNull(row.finished_at),
});
