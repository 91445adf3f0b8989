// Permits of a job to begin calls to the target. Invariant: a call begins only while the gate's last permit
// lasts, counted from when it was asked for, so that the gate knows when no further call can begin.
import { TargetError } from '../../adapters/sync/adapter';
import type { Permit } from '../../adapters/sync/call';
import type { Permission, PermitInput } from './gate/run';

/** How often a permit is asked for that has run out on its way. */
const MOST_TRIES = 5;

/** Another job has the lease by now. */
export const overtaken = new TargetError(
  { code: 'NOT_ATTEMPTED', message: 'Another job continues this sync.' },
  'sync',
);
const tooSlow = {
  code: 'NOT_ATTEMPTED',
  message: 'This service took too long to decide whether the sync may continue.',
} as const;

/** The chunk is judged again: another job goes on. */
export const stale = new TargetError({ code: 'NOT_ATTEMPTED', message: 'Another job continues.' }, 'sync');

/** Whether another job continues the sync. */
export const isHandedOver = (error: Error | null): boolean => error === stale || error === overtaken;

/** `ask`: asks the gate; null if another job works on the sync by now. */
export function permitOf(
  ask: (input: Pick<PermitInput, 'for' | 'tries'>) => Promise<Permission | null>,
): Permit {
  let until = 0;
  let refusal: Error | null = null;
  let asking: Promise<void> | null = null;
  const renew = async (input: Pick<PermitInput, 'for' | 'tries'>) => {
    const began = Date.now();
    try {
      const given = await ask(input);
      if (!given) refusal = overtaken;
      else if (given.stop) refusal = new TargetError(given.stop, 'sync');
      else if (given.again) refusal = stale;
      until = given && !refusal ? began + given.lasts : 0;
    } catch (error) {
      // The queue repeats the job.
      refusal = error as Error;
    }
  };
  return {
    async mayBegin() {
      for (let tries = 0; !refusal && Date.now() >= until; tries++) {
        if (tries === MOST_TRIES) {
          refusal = new TargetError(tooSlow, 'sync');
          break;
        }
        // Calls that begin at the same time share a permit.
        asking ??= renew({ tries }).finally(() => {
          asking = null;
        });
        await asking;
      }
      return refusal === null;
    },
    async whole(run) {
      await asking;
      await renew({ for: 'whole', tries: 0 });
      try {
        return await run();
      } finally {
        if (!refusal) await renew({ for: 'none', tries: 0 });
      }
    },
    refusal: () => refusal as Error,
    isHandedOver: () => isHandedOver(refusal),
  };
}
