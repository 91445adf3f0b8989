// Syncs on the wire: in camelCase.
import { z } from '@hono/zod-openapi';
import { type SyncPlatform, syncPlatforms } from '../../adapters/platforms';
import { syncAdapters } from '../../adapters/sync';
import type { Result } from '../../adapters/sync/plan';
import { sorted } from '../../adapters/sync/plan';
import { exampleId } from '../../db/ids';
import { type SyncRow, syncStatuses } from '../../db/schema';
import { EnvironmentRef, iso, isoOrNull, pageOf, Time } from '../../http/wire';
import { Config, destination, IntegrationId } from '../integrations/wire';
import { redeployRequired } from './redeploy';

const heroku = { token: 'HRKU-00000000-0000-0000-0000-000000000000', appName: 'demo-app' };

export const SyncIn = z
  .strictObject({
    platform: z.enum(syncPlatforms).optional().openapi({ example: 'heroku' }),
    config: Config.optional().openapi({ example: heroku }),
    integrationId: IntegrationId.optional().openapi({ description: 'A stored connection of kind sync, in place of platform and config.' }),
    environmentId: EnvironmentRef.openapi({ description: 'Id or slug of the environment whose secrets are sent.' }),
    names: z
      .array(z.string().min(1).max(255))
      .min(1)
      .max(1000)
      .optional()
      .openapi({ description: 'Exact names. By default all secrets that take part.', example: ['DATABASE_URL'] }),
    prune: z.boolean().optional().openapi({
      description:
        'Also delete what this service wrote to this target from this environment, and what is now gone from it. false by default.',
    }),
    dryRun: z.boolean().optional().openapi({ description: 'Only say what would happen. false by default.' }),
  })
  .refine(...destination)
  .openapi('SyncIn', { example: { platform: 'heroku', config: heroku, environmentId: 'production' } });

const SyncId = z.string().openapi({ example: exampleId('sync') });

export const Queued = z.object({ syncId: SyncId, status: z.literal('queued') }).openapi('QueuedSync');

const SyncResult = z
  .object({
    name: z.string().openapi({ description: 'The name of the secret; of a deleted one, the name that it had.', example: 'DATABASE_URL' }),
    targetName: z.string().nullable().openapi({ description: 'The full name at the target.', example: 'DATABASE_URL' }),
    action: z.enum(['created', 'updated', 'unchanged', 'deleted', 'skipped', 'failed']),
    code: z.string().optional().openapi({ description: 'Why a name failed or was skipped.', example: 'NAME_INVALID' }),
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
        'completed: nothing failed. partial: some names failed, some did not. failed: some failed, and none was written or found unchanged.',
    }),
    results: z.array(SyncResult).openapi({ description: 'One for each name, sorted by name.' }),
    redeployRequired: z.boolean().openapi({ description: 'Whether what was written takes effect with the next deployment there.' }),
    retryAfter: z
      .int()
      .nullable()
      .openapi({ description: 'Seconds after which the target may be called again, where it said so.', example: null }),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  })
  .openapi('Sync');
export const SyncPage = pageOf(Sync, 'SyncPage');

/** A sync, with what is noted of its names, and since when it is worked on. */
export const syncOut = (row: SyncRow, results: Result[], started: number | null): z.infer<typeof Sync> => ({
  id: row.id,
  platform: row.platform as SyncPlatform,
  integrationId: row.integration_id,
  environmentId: row.environment_id,
  status: row.finished_at !== null ? row.status : started === null ? 'queued' : 'running',
  results: sorted(results),
  redeployRequired: redeployRequired(syncAdapters[row.platform as SyncPlatform], results),
  retryAfter: row.retry_after,
  createdAt: iso(row.created_at),
  startedAt: isoOrNull(row.started_at ?? started),
  finishedAt: isoOrNull(row.finished_at),
});
