// What needs somebody now, by urgency. Each part is what its list shows to the caller, as far as it needs
// somebody.
import type { Need } from '../../../auth/actions';
import { isBrief, type LastingKind } from '../../../db/credential-kinds';
import { DAY } from '../../../db/rows';
import type { CredentialRow, SecretRow } from '../../../db/schema';
import { deliveries } from '../../../delivery/gate/deliveries';
import type { Core } from '../../../gate/core';
import type { Call } from '../../../gate/request/call';
import { again, type Walk } from '../../../gate/request/progress';
import { slugOf } from '../../../gate/request/target';
import type { Expiring } from '../../../gate/rows/expiring';
import { iso, isoOrNull } from '../../../http/wire';
import { actions as approvalActions } from '../../approvals/actions';
import { approvalOperations } from '../../approvals/gate/operations';
import { actions as credentialActions } from '../../credentials/actions';
import { credentialOperations, listedIn } from '../../credentials/gate/operations';
import { actions as incidentActions } from '../../incidents/actions';
import { incidentOperations } from '../../incidents/gate/operations';
import { actions as integrationActions } from '../../integrations/actions';
import { integrationOperations } from '../../integrations/gate/operations';
import { dueOf } from '../../policies/gate/due';
import { rotations } from '../../policies/gate/due-rotations';
import { actions as scimActions } from '../../scim/actions';
import { actions as secretActions } from '../../secrets/actions';
import { matcherOf, UNFILTERED } from '../../secrets/gate/lists';
import { actions as domainActions } from '../../sso/actions';
import { domainOperations } from '../../sso/gate/domains';
import { actions as syncActions } from '../../syncs/actions';
import { failing } from '../../syncs/gate/failing';
import { actions as webhookActions } from '../../webhooks/actions';
import { webhookOperations } from '../../webhooks/gate/operations';
import type { OverviewItem, Part } from '../wire';
import { itemsOf, within } from './lists';

/** How many items of a part the answer has. */
const FIRST = 5;
/** How far ahead an end is told, and how long an expired secret is. */
const AHEAD = 7 * DAY;
/** The cost in matching steps of looking at a row. */
const ROW = 2000;
const PAGE = 200;

type Item = OverviewItem;
const nothing = { name: null, kind: null, environment: null, time: null, detail: null };

/** The earliest first, or with `-1` the newest. */
function partOf(items: readonly Item[] | null, order: 1 | -1 = 1): Part | undefined {
  if (!items) return undefined;
  const placeOf = ({ time, id }: Item) => `${time} ${id}`;
  const sorted = items.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -order : order));
  return { count: items.length, data: sorted.slice(0, FIRST) };
}

interface ShownIncident {
  id: string;
  kind: string;
  credential: { name: string | null } | null;
  reason: string | null;
  created_at: string;
}

function* incidents(call: Call<unknown>): Walk<Part | undefined> {
  const filters = { status: 'open', credential: null };
  const shown = yield* itemsOf<ShownIncident>(
    call,
    incidentActions['incident.list'],
    incidentOperations['incident.list'],
    filters,
  );
  return partOf(
    shown?.map(({ id, kind, credential, reason, created_at }) => {
      return { ...nothing, id, kind, name: credential?.name ?? null, time: created_at, detail: reason };
    }) ?? null,
    -1,
  );
}

function* breakGlass(call: Call<unknown>): Walk<Part | undefined> {
  const shown = yield* itemsOf<{ id: string; reason: string | null; expires_at: string }>(
    call,
    credentialActions['break_glass.list'],
    credentialOperations['break_glass.list'],
  );
  return partOf(
    shown?.map(({ id, reason, expires_at }) => ({ ...nothing, id, time: expires_at, detail: reason })) ??
      null,
  );
}

interface ShownApproval {
  id: string;
  operation: string;
  summary: string;
  target: { name: string | null; environment: string | null };
  requester: { name: string | null };
  expires_at: string;
}

function* approvals(call: Call<unknown>): Walk<Part | undefined> {
  const shown = yield* itemsOf<ShownApproval>(
    call,
    approvalActions['approval.list'],
    approvalOperations['approval.list'],
    { status: null, isForMe: true },
  );
  return partOf(
    shown?.map(({ id, operation, summary, target, requester, expires_at }) => ({
      id,
      name: target.name ?? summary,
      kind: operation,
      environment: target.environment,
      time: expires_at,
      detail: requester.name,
    })) ?? null,
  );
}

function* syncs(call: Call<unknown>): Walk<Part | undefined> {
  const listing = within(call, syncActions['integration.syncs'], null);
  if (!listing) return undefined;
  const known = yield* itemsOf<{ id: string; name: string }>(
    call,
    integrationActions['integration.list'],
    integrationOperations['integration.list'],
  );
  const names = known && new Map(known.map(({ id, name }) => [id, name]));
  const failed = yield* failing(listing);
  const items = failed.flatMap(({ last, since, failures }): Item[] => {
    const { id, integration_id, platform, environment_id } = last;
    // Whoever sees the connections is not told of those that are gone.
    if (names && integration_id !== null && !names.has(integration_id)) return [];
    return [
      {
        id,
        name: names?.get(integration_id ?? '') ?? null,
        kind: platform,
        environment: slugOf(call.core, environment_id),
        time: iso(since),
        detail: String(failures),
      },
    ];
  });
  return partOf(items);
}

