// What the health check asks of an organisation's gate: can its storage be written, and does D1 stand where
// the gate left it? If it does not, the database is another one, such as a restored backup, and changes are
// refused until it is adopted. It also notices a clock that was set back: until it is right, what has expired
// would be alive again. Invariants: it changes nothing that callers see; a change that is under way is never
// taken for a difference.

import type { Core } from '../core';
import { isBehind } from '../journal/behind';
import { mirror } from '../journal/mirror';
import { compared, noteBehind, noteStopped, standing } from '../journal/position';
import { journal } from '../journal/records';
import { gatherIdle } from '../replicas/serve';
import type { Vitals } from '../request/call';
import { backlogs } from '../tasks/backlog';
import { isClockBehind } from '../tasks/clock';

/** For how many seconds D1 may lack a change: shorter outages pass by themselves. */
const LATE = 300;

export async function vitalsOf(core: Core): Promise<Vitals> {
  backlogs(core).warn(core.org, core.now());
  // For a gate without requests.
  // safety: vitals-keep-alarm
  core.schedule.keepArmed();
  // safety: vitals-gather-entries
  void gatherIdle(core);
  const found = await difference(core);
  if (found) return found;
  // On a full disk a gate reads and answers, but each request fails, because its audit entry cannot be
  // written.
  // safety: vitals-write
  core.meta.set('asked', String(core.now()));
  if (isClockBehind(core)) return 'clock';
  // Nothing else tells it where D1 answers others, or answers and takes no batch.
  // safety: vitals-tell-lag
  return backlogs(core).of(core.now()).changes_late_seconds >= LATE ? 'ahead' : 'well';
}

/** How D1 differs. An unresponsive D1 is no difference: the health check tests D1 itself. */
async function difference(core: Core): Promise<'behind' | 'diverged' | null> {
  await isBehind(core, true);
  const { isAdopting, isPaused, follow } = mirror(core);
  if (standing(core).isBehind) return 'behind';
  if (isAdopting) return null;
  // A gate that began again does not know yet that D1 refuses what it sends.
  // safety: vitals-send-first
  if (standing(core).stopped || journal(core).extent().records > 0) await follow();
  if (standing(core).stopped || isPaused()) return 'diverged';
  const found = await compared(core);
  if (found === 'behind') noteBehind(core);
  if (found === 'diverged') noteStopped(core, found, journal(core).position());
  return found === 'follows' || mirror(core).isAdopting ? null : found;
}
