// HTTP routes of syncs. Credentials in a request's config are encrypted before the gate is called.
import { newId } from '../../db/ids';
import { ApiError, refuse } from '../../errors';
import { type Context, keysOf } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import { checked, partsOf } from '../integrations/config';
import { encryptCredentials } from '../integrations/encryption';
import { foresee } from './dry-run';
import type { DryRun, SyncInput } from './gate/start';
import { configOf, openTarget } from './target';
import * as wire from './wire';

const syncs = '/orgs/{org_id}/integrations/syncs';

type Body = (typeof wire.SyncIn)['_output'];

/** A sync as the gate's input. */
function inputOf(body: Body, context: Context): SyncInput {
  const {
    platform = null,
    config,
    integrationId = null,
    environmentId,
    names,
    prune = false,
    dryRun = false,
  } = body;
  const id = newId('syn');
  const asked = {
    id,
    integration: integrationId,
    platform,
    environment: environmentId,
    prune,
    dryRun,
    bases: context.settings.platformBaseUrls,
    names: names ? [...new Set(names)] : null,
  };
  if (platform === null || !config) return { ...asked, config: null, credentials_sealed: null };
  const found = checked(platform, config, context.settings);
  if ('details' in found) throw new ApiError(refuse('VALIDATION_FAILED', { details: found.details }));
  const { shown, credentials } = partsOf(platform, found.config);
  return {
    ...asked,
    config: shown,
    credentials_sealed: encryptCredentials(keysOf(context), context.org, id, credentials),
  };
}

/** The result of a dry run. */
async function foreseen(asked: DryRun, { platform, config }: Body, context: Context) {
  const keys = keysOf(context);
  const { integration } = asked;
  const whole = integration ? configOf(keys, context.org, 'integration', integration) : (config ?? {});
  const opened = openTarget(integration?.platform ?? (platform as string), whole, context.settings, null);
  if (!opened)
    throw new ApiError(
      refuse('VALIDATION_FAILED', {
        details: [
          { path: 'integrationId', message: 'leads to an address that this deployment does not allow' },
        ],
      }),
    );
  return foresee(opened, asked, keys, context.org);
}

export const syncRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/integrations/sync',
    action: 'integration.sync',
    tag: 'Syncs',
    summary: 'Sync secrets to a platform',
    description:
      'Writes the secrets of an environment to a platform, in the background. Values are read when the sync starts. With a config, the caller also needs secrets:read; a stored connection sends what its creator can read, within the limits of the caller. With dryRun=true, the response is 200 and reports what would happen.',
    body: { schema: wire.SyncIn },
    answers: { 202: wire.Queued, 200: wire.DryRun },
    refusals: ['NOT_FOUND', 'CONFLICT', 'LIMIT_REACHED', 'RESULT_TOO_LARGE'],
    // A stored one would show a narrower session token of the same key the names of the wider one.
    // safety: dry-run-made-again
    unkept: ({ dryRun }) => dryRun === true,
    prepare: ({ body }, context) => ({ input: inputOf(body, context) }),
    more: async (asked: DryRun, { body }, context) => ({
      input: { ...inputOf(body, context), foreseen: await foreseen(asked, body, context) },
    }),
  }),
  listRoute({
    path: syncs,
    action: 'integration.syncs',
    tag: 'Syncs',
    summary: 'List the syncs',
    description:
      'Newest first. Syncs are kept for 30 days at most: past the quota the oldest finished ones are deleted.',
    answers: { 200: wire.SyncPage },
  }),
  route({
    method: 'get',
    path: `${syncs}/{id}`,
    action: 'integration.sync_status',
    tag: 'Syncs',
    summary: 'Show a sync',
    answers: { 200: wire.Sync },
    refusals: ['NOT_FOUND'],
    named: by('sync'),
  }),
  route({
    method: 'post',
    path: `${syncs}/{id}/cancel`,
    action: 'integration.sync_cancel',
    tag: 'Syncs',
    summary: 'Cancel a sync',
    description:
      'Names that are not written yet are not attempted. Calls to the target that are under way are finished; none begins after the response.',
    answers: { 200: wire.Sync },
    refusals: ['NOT_FOUND', 'SYNC_ENDED'],
    named: by('sync'),
  }),
];
