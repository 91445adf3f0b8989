// Devices for tests: a key pair, the device that is registered with its public half, and the proofs that it
// signs.
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { sha256Url } from '../../../src/crypto/digest';
import { faults } from '../faults';
import { type Answer, type Caller, send } from '../world';

export type Algorithm = 'ES256' | 'EdDSA';

export interface KeyPair {
  alg: Algorithm;
  privateKey: CryptoKey;
  jwk: Record<string, string>;
}

export async function newKeyPair(alg: Algorithm = 'ES256'): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: (await exportJWK(publicKey)) as Record<string, string> };
}

/** A registered device with a key. */
export async function newDevice(
  o: Caller,
  { alg, ...fields }: Record<string, unknown> & { alg?: Algorithm } = {},
) {
  const keys = await newKeyPair(alg);
  const { json, status, text } = await o.post('/devices', {
    name: 'laptop',
    platform: 'test',
    public_key: keys.jwk,
    ...fields,
  });
  if (status !== 201) throw new Error(`no device: ${status} ${text}`);
  return { id: json.id as string, keys };
}

/** What a proof says that is not as usual. */
export interface Unusual {
  claims?: JWTPayload & Record<string, unknown>;
  header?: Partial<JWTHeaderParameters>;
}

/** A proof for a request: of a path of the service under test, by a token. */
export function proofOf(
  keys: KeyPair,
  token: string,
  method: string,
  path: string,
  { claims = {}, header = {} }: Unusual = {},
) {
  const payload = {
    htm: method,
    htu: `http://localhost${path.split('?')[0]}`,
    ath: sha256Url(token),
    jti: crypto.randomUUID(),
    iat: Math.floor((faults.clock ?? Date.now()) / 1000),
    ...claims,
  };
  return new SignJWT(payload)
    .setProtectedHeader({ typ: 'dpop+jwt', alg: keys.alg, jwk: keys.jwk, ...header } as JWTHeaderParameters)
    .sign(keys.privateKey);
}

/** Calls on an org's paths by a bound credential, each with a proof of its own. */
export function provenBy(o: Caller, keys: KeyPair) {
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const whole = `/api/v1/orgs/${o.id}${path}`;
    return send(method, whole, {
      token: o.token,
      body,
      headers: { DPoP: await proofOf(keys, o.token, method, whole), ...headers },
    });
  };
  return {
    ...o,
    call,
    get: (path: string, headers?: Record<string, string>) => call('GET', path, undefined, headers),
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('POST', path, body, headers),
    patch: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('PATCH', path, body, headers),
    del: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('DELETE', path, body, headers),
  } satisfies Partial<Caller>;
}

/** `GET /whoami` with a proof. */
export const whoamiBy = async (token: string, proof: string | null, scheme = 'Bearer') =>
  send('GET', WHOAMI, {
    headers: { Authorization: `${scheme} ${token}`, ...(proof !== null && { DPoP: proof }) },
  });

export const WHOAMI = '/api/v1/whoami';
