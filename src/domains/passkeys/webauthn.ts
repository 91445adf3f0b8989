// WebAuthn (https://www.w3.org/TR/webauthn-3/) with the settings of this service: discoverable passkeys, user
// verification always required, no attestation. Invariant: a verified response is bound to this origin and to
// a challenge that we issued; a failure is null, without a reason.
import {
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject, decodeClientDataJSON } from '@simplewebauthn/server/helpers';
import { fromBase64Url, toBase64Url } from '../../crypto/bytes';
import type { PasskeyRow } from '../../db/schema';
import type { Assertion, Attestation } from './wire';

/** COSE: ES256, EdDSA, RS256. */
const ALGORITHMS = [-7, -8, -257];
const TIMEOUT = 300_000;
/** The most bytes of a public key (COSE); RSA with 8,192 bits takes about 1,050. */
const MOST_KEY = 1500;

const partyOf = (base: string) => ({ id: new URL(base).hostname, origin: new URL(base).origin });

/** A dummy public key: an assertion for an unknown passkey is verified with it, so the time is the same. */
const NOBODY =
  'pQECAyYgASFYIA3Qq8CxY1NYHOfm7COzRi-RjEVBzqLuQ99xjqzoom2zIlggDnbqDdc7HimrL4MRXu0lzveZkXEMy5dsKc43kc9jbEk';

interface Owner {
  handle: Uint8Array;
  email: string;
  name: string;
  /** Passkeys that the member already has. */
  has: Pick<PasskeyRow, 'credential_id' | 'transports'>[];
}

/** The options for registering a passkey. */
export async function creationOptions(
  base: string,
  challenge: Uint8Array,
  { handle, email, name, has }: Owner,
) {
  return generateRegistrationOptions({
    rpName: 'Secrets Vault',
    rpID: partyOf(base).id,
    userID: new Uint8Array(handle),
    userName: email,
    userDisplayName: name,
    challenge: new Uint8Array(challenge),
    timeout: TIMEOUT,
    attestationType: 'none',
    excludeCredentials: has.map(({ credential_id, transports }) => ({
      id: credential_id,
      transports: transports as never,
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/**
 * The options for signing in with a passkey, without naming a member. `allowed`: the passkeys of a signed-in
 * member.
 */
export const requestOptions = (base: string, challenge: Uint8Array, allowed: string[] = []) => ({
  challenge: toBase64Url(challenge),
  rpId: partyOf(base).id,
  timeout: TIMEOUT,
  userVerification: 'required' as const,
  allowCredentials: allowed.map((id) => ({ id, type: 'public-key' as const })),
});

/** The challenge in a response, not yet verified as ours; empty if there is none. */
export function challengeOf(clientDataJSON: string): string {
  try {
    const { challenge, crossOrigin } = decodeClientDataJSON(clientDataJSON);
    return typeof challenge === 'string' && crossOrigin !== true ? challenge : '';
  } catch {
    return '';
  }
}

/** A verified new passkey. */
export type Registered = Pick<
  PasskeyRow,
  'name' | 'credential_id' | 'public_key' | 'counter' | 'transports' | 'backed_up'
>;

/** Verifies a registration whose challenge was verified as ours. */
export async function verifyCreation(
  base: string,
  response: Attestation,
  challenge: string,
): Promise<Registered | null> {
  const party = partyOf(base);
  try {
    if (!isUnattested(response.response.attestationObject)) return null;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as never,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      expectedType: 'webauthn.create',
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (
      !verified ||
      registrationInfo.credential.id !== response.id ||
      registrationInfo.credential.publicKey.length > MOST_KEY
    )
      return null;
    const { credential, credentialBackedUp } = registrationInfo;
    const transports = [...new Set(response.response.transports ?? [])];
    return {
      name: nameOf(response.authenticatorAttachment ?? null, transports),
      credential_id: credential.id,
      public_key: toBase64Url(credential.publicKey),
      counter: credential.counter,
      transports,
      backed_up: credentialBackedUp ? 1 : 0,
    };
  } catch {
    return null;
  }
}

/**
 * Attestation was not requested, so it is not read: its certificates could make the verifier fetch addresses
 * chosen by an attacker.
 */
function isUnattested(attestationObject: string): boolean {
  const decoded = decodeAttestationObject(new Uint8Array(fromBase64Url(attestationObject) ?? []));
  const fmt = decoded.get('fmt') as string;
  return fmt === 'none' || (fmt === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
}

function nameOf(attachment: string | null, transports: string[]): string {
  if (attachment === 'platform') return 'Passkey on this device';
  if (transports.includes('hybrid')) return 'Passkey on another device';
  return transports.some((way) => ['usb', 'nfc', 'ble', 'smart-card'].includes(way))
    ? 'Security key'
    : 'Passkey';
}

/** What an assertion changes about a passkey. */
export type Used = Pick<PasskeyRow, 'counter' | 'backed_up'>;

/** Verifies an assertion whose challenge was verified as ours, with its passkey or the dummy key. */
export async function verifyAssertion(
  base: string,
  response: Assertion,
  challenge: string,
  passkey: Pick<PasskeyRow, 'credential_id' | 'public_key' | 'counter'> | null,
): Promise<Used | null> {
  const party = partyOf(base);
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as never,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      expectedType: 'webauthn.get',
      requireUserVerification: true,
      credential: {
        id: response.id,
        publicKey: new Uint8Array(fromBase64Url(passkey?.public_key ?? NOBODY) ?? []),
        counter: passkey?.counter ?? 0,
      },
    });
    const { newCounter, credentialBackedUp } = authenticationInfo;
    return verified && passkey ? { counter: newCounter, backed_up: credentialBackedUp ? 1 : 0 } : null;
  } catch {
    return null;
  }
}

/** Whether a signature counter is valid after another: it grows, or both are 0 (WebAuthn 7.2, step 22). */
export const mayFollow = (before: number, after: number): boolean =>
  after > before || (after === 0 && before === 0);
