// Whose a domain is, in the Worker: the Durable Object of the domain has the last claim, and the gate of the
// claimant the row. The order: the record is found, the domain is claimed, the gate verifies the row by the
// number of the claim. What ends a row (deletion, expiry, the end of the organisation) leaves the claim. So
// does whatever is cut off after the claim. Invariant: a claim counts only while the claimant's gate has a
// verified row. Whoever wants the domain asks that gate, which from then on verifies no row by this claim or
// an earlier one, so a claim is void before another takes its place.
import { newId } from '../../db/ids';
import type { Claim, Env } from '../../env';
import { ApiError, refuse } from '../../errors';
import { callGate } from '../../http/calls/gate-call';
import type { Keyring } from '../../keys/keyring';

/** How often a claim may change hands while somebody asks. */
const MOST_ROUNDS = 3;

/** The context of a request or a job. */
export interface Asking {
  env: Env;
  keyring: Pick<Keyring, 'org'>;
}

/** The organisation that a domain belongs to, and its row there; the gate has the last word. Null if none. */
export const ownerOf = (env: Env, domain: string): Promise<Claim | null> =>
  Promise.resolve(env.DOMAIN_OWNER.getByName(domain).owner()).catch(unavailable) as Promise<Claim | null>;

const unavailable = (): never => {
  throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
};

/** Claims a domain for a row. Returns the number of the claim, or null while it is another organisation's. */
export async function claim(
  asking: Asking,
  domain: string,
  by: { org: string; id: string },
): Promise<number | null> {
  const owner = asking.env.DOMAIN_OWNER.getByName(domain);
  let over: number | null = null;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const answer = (await Promise.resolve(owner.claim(by, over)).catch(unavailable)) as
      | { claimed: number }
      | { owner: Claim };
    if ('claimed' in answer) return answer.claimed;
    // safety: domain-of-another-organisation
    if (await isHeld(asking, answer.owner)) return null;
    over = answer.owner.number;
  }
  return null;
}

/** Whether a claim is in force. If not, the claimant's gate will not verify its row by it any more. */
async function isHeld({ env, keyring }: Asking, { org, id, number }: Claim): Promise<boolean> {
  const keys = await keyring.org(org);
  // The key ends with the organisation.
  if (!keys) return false;
  const trace = { route: 'job', org, credential: null, gate_calls: 0, gate_ms: 0, d1_calls: 0, code: null };
  const ask = {
    org,
    action: 'domain.check',
    operation: 'domain.held',
    bearer: 'system',
    path_org: null,
    named: {},
    finding: null,
    input: { id, number } satisfies HeldInput,
    idempotency: null,
    one_time: null,
    again: false,
    repeated: false,
    keys: { row: keys.row, answer: keys.answer },
    request: { id: newId('req'), ip: '', user_agent: null, reason: null, place: null },
  } as const;
  const { outcome } = await callGate(env, ask, trace, true, () => {});
  if (outcome.kind === 'ok') return (outcome.data as { held: boolean }).held;
  // A deleted organisation has no caller any more.
  if (outcome.kind === 'refused' && ['NOT_FOUND', 'UNAUTHENTICATED'].includes(outcome.refusal.code))
    return false;
  return unavailable();
}

export interface HeldInput {
  id: string;
  number: number;
}
