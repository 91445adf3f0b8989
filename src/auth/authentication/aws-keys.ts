// Access keys in the form of AWS's, by which its clients sign requests. An access key id is a prefix and the
// base32 of (16 bytes of org id, 16 bytes of the credential's id, 8 random bytes, 5-byte tag). The secret
// access key is derived from the id, so that it is stored nowhere. Invariants: an id that this deployment did
// not make is refused without I/O; the credential's row has the random bytes, so a pair ends when they
// change.
import { concat, fromBase32, fromBase62, toBase32, toBase62, toBase64, utf8 } from '../../crypto/bytes';
import { equal, hkdf, hmac, sha256 } from '../../crypto/digest';
import { idBytes, idOf } from '../../db/ids';
import type { TokenRef } from './token';

/** Those of API keys, and those of session tokens. */
const prefixes = { api_key: 'SVCA', session: 'SVCS' } as const;
const ids = { api_key: 'key', session: 'tok' } as const;
type Kind = keyof typeof prefixes;

const BODY = 16 + 16 + 8;
const TAG = 5;
/** The characters before the tag. */
const UNTAGGED = 4 + (BODY / 5) * 8;

export interface AccessKey {
  access_key_id: string;
  secret_access_key: string;
}

/** Random bytes of an access key id. */
export const MARK_BYTES = 8;
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const tagOf = (key: Uint8Array, text: string, length: number) => hmac(key, utf8(text)).subarray(0, length);

/** The secret of an access key. `root` is the organisation's key for them. */
export const secretOf = (root: Uint8Array, access_key_id: string): string =>
  toBase64(hkdf(root, utf8('svc/sigv4/v1'), access_key_id.slice(0, UNTAGGED))).slice(0, 40);

/**
 * The access key of a credential.
 * @param key the deployment's token-tag key
 * @param random what the credential's row has, in hex
 */
export function accessKeyOf(
  kind: Kind,
  { org, id, random }: { org: string; id: string; random: Uint8Array },
  { tokenTag, root }: { tokenTag: Uint8Array; root: Uint8Array },
): AccessKey {
  const parts = [idBytes('org', org), idBytes(ids[kind], id)];
  if (!parts[0] || !parts[1]) throw new Error('an access key needs the ids of an org and a credential');
  const untagged = prefixes[kind] + toBase32(concat(parts[0], parts[1], random));
  const access_key_id = untagged + toBase32(tagOf(tokenTag, untagged, TAG));
  return { access_key_id, secret_access_key: secretOf(root, access_key_id) };
}

/** What the row of a credential has of its access key. */
export const markOf = (random: Uint8Array): string => hexOf(random);

/** A parsed access key id, not yet verified. */
export interface ReadAccessKey {
  ref: TokenRef & { aws: { id: string; mark: string } };
  /** Whether this deployment made it. `key` is the token-tag key. */
  isGenuine(key: Uint8Array): boolean;
}

/** Parses an access key id; null for any other text. Does no I/O. */
export function readAccessKey(text: string): ReadAccessKey | null {
  const kind = (Object.keys(prefixes) as Kind[]).find((one) => text.startsWith(prefixes[one]));
  const bytes = kind && fromBase32(text.slice(4), BODY + TAG);
  if (!kind || !bytes) return null;
  return {
    ref: {
      kind,
      org: idOf('org', bytes.subarray(0, 16)),
      hash: sha256(text),
      aws: { id: idOf(ids[kind], bytes.subarray(16, 32)), mark: hexOf(bytes.subarray(32, BODY)) },
    },
    // safety: access-key-tag
    isGenuine: (key) => equal(bytes.subarray(BODY), tagOf(key, text.slice(0, UNTAGGED), TAG)),
  };
}

// ---------------------------------------------------------------- session tokens

const SESSION = 'svcaws_';
const SESSION_BODY = 16 + 16 + MARK_BYTES + 6;
const SESSION_TAG = 8;

/**
 * What a client of AWS sends beside the access key of a session. It is no bearer token.
 * @param until when it ends at the latest, in milliseconds
 */
export function sessionTokenOf(
  { org, id, random, until }: { org: string; id: string; random: Uint8Array; until: number },
  tokenTag: Uint8Array,
): string {
  const time = new Uint8Array(6);
  new DataView(time.buffer).setUint16(0, Math.floor(until / 2 ** 32));
  new DataView(time.buffer).setUint32(2, until % 2 ** 32);
  const parts = [idBytes('org', org), idBytes('tok', id)];
  if (!parts[0] || !parts[1]) throw new Error('a session token needs the ids of an org and a session');
  const body = concat(parts[0], parts[1], random, time);
  return SESSION + toBase62(concat(body, tagOf(tokenTag, SESSION + hexOf(body), SESSION_TAG)));
}

/** When a session token ends, if it belongs to this access key; null if it does not. */
export function endOfSession(token: string, { ref }: ReadAccessKey, tokenTag: Uint8Array): number | null {
  const bytes = token.startsWith(SESSION)
    ? fromBase62(token.slice(SESSION.length), SESSION_BODY + SESSION_TAG)
    : null;
  if (!bytes) return null;
  const body = bytes.subarray(0, SESSION_BODY);
  // safety: session-token-tag
  const isGenuine = equal(bytes.subarray(SESSION_BODY), tagOf(tokenTag, SESSION + hexOf(body), SESSION_TAG));
  // safety: session-token-of-this-key
  const isOfKey =
    idOf('org', body.subarray(0, 16)) === ref.org &&
    idOf('tok', body.subarray(16, 32)) === ref.aws.id &&
    hexOf(body.subarray(32, 40)) === ref.aws.mark;
  const time = new DataView(body.buffer, body.byteOffset + 40, 6);
  return isGenuine && isOfKey && ref.kind === 'session'
    ? time.getUint16(0) * 2 ** 32 + time.getUint32(2)
    : null;
}
