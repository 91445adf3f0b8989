// A gradual deployment: for minutes, Workers of this release call gates of the release before, and the
// reverse. Invariants: what both releases know works in each direction; a request that uses what the older
// gate does not know changes nothing there.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../../scripts/shared/wrangler.mjs';
import { configOf, platforms } from '../vendors/fakes/all.ts';
import { BOOTSTRAP, build, checkout, releaseBefore, startRollout } from './rollout.mjs';
import { skipped } from './slow.mjs';

const tag = releaseBefore();
const skip = skipped || (tag === null && 'no tag of a release: the checkout has no history');
const options = { timeout: 300_000, skip };

let older;
let newer;
let rollout;
let fake;
let org;
let key;
const call = (method, at, body, { token = key, headers = {} } = {}) =>
  rollout.call(method, `/orgs/${org}${at}`, token, body, headers);
/** The JSON of an answer that succeeds. */
async function good(...args) {
  const { status, json } = await call(.../** @type {Parameters<typeof call>} */ (args));
  assert.ok(status < 300, `${args.slice(0, 2)}: ${status} ${JSON.stringify(json)}`);
  return json;
}

before(async () => {
  if (skip) return;
  [older, newer] = [build(checkout(/** @type {string} */ (tag))), build(root)];
  fake = await platforms.vercel.start();
  rollout = await startRollout(
    { worker: older, gates: older },
    { ALLOW_PRIVATE_TARGETS: 'true', PLATFORM_BASE_URLS: JSON.stringify({ vercel: fake.url }) },
  );
  const owner = { email: 'ann@example.com', name: 'Ann' };
  const { json } = await rollout.call('POST', '/orgs', BOOTSTRAP, { name: 'Acme', owner });
  [org, key] = [json.org.id, json.api_key.token];
  await good('POST', '/secrets', { name: 'BEFORE', type: 'generic', value: 'of before' });
});
after(async () => {
  await rollout?.stop();
  await fake?.close();
});

/** Waits for the end of a sync. */
async function synced() {
  const config = configOf(platforms.vercel, fake);
  const { syncId } = await good('POST', '/integrations/sync', {
    platform: 'vercel',
    config,
    environmentId: 'production',
  });
  for (let tries = 0; tries < 300; tries++) {
    const sync = await good('GET', `/integrations/syncs/${syncId}`);
    if (sync.finishedAt) return sync;
    await sleep(100);
  }
  throw new Error('the sync does not end');
}

/** What both releases know. `by` is in the names of what it makes. */
async function works(by) {
  const secret = { name: `OF_${by}`, type: 'generic', value: `value of ${by}` };
  const headers = { 'Idempotency-Key': by };
  const made = await good('POST', '/secrets', secret, { headers });
  const again = await call('POST', '/secrets', secret, { headers });
  assert.deepEqual([again.json.id, again.headers.get('Idempotency-Replayed')], [made.id, 'true']);
  assert.equal((await good('GET', '/secrets/by-name/BEFORE')).value, 'of before');
  assert.equal((await good('GET', `/secrets/${made.id}`)).value, `value of ${by}`);
  await good('POST', `/secrets/${made.id}/rotate`, { value: `second of ${by}` });
  const { values } = await good('GET', '/environments/production/values');
  assert.deepEqual([values.BEFORE, values[`OF_${by}`]], ['of before', `second of ${by}`]);

  const { id, token } = await good('POST', '/api-keys', {
    name: by,
    scopes: ['secrets:read', 'tokens:write'],
  });
  const child = await good('POST', '/access-tokens', { ttlSeconds: 600 }, { token });
  assert.equal((await call('GET', '/secrets/by-name/BEFORE', undefined, { token: child.token })).status, 200);
  await good('DELETE', `/api-keys/${id}`);
  for (const ended of [token, child.token])
    assert.equal((await call('GET', '/secrets/by-name/BEFORE', undefined, { token: ended })).status, 401);

  const sync = await synced();
  assert.deepEqual(
    sync.results.filter(({ action }) => !['created', 'updated', 'unchanged'].includes(action)),
    [],
  );
  const stream = await rollout.request(`/orgs/${org}/events/stream?types=SECRET_CREATED`, key, {
    headers: { 'Last-Event-ID': '0' },
  });
  const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; !text.includes(made.id); ) {
    const { value, done } = await reader.read();
    assert.ok(!done, text);
    text += value;
  }
  await reader.cancel();
  assert.equal((await good('GET', '/audit-log/verify')).ok, true);
}

describe('rollout: this release and the one before', options, () => {
  it('a Worker of this release works with gates of the one before', async () => {
    await rollout.turn({ worker: newer, gates: older });
    await works('NEW_WORKER');
  });

  it('a Worker of the release before works with gates of this one', async () => {
    await rollout.turn({ worker: older, gates: newer });
    await works('OLD_WORKER');
  });

  it('this release goes on with what both made', async () => {
    await rollout.turn({ worker: newer, gates: newer });
    await works('NEITHER');
    const { values } = await good('GET', '/environments/production/values');
    assert.equal(values.OF_NEW_WORKER, 'second of NEW_WORKER');
    assert.equal(values.OF_OLD_WORKER, 'second of OLD_WORKER');
  });
});
