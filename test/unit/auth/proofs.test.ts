// Challenges, user handles and cookies: known answers, computed apart from this code (HMAC written out in
// Python), and what is refused.
import { expect, it } from 'vitest';
import {
  CHALLENGE_LIVES,
  newChallenge,
  readChallenge,
  readCookie,
  readHandle,
  toCookie,
  userHandle,
} from '../../../src/auth/authentication/proofs';
import { fromBase64Url, toBase64Url } from '../../../src/crypto/bytes';
import vectors from '../../support/vectors/proofs.json';

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const key = bytes(vectors.key);
const { now, org, member, n } = vectors;
const text = toBase64Url(newChallenge(key, ['login'], now, bytes(vectors.random)));
const read = (challenge: string, purpose = ['login'], at = now) =>
  readChallenge(key, purpose, challenge, 'ses', at);

/** The same text with one bit of one byte turned, for every byte. */
const turned = (spelled: string) => {
  const whole = fromBase64Url(spelled) as Uint8Array;
  return [...whole].map((_, at) => toBase64Url(whole.map((byte, i) => (i === at ? byte ^ 1 : byte))));
};

it('proof: has a stable encoding', () => {
  expect(text).toBe(vectors.challenge);
  expect(read(text)).toBe(vectors.session);
  expect(toBase64Url(userHandle(key, org, member))).toBe(vectors.handle);
  expect(toCookie(key, { org, session: vectors.session, n })).toBe(vectors.cookie);
  expect(readCookie(key, vectors.cookie)).toEqual({ org, session: vectors.session, n });
  expect(readHandle(key, vectors.handle)).toEqual({ org, member });
});

it('proof: a challenge is valid for five minutes and its purpose, with a prefix of its own', () => {
  expect(read(text, ['login'], now + CHALLENGE_LIVES - 1)).toBe(vectors.session);
  expect(CHALLENGE_LIVES).toBe(300_000);
  for (const [purpose, at] of [
    [['login'], now + CHALLENGE_LIVES],
    [['login'], now - 1],
    [['login', ''], now],
    [['enrol', 'x'], now],
    [[], now],
  ] as const)
    expect(read(text, [...purpose], at), `${purpose} ${at - now}`).toBe(null);
  const other = newChallenge(key, ['login'], now);
  expect(read(toBase64Url(other))).not.toBe(vectors.session);
});

it('proof: is refused with any bit changed, cut, lengthened, or under another key', () => {
  for (const wrong of [...turned(text), text.slice(0, -1), `${text}A`, ''])
    expect(read(wrong), wrong).toBe(null);
  for (const wrong of [...turned(vectors.handle), vectors.handle.slice(0, -2), ''])
    expect(readHandle(key, wrong), wrong).toBe(null);
  const { cookie } = vectors;
  for (let at = 0; at < cookie.length; at++) {
    const wrong = `${cookie.slice(0, at)}${cookie[at] === '1' ? '2' : '1'}${cookie.slice(at + 1)}`;
    expect(readCookie(key, wrong), wrong).toBe(null);
  }
  const other = new Uint8Array(32);
  expect(readCookie(other, cookie)).toBe(null);
  expect(readHandle(other, vectors.handle)).toBe(null);
  expect(readChallenge(other, ['login'], text, 'ses', now)).toBe(null);
});
