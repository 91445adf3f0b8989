// Authenticates a request that a client of AWS has signed. Invariants: an access key id that this deployment
// did not make costs no I/O; a wrong signature counts against the client's address, never against the budget
// of the key, whose id is no secret; the gate decides whether the credential is still valid.
import { endOfSession, readAccessKey, secretOf } from '../../auth/authentication/aws-keys';
import { type Signed, type SignedParts, signatureOf } from '../../auth/authentication/signature-v4';
import { equal, sha256 } from '../../crypto/digest';
import { keyringOf } from '../../keys/keyring';
import type { Authenticated, Incoming } from '../context';
import { countRefused } from './refused-attempts';

/** Why a signed request has no caller; a number of seconds to wait if its address had too many. */
export type Unsigned = 'unknown' | 'mismatch' | number;

export async function authenticateSigned(
  { env, settings, facts }: Pick<Incoming, 'env' | 'settings' | 'facts'>,
  signed: Signed,
  parts: SignedParts,
  now = Date.now(),
): Promise<Authenticated | Unsigned> {
  const { access_key_id, session_token } = signed;
  const key = readAccessKey(access_key_id);
  if (!key) return 'unknown';
  const keyring = keyringOf(env, settings.masterKeys);
  const deployment = await keyring.deployment(key.ref.org);
  if (!key.isGenuine(deployment.tokenTag)) return 'unknown';
  const isSession = key.ref.kind === 'session';
  const end = session_token === null ? null : endOfSession(session_token, key, deployment.tokenTag);
  // safety: session-token-with-its-key
  if (isSession ? end === null : session_token !== null) return 'unknown';
  const keys = await keyring.org(key.ref.org);
  if (!keys) return 'unknown';
  const right = await signatureOf(signed, secretOf(keys.aws, access_key_id), parts);
  // safety: signature-matches
  if (!equal(right, signed.signature)) return (await countRefused(env, facts.ip)) || 'mismatch';
  return {
    bearer: access_key_id,
    genuine: session_token === null ? key.ref : { ...key.ref, hash: sha256(session_token) },
    isExpired: end !== null && end <= now,
    deployment,
  };
}
