// Which secrets a sync sends: the active ones of its environment that its callers may read. Invariants:
// secrets outside their reach look non-existent; a secret held by an approval policy is sent only under an
// approval that names it.
import type { Owned, Result } from '../../../adapters/sync/steps';
import {
  type Caller,
  nobody,
  overlap,
  type PermissionSet,
  reaches,
  reachesEnvironment,
  reasons,
  stepsFor,
} from '../../../auth/authorize';
import type { IntegrationRow, SecretRow, SyncRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { holdingReads } from '../../../gate/approvals/hold';
import type { Core } from '../../../gate/core';
import { agentOf } from '../../../gate/identity/accountable';
import { callerOf, memberOf } from '../../../gate/identity/caller';
import { endOf } from '../../../gate/identity/lifetime';
import { actingMember } from '../../../gate/identity/members';
import type { Doer } from '../../../gate/request/plan';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { readable } from '../../secrets/rules';
import { recordedAt } from '../place';
import { syncs } from './store';

/** The most secrets of one sync, and the most matching steps. */
export const MOST_SECRETS = 10_000;
const MOST_STEPS = 20_000_000;

const READ = ['secrets:read'];
const SYNC = ['integrations:sync'];

export interface Selected {
  rows: SecretRow[];
  /** Requested names that are not sent, and why. */
  skipped: Result[];
}

/**
 * Whether all callers can read secrets with a name in an environment. Past the most matching steps, no name
 * counts as reached: names may be long and many, and so may patterns.
 */
export function reachOfAll(callers: readonly Caller[], environment: string): (name: string) => boolean {
  const judges = callers.map((caller) => ({ caller, steps: stepsFor(caller, READ, MOST_STEPS) }));
  return (name) =>
    judges.every(
      // safety: sync-steps-bounded
      ({ caller, steps }) => steps.take(environment, name) && reaches(caller, READ, environment, name),
    );
}

/** The named secrets, or all; a refusal if there are too many. */
export function select(
  { rows }: Pick<Core, 'rows'>,
  callers: readonly Caller[],
  { environment_id, names }: Pick<SyncRow, 'environment_id' | 'names'>,
  now: number,
): Selected | Refusal {
  const reached = reachOfAll(callers, environment_id);
  const selected: Selected = { rows: [], skipped: [] };
  const consider = (name: string, row: SecretRow | null) => {
    // safety: sync-within-reach
    const refusal = row && reached(name) ? readable(row, now) : refuse('NOT_FOUND');
    if (!refusal && row) selected.rows.push(row);
    else if (names && refusal) selected.skipped.push(skipped(name, refusal));
  };
  if (names) for (const name of names) consider(name, rows.find('secret', environment_id, name));
  for (let after = ''; names === null; ) {
    const page = rows.named(environment_id, '', after, 1000);
    for (const { id, name } of page) consider(name, rows.get('secret', id));
    if (selected.rows.length > MOST_SECRETS) return tooMany;
    if (page.length < 1000) break;
    after = page.at(-1)?.name as string;
  }
  return selected;
}

const tooMany = refuse('RESULT_TOO_LARGE', {
  message: `A sync can send at most ${MOST_SECRETS.toLocaleString('en')} secrets. Split them into several syncs with names.`,
});

const SKIPPED: Partial<Record<Refusal['code'], string>> = {
  SECRET_EXPIRED: 'The secret has expired.',
  SECRET_REVOKED: 'The secret has been revoked.',
};

const skipped = (name: string, { code }: Refusal): Result => ({
  name,
  targetName: null,
  action: 'skipped',
  code: code as NonNullable<Result['code']>,
  message: SKIPPED[code] ?? 'The environment has no secret with this name that this sync can read.',
});

/** The result of a requested name that the environment does not have. */
export const notThere = (name: string): Result => skipped(name, refuse('NOT_FOUND'));

/** The revision of the connection that a sync was requested for. */
export const pinned = ({ id, revision }: IntegrationRow): Record<string, number> => ({ [id]: revision });

/**
 * Whether a row that decides where a sync sends has changed since it was requested. A sync of an earlier
 * release has no pins.
 */
export function isRepointed({ rows }: Pick<Core, 'rows'>, { pins, integration_id }: SyncRow): boolean {
  if (pins === null || integration_id === null) return false;
  // safety: sync-connection-as-requested
  return rows.get('integration', integration_id)?.revision !== pins[integration_id];
}

/**
 * Those for whom a sync sends, as approval policies judge them: its callers, and the agents that stored or
 * widened its connection.
 */
export function doersOf(callers: readonly Caller[], connection: IntegrationRow | null): Doer[] {
  const accountable = connection?.of_agent;
  // safety: connection-of-agent-held
  return accountable ? [...callers, agentOf(accountable)] : [...callers];
}

/**
 * Secrets that an approval policy holds, unless this approval names them as they are now, under the policies
 * as they are now.
 */
export function heldBack(
  core: Core,
  rows: readonly SecretRow[],
  doers: readonly Doer[],
  approval: string | null,
): SecretRow[] {
  const given = approval === null ? null : core.rows.get('approval', approval);
  const isGiven = (row: SecretRow): boolean => {
    // safety: sync-secrets-as-approved
    if (given?.targets[row.id] !== row.revision) return false;
    // safety: sync-policies-as-approved
    return holdingReads(core, row, doers).every(({ row: policy }) =>
      given.policies.some(({ id, revision }) => id === policy.id && revision === policy.revision),
    );
  };
  // safety: sync-held-secrets-not-sent
  return rows.filter((row) => holdingReads(core, row, doers).length > 0 && !isGiven(row));
}

/** The current state of a caller, by its credential or member; null if it has ended. */
function callerBy(core: Core, id: string): Caller | null {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return null;
  const member = actingMember(core, id);
  if (member) return memberOf(core, id, member);
  const row = core.rows.get('credential', id);
  if (!row) return null;
  const lineage = lineageOf(core, row);
  // safety: sync-caller-judged-again
  return endOf(core, lineage) === null ? callerOf(core, lineage) : null;
}

/** The permissions of a caller that may have ended: only to list the names of a sync, never to read. */
function formerCaller(core: Core, id: string): Caller | null {
  const member = core.rows.get('member', id);
  if (member) return memberOf(core, id, member);
  const row = core.rows.get('credential', id);
  return row && callerOf(core, lineageOf(core, row));
}

/** Environments and names. */
type Limits = Pick<PermissionSet, 'environments' | 'secrets'>;

/**
 * What a caller can have a connection send: what it can read, within the limits of its scope
 * integrations:write.
 */
const sendable = ({ permissions }: Caller): Limits[] => {
  const storing = reasons(permissions, ['integrations:write'], null);
  // safety: connection-within-limits-of-its-maker
  return reasons(permissions, READ, null).flatMap((one) =>
    storing.map((other) => (one === other ? one : overlap(one, other))),
  );
};

/** What a connection stores of its creator's reach; `generation`: the number of panics at that time. */
export const reachOf = (caller: Caller, generation: number): NonNullable<IntegrationRow['reach']> =>
  sendable(caller).map(({ environments, secrets }) => ({
    scopes: READ,
    environments: copy(environments),
    secrets: copy(secrets),
    generation,
  }));

const copy = (list: readonly string[] | null): string[] | null => list && [...list];

/** A caller that can read within these limits, and nothing else. */
function readerWithin(caller: Caller, limits: readonly Limits[]): Caller {
  const [first = nobody.permissions[0], ...rest] = limits.map(({ environments, secrets }) => ({
    scopes: READ,
    environments,
    secrets,
    upstreams: null,
    expires_at: null,
  }));
  return { ...caller, permissions: [first, ...rest] };
}

/** A caller as a reader of what it can have a connection send. */
export const storerOf = (caller: Caller): Caller => readerWithin(caller, sendable(caller));

/**
 * A caller with the limits of its scope integrations:sync: who runs a connection need not hold secrets:read.
 */
export const runnerOf = (caller: Caller): Caller =>
  readerWithin(caller, reasons(caller.permissions, SYNC, null));

/**
 * The creator of a connection as it is now, and with its reach when the connection was made. Null if it has
 * ended.
 */
export function makersOf(core: Core, connection: IntegrationRow): Caller[] | null {
  const maker = connection.maker ? callerBy(core, connection.maker) : null;
  // safety: sync-maker-judged-again
  if (!maker) return null;
  // A panic ends a member's sessions but not the member: a connection from before it sends nothing until it
  // is updated again.
  // safety: sync-connection-before-panic
  if (
    maker.kind === 'member' &&
    (connection.reach?.[0]?.generation ?? 0) < (core.rows.get('org', core.org)?.generation ?? 0)
  )
    return null;
  // safety: sync-within-reach-of-its-making
  return [maker, readerWithin(nobody, connection.reach ?? [])];
}

/**
 * The callers whose reach counts for a sync: all of them must be able to read a secret. They are the
 * requester, within the limits of its scope integrations:sync, and either the requester itself or the creator
 * of the connection. Null once one of them has ended.
 */
export function actingFor(core: Core, sync: Pick<SyncRow, 'credential' | 'integration_id'>): Caller[] | null {
  const asker = sync.credential === null ? null : callerBy(core, sync.credential);
  if (sync.credential !== null && asker === null) return null;
  // safety: sync-within-limits-of-requester
  const runners = asker ? [runnerOf(asker)] : [];
  if (sync.integration_id === null) return asker && [asker, ...runners];
  const connection = core.rows.get('integration', sync.integration_id);
  const makers = connection && makersOf(core, connection);
  return makers && [...runners, ...makers];
}

/**
 * The same callers even if some have ended, for listing the names of a sync that cannot begin. Of a creator
 * who is gone, the reach when the connection was made is known.
 */
export function formerly(core: Core, sync: Pick<SyncRow, 'credential' | 'integration_id'>): Caller[] {
  const former = (id: string | null | undefined) => (id ? (formerCaller(core, id) ?? []) : []);
  const askers = [former(sync.credential)].flat();
  if (sync.integration_id === null) return [...askers.map(runnerOf), ...askers];
  const connection = core.rows.get('integration', sync.integration_id);
  return [
    ...askers.map(runnerOf),
    ...[former(connection?.maker)].flat(),
    ...(connection ? [readerWithin(nobody, connection.reach ?? [])] : []),
  ];
}

/**
 * 403 for a caller that may not read any secret; 404 for one that may not read secrets in an environment, or
 * any environment (''). Agents are told what they lack.
 */
export function mayRead(caller: Caller, environment: string | null): Refusal | null {
  const isAgent = caller.kind === 'agent';
  if (reasons(caller.permissions, READ, null).length === 0)
    return isAgent
      ? refuse('SECRET_ACCESS_DENIED', {
          message: 'This agent does not hold the scope secrets:read, which this request needs.',
        })
      : refuse('INSUFFICIENT_SCOPE', {
          message: 'This credential does not hold the scope secrets:read, which this request needs.',
        });
  // safety: sync-environment-within-reach
  if (environment === null || (environment !== '' && reachesEnvironment(caller, READ, environment)))
    return null;
  return isAgent
    ? refuse('SECRET_ACCESS_DENIED', { message: 'This agent may not read secrets in this environment.' })
    : refuse('NOT_FOUND', { message: 'There is no such environment.' });
}

/** A sync whose record of names is judged, with the secrets that it selects. */
type Recorded = Pick<SyncRow, 'platform' | 'environment_id' | 'place' | 'names'> & {
  selected: readonly SecretRow[];
};

/**
 * The names that this service was the last to write to a place, and whether their secrets are still active or
 * outside the callers' reach.
 */
export function ownedBy(core: Core, callers: readonly Caller[], sync: Recorded, now: number): Owned[] {
  const isLost = lostIn(core, callers, sync, now);
  return syncs(core)
    .owned(recordedAt(sync))
    .map((one) => ({ ...one, isTaken: !isLost(one.name) }));
}

/** The most rows of secrets that one judgement of a record looks at, besides those selected. */
const MOST_LOOKED_AT = 10_000;

/**
 * Whether a secret is gone (deleted, renamed, expired or revoked) and the callers could reach its name. Past
 * what one request may look at, none counts as gone.
 */
function lostIn(
  core: Core,
  callers: readonly Caller[],
  { environment_id, selected }: Recorded,
  now: number,
): (name: string) => boolean {
  const reached = reachOfAll(callers, environment_id);
  const here = new Set(core.rows.names(environment_id));
  const active = new Set(selected.map(({ name }) => name));
  let left = MOST_LOOKED_AT;
  const isGone = (name: string) => {
    if (!here.has(name)) return true;
    // safety: sync-record-bounded
    if (active.has(name) || left-- <= 0) return false;
    return readable(core.rows.find('secret', environment_id, name), now) !== null;
  };
  // safety: prune-within-reach
  return (name) => isGone(name) && reached(name);
}

/**
 * Names at a place whose secrets are gone from the environment (deleted, renamed, expired or revoked),
 * limited to `names` if given and to the callers' reach.
 */
export function prunable(core: Core, callers: readonly Caller[], sync: Recorded, now: number): Owned[] {
  const wanted = sync.names && new Set(sync.names);
  const isLost = lostIn(core, callers, sync, now);
  return syncs(core)
    .owned(recordedAt(sync))
    .filter(({ name }) => (wanted?.has(name) ?? true) && isLost(name));
}
