// Tokens: known answers, and the refusal without I/O of everything that is not exactly a token of this
// deployment. The vectors were computed apart from this code, in Python.
import { describe, expect, it } from 'vitest';
import { newToken, prefixes, readToken, type TokenKind } from '../../../src/auth/authentication/token';
import { randomBytes, toBase62 } from '../../../src/crypto/bytes';
import { newId } from '../../../src/db/ids';
import { fromHex } from '../../support/hex';
import vectors from '../../support/vectors/token.json';

const key = fromHex(vectors.key);
const kinds = Object.keys(prefixes) as TokenKind[];
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const isAccepted = (text: string) => readToken(text)?.isGenuine(key) ?? false;

describe.each(kinds)('token: of kind %s', (kind) => {
  const known = vectors.tokens[kind];
  const { token } = known;
  const prefix = prefixes[kind];

  it('has the known encoding', () => {
    expect(newToken(kind, vectors.org, key, fromHex(vectors.random))).toEqual(known);
  });

  it('holds its kind, its org and its hash, and is genuine', () => {
    const read = readToken(token);
    expect(read).toMatchObject({ kind, org: vectors.org, hash: known.hash });
    expect(read?.isGenuine(key)).toBe(true);
  });

  it('is refused with any one character changed', () => {
    for (let at = 0; at < token.length; at++) {
      for (const char of `${ALPHABET}_- `) {
        if (char !== token[at] && isAccepted(token.slice(0, at) + char + token.slice(at + 1)))
          throw new Error(`accepted with ${char} at ${at}`);
      }
    }
  });

  it('is refused with two neighbours swapped', () => {
    for (let at = 0; at < token.length - 1; at++) {
      const a = token.charAt(at);
      const b = token.charAt(at + 1);
      if (a !== b)
        expect([at, isAccepted(token.slice(0, at) + b + a + token.slice(at + 2))]).toEqual([at, false]);
    }
  });

  it('is refused cut anywhere, at either end', () => {
    for (let length = 0; length < token.length; length++) {
      expect(readToken(token.slice(0, length))).toBeNull();
      expect(isAccepted(token.slice(token.length - length))).toBe(false);
    }
  });

  it('is refused with a character more, anywhere', () => {
    for (let at = 0; at <= token.length; at++)
      for (const char of ['0', 'z', '_', ' ', '\n', '\0'])
        expect(isAccepted(token.slice(0, at) + char + token.slice(at))).toBe(false);
    expect(isAccepted(token + token)).toBe(false);
  });

  it('is refused under the prefix of another kind, or of none', () => {
    const body = token.slice(prefix.length);
    for (const other of kinds) expect(isAccepted(prefixes[other] + body)).toBe(other === kind);
    for (const other of ['', 'svc_', 'svc_test_', 'SVC_LIVE_']) expect(isAccepted(other + body)).toBe(false);
    expect(isAccepted(`svc_agent_${body}`)).toBe(kind === 'agent');
  });

  it('is refused under the key of another deployment', () => {
    const read = readToken(token);
    expect(read?.isGenuine(randomBytes(32))).toBe(false);
    expect(read?.isGenuine(key.map((byte, at) => (at === 31 ? byte ^ 1 : byte)))).toBe(false);
    expect(isAccepted(newToken(kind, vectors.org, randomBytes(32)).token)).toBe(false);
  });

  it('shows only its prefix and last four characters in its hint', () => {
    expect(known.hint).toBe(`${prefix}…${token.slice(-4)}`);
  });
});

describe('token: encoding', () => {
  it('reads svc_agent_ as svcag_', () => {
    const { token, hash } = vectors.tokens.agent;
    const read = readToken(token.replace('svcag_', 'svc_agent_'));
    expect(read).toMatchObject({ kind: 'agent', org: vectors.org, hash });
    expect(read?.isGenuine(key)).toBe(true);
    expect(isAccepted(`svc_agent_${token}`)).toBe(false);
  });

  it('makes a different one each time, for one org', () => {
    const org = newId('org');
    const all = Array.from({ length: 100 }, () => newToken('api_key', org, key));
    expect(new Set(all.map(({ token }) => token)).size).toBe(100);
    for (const { token, hash } of all) expect(readToken(token)).toMatchObject({ org, hash });
  });

  it('accepts only org ids', () => {
    for (const id of ['', 'org_', 'org_1', newId('env'), `${newId('org')}0`])
      expect(() => newToken('api_key', id, key)).toThrow();
  });

  it('refuses another format byte, and junk', () => {
    for (const format of [0, 2, 255]) {
      const bytes = randomBytes(49);
      bytes[0] = format;
      expect(readToken(prefixes.api_key + toBase62(bytes))).toBeNull();
    }
    for (const junk of [
      '',
      'junk',
      'svc_live_',
      `svc_live_${'z'.repeat(66)}`,
      `svc_live_${'é'.repeat(66)}`,
      'Bearer x',
      '\0',
    ])
      expect(readToken(junk)).toBeNull();
  });
});
