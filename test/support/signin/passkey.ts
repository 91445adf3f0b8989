// A passkey in software: what a browser and its authenticator answer to creation and request options
// (WebAuthn Level 3, sections 6 and 7), in the JSON of PublicKeyCredential.toJSON(). Each part can be
// spoiled, for what must be refused.
import { concat, fromBase64Url, randomBytes, toBase64Url, utf8 } from '../../../src/crypto/bytes';

/** CBOR (RFC 8949) of integers, texts, byte strings and maps, with a Map's order kept. */
export function cbor(value: unknown): Uint8Array {
  const head = (major: number, n: number) =>
    n < 24
      ? Uint8Array.of((major << 5) | n)
      : n < 256
        ? Uint8Array.of((major << 5) | 24, n)
        : Uint8Array.of((major << 5) | 25, n >> 8, n & 255);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return concat(head(3, utf8(value).length), utf8(value));
  if (value instanceof Uint8Array) return concat(head(2, value.length), value);
  const map = value as Map<unknown, unknown>;
  return concat(head(5, map.size), ...[...map].flatMap(([key, each]) => [cbor(key), cbor(each)]));
}

const digest = async (data: Uint8Array) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', data as BufferSource));

const integer = (bytes: Uint8Array) => {
  let at = 0;
  while (at < bytes.length - 1 && bytes[at] === 0) at++;
  const bare = bytes.subarray(at);
  const body = (bare[0] as number) > 127 ? concat(Uint8Array.of(0), bare) : bare;
  return concat(Uint8Array.of(2, body.length), body);
};
/** An ECDSA signature as DER, from r and s side by side. */
const der = (raw: Uint8Array) => {
  const body = concat(integer(raw.subarray(0, 32)), integer(raw.subarray(32)));
  return concat(Uint8Array.of(48, body.length), body);
};

const algorithms = {
  ES256: { id: -7, make: { name: 'ECDSA', namedCurve: 'P-256' }, sign: { name: 'ECDSA', hash: 'SHA-256' } },
  EdDSA: { id: -8, make: { name: 'Ed25519' }, sign: { name: 'Ed25519' } },
  RS256: {
    id: -257,
    make: {
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 2048,
      publicExponent: Uint8Array.of(1, 0, 1),
      hash: 'SHA-256',
    },
    sign: { name: 'RSASSA-PKCS1-v1_5' },
  },
} as const;
export type Algorithm = keyof typeof algorithms;

const cose = (alg: number, jwk: JsonWebKey): Map<number, unknown> => {
  const bytes = (text?: string) => fromBase64Url(text ?? '') as Uint8Array;
  if (jwk.kty === 'EC')
    return new Map<number, unknown>([
      [1, 2],
      [3, alg],
      [-1, 1],
      [-2, bytes(jwk.x)],
      [-3, bytes(jwk.y)],
    ]);
  if (jwk.kty === 'OKP')
    return new Map<number, unknown>([
      [1, 1],
      [3, alg],
      [-1, 6],
      [-2, bytes(jwk.x)],
    ]);
  return new Map<number, unknown>([
    [1, 3],
    [3, alg],
    [-1, bytes(jwk.n)],
    [-2, bytes(jwk.e)],
  ]);
};

