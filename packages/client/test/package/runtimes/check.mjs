// The behaviour of the client in every runtime. It uses only common APIs: fetch, Web Crypto, AbortController,
// timers and streams.
import { ConnectionError, createVault, NotFoundError, VaultError } from '@secrets-vault/client';

/** @param {boolean} holds @param {string} what */
function hold(holds, what) {
  if (!holds) throw new Error(`it does not hold that ${what}`);
}

/**
 * @param {{ url: string, org: string, key: string, name: string, watch: boolean }} at `name` is of no secret
 *   yet
 * @returns {Promise<string>} what was seen
 */
export async function check({ url, org, key, name, watch }) {
  const vault = createVault({ url, org, credential: key });
  const info = await vault.set(name, 'one', { type: 'password', tags: { team: 'core' } });
  hold(info.version === 1 && info.tags.team === 'core', 'a secret is stored');
  const secret = await vault.get(name);
  hold(
    secret.reveal() === 'one' &&
      `${secret}` === '[redacted]' &&
      JSON.stringify({ secret }) === '{"secret":"[redacted]"}',
    'it is redacted',
  );
  hold((await vault.get(name)).reveal() === 'one', 'an ETag serves');
  const values = await vault.values({ prefix: name });
  hold(values.size === 1 && values.get(name)?.reveal() === 'one', 'values are read');
  const missing = await vault.get(`${name}_MISSING`).catch((error) => error);
  hold(
    missing instanceof NotFoundError && missing.code === 'NOT_FOUND' && missing instanceof VaultError,
    'errors are classes',
  );
  const aborted = await vault
    .get(name, { signal: AbortSignal.abort(new Error('no more')) })
    .catch((error) => error);
  hold(aborted.message === 'no more', 'a signal ends a call');
  const { data } = await vault.api.GET('/whoami');
  hold(data.kind === 'session', 'an API key makes session tokens');
  if (watch) {
    const changed = new Promise((done) =>
      vault.onChange((change) => change.names.includes(name) && change.type && done(change)),
    );
    await new Promise((done) => setTimeout(done, 1_000));
    const { secret: rotated } = await vault.rotate(name);
    hold((await changed).type === 'SECRET_ROTATED', 'the stream tells of a rotation');
    hold((await vault.get(name)).reveal() === rotated?.reveal(), 'the new value is read');
  }
  vault.close();
  const nowhere = createVault({ url: 'http://127.0.0.1:1', org, credential: 'svcag_x', retries: 0 });
  hold(
    (await nowhere.get(name).catch((error) => error)) instanceof ConnectionError,
    'a vault that cannot be reached is an error',
  );
  return 'all of it holds';
}

/** The entry point for the local Workers runtime. */
export default {
  /** @param {Request} request */
  async fetch(request) {
    return new Response(await check(await request.json()).catch((error) => `${error.stack}`));
  },
};
