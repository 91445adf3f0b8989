// Generated values: the exact form of each type, the uniformity of its characters, and the options that are
// refused. The encoder of SSH keys is held to files that ssh-keygen wrote
// (test/support/vectors/openssh.json), byte for byte.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canGenerate, generate, optionsProblem } from '../../../src/crypto/generate';
import { encodeOpenSsh } from '../../../src/crypto/openssh';
import { pem } from '../../../src/crypto/pem';
import { fromHex } from '../../support/hex';
import openssh from '../../support/vectors/openssh.json';

const TEXT_TYPES = ['password', 'api_key', 'generic', 'env_var'];
const FIXED_TYPES = ['webhook_secret', 'ssh_key', 'private_key'];
const OTHER_TYPES = ['database_url', 'certificate', 'oauth_token', 'json'];
const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i));

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
const fromPem = (text: string) => fromBase64(text.split('\n').slice(1, -2).join(''));

describe('generate: types', () => {
  it('have a generator if a valid value needs no third party', () => {
    expect([...TEXT_TYPES, ...FIXED_TYPES].filter((type) => !canGenerate(type))).toEqual([]);
  });

  it('have none otherwise, nor do unknown ones', async () => {
    for (const type of [...OTHER_TYPES, 'nonsense', 'constructor', '']) {
      expect(canGenerate(type)).toBe(false);
      await expect(generate(type)).rejects.toThrow('cannot be generated');
    }
  });
});

describe('generate: plain text', () => {
  it.each([
    ['password', 32],
    ['api_key', 40],
    ['generic', 32],
    ['env_var', 32],
  ])('of type %s has %i characters by default and no public key', async (type, length) => {
    const generated = await generate(type);
    expect(Object.keys(generated)).toEqual(['value']);
    expect(generated.value).toHaveLength(length);
    expect(generated.value).toMatch(type === 'password' ? /^[\w.~-]+$/ : /^[A-Za-z0-9]+$/);
  });

  it('has exactly the given length and only the given characters', async () => {
    const charset = fc
      .uniqueArray(fc.constantFrom(...PRINTABLE), { minLength: 2, maxLength: 95 })
      .map((chars) => chars.join(''));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...TEXT_TYPES),
        fc.integer({ min: 8, max: 4096 }),
        charset,
        async (type, length, charset) => {
          fc.pre(!/^[a-z0-9]{3,12}$/.test(charset)); // could be a name
          const { value } = await generate(type, { length, charset });
          expect(value).toHaveLength(length);
          expect([...value].filter((char) => !charset.includes(char))).toEqual([]);
        },
      ),
      { numRuns: 50 },
    );
  });

  // With 4096 draws from at most 94 characters, one that is never drawn has a probability below 1e-17.
  it.each([
    ['alphanumeric', /[A-Za-z0-9]/],
    ['letters', /[A-Za-z]/],
    ['lowercase', /[a-z]/],
    ['lower', /[a-z]/],
    ['uppercase', /[A-Z]/],
    ['upper', /[A-Z]/],
    ['digits', /[0-9]/],
    ['numeric', /[0-9]/],
    ['numbers', /[0-9]/],
    ['hex', /[0-9a-f]/],
    ['base32', /[A-Z2-7]/],
    ['base64', /[A-Za-z0-9+/]/],
    ['base64url', /[A-Za-z0-9_-]/],
    ['symbols', /[^A-Za-z0-9 ]/],
    ['ascii', /[^ ]/],
  ])('of the charset %s has all of its characters and no other', async (charset, member) => {
    const { value } = await generate('generic', { length: 4096, charset });
    expect([...new Set(value)].sort()).toEqual(PRINTABLE.filter((char) => member.test(char)));
  });

  // The bounds of these two are more than eight standard deviations away: failing by chance is out of the
  // question.
  it('draws every character equally often', async () => {
    const values = await Promise.all(
      Array.from({ length: 8 }, () => generate('generic', { length: 4096, charset: 'abc' })),
    );
    const text = values.map(({ value }) => value).join('');
    for (const char of 'abc')
      expect(Math.abs(text.split(char).length - 1 - text.length / 3)).toBeLessThan(700);
  });

  it('does not favour the first characters of a charset whose size does not divide 256', async () => {
    const charset = PRINTABLE.join('');
    const values = await Promise.all(
      Array.from({ length: 10 }, () => generate('generic', { length: 4096, charset })),
    );
    const chars = values.flatMap(({ value }) => [...value]);
    const last = new Set(PRINTABLE.slice(256 % 95));
    const share = chars.filter((char) => last.has(char)).length / chars.length;
    expect(share).toBeGreaterThan(0.285); // 29/95 = 0.305; a bare remainder would give 58/256 = 0.227
    expect(share).toBeLessThan(0.325);
  });

  it('differs each time', async () => {
    const values = await Promise.all(Array.from({ length: 50 }, () => generate('api_key')));
    expect(new Set(values.map(({ value }) => value)).size).toBe(50);
  });
});