export interface Spoil {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  credentialType?: string;
  crossOrigin?: boolean;
  uv?: false;
  up?: false;
  handle?: string | null;
  key?: CryptoKey;
  counter?: number;
  id?: string;
  signature?: string;
  fmt?: string;
  attStmt?: Map<string, unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: options are what the service answers
type Options = any;
const UP = 1;
const UV = 4;
const BACKED_UP = 24;
const ATTESTED = 64;

/**
 * One passkey at one origin. `counts`: its counter goes up, as a security key's does; else it stays 0, as a
 * synced passkey's.
 */
export async function newPasskey(origin: string, { algorithm = 'ES256' as Algorithm, counts = false } = {}) {
  const { id: alg, make, sign } = algorithms[algorithm];
  const pair = (await crypto.subtle.generateKey(make as never, true, ['sign', 'verify'])) as CryptoKeyPair;
  const id = toBase64Url(randomBytes(32));
  let handle = '';
  let counter = 0;
  let rpId = new URL(origin).hostname;

  const authData = async (spoil: Spoil, flags: number, rest: Uint8Array = new Uint8Array()) => {
    if (counts) counter++;
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, spoil.counter ?? counter);
    const set =
      flags | (spoil.up === false ? 0 : UP) | (spoil.uv === false ? 0 : UV) | (counts ? 0 : BACKED_UP);
    return concat(await digest(utf8(spoil.rpId ?? rpId)), Uint8Array.of(set), count, rest);
  };
  const clientData = (spoil: Spoil, type: string, challenge: string) =>
    utf8(
      JSON.stringify({
        type: spoil.type ?? type,
        challenge: spoil.challenge ?? challenge,
        origin: spoil.origin ?? origin,
        crossOrigin: spoil.crossOrigin ?? false,
      }),
    );
  const credential = (spoil: Spoil, response: object) => ({
    id: spoil.id ?? id,
    rawId: spoil.id ?? id,
    type: spoil.credentialType ?? 'public-key',
    authenticatorAttachment: counts ? 'cross-platform' : 'platform',
    clientExtensionResults: {},
    response,
  });
  return {
    id,
    get handle() {
      return handle;
    },
    async create(options: Options, spoil: Spoil = {}) {
      if (!options.pubKeyCredParams.some((each: { alg: number }) => each.alg === alg))
        throw new Error(`${algorithm} is not offered`);
      rpId = options.rp.id;
      handle = options.user.id;
      const jwk = (await crypto.subtle.exportKey('jwk', pair.publicKey)) as JsonWebKey;
      const bytes = fromBase64Url(id) as Uint8Array;
      const attested = concat(
        new Uint8Array(16),
        Uint8Array.of(0, bytes.length),
        bytes,
        cbor(cose(alg, jwk)),
      );
      const data = await authData(spoil, ATTESTED, attested);
      const attestation = new Map<string, unknown>([
        ['fmt', spoil.fmt ?? 'none'],
        ['attStmt', spoil.attStmt ?? new Map()],
        ['authData', data],
      ]);
      return credential(spoil, {
        clientDataJSON: toBase64Url(clientData(spoil, 'webauthn.create', options.challenge)),
        attestationObject: toBase64Url(cbor(attestation)),
        authenticatorData: toBase64Url(data),
        publicKeyAlgorithm: alg,
        transports: counts ? ['usb'] : ['hybrid', 'internal'],
      });
    },
    async get(options: Options, spoil: Spoil = {}) {
      const data = await authData(spoil, 0);
      const client = clientData(spoil, 'webauthn.get', options.challenge);
      const raw = new Uint8Array(
        await crypto.subtle.sign(
          sign,
          spoil.key ?? pair.privateKey,
          concat(data, await digest(client)) as BufferSource,
        ),
      );
      return credential(spoil, {
        clientDataJSON: toBase64Url(client),
        authenticatorData: toBase64Url(data),
        signature: spoil.signature ?? toBase64Url(algorithm === 'ES256' ? der(raw) : raw),
        userHandle: spoil.handle === undefined ? handle : spoil.handle,
      });
    },
  };
}
export type Passkey = Awaited<ReturnType<typeof newPasskey>>;

/** Assertions that a service must refuse, whatever they are for. */
export async function spoiledAssertions(): Promise<Record<string, Spoil>> {
  const { privateKey } = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
  ])) as CryptoKeyPair;
  return {
    origin: { origin: 'https://evil.example.com' },
    rpId: { rpId: 'evil.example.com' },
    'challenge of nobody': { challenge: toBase64Url(new Uint8Array(38)) },
    'no challenge': { challenge: '' },
    type: { type: 'webauthn.create' },
    'user verification': { uv: false },
    'user presence': { up: false },
    'cross origin': { crossOrigin: true },
    'another key': { key: privateKey },
    signature: { signature: 'AAAA' },
  };
}
