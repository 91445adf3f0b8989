// wait_for_approval: the vault holds each request until somebody decides, for up to 25 seconds. Invariant: it decides nothing.
import { clean } from '../text.ts';
import type { Session } from './session.ts';

/** Seconds that one request waits. Progress is told after each, so that a client that resets its own limit stays. */
const STEP = 20;

const MEANING: Record<string, string> = {
  pending: 'Nobody has decided yet. Call wait_for_approval again, or go on with something else.',
  approved: 'Make the call that was held again, exactly as before.',
  rejected: 'A person said no. Do not ask again unless you are told to.',
  cancelled: 'It was withdrawn.',
  used: 'It was used already.',
  expired: 'Its time is over. Make the call again to ask anew.',
};

export async function waitForApproval(
  { vault, closing }: Session,
  id: string,
  seconds: number,
  { signal, progress }: { signal: AbortSignal; progress(n: number): Promise<void> },
) {
  const until = Date.now() + seconds * 1000;
  for (let n = 1; ; n++) {
    const left = Math.ceil((until - Date.now()) / 1000);
    const { data } = await vault.api.GET('/orgs/{org_id}/approvals/{id}', {
      params: { path: { org_id: vault.org, id }, query: { wait: String(Math.max(1, Math.min(STEP, left))) } },
      signal: AbortSignal.any([signal, closing.signal]),
    });
    const { status, summary, required, approvals, expires_at } = data;
    if (status !== 'pending' || Date.now() >= until)
      return { id, status, summary: clean(summary), approvals: `${approvals.length} of ${required}`, expires_at, next: MEANING[status] };
    await progress(n);
  }
}
