// Sends a read to the replica of the caller's region. Invariant: a replica that does not answer, for whatever
// reason, costs time and nothing else: the gate is asked in the same request.

import QuickLRU from 'quick-lru';
import type { Region } from '../../db/regions';
import type { Env } from '../../env';
import { withinTime } from '../../gate/d1';
import { FORMAT } from '../../gate/replicas/messages';
import { stubOf } from '../../gate/replicas/stub';
import type { Ask, Reply } from '../../gate/request/call';
import { readReply } from '../../gate/request/rollout';
import type { Trace } from '../context';
import { nearestRegion, type Place, regionOf } from './region';

/** How long a replica may take, in milliseconds. */
const PATIENCE = 1000;

/** Where organisations have replicas and gate, as one of these said last. A wrong place costs a call. */
const known = new QuickLRU<string, NonNullable<Reply['regions']>>({ maxSize: 2000 });

/** Remembers what a reply says of the regions of its organisation. */
export function noteRegions(org: string, { regions }: Reply): void {
  if (regions && (regions.all.length > 0 || regions.auto)) known.set(org, regions);
  else known.delete(org);
}

/**
 * The question with the caller's region, where the organisation has replicas wherever it is read often. Who
 * answers counts it.
 */
export function withRegion(ask: Ask, place: Place): Ask {
  const region = known.get(ask.org)?.auto ? regionOf(place) : null;
  return region === null ? ask : { ...ask, region };
}

/** The answer of the caller's replica; null if there is none, or if it leaves the request to the gate. */
export async function askReplica(
  { REPLICA }: Pick<Env, 'REPLICA'>,
  ask: Ask,
  place: Place,
  trace: Trace,
): Promise<Reply | null> {
  const regions = known.get(ask.org);
  const region = regions ? nearestRegion(place, regions.all, regions.gate) : null;
  if (region === null) return null;
  const started = Date.now();
  // safety: silent-replica-costs-a-second
  const reply = await withinTime(
    stubOf(REPLICA, ask.org, region)
      .answer(ask, region, FORMAT)
      .catch((error: unknown) => {
        report(ask.org, region, error);
        return null;
      }),
    PATIENCE,
  );
  trace.gate_ms += Date.now() - started;
  if (reply) trace.region = region;
  return reply && readReply(reply);
}

/** When a replica that does not answer was reported last. */
const reported = new QuickLRU<string, number>({ maxSize: 1000 });
const MINUTE = 60_000;

/** Once a minute, since each read of the region finds it. */
function report(org: string, region: Region, error: unknown): void {
  const now = Date.now();
  if ((reported.get(`${org} ${region}`) ?? 0) > now - MINUTE) return;
  reported.set(`${org} ${region}`, now);
  const why = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
  console.warn(JSON.stringify({ level: 'warn', event: 'replica_unreachable', org, region, why }));
}

/** Names who answered, where an organisation has replicas. */
export const regionHeaders = ({ regions }: Reply, { region }: Trace): Record<string, string> =>
  regions
    ? {
        'Svc-Region': region ?? 'gate',
        ...(regions.waited_out?.length && { 'Svc-Regions-Waited-Out': regions.waited_out.join(', ') }),
      }
    : {};
