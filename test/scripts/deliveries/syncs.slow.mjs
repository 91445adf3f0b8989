// Syncs to all platforms by the built service, over HTTP, through its queue: to servers that speak the
// vendors' wire formats (test/vendors/fakes).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { configOf, platforms } from '../../vendors/fakes/all.ts';
import { copyOfProject, startService } from '../service.mjs';

/** @type {Record<string, any>} */
const fakes = {};
let service;
let org;
let dir;

const call = (method, path, body) => service.call(method, `/orgs/${org.id}${path}`, org.key, body);

/** Starts a server for each platform, and the service with their addresses. */
async function started() {
  const base = {};
  for (const [name, platform] of Object.entries(platforms)) {
    fakes[name] = await platform.start();
    base[name] = fakes[name].url;
  }
  dir = copyOfProject();
  service = await startService(dir, {
    ALLOW_PRIVATE_TARGETS: 'true',
    PLATFORM_BASE_URLS: JSON.stringify(base),
  });
  const owner = { email: 'ann@example.com', name: 'Ann' };
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'Demo',
    owner,
  });
  org = { id: json.org.id, key: json.api_key.token };
}
after(() => Promise.all(Object.values(fakes).map((fake) => fake.close())));

const values = { ALPHA: 'value of alpha', BETA: 'välue ✓ of "beta" and $more', GAMMA: 'g-123456789' };

/** Asks for a sync and waits for its end. */
async function sync(platform, fields = {}) {
  const config = configOf(platforms[platform], fakes[platform]);
  const { status, json } = await call('POST', '/integrations/sync', {
    platform,
    config,
    environmentId: 'production',
    ...fields,
  });
  assert.equal(status, fields.dryRun ? 200 : 202, JSON.stringify(json));
  if (fields.dryRun) return json;
  for (let tries = 0; tries < 300; tries++) {
    const { json: sync } = await call('GET', `/integrations/syncs/${json.syncId}`);
    if (sync.finishedAt) return sync;
    await sleep(200);
  }
  throw new Error(`${platform} does not end`);
}

/** The files below a directory. */
const filesIn = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

/** What of a platform's config is a credential. */
function credentialsOf(platform) {
  const config = configOf(platforms[platform], fakes[platform]);
  const { token, apiToken, secretAccessKey, clientSecret, serviceAccountJson } = config;
  return [
    token,
    apiToken,
    secretAccessKey,
    clientSecret,
    serviceAccountJson?.private_key?.slice(60, 120),
  ].filter((text) => text !== undefined);
}

const short = ({ results }) =>
  results.map(({ name, action, code }) => `${name} ${action}${code ? ` ${code}` : ''}`);

test('sync: every platform is written to, left unchanged if nothing changed, updated and pruned', async (t) => {
  await started();
  const ids = {};
  for (const [name, value] of Object.entries(values)) {
    const { json } = await call('POST', '/secrets', { name, type: 'generic', value });
    ids[name] = json.id;
  }
  const all = Object.keys(platforms);
  for (const platform of all)
    await t.test(platform, async () => {
      assert.deepEqual(short(await sync(platform, { dryRun: true })), [
        'ALPHA created',
        'BETA created',
        'GAMMA created',
      ]);
      assert.equal(fakes[platform].writes().length, 0);
      assert.deepEqual(short(await sync(platform)), ['ALPHA created', 'BETA created', 'GAMMA created']);
      const writes = fakes[platform].writes().length;
      assert.deepEqual(short(await sync(platform)), ['ALPHA unchanged', 'BETA unchanged', 'GAMMA unchanged']);
      assert.equal(fakes[platform].writes().length, writes);
    });
  await call('PATCH', `/secrets/${ids.ALPHA}`, { value: 'a-newer-value-of-alpha-7f3a' });
  await call('DELETE', `/secrets/${ids.GAMMA}`);
  for (const platform of all)
    await t.test(`${platform}, changed`, async () => {
      const pruned = await sync(platform, { prune: true });
      assert.deepEqual(short(pruned), ['ALPHA updated', 'BETA unchanged', 'GAMMA deleted']);
      assert.equal(pruned.status, 'completed');
    });
  await t.test('nothing of a value or a credential is stored or logged', () => {
    const files = filesIn(path.join(dir, '.wrangler', 'state', 'v3'));
    const texts = [...files.map((file) => fs.readFileSync(file).toString('latin1')), service.said()];
    assert.ok(texts.length > 5);
    const needles = [
      values.ALPHA,
      values.GAMMA,
      'a-newer-value-of-alpha-7f3a',
      ...all.flatMap(credentialsOf),
    ];
    assert.ok(needles.length > 21);
    for (const needle of needles)
      assert.equal(
        [...files, 'log'].find((_, i) => texts[i].includes(needle)),
        undefined,
        `found: ${needle.slice(0, 8)}…`,
      );
  });
});
