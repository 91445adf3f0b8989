// Waiting for the decision on an approval request. Invariant: waiting outlasts the session token, which the
// client renews, and times when the vault is unreachable.
import type { components, Vault } from '@secrets-vault/client';
import { isUnreachable } from '../errors.ts';
import type { Output } from '../terminal/output.ts';

export type Approval = components['schemas']['Approval'];

export interface OpenVault {
  vault: Vault;
  org_id: string;
  /** The credential as a bearer token, or another one after the vault refused it. */
  bearer(refused?: string): Promise<string | null>;
}

/** What asking for a decision needs of the context of a command. */
export interface Asking {
  readonly out: Output;
  vault(): Promise<OpenVault>;
}

/** How long the vault holds one request, in seconds. */
const STEP = 20;
/** The pause before the vault is asked again after a failure, in milliseconds. */
const PAUSE = 5_000;
/** The least time between two requests, in milliseconds. Not every server holds a response. */
const LEAST = 1_000;

/**
 * The approval request, read once. With `wait`, in seconds, the vault holds the response until there is a
 * decision.
 */
export async function readApproval(context: Asking, id: string, wait?: number): Promise<Approval> {
  const { vault, org_id } = await context.vault();
  const query = { wait: wait === undefined ? undefined : String(wait) };
  const { data } = await vault.api.GET('/orgs/{org_id}/approvals/{id}', {
    params: { path: { org_id, id }, query },
  });
  return data;
}

/**
 * Waits for a decision.
 * @param until when to stop waiting, in milliseconds
 * @returns the request, which is still `pending` after `until`
 */
export async function awaitDecision(
  context: Asking,
  id: string,
  until = Number.POSITIVE_INFINITY,
): Promise<Approval> {
  let isWarned = false;
  for (;;) {
    const asked = Date.now();
    const left = Math.ceil((until - asked) / 1000);
    try {
      const approval = await readApproval(context, id, Math.max(1, Math.min(STEP, left)));
      if (approval.status !== 'pending' || Date.now() >= until) return approval;
      isWarned = false;
      await atLeast(asked);
    } catch (error) {
      if (!isUnreachable(error) || Date.now() >= until) throw error;
      if (!isWarned) context.out.warn('The vault cannot be reached. svc keeps waiting.');
      isWarned = true;
      await pause(PAUSE);
    }
  }
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Waits until the vault may be asked again after a request at this time. */
export const atLeast = (asked: number) => pause(asked + LEAST - Date.now());