describe('generate: a password', () => {
  it('has a lowercase letter, an uppercase letter and a digit even when short, and begins with one of them', async () => {
    const values = await Promise.all(Array.from({ length: 300 }, () => generate('password', { length: 8 })));
    for (const { value } of values) {
      expect(value).toHaveLength(8);
      for (const rule of [/[a-z]/, /[A-Z]/, /[0-9]/, /^[A-Za-z0-9]/]) expect(rule.test(value)).toBe(true);
    }
  });

  it('draws from letters, digits and - _ . ~ by default', async () => {
    const { value } = await generate('password', { length: 4096 });
    expect([...new Set(value)].sort()).toEqual(PRINTABLE.filter((char) => /[\w.~-]/.test(char)));
  });

  it('uses a charset of the caller as it is, without classes that it cannot have', async () => {
    expect((await generate('password', { charset: 'digits' })).value).toMatch(/^[0-9]{32}$/);
  });
});

describe('generate: a webhook secret', () => {
  it('is whsec_ and 32 bytes in base64', async () => {
    const { value, public_key } = await generate('webhook_secret');
    expect(value).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(fromBase64(value.slice(6))).toHaveLength(32);
    expect(public_key).toBeUndefined();
  });
});

describe('generate: an SSH key', () => {
  it.each(openssh.vectors)('is encoded as by ssh-keygen, with the comment "$comment"', (vector) => {
    const encoded = encodeOpenSsh(
      fromHex(vector.seed),
      fromHex(vector.public),
      vector.checkint,
      vector.comment,
    );
    expect(encoded.privateKey).toBe(vector.private_key);
    expect(encoded.publicKey).toBe(vector.public_key);
  });

  it('holds a key pair that belongs together, without a comment', async () => {
    const { value, public_key = '' } = await generate('ssh_key');
    expect(public_key).toMatch(/^ssh-ed25519 AAAA\S+$/);
    const publicKey = fromBase64(public_key.split(' ')[1] ?? '').subarray(-32);
    // Without a comment the file ends with: seed, public key, empty comment (4 bytes), padding (5 bytes).
    const file = fromPem(value);
    const seed = file.subarray(-73, -41);
    const inside = file.subarray(-41, -9);
    expect(inside).toEqual(publicKey);
    const checkint = new DataView(file.buffer).getUint32(file.length - 136);
    expect(encodeOpenSsh(seed, publicKey, checkint, '')).toEqual({
      privateKey: value,
      publicKey: public_key,
    });

    const pkcs8 = new Uint8Array([...fromHex('302e020100300506032b657004220420'), ...seed]);
    const signer = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
    const verifier = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
    const signature = await crypto.subtle.sign('Ed25519', signer, new Uint8Array(3));
    expect(await crypto.subtle.verify('Ed25519', verifier, signature, new Uint8Array(3))).toBe(true);
  });

  it('differs each time', async () => {
    expect((await generate('ssh_key')).public_key).not.toBe((await generate('ssh_key')).public_key);
  });

  it('is not encoded from parts that do not fit', () => {
    const ok = new Uint8Array(32);
    const short = new Uint8Array(31);
    expect(() => encodeOpenSsh(short, ok, 0, '')).toThrow('32 bytes');
    expect(() => encodeOpenSsh(ok, short, 0, '')).toThrow('32 bytes');
    expect(() => encodeOpenSsh(ok, ok, 0x1_0000_0000, '')).toThrow('32-bit');
    expect(() => encodeOpenSsh(ok, ok, -1, '')).toThrow('32-bit');
    expect(() => encodeOpenSsh(ok, ok, 0.5, '')).toThrow('32-bit');
    expect(() => encodeOpenSsh(ok, ok, 0, 'a\nssh-ed25519 AAAA')).toThrow('single line');
  });
});

