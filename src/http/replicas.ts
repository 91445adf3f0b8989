// Sends a read to the replica of the caller's region. Invariant: a replica that does not answer, for whatever
// reason, costs time and nothing else: the gate is asked in the same request.

import QuickLRU from 'quick-lru';
import type { Region } from '../db/regions';
import type { Env } from '../env';
import { stubOf } from '../gate/replicas/stub';
import type { Ask, Reply } from '../gate/request/call';
import { readReply } from '../gate/request/rollout';
import type { Trace } from './context';
import { nearestRegion, type Place } from './region';

/** The regions of organisations, as their gates or replicas said last. A wrong one costs a call. */
const known = new QuickLRU<string, readonly Region[]>({ maxSize: 2000 });

/** Remembers what a reply says of the regions of its organisation. */
export function noteRegions(org: string, { regions }: Reply): void {
  if (regions?.all.length) known.set(org, regions.all);
  else known.delete(org);
}

/** The answer of the caller's replica; null if there is none, or if it leaves the request to the gate. */
export async function askReplica(
  { REPLICA }: Pick<Env, 'REPLICA'>,
  ask: Ask,
  place: Place,
  trace: Trace,
): Promise<Reply | null> {
  const regions = known.get(ask.org);
  const region = regions ? nearestRegion(place, regions) : null;
  if (region === null) return null;
  const started = Date.now();
  const reply = await stubOf(REPLICA, ask.org, region)
    .answer(ask, region)
    .catch((error: unknown) => {
      report(ask.org, region, error);
      return null;
    });
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
