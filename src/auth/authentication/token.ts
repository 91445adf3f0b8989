// Tokens: prefix + base62 of (format byte, 16 bytes of org id, 24 random bytes, 8-byte tag). The tag is
// HMAC-SHA256 over the prefix and everything before it, keyed by the deployment. A token that was forged,
// truncated, mistyped or given another prefix is refused without I/O, and a genuine token names its
// organisation. Invariant: only the SHA-256 of a token is stored.
import QuickLRU from 'quick-lru';
import { concat, fromBase62, randomBytes, toBase62, utf8 } from '../../crypto/bytes';
import { equal, hmac, sha256 } from '../../crypto/digest';
import { idBytes, idOf } from '../../db/ids';

/** The kinds of credentials that are tokens, and their prefixes. Browser sessions and trusts are not. */
export const prefixes = {
  api_key: 'svc_live_',
  session: 'svcsess_',
  agent: 'svcag_',
  provider: 'svcprov_',
  break_glass: 'svcbg_',
  scim: 'svcscim_',
} as const;

export type TokenKind = keyof typeof prefixes;

/**
 * Tokens that give access to one page and no API request. They are not credentials, but have the same format.
 */
const pagePrefixes = { enrolment: 'svcenrol_', share: 'svcshare_' } as const;
export type PageKind = keyof typeof pagePrefixes;

const allPrefixes: Record<TokenKind | PageKind, string> = { ...prefixes, ...pagePrefixes };

/** Agent tokens are also accepted with this prefix. */
const AGENT_ALIAS = 'svc_agent_';

const FORMAT = 1;
const LENGTH = 1 + 16 + 24 + 8;
/** Characters after the prefix. */
const SPELLED = 66;

/** A token as the gate knows it. */
export interface TokenRef {
  kind: TokenKind | 'browser';
  org: string;
  /** SHA-256 of the canonical token in hex; for a browser session, its id. */
  hash: string;
  /** For a browser session: the number of the requesting JWT; absent for a refresh cookie. */
  jwt?: number;
  /** For a JWT: when it expires, in milliseconds. */
  until?: number;
  /** For a signed request: the credential, and the random part of its access key id in hex. */
  aws?: { id: string; mark: string };
}

export interface NewToken {
  token: string;
  hash: string;
  /** What may be shown later: the prefix and the last four characters. */
  hint: string;
}

const tagOf = (key: Uint8Array, prefix: string, body: Uint8Array) =>
  hmac(key, concat(utf8(prefix), body)).subarray(0, 8);

/**
 * Creates a token of this kind for an organisation. `key` is the deployment's token-tag key; only
 * known-answer tests pass `random`.
 */
export function newToken(
  kind: TokenKind | PageKind,
  org: string,
  key: Uint8Array,
  random = randomBytes(24),
): NewToken {
  const bytes = idBytes('org', org);
  if (!bytes) throw new Error('an org id is required');
  const prefix = allPrefixes[kind];
  const body = concat(Uint8Array.of(FORMAT), bytes, random);
  const token = prefix + toBase62(concat(body, tagOf(key, prefix, body)));
  return { token, hash: sha256(token), hint: `${prefix}…${token.slice(-4)}` };
}

/** A parsed token, not yet verified. */
export interface ReadToken<K = TokenKind> extends Omit<TokenRef, 'kind'> {
  kind: K;
  /** Whether this deployment created it. `key` is the token-tag key. */
  isGenuine(key: Uint8Array): boolean;
}

/**
 * Tokens recently verified by this isolate: organisation and key by hash. The tokens themselves are not
 * stored.
 */
const verified = new QuickLRU<string, { org: string; key: Uint8Array }>({ maxSize: 2500 });

/** The canonical form of a token. */
export const canonical = (text: string): string =>
  text.startsWith(AGENT_ALIAS) ? prefixes.agent + text.slice(AGENT_ALIAS.length) : text;

/** Parses a credential's token; null for any other text. Does no I/O. */
export const readToken = (text: string): ReadToken | null => readAny(prefixes, canonical(text));

/** The same for a token of any kind, those of pages included. */
export const readAnyToken = (text: string): ReadToken<TokenKind | PageKind> | null =>
  readAny(allPrefixes, canonical(text));

/** Finds texts with the form of a token of any kind, wherever they stand; for `matchAll`. */
export const ANY_TOKEN = new RegExp(
  `(?:${[...Object.values(allPrefixes), AGENT_ALIAS].join('|')})[0-9A-Za-z]{${SPELLED}}`,
  'g',
);

/** The same for a token of one kind of page. */
export const readPageToken = (kind: PageKind, text: string): ReadToken<PageKind> | null => {
  const { [kind]: prefix } = pagePrefixes;
  return readAny({ [kind]: prefix } as Record<PageKind, string>, text);
};

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