describe('generate: a private key', () => {
  it('is a P-256 key pair that belongs together, as PKCS#8 and SPKI PEM', async () => {
    const { value, public_key = '' } = await generate('private_key');
    expect(value).toMatch(/^-----BEGIN PRIVATE KEY-----\n(\S{64}\n)*\S{1,64}\n-----END PRIVATE KEY-----\n$/);
    expect(public_key).toMatch(
      /^-----BEGIN PUBLIC KEY-----\n(\S{64}\n)*\S{1,64}\n-----END PUBLIC KEY-----\n$/,
    );
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const signer = await crypto.subtle.importKey('pkcs8', fromPem(value), algorithm, false, ['sign']);
    const verifier = await crypto.subtle.importKey('spki', fromPem(public_key), algorithm, false, ['verify']);
    const signature = await crypto.subtle.sign(algorithm, signer, new Uint8Array(3));
    expect(await crypto.subtle.verify(algorithm, verifier, signature, new Uint8Array(3))).toBe(true);
  });
});

describe('generate: options', () => {
  const lengths = 'must be an integer between 8 and 4096';

  it('may be absent or empty, and have limits, for plain text', () => {
    for (const type of TEXT_TYPES) {
      for (const options of [
        undefined,
        {},
        { length: 8 },
        { length: 4096, charset: 'hex' },
        { charset: 'ab' },
        { charset: PRINTABLE.join('') },
      ]) {
        expect(optionsProblem(type, options)).toBeNull();
      }
    }
  });

  it.each([0, 7, 4097, 8.5, -8, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuse the length %d',
    async (length) => {
      expect(optionsProblem('password', { length })).toEqual({ path: 'generate.length', message: lengths });
      await expect(generate('password', { length })).rejects.toThrow(`generate.length: ${lengths}`);
    },
  );

  it.each(['', 'a', 'aab', 'alphanum', 'abc\n', 'abcé', 'ab\u007f', 'HEXX', PRINTABLE.join('').repeat(3)])(
    'refuse the charset %j, which is neither a name nor distinct printable ASCII characters',
    async (charset) => {
      expect(optionsProblem('api_key', { charset })).toEqual({
        path: 'generate.charset',
        message: expect.stringMatching(
          /^must be one of: alphanumeric, .*, or 2 to 256 distinct printable ASCII characters$/,
        ),
      });
      await expect(generate('api_key', { charset })).rejects.toThrow(RangeError);
    },
  );

  it.each(FIXED_TYPES)('do not apply to type %s', async (type) => {
    const message = `does not apply to type ${type}, whose values have a fixed form`;
    expect(optionsProblem(type, { length: 32 })).toEqual({ path: 'generate.length', message });
    expect(optionsProblem(type, { charset: 'hex' })).toEqual({ path: 'generate.charset', message });
    expect(optionsProblem(type, {})).toBeNull();
    await expect(generate(type, { length: 32 })).rejects.toThrow(message);
  });

  it.each(OTHER_TYPES)('are refused as such for type %s, and only when they are present', (type) => {
    expect(optionsProblem(type, {})).toEqual({
      path: 'generate',
      message: `does not apply to type ${type}, whose values cannot be generated: send value instead`,
    });
    expect(optionsProblem(type, undefined)).toBeNull();
  });
});

describe('generate: PEM', () => {
  it('breaks lines at the given column, and only there', () => {
    expect(pem('X', new Uint8Array(6), 8)).toBe('-----BEGIN X-----\nAAAAAAAA\n-----END X-----\n');
    expect(pem('X', new Uint8Array(9), 8)).toBe('-----BEGIN X-----\nAAAAAAAA\nAAAA\n-----END X-----\n');
    expect(pem('X', new Uint8Array(0), 8)).toBe('-----BEGIN X-----\n-----END X-----\n');
  });

  it('decodes every sequence of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 80 }), (bytes, columns) => {
        expect(fromPem(pem('X', bytes, columns))).toEqual(bytes);
      }),
    );
  });
});
