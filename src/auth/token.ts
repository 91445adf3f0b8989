// Tokens: prefix + base62 of (format byte, 16 bytes of org id, 24 random bytes, 8-byte tag). The tag is HMAC-SHA256 over the
// prefix and all before it, keyed by the deployment: what is forged, truncated, mistyped or re-prefixed is refused without asking
// anyone, and a genuine token says by itself whose gate to ask. Invariant: only the SHA-256 of a token is ever stored.
import QuickLRU from 'quick-lru';
import { concat, fromBase62, randomBytes, toBase62, utf8 } from '../crypto/bytes';
import { equal, hmac, sha256 } from '../crypto/digest';
import { idBytes, idOf } from '../db/ids';

/** Every kind of credential and its prefix (spec 2.4). */
export const prefixes = {
  api_key: 'svc_live_',
  session: 'svcsess_',
  agent: 'svcag_',
  provider: 'svcprov_',
  break_glass: 'svcbg_',
} as const;

export type Kind = keyof typeof prefixes;

/** Tokens that admit to one page and no call: they are no credentials, and made alike. */
const pagePrefixes = { enrolment: 'svcenrol_' } as const;
export type PageKind = keyof typeof pagePrefixes;

const allPrefixes: Record<Kind | PageKind, string> = { ...prefixes, ...pagePrefixes };

const FORMAT = 1;
const LENGTH = 1 + 16 + 24 + 8;

/** A token as the gate knows it. */
export interface TokenRef {
  kind: Kind | 'browser';
  org: string;
  /** SHA-256 of the canonical token, hex; the id of a browser session. */
  hash: string;
  /** Of a browser session: the number of the JWT that asks; absent where the refresh cookie does. */
  jwt?: number;
  /** Of a JWT: when it ends, in milliseconds. */
  until?: number;
}

export interface NewToken {
  token: string;
  hash: string;
  /** What may be shown later: the prefix and the last four characters. */
  hint: string;
}

const tagOf = (key: Uint8Array, prefix: string, body: Uint8Array) => hmac(key, concat(utf8(prefix), body)).subarray(0, 8);

/** Makes a token of that kind for an org. `key` is the deployment's token-tag key; `random` is given by known-answer tests alone. */
export function newToken(kind: Kind | PageKind, org: string, key: Uint8Array, random = randomBytes(24)): NewToken {
  const bytes = idBytes('org', org);
  if (!bytes) throw new Error('an org id is expected');
  const prefix = allPrefixes[kind];
  const body = concat(Uint8Array.of(FORMAT), bytes, random);
  const token = prefix + toBase62(concat(body, tagOf(key, prefix, body)));
  return { token, hash: sha256(token), hint: `${prefix}…${token.slice(-4)}` };
}

/** A token as it is spelled, not yet known to be genuine. */
export interface ReadToken<K = Kind> extends Omit<TokenRef, 'kind'> {
  kind: K;
  /** Whether this deployment made it. `key` is the token-tag key. */
  isGenuine(key: Uint8Array): boolean;
}

/** Tokens that this isolate has verified lately: whose they are and under which key, by hash. The tokens themselves are not kept. */
const verified = new QuickLRU<string, { org: string; key: Uint8Array }>({ maxSize: 2500 });

/** The one spelling of a token: that of an agent is also accepted under the prefix svc_agent_. */
export const canonical = (text: string): string => text.replace(/^svc_agent_/, prefixes.agent);

/** Reads the spelling of a credential's token; null for any other text. Does no I/O. */
export const readToken = (text: string): ReadToken | null => readAny(prefixes, canonical(text));

/** The same for a token of a page. */
export const readPageToken = (text: string): ReadToken<PageKind> | null => readAny(pagePrefixes, text);

function readAny<K extends string>(kinds: Record<K, string>, token: string): ReadToken<K> | null {
  for (const [kind, prefix] of Object.entries(kinds) as [K, string][]) {
    if (!token.startsWith(prefix)) continue;
    const hash = sha256(token);
    const before = verified.get(hash);
    if (before) return { kind, org: before.org, hash, isGenuine: (key) => equal(before.key, key) };
    const bytes = fromBase62(token.slice(prefix.length), LENGTH);
    if (!bytes || bytes[0] !== FORMAT) return null;
    const body = bytes.subarray(0, LENGTH - 8);
    const org = idOf('org', bytes.subarray(1, 17));
    const isGenuine = (key: Uint8Array): boolean => {
      const holds = equal(bytes.subarray(LENGTH - 8), tagOf(key, prefix, body));
      if (holds) verified.set(hash, { org, key });
      return holds;
    };
    return { kind, org, hash, isGenuine };
  }
  return null;
}