function* webhooks(call: Call<unknown>): Walk<Part | undefined> {
  const shown = yield* itemsOf<{
    id: string;
    host: string;
    disabled_reason: string | null;
    updated_at: string;
  }>(call, webhookActions['webhook.list'], webhookOperations['webhook.list']);
  const items = shown?.flatMap(({ id, host, disabled_reason, updated_at }): Item[] => {
    const since = isoOrNull(deliveries(call.core).failingSince(id));
    const isDisabled = disabled_reason === 'failing' || disabled_reason === 'gone';
    if (!isDisabled && (disabled_reason !== null || since === null)) return [];
    return [{ ...nothing, id, name: host, time: isDisabled ? updated_at : since, detail: disabled_reason }];
  });
  return partOf(items ?? null);
}

/** A secret that the list shows, with the time at which it is due or ends. */
const secretItem = ({ core }: Call<unknown>, row: SecretRow, at: number): Item => ({
  ...nothing,
  id: row.id,
  name: row.name,
  kind: row.type,
  environment: slugOf(core, row.environment_id),
  time: iso(at),
});

/** Whether the list of secrets shows a row to the caller; null if it would refuse. */
function listedSecrets(call: Call<unknown>): ((row: SecretRow) => boolean) | null {
  const listing = within(call, secretActions['secret.list'], UNFILTERED);
  return listing && matcherOf(listing, null);
}

/** Secrets that the hourly run found due for rotation, and that still are. */
function* overdueSecrets(call: Call<unknown>): Walk<Part | undefined> {
  const { core } = call;
  const isListed = listedSecrets(call);
  if (!isListed) return undefined;
  const items: Item[] = [];
  for (let after = ''; ; ) {
    const page = rotations(core).after(after, PAGE);
    for (const id of page) {
      const row = core.rows.get('secret', id);
      if (row && isListed(row)) {
        const { since } = yield* again(() => dueOf(core, row, core.now()));
        if (since !== null) items.push(secretItem(call, row, since));
      }
      yield ROW;
    }
    if (page.length < PAGE) return partOf(items);
    after = page.at(-1) ?? after;
  }
}

/** What ends within the next week, from a time on. */
function* expiring(core: Core, kind: 'secret' | 'credential', from: number): Walk<string[]> {
  const ids: string[] = [];
  for (let after: Expiring = { id: '', at: from }; ; ) {
    const page = core.rows.expiring(kind, after, core.now() + AHEAD, PAGE);
    ids.push(...page.map(({ id }) => id));
    yield ROW * (1 + page.length);
    if (page.length < PAGE) return ids;
    after = page.at(-1) ?? after;
  }
}

/** Secrets that expire within a week, or have expired in the last one. */
function* expiringSecrets(call: Call<unknown>): Walk<Part | undefined> {
  const { core } = call;
  const isListed = listedSecrets(call);
  if (!isListed) return undefined;
  const items: Item[] = [];
  for (const id of yield* expiring(core, 'secret', core.now() - AHEAD)) {
    const row = core.rows.get('secret', id);
    if (row && row.expires_at !== null && row.revoked_at === null && isListed(row))
      items.push(secretItem(call, row, row.expires_at));
    yield ROW;
  }
  return partOf(items);
}

/**
 * The lists of credentials that last, by kind. Trusts do not expire; a break-glass token has a part of its
 * own.
 */
const LISTS: Record<LastingKind, Need | null> = {
  api_key: credentialActions['api_key.list'],
  agent: credentialActions['agent.list'],
  provider: credentialActions['provider_token.list'],
  trust: null,
  scim: scimActions['scim_token.list'],
  break_glass: null,
};

/** Whether a week, or a day, before its end counts: not for what was made for less than that. */
const isNearEnd = ({ expires_at, created_at }: CredentialRow, now: number): boolean =>
  expires_at !== null &&
  [7 * DAY, DAY].some((lead) => expires_at - lead > created_at && expires_at - lead <= now);

function* expiringCredentials(call: Call<unknown>): Walk<Part | undefined> {
  const { core } = call;
  const listings = Object.entries(LISTS).flatMap(([kind, need]) => {
    const listing = need && within(call, need, null);
    return listing ? [[kind, listing] as const] : [];
  });
  if (!listings.length) return undefined;
  const byKind = new Map(listings);
  const items: Item[] = [];
  for (const id of yield* expiring(core, 'credential', core.now())) {
    const row = core.rows.get('credential', id);
    const listing = row && !isBrief(row.kind) && byKind.get(row.kind);
    if (row && listing && isNearEnd(row, core.now()) && listedIn(listing, row.kind, row))
      items.push({ ...nothing, id, name: row.name, kind: row.kind, time: isoOrNull(row.expires_at) });
    yield ROW;
  }
  return partOf(items);
}

function* domains(call: Call<unknown>): Walk<Part | undefined> {
  const shown = yield* itemsOf<{
    id: string;
    domain: string;
    verified_at: string | null;
    created_at: string;
  }>(call, domainActions['domain.list'], domainOperations['domain.list']);
  return partOf(
    shown
      ?.filter(({ verified_at }) => verified_at === null)
      .map(({ id, domain, created_at }) => ({ ...nothing, id, name: domain, time: created_at })) ?? null,
  );
}

/** The parts in the order of urgency. */
const PARTS = {
  incidents,
  break_glass_tokens: breakGlass,
  approvals,
  failing_syncs: syncs,
  failing_webhooks: webhooks,
  overdue_secrets: overdueSecrets,
  expiring_secrets: expiringSecrets,
  expiring_credentials: expiringCredentials,
  unverified_domains: domains,
} as const;

export type Parts = { -readonly [Name in keyof typeof PARTS]?: Part };

/** All parts that the caller may have. */
export function* partsOf(call: Call<unknown>): Walk<Parts> {
  const parts: Parts = {};
  for (const [name, make] of Object.entries(PARTS)) {
    const part = yield* make(call);
    if (part) parts[name as keyof Parts] = part;
  }
  return parts;
}
