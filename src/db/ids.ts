// Ids: a type prefix and 16 bytes in base62, 6 of the time in milliseconds and 10 random. They sort by
// creation time and cannot be guessed.
import { fromBase62, randomBytes, toBase62 } from '../crypto/bytes';
import type { CredentialKind } from './credential-kinds';

/**
 * The id prefix of each kind, defined only here. `value` is a ciphertext, which is bound to an id of its own.
 */
export const idPrefixes = {
  org: 'org',
  environment: 'env',
  member: 'mem',
  passkey: 'psk',
  team: 'team',
  grant: 'grt',
  secret: 'sec',
  value: 'ver',
  api_key: 'key',
  session: 'tok',
  agent: 'agt',
  provider: 'prv',
  break_glass: 'bgt',
  browser: 'ses',
  trust: 'trs',
  device: 'dev',
  policy: 'pol',
  approval: 'apr',
  webhook: 'whk',
  delivery: 'dlv',
  integration: 'int',
  sync: 'syn',
  share: 'shr',
  domain: 'dom',
  sso_connection: 'sso',
  sso_link: 'lnk',
  former_member: 'fmr',
  scim: 'scm',
  log_stream: 'log',
  upstream: 'ups',
  reserved_secret: 'rsv',
  scan: 'scn',
  incident: 'inc',
  audit_entry: 'aud',
  event: 'evt',
  request: 'req',
  signing_key: 'jwk',
} as const;

export type IdKind = keyof typeof idPrefixes;
export type Prefix = (typeof idPrefixes)[IdKind];

const { api_key, session, agent, provider, break_glass, browser, trust, scim } = idPrefixes;

/** The id prefix of each kind of credential. */
export const credentialPrefixes = {
  api_key,
  session,
  agent,
  provider,
  break_glass,
  browser,
  trust,
  scim,
} as const satisfies Record<CredentialKind, Prefix>;

/** The start of ids of a kind. */
export const idStart = (kind: IdKind): string => `${idPrefixes[kind]}_`;

/** Sorts after all ids of a kind. */
export const idEnd = (kind: IdKind): string => `${idStart(kind)}~`;

/** An example id of a kind, for documentation. */
export const exampleId = (kind: IdKind): string => `${idStart(kind)}01M9xQeKcX3vTz6nWJfQ4b`;

/** The kind of credential that an id belongs to, by its prefix; null for any other id. */
export function credentialKindOf(id: string): CredentialKind | null {
  const prefix = id.slice(0, id.indexOf('_'));
  const found = Object.entries(credentialPrefixes).find(([, one]) => one === prefix);
  return found ? (found[0] as CredentialKind) : null;
}

/** The time and the bytes of the newest id. */
let time = 0;
const newest = new DataView(new ArrayBuffer(16));
const bytes = new Uint8Array(newest.buffer);

/** A new id. Within one isolate, later ids sort after earlier ones, even within a millisecond. */
export function newId(prefix: Prefix, now = Date.now()): string {
  if (now > time) {
    time = now;
    newest.setUint16(0, Math.floor(time / 2 ** 32));
    newest.setUint32(2, time % 2 ** 32);
    bytes.set(drawn(10), 6);
  } else {
    // The first 5 random bytes count up and the last 5 are fresh, so an id does not reveal its neighbours.
    increment(bytes.subarray(6, 11));
    bytes.set(drawn(5), 11);
  }
  return `${prefix}_${toBase62(bytes)}`;
}

/** Random bytes for ids, drawn in bulk and each used once. */
const POOL = 4096;
let pool: Uint8Array = new Uint8Array();

function drawn(length: number): Uint8Array {
  if (pool.length < length) pool = randomBytes(POOL);
  const given = pool.subarray(0, length);
  pool = pool.subarray(length);
  return given;
}

/** The 16 bytes of an id, or null if the text is not an id of that type. */
export const idBytes = (prefix: Prefix, id: string): Uint8Array | null =>
  id.startsWith(`${prefix}_`) ? fromBase62(id.slice(prefix.length + 1), 16) : null;

/** The id of that type with these 16 bytes. */
export const idOf = (prefix: Prefix, bytes: Uint8Array): string => `${prefix}_${toBase62(bytes)}`;

/** Adds one to a big-endian number. */
function increment(digits: Uint8Array): void {
  for (let at = digits.length - 1; at >= 0; at--) {
    digits[at] = ((digits[at] as number) + 1) & 255;
    if (digits[at] !== 0) break;
  }
}
