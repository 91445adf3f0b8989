// Leases of calls under way, in memory. A Worker sends and answers only while its lease lasts, and renews it
// by asking. Invariant: no change that ends a call is answered before the Worker has said that it broke the
// call off, or its lease has run out. So no byte passes either way after the reply.
import { isWithin } from '../../../auth/addresses';
import type { Caller } from '../../../auth/authorize';
import { sha256 } from '../../../crypto/digest';
import type { UpstreamRow } from '../../../db/schema';
import { statusOf } from '../../../errors';
import type { Core } from '../../../gate/core';
import { identifyAgain } from '../../../gate/identity/identify';
import { part } from '../../../gate/part';
import type { Ask } from '../../../gate/request/call';
import { permits } from '../../../gate/request/permits';
import { LEASE } from '../call/lease';
import { type Intent, intents } from './intents';
import { mayUse, works } from './permission';

/** Where an upstream sends what, and for whom: a call ends when that changes. */
export const directionOf = ({ name, base_url, auth, allow }: UpstreamRow): string =>
  sha256(JSON.stringify([name, base_url, auth, allow]));

/** Whether whoever made a call may still make it. */
export function isAlive(core: Core, { upstream, user }: Intent): boolean {
  const row = core.rows.get('upstream', upstream);
  // safety: use-ends-with-upstream
  if (!row || directionOf(row) !== user.direction || !works(core, row)) return false;
  const { caller, refusal } = identifyAgain(
    core,
    { bearer: user.bearer } as Ask,
    { credential: user.credential } as Caller,
  );
  // Any other refusal is of a new request.
  // safety: use-ends-with-credential
  if (refusal && statusOf(refusal) === 401) return false;
  const ranges = caller.member_addresses ? [...caller.addresses, caller.member_addresses] : caller.addresses;
  return ranges.every((allowed) => isWithin(user.ip, allowed)) && mayUse(caller, row);
}

const holderOf = (intent: string): string => `use:${intent}`;

function createLeases(core: Core) {
  const waiting = new Map<string, () => void>();
  const wake = (id: string) => waiting.get(id)?.();
  const give = (id: string) =>
    permits(core).give(holderOf(id), LEASE, () => {
      const found = intents(core).get(id);
      const isOver = !found || !isAlive(core, found);
      if (isOver) wake(id);
      return isOver;
    });
  // An earlier instance of the gate may have given leases that still last.
  // safety: leases-survive-restart
  for (const id of intents(core).underWay(core.now())) give(id);
  return {
    give,
    /** Its Worker does nothing more under it. */
    over(id: string): void {
      permits(core).giveBack(holderOf(id));
      wake(id);
    },
    /** Until the call may have ended, or so many milliseconds have passed. */
    wait: (id: string, ms: number): Promise<void> =>
      new Promise((resolve) => {
        // A repeated question takes the place of the one before.
        wake(id);
        const done = () => {
          clearTimeout(timer);
          if (waiting.get(id) === done) waiting.delete(id);
          resolve();
        };
        const timer = setTimeout(done, ms);
        waiting.set(id, done);
      }),
  };
}

export const leases = part(createLeases);
