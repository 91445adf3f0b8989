// WebAuthn by the examples of its specification (Level 3, "Test Vectors"): taken are those in which the user
// was verified, at our own origin, without an attestation that names anyone else; the rest is refused.
import { decodeAttestationObject, parseAuthenticatorData } from '@simplewebauthn/server/helpers';
import { expect, it } from 'vitest';
import { fromBase64Url, toBase64Url } from '../../../src/crypto/bytes';
import {
  challengeOf,
  mayFollow,
  verifyAssertion,
  verifyCreation,
} from '../../../src/domains/passkeys/webauthn';
import vectors from '../../support/vectors/webauthn.json';

const BASE = 'https://example.org';
type Vector = (typeof vectors)[number];
const credential = ({ id }: Vector) => ({ id, rawId: id, type: 'public-key' as const });

const create = ({ creation, ...vector }: Vector, base = BASE, challenge = creation.challenge) =>
  challengeOf(creation.clientDataJSON) === creation.challenge
    ? verifyCreation(
        base,
        { ...credential(vector as Vector), response: { ...creation, transports: ['usb'] } },
        challenge,
      )
    : null;

const keyOf = ({ creation }: Vector) => {
  const data = decodeAttestationObject(new Uint8Array(fromBase64Url(creation.attestationObject) ?? [])).get(
    'authData',
  );
  return toBase64Url(parseAuthenticatorData(data).credentialPublicKey as Uint8Array);
};
const get = (vector: Vector, base = BASE, challenge = vector.assertion.challenge, counter = 0) =>
  challengeOf(vector.assertion.clientDataJSON) === vector.assertion.challenge
    ? verifyAssertion(base, { ...credential(vector), response: vector.assertion }, challenge, {
        credential_id: vector.id,
        public_key: keyOf(vector),
        counter,
      })
    : null;
const named = (name: string) => vectors.find((vector) => vector.name === name) as Vector;
const taken = async (attempt: (vector: Vector) => Promise<unknown> | null) => {
  const found = await Promise.all(
    vectors.map(async (vector) => ((await attempt(vector)) ? [vector.name] : [])),
  );
  return found.flat();
};

it('WebAuthn: registrations are accepted or refused as the examples of the standard say', async () => {
  expect(await taken(create)).toEqual(['packed-self-es256']);
  expect(await create(named('packed-self-es256'))).toEqual({
    name: 'Security key',
    credential_id: named('packed-self-es256').id,
    public_key: keyOf(named('packed-self-es256')),
    counter: 0,
    transports: ['usb'],
    backed_up: 1,
  });
});

it('WebAuthn: assertions are accepted or refused as the examples of the standard say', async () => {
  expect(await taken(get)).toEqual(['none-es256-long-credential-id', 'packed-es256']);
  expect(await get(named('packed-es256'))).toEqual({ counter: 0, backed_up: 0 });
});

it('WebAuthn: refuses another origin, another challenge and another key', async () => {
  for (const base of [
    'https://example.com',
    'http://example.org',
    'https://example.org:8443',
    'https://www.example.org',
  ]) {
    expect(await taken((vector) => create(vector, base)), base).toEqual([]);
    expect(await taken((vector) => get(vector, base)), base).toEqual([]);
  }
  expect(await taken((vector) => create(vector, BASE, 'AAAA'))).toEqual([]);
  expect(await taken((vector) => get(vector, BASE, 'AAAA'))).toEqual([]);
  expect(await taken((vector) => get(vector, BASE, undefined, 1))).toEqual([]);
  const other = { ...named('packed-es256'), creation: named('none-es256').creation };
  expect(await get(other)).toBe(null);
  const nobody = named('packed-es256');
  expect(
    await verifyAssertion(
      BASE,
      { ...credential(nobody), response: nobody.assertion },
      nobody.assertion.challenge,
      null,
    ),
  ).toBe(null);
});

it('WebAuthn: a counter may go up, or be absent on both sides', () => {
  expect([mayFollow(0, 0), mayFollow(0, 1), mayFollow(4, 5)]).toEqual([true, true, true]);
  expect([mayFollow(1, 0), mayFollow(1, 1), mayFollow(5, 4)]).toEqual([false, false, false]);
});
