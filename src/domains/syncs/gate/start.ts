// Starting a sync. Invariants: a sync is a row, written in the commit that uses its approval and stores its
// response, so a repeat finds the same sync; a dry run writes nothing; nothing is sent to a target here.

import { hostOf } from '../../../adapters/sync/hosts';
import type { Owned, Result } from '../../../adapters/sync/steps';
import type { Caller } from '../../../auth/authorize';
import type { IntegrationRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { recentlyTied } from '../../../gate/approvals/ties';
import { namesNoted } from '../../../gate/audit/entry';
import { membersOf } from '../../../gate/identity/accountable';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { type More, wants } from '../../../gate/request/outcome';
import type { Doer, Fact, Plan } from '../../../gate/request/plan';
import { environmentOf, slugOf } from '../../../gate/request/target';
import { insertion } from '../../../gate/request/writes';
import { sees } from '../../integrations/gate/reach';
import type { Delivered } from '../../secrets/rules';
import { placeOf } from '../place';
import {
  doersOf,
  heldBack,
  makersOf,
  mayRead,
  ownedBy,
  pinned,
  prunable,
  runnerOf,
  type Selected,
  select,
} from './select';
import { deliveredOf, fitting } from './sent-ciphertexts';

export interface SyncInput {
  id: string;
  /**
   * A stored connection, or a platform with its config: the fields that may be shown, and its credentials
   * encrypted for this sync.
   */
  integration: string | null;
  platform: string | null;
  config: Record<string, unknown> | null;
  credentials_sealed: string | null;
  environment: string;
  names: string[] | null;
  prune: boolean;
  dryRun: boolean;
  /** The deployment's overrides of addresses, by platform. */
  bases: Record<string, string>;
  /** The result of a dry run, after the Worker has asked the target. */
  foreseen?: { results: Result[]; redeployRequired: boolean };
}

/** What the Worker needs for a dry run. */
export interface DryRun {
  integration: IntegrationRow | null;
  place: string;
  items: Delivered[];
  /** Names held by an approval policy: their values are not compared. */
  held: string[];
  skipped: Result[];
  owned: Owned[];
  prunable: Owned[];
}

/** The limits of one dry run, which must fit one response of the gate. */
const MOST_DRY = { secrets: 2000, bytes: 16 * 1024 ** 2 };

/** What a request is about. */
interface About {
  integration: IntegrationRow | null;
  platform: string;
  environment_id: string;
  place: string;
  callers: readonly Caller[];
}

const noEnvironment = refuse('NOT_FOUND', { message: 'There is no such environment.' });

function judge(call: Call<SyncInput>): About | Refusal {
  const { core, need, caller, input } = call;
  const stored = input.integration === null ? null : core.rows.get('integration', input.integration);
  const integration = stored && sees(caller, need.scopes, stored) ? stored : null;
  if (input.integration !== null && !integration)
    return refuse('NOT_FOUND', { message: 'The connection in integrationId does not exist.' });
  if (integration && integration.kind !== 'sync')
    return refuse('VALIDATION_FAILED', {
      details: [{ path: 'integrationId', message: 'must be a connection of kind sync' }],
    });
  const environment = environmentOf(core, input.environment);
  const runner = runnerOf(caller);
  // With a stored connection the caller need not hold secrets:read: the connection's creator did.
  const barred =
    (integration ? null : mayRead(caller, environment?.id ?? '')) ?? mayRead(runner, environment?.id ?? '');
  if (barred) return barred;
  if (!environment) return noEnvironment;
  // safety: connection-within-its-environments
  if (integration?.environments && !integration.environments.includes(environment.id)) return noEnvironment;
  const makers = integration ? makersOf(core, integration) : [caller];
  if (!makers)
    return refuse('CONFLICT', {
      message:
        'The creator of this connection no longer has access. Send its config again with PATCH, as a caller that can read the secrets.',
    });
  if (integration && makers.some((one) => mayRead(one, environment.id))) return noEnvironment;
  const platform = integration?.platform ?? (input.platform as string);
  const place = placeOf(platform, integration?.config ?? input.config ?? {}, environment.id);
  return { integration, platform, environment_id: environment.id, place, callers: [runner, ...makers] };
}

/**
 * Whoever lately changed where a connection sends or widened what it sends: the requester may not know. They
 * decide as little as the requester.
 */
const changersOf = (integration: IntegrationRow | null, now: number): Doer[] =>
  // safety: connection-changer-decides-nothing
  integration ? [membersOf(recentlyTied(integration.changed_by, now))] : [];

/** The secrets to sync. */
const selectedBy = (
  { core, input }: Call<SyncInput>,
  { callers, environment_id }: About,
  now: number,
): Selected | Refusal => select(core, callers, { environment_id, names: input.names }, now);

export const sync: Operation<SyncInput> = {
  subject: ({ core, input }) => ({
    resource: input.dryRun ? (input.integration ?? input.platform) : input.id,
    environment: environmentOf(core, input.environment)?.slug ?? null,
  }),
  authorize: (call) => judge(call),
  change: {
    locks: ({ input }) => ['syncs', input.id, ...(input.integration === null ? [] : [input.integration])],
    async locked(call) {
      if (!call.input.dryRun || call.input.foreseen) return null;
      const about = judge(call);
      const selected = isRefusal(about) ? about : selectedBy(call, about, call.core.now());
      // The plan reports the reason.
      if (isRefusal(selected)) return null;
      const { rows } = selected;
      return fitting(rows, MOST_DRY).length < rows.length
        ? refuse('RESULT_TOO_LARGE')
        : deliveredOf(call, rows);
    },
    plan(call, now, { judged, locked }) {
      const about = judged as About;
      const selected = selectedBy(call, about, now);
      if (isRefusal(selected)) return selected;
      return call.input.dryRun
        ? dryRun(call, about, selected, locked as Delivered[] | Refusal | null, now)
        : newSync(call, about, selected, now);
    },
  },
};

const sentIn = (integration: IntegrationRow | null, platform: string, { rows }: Selected) => ({
  integration_id: integration?.id ?? null,
  platform,
  secrets: rows.length,
});

const namesOf = ({ rows }: Selected): string[] => rows.map(({ name }) => name).sort();

function newSync(
  call: Call<SyncInput>,
  { integration, platform, environment_id, place, callers }: About,
  selected: Selected,
  now: number,
): Plan | Refusal {
  const { core, ask, caller, input } = call;
  const put = insertion(call, 'sync', {
    org_id: ask.org,
    id: input.id,
    platform,
    integration_id: input.integration,
    config: input.config,
    credentials_sealed: input.credentials_sealed,
    environment_id,
    place,
    names: input.names,
    prune: input.prune ? 1 : 0,
    requester: { kind: caller.kind, id: caller.id || null, parent_id: caller.parent_id, name: caller.name },
    credential: caller.credential,
    approval: ask.approval?.id ?? null,
    pins: integration && pinned(integration),
    status: 'queued',
    created_at: now,
  });
  const many = `${selected.rows.length} ${selected.rows.length === 1 ? 'secret' : 'secrets'}`;
  const target = integration ? `the connection "${integration.name}" (${platform})` : platform;
  return {
    status: 202,
    data: { syncId: input.id, status: 'queued' },
    writes: [put],
    // safety: sync-held-as-read
    reveals: selected.rows,
    doers: [...doersOf(callers, integration), ...changersOf(integration, now)],
    audit: { ...namesNoted(namesOf(selected), null), sent: sentIn(integration, platform, selected) },
    shows: showsOf(call, { integration, platform, environment_id }),
    describes: `send ${many} of the environment ${slugOf(core, environment_id)} to ${target}`,
  };
}

/**
 * Where values would go: the host, and the fields of the config that are not credentials. The place is
 * theirs, not the connection's name.
 */
function showsOf(
  { core, input }: Call<SyncInput>,
  { integration, platform, environment_id }: Omit<About, 'place' | 'callers'>,
): Fact[] {
  const config = integration?.config ?? input.config ?? {};
  const fields = Object.entries(config).filter(([, value]) => value !== undefined && value !== null);
  const words = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return [
    { name: 'Platform', value: platform },
    { name: 'Host', value: hostOf(platform, config, input.bases[platform]) },
    ...fields.map(([name, value]) => ({ name, value: words(value) })),
    ...(integration ? [{ name: 'Connection', value: `${integration.name} (${integration.id})` }] : []),
    { name: 'From environment', value: slugOf(core, environment_id) },
    { name: 'Deletes what is gone', value: input.prune ? 'yes' : 'no' },
  ];
}

function dryRun(
  { core, input }: Call<SyncInput>,
  { integration, platform, environment_id, place, callers }: About,
  selected: Selected,
  items: Delivered[] | Refusal | null,
  now: number,
): Plan | Refusal | More<DryRun> {
  if (input.foreseen) {
    const data = { platform, environmentId: environment_id, dryRun: true, ...input.foreseen };
    return {
      status: 200,
      data,
      audit: { ...namesNoted(namesOf(selected), null), sent: sentIn(integration, platform, selected) },
    };
  }
  if (items && isRefusal(items)) return items;
  const about = { platform, environment_id, place, names: input.names, selected: selected.rows };
  return wants('value', {
    integration,
    place,
    items: items ?? [],
    skipped: selected.skipped,
    held: heldBack(core, selected.rows, doersOf(callers, integration), null).map(({ name }) => name),
    owned: ownedBy(core, callers, about, now),
    prunable: input.prune ? prunable(core, callers, about, now) : [],
  });
}
