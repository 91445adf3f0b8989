// What a request to the gate does because of replicas: it waits until all that it looked at is stable, and
// asks for requests that were lent before it is refused by a rate limit. Without replicas it does neither.
// Under `auto` it notes from where it was read.

import { systemEntry } from '../audit/entry';
import type { Core } from '../core';
import { identify } from '../identity/identify';
import { rateLimit } from '../limits/rate-limit';
import { demand } from '../replicas/demand';
import { leases } from '../replicas/leases';
import { lookAt, nothingLooked } from '../replicas/looked';
import { isAuto, isReplicated, regionsForWorkers } from '../replicas/regions';
import { gather, recall } from '../replicas/serve';
import { stability } from '../replicas/stability';
import type { Ask, Operation, Reply } from '../request/call';
import { type Abilities, answer } from './answer';

/**
 * Answers a request, and waits until all that it looked at is stable. Of reads that replicas answer too, only
 * what they looked at counts; of everything else, every record.
 */
export async function answerStably(core: Core, abilities: Abilities, ask: Ask): Promise<Reply> {
  const operation = abilities.operations[ask.operation];
  if (!isReplicated(core) && !leases(core).any()) {
    const reply = await answer(core, abilities, ask);
    return isAuto(core) ? { ...reply, regions: noteRead(core, operation, ask, reply) } : reply;
  }
  const [before] = await Promise.all([
    operation?.readsLog && !ask.again ? gather(core) : [],
    roomFromReplicas(core, ask),
  ]);
  const looked = nothingLooked();
  const unwatch = core.rows.watch((kind, id) => lookAt(looked, kind, id));
  const reply = await answer(core, abilities, ask).finally(unwatch);
  // safety: reply-waits-until-stable
  const n = stability(core).restsOn(
    operation?.byReplica && reply.outcome.kind === 'ok' ? looked : 'everything',
  );
  const late = n > 0 ? await stability(core).settled(n) : [];
  const waited_out = operation?.change ? late : [];
  // Until now replicas may have answered what this change ends.
  // safety: entries-before-report
  const missing = operation?.readsLog && operation.change ? await gather(core) : before;
  if (waited_out.length) noteWaitedOut(core, ask, waited_out);
  return { ...reply, regions: { ...noteRead(core, operation, ask, reply), waited_out, missing } };
}

/** Notes from where a read came that a replica could answer. Returns where there are replicas now. */
function noteRead(
  core: Core,
  operation: Operation | undefined,
  { region, again }: Ask,
  { outcome }: Reply,
): NonNullable<Reply['regions']> {
  // safety: refused-reads-begin-no-replica
  if (region && operation?.byReplica && !again && outcome.kind === 'ok' && isAuto(core))
    demand(core).asked(region, 1, core.now());
  return regionsForWorkers(core);
}

/** The entry of the change cannot say so: it is written as the change is decided. */
function noteWaitedOut(
  core: Core,
  { org, request: { id, ip, user_agent } }: Ask,
  regions: readonly string[],
): void {
  core.auditLog.append(
    systemEntry({
      action: 'region.late',
      resource: org,
      reason: `${regions.join(', ')} did not acknowledge it before their leases ended`,
      request_id: id,
      ip,
      user_agent,
    }),
    200,
    core.now(),
  );
}

/** Where a rate limit would refuse a request although replicas hold some of it, they give it back first. */
async function roomFromReplicas(core: Core, ask: Ask): Promise<void> {
  if (ask.again || !leases(core).any()) return;
  const { allowances } = identify(core, ask);
  // safety: recalled-before-refusal
  if (allowances.length && !rateLimit(core).take(allowances, core.now(), 'no').ok)
    await recall(core, allowances);
}
