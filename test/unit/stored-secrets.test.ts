// Secrets of the deployment that are bindings to Cloudflare's Secrets Store.
import { expect, it } from 'vitest';
import { type DeployedEnv, settingsOf } from '../../src/env';
import { withStoredSecrets } from '../../src/stored-secrets';

const KEYS = `k1:${btoa('a'.repeat(32))}`;
const OTHER = `k2:${btoa('b'.repeat(32))},${KEYS}`;
const TOKEN = 'bootstrap-token-of-at-least-32-characters';
const START = 1_800_000_000_000;

/** A deployment whose secrets are in a store, and how often the store was asked. */
function stored() {
  const store = { keys: KEYS, token: TOKEN, isAway: false, asked: 0 };
  const secret = (name: 'keys' | 'token') => ({
    async get() {
      store.asked++;
      if (store.isAway) throw new Error('Secret not found');
      return store[name];
    },
  });
  const env = { MASTER_KEYS: secret('keys'), BOOTSTRAP_TOKEN: secret('token') } as unknown as DeployedEnv;
  return { store, env };
}

it('stored secrets: an environment of texts is itself, at once', () => {
  const env = { MASTER_KEYS: KEYS, BOOTSTRAP_TOKEN: TOKEN } as unknown as DeployedEnv;
  expect(withStoredSecrets(env)).toBe(env);
});

it('stored secrets: the texts are read once a minute, and are the same environment while they are the same', async () => {
  const { store, env } = stored();
  const first = await withStoredSecrets(env, START);
  expect(settingsOf(first)).toMatchObject({ bootstrapToken: TOKEN, masterKeys: [{ id: 'k1' }] });
  expect(await withStoredSecrets(env, START + 59_999)).toBe(first);
  expect(store.asked).toBe(2);
  expect(await withStoredSecrets(env, START + 60_000)).toBe(first);
  expect(store.asked).toBe(4);
  store.keys = OTHER;
  const next = await withStoredSecrets(env, START + 120_000);
  expect(settingsOf(next)).toMatchObject({ masterKeys: [{ id: 'k2' }, { id: 'k1' }] });
});

it('stored secrets: a text that was read serves while the store is away', async () => {
  const { store, env } = stored();
  const first = await withStoredSecrets(env, START);
  store.isAway = true;
  expect(await withStoredSecrets(env, START + 60_000)).toBe(first);
});

it('stored secrets: the error names one that was never read, and the next request asks again', async () => {
  const { store, env } = stored();
  store.isAway = true;
  const settings = settingsOf(await withStoredSecrets(env, START));
  expect(settings).toEqual({ problem: expect.stringContaining('MASTER_KEYS is a secret') });
  store.isAway = false;
  expect(settingsOf(await withStoredSecrets(env, START + 1))).toMatchObject({ bootstrapToken: TOKEN });
});

it('stored secrets: one may be a text and the other in the store', async () => {
  const { env } = stored();
  const mixed = { ...env, BOOTSTRAP_TOKEN: TOKEN } as DeployedEnv;
  expect(settingsOf(await withStoredSecrets(mixed, START))).toMatchObject({ bootstrapToken: TOKEN });
});

it('stored secrets: a malformed text is refused like that of a variable', async () => {
  const { store, env } = stored();
  store.keys = 'k1:short';
  expect(settingsOf(await withStoredSecrets(env, START))).toEqual({
    problem: expect.stringContaining('MASTER_KEYS must be'),
  });
});
