// wait_for_approval and cancel_approval. Waiting is a long poll: the vault holds each request until there is
// a decision, for up to 25 seconds. Invariant: neither approves anything.
import { atLeast } from '../requests/approvals.ts';
import { clean } from '../text.ts';
import type { Session } from './session.ts';

/**
 * Seconds that one request waits. Progress is reported after each, so that clients that reset their timeout
 * on progress keep waiting.
 */
const STEP = 20;

const MEANING: Record<string, string> = {
  pending: 'There is no decision yet. Call wait_for_approval again, or continue with something else.',
  approved: 'Repeat the call that was held, with exactly the same arguments.',
  rejected: 'A person rejected the request. Do not ask again unless you are told to.',
  cancelled: 'The request was cancelled.',
  used: 'The approval has already been used.',
  void: 'The request no longer applies: what it concerns has changed. Repeat the call to create a new request.',
  expired: 'The request has expired. Repeat the call to create a new request.',
};

export async function waitForApproval(
  session: Session,
  id: string,
  seconds: number,
  { signal, progress }: { signal: AbortSignal; progress(n: number): Promise<void> },
) {
  const { vault, closing } = session;
  const until = Date.now() + seconds * 1000;
  for (let n = 1; ; n++) {
    const asked = Date.now();
    const left = Math.ceil((until - asked) / 1000);
    const { data } = await vault.api.GET('/orgs/{org_id}/approvals/{id}', {
      params: { path: { org_id: vault.org, id }, query: { wait: String(Math.max(1, Math.min(STEP, left))) } },
      signal: AbortSignal.any([signal, closing.signal]),
    });
    const { status, summary, required, approvals, expires_at } = data;
    if (status !== 'pending' || Date.now() >= until)
      // safety: mcp-approval-masked
      return session.masked({
        id,
        status,
        summary: clean(summary),
        approvals: `${approvals.length} of ${required}`,
        expires_at,
        next: MEANING[status],
      });
    await progress(n);
    await atLeast(asked);
  }
}

/** Withdraws a request of this agent, approved or not, that was not used. */
export async function cancelApproval({ vault }: Session, id: string) {
  const { data } = await vault.api.POST('/orgs/{org_id}/approvals/{id}/cancel', {
    params: { path: { org_id: vault.org, id } },
  });
  return { id, status: data.status };
}
