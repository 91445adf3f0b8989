// DPoP: which URLs are the same, and which keys are public keys.

import fc from 'fast-check';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { readProof, targetOf } from '../../../src/auth/authentication/dpop';
import { type PublicKey, readPublicKey, thumbprintOf } from '../../../src/auth/authentication/jwk';
import { isStrongPoint } from '../../../src/crypto/ed25519';
import { fromHex } from '../../support/hex';

describe('DPoP: htu', () => {
  const HERE = 'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/a';

  it.each([
    HERE,
    'HTTPS://Vault.EXAMPLE.com/api/v1/orgs/org_1/secrets/by-name/a',
    'https://vault.example.com:443/api/v1/orgs/org_1/secrets/by-name/a',
    `${HERE}?environment=staging`,
    `${HERE}#part`,
    `${HERE}?`,
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/%61',
    'https://vault.example.com/api/v1/orgs/org%5F1/secrets/by-name/a',
    'https://vault.example.com/api/./v1/x/../orgs/org_1/secrets/by-name/a',
    'https://vault.example.com/api/%2E/v1/x/%2e%2e/orgs/org_1/secrets/by-name/a',
  ])('%s is the same URL', (htu) => {
    expect(targetOf(htu)).toBe(targetOf(HERE));
  });

  it.each([
    'http://vault.example.com/api/v1/orgs/org_1/secrets/by-name/a',
    'https://vault.example.com:8443/api/v1/orgs/org_1/secrets/by-name/a',
    'https://vault.example.com.evil.example/api/v1/orgs/org_1/secrets/by-name/a',
    'https://vault.example.com@evil.example/api/v1/orgs/org_1/secrets/by-name/a',
    'https://user@vault.example.com/api/v1/orgs/org_1/secrets/by-name/a',
    'https://:pass@vault.example.com/api/v1/orgs/org_1/secrets/by-name/a',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/b',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/a/',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/A',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name//a',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name%2Fa',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/%2561',
    'https://vault.example.com/api/v1/orgs/org_1/secrets/by-name/a%3Fb',
    'https://vault.example.com/',
    'ftp://vault.example.com/api/v1/orgs/org_1/secrets/by-name/a',
    '/api/v1/orgs/org_1/secrets/by-name/a',
    'vault.example.com/api/v1/orgs/org_1/secrets/by-name/a',
    '',
  ])('%s is another URL, or none', (htu) => {
    expect(targetOf(htu)).not.toBe(targetOf(HERE));
  });

  it('has one spelling for each path: normalising twice changes nothing, and escapes of other characters stay apart', () => {
    const segment = fc.string({
      unit: fc.constantFrom(...'aZ09-._~%25/:@!$&()*+,;= é漢'.split('')),
      maxLength: 12,
    });
    fc.assert(
      fc.property(segment, segment, (a, b) => {
        const url = (text: string) => `https://vault.example.com/${encodeURIComponent(text)}`;
        const one = targetOf(url(a));
        const other = targetOf(url(b));
        expect(targetOf(one as string)).toBe(one);
        const isDots = [a, b].some((text) => text === '.' || text === '..');
        if (!isDots) expect(one === other).toBe(a === b);
        const shouted = url(a).replace(/%../g, (found) => found.toLowerCase());
        expect(targetOf(shouted)).toBe(one);
      }),
      { numRuns: 500 },
    );
  });
});

describe('DPoP: the header', () => {
  it('is refused as not valid, regardless of its text', async () => {
    const request = { method: 'GET', url: 'https://vault.example.com/x', token: 't' };
    const part = fc.oneof(
      fc.base64String(),
      fc.string(),
      fc.json().map((text) => btoa(encodeURIComponent(text))),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 4 }), async (parts) => {
        expect(await readProof(parts.join('.'), request, Date.now())).toHaveProperty('invalid');
      }),
      { numRuns: 300 },
    );
  });
});

describe('device: public keys', () => {
  it('of P-256 and Ed25519 are accepted, and have the thumbprint of RFC 7638', async () => {
    // RFC 8037, appendix A.3.
    const known: PublicKey = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    expect(thumbprintOf(known)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
    expect(await readPublicKey(known)).toEqual(known);
    for (const alg of ['ES256', 'EdDSA'])
      for (let i = 0; i < 8; i++) {
        const jwk = await exportJWK((await generateKeyPair(alg, { extractable: true })).publicKey);
        const key = await readPublicKey({ ...jwk, kid: 'k', use: 'sig' });
        expect(key).toEqual(jwk);
        expect(thumbprintOf(key as PublicKey)).toBe(await calculateJwkThumbprint(jwk));
      }
  });

  // The points of small order, and their other spellings: for them anybody can sign.
  it.each([
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0000000000000000000000000000000000000000000000000000000000000080',
    '0100000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000080',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
    // No points at all, and a point in a spelling that is not the canonical one.
    '0200000000000000000000000000000000000000000000000000000000000000',
    '0700000000000000000000000000000000000000000000000000000000000000',
    'f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ])('Ed25519: %s is refused', (hex) => {
    expect(isStrongPoint(fromHex(hex))).toBe(false);
  });
});
