// Keys: what wraps them, what opens them, and which keys come from them.
// The vectors were computed apart from this code: HKDF from HMAC, written out in Python.
import { describe, expect, it, vi } from 'vitest';
import { randomBytes, toBase64 } from '../../../src/crypto/bytes';
import type { Purpose } from '../../../src/crypto/envelope';
import type { Env, MasterKey } from '../../../src/env';
import { ApiError, errorBody } from '../../../src/errors';
import {
  deriveDeployment,
  deriveOrg,
  keyringOf,
  unwrap,
  type WrappedKey,
  wrap,
} from '../../../src/keys/keyring';
import { toHex } from '../../support/hex';
import { slow } from '../../support/slow';
import vectors from '../../support/vectors/keyring.json';

const hexOf = (keys: object) =>
  Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, toHex(key)]));
const master = (id: string): MasterKey => ({ id, key: randomBytes(32) });
const k1 = master('k1');
const k2 = master('k2');
const k3 = master('k3');
const key = randomBytes(32);
const wrapped = wrap([k1], 'org key', 'org_1', key);

/** The refusal that unwrapping ends in. */
function refusalOf(masters: MasterKey[], purpose: Purpose, owner: string, what: WrappedKey) {
  try {
    unwrap(masters, purpose, owner, what);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it was unwrapped');
}

describe('keyring: a wrapped key', () => {
  it('unwraps to the same key, and names its master key', () => {
    expect(wrapped.master_id).toBe('k1');
    expect(unwrap([k1], 'org key', 'org_1', wrapped)).toEqual(key);
  });

  it('unwraps after another master key was put first, in any order', () => {
    for (const masters of [
      [k2, k1],
      [k3, k2, k1],
      [k1, k3],
    ])
      expect(unwrap(masters, 'org key', 'org_1', wrapped)).toEqual(key);
  });

  it('is under the first master key', () => {
    const later = wrap([k2, k1], 'org key', 'org_1', key);
    expect(later.master_id).toBe('k2');
    expect(unwrap([k2], 'org key', 'org_1', later)).toEqual(key);
    expect(refusalOf([k1], 'org key', 'org_1', later).refusal.code).toBe('MISCONFIGURED');
  });

  it('differs each time', () => {
    expect(wrap([k1], 'org key', 'org_1', key).key_sealed).not.toBe(wrapped.key_sealed);
  });

  const impostor = { id: 'k1', key: k2.key };
  const renamed = { id: 'k2', key: k1.key };
  it.each<[string, MasterKey[], Purpose, string, WrappedKey]>([
    ['for another owner', [k1], 'org key', 'org_2', wrapped],
    ['for no owner', [k1], 'org key', '', wrapped],
    ['for another purpose', [k1], 'deployment key', 'org_1', wrapped],
    ['when its master key is gone', [k2, k3], 'org key', 'org_1', wrapped],
    ['when there is no master key', [], 'org key', 'org_1', wrapped],
    ['when another key bears the id of its own', [impostor], 'org key', 'org_1', wrapped],
    ['when its own key bears another id', [renamed], 'org key', 'org_1', { ...wrapped, master_id: 'k2' }],
    ['when it names another master key', [k1, k2], 'org key', 'org_1', { ...wrapped, master_id: 'k2' }],
    [
      'when it is damaged',
      [k1],
      'org key',
      'org_1',
      { ...wrapped, key_sealed: wrapped.key_sealed.slice(0, -4) },
    ],
    ['when it is empty', [k1], 'org key', 'org_1', { ...wrapped, key_sealed: '' }],
  ])('does not unwrap %s', (_when, masters, purpose, owner, what) => {
    expect(refusalOf(masters, purpose, owner, what).refusal.code).toBe('MISCONFIGURED');
  });
});

describe('keyring: the refusal of a key that does not unwrap', () => {
  slow('names the variable and the id of the missing master key, and no key', () => {
    const error = refusalOf([k2, k3], 'org key', 'org_1', wrapped);
    expect(error.refusal.message).toContain('MASTER_KEYS');
    expect(error.refusal.message).toMatch(/\bk1\b/);
    const told = `${error} ${error.stack} ${JSON.stringify(error)} ${JSON.stringify(errorBody(error.refusal, 'http://localhost'))}`;
    for (const secret of [k1.key, k2.key, k3.key, key]) {
      expect(told).not.toContain(toBase64(secret));
      expect(told).not.toContain(toHex(secret));
    }
    expect(told).not.toContain(wrapped.key_sealed);
  });
});

describe('keyring: why a key does not unwrap', () => {
  it.each<[string, MasterKey[], string, string]>([
    ['a missing master key', [k2], 'does not contain the master key k1', 'other bytes'],
    ['another master key with its id', [{ id: 'k1', key: k2.key }], 'other bytes', 'does not contain'],
  ])('is said for %s', (_what, masters, said, unsaid) => {
    const { message } = refusalOf(masters, 'org key', 'org_1', wrapped).refusal;
    expect(message).toContain(said);
    expect(message).not.toContain(unsaid);
  });
});

describe('keyring: a database that does not answer', () => {
  it('refuses, and the log has the reason', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
    const query = { bind: () => query, all: fails, raw: fails, run: fails };
    async function fails(): Promise<never> {
      throw new Error('database or disk is full');
    }
    const keyring = keyringOf({ DB: { prepare: () => query } } as unknown as Env, [k1]);
    await expect(keyring.deployment()).rejects.toMatchObject({ refusal: { code: 'UNAVAILABLE' } });
    const [line] = logged.mock.calls.map(([text]) => JSON.parse(text));
    logged.mockRestore();
    expect(line.event).toBe('d1_read_failed');
    expect(line.why).toContain('database or disk is full');
  });
});

describe('keyring: derived keys', () => {
  const root = Uint8Array.from(Buffer.from(vectors.root, 'hex'));

  it('of the deployment are known', () => expect(hexOf(deriveDeployment(root))).toEqual(vectors.deployment));
  it('of an org are known', () => expect(hexOf(deriveOrg(root))).toEqual(vectors.org));

  it('have 32 bytes each, are all different, none the root, and differ for another root', () => {
    const keys = [...Object.values(deriveOrg(root)), ...Object.values(deriveOrg(k1.key))] as Uint8Array[];
    for (const one of keys) expect(one).toHaveLength(32);
    expect(new Set([...keys, root, k1.key].map(toHex)).size).toBe(keys.length + 2);
  });
});
