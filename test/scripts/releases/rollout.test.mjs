// A gradual deployment: for minutes, Workers of this release call gates of the release before, and the
// reverse. Invariants: what both releases know works in each direction; a request that uses what the older
// gate does not know changes nothing there.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { configOf, platforms } from '../../vendors/fakes/all.ts';
import { skipped } from '../slow.mjs';
import { BOOTSTRAP, build, checkout, fileOf, releaseBefore, startRollout } from './rollout.mjs';

const tag = releaseBefore();
const skip = skipped || (tag === null && 'no tag of a release: the checkout has no history');
const options = { timeout: 300_000, skip };

let older;
let newer;
let rollout;
let fake;
let org;
let key;
/** The secrets that each pair of releases made, by Idempotency-Key. */
const made = new Map();
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
  const create = (of) =>
    call(
      'POST',
      '/secrets',
      { name: `OF_${of}`, type: 'generic', value: `value of ${of}` },
      { headers: { 'Idempotency-Key': of } },
    );
  const { id: secret } = (await create(by)).json;
  made.set(by, secret);
  for (const [of, id] of made) {
    const again = await create(of);
    assert.deepEqual([again.json.id, again.headers.get('Idempotency-Replayed')], [id, 'true'], of);
  }
  assert.equal((await good('GET', '/secrets/by-name/BEFORE')).value, 'of before');
  assert.equal((await good('GET', `/secrets/${secret}`)).value, `value of ${by}`);
  await good('POST', `/secrets/${secret}/rotate`, { value: `second of ${by}` });
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
  for (let text = ''; !text.includes(secret); ) {
    const { value, done } = await reader.read();
    assert.ok(!done, text);
    text += value;
  }
  await reader.cancel();
  assert.equal((await good('GET', '/audit-log/verify')).ok, true);
}

/** Requests with what gates of 0.5.0 do not know, and would ignore. */
const later = {
  'POST /api-keys upstreams': { name: 'k', scopes: ['secrets:read'], upstreams: ['stripe'] },
  'POST /api-keys aws': { name: 'k', scopes: ['secrets:read'], aws: true },
  'POST /access-tokens upstreams': { ttlSeconds: 60, upstreams: ['stripe'] },
  'POST /agent-credentials upstreams': { name: 'a', scopes: ['secrets:read'], upstreams: ['stripe'] },
  'POST /trusts upstreams': {
    name: 't',
    issuer: 'https://issuer.example',
    claims: { sub: 'a' },
    scopes: ['secrets:read'],
    upstreams: ['stripe'],
  },
  'POST /trusts issuer': {
    name: 'w',
    issuer: 'cloudflare:service-binding',
    claims: { name: 'billing' },
    scopes: ['secrets:read'],
  },
  'PATCH / regions': { regions: ['weur'] },
};

/** Why a new field of a request may come to a gate of the release before. All others are refused there. */
const LATER = 'refused: rollout.ts';
const FOR_THE_WORKER = 'the gate does not get it';
const judged = {
  'post /orgs regions': LATER,
  'patch /orgs/{org_id} regions': LATER,
  'patch /orgs/{org_id}/environments/{id} lease_seconds': LATER,
  'post /orgs/{org_id}/grants upstreams': LATER,
  'post /orgs/{org_id}/api-keys upstreams': LATER,
  'post /orgs/{org_id}/api-keys aws': LATER,
  'patch /orgs/{org_id}/api-keys/{id} aws': LATER,
  'post /orgs/{org_id}/access-tokens upstreams': LATER,
  'post /orgs/{org_id}/agent-credentials upstreams': LATER,
  'patch /orgs/{org_id}/agent-credentials/{id} upstreams': LATER,
  'post /orgs/{org_id}/trusts upstreams': LATER,
  'post /orgs/{org_id}/trusts reuse': LATER,
  'patch /orgs/{org_id}/trusts/{id} upstreams': LATER,
  'patch /orgs/{org_id}/trusts/{id} reuse': LATER,
  'post /orgs/{org_id}/integrations/import keepPaths': FOR_THE_WORKER,
  'post /orgs/{org_id}/integrations/import whole': FOR_THE_WORKER,
  'post /orgs/{org_id}/panic sso': 'an organisation of 0.5.0 has no single sign-on',
};

/** The fields of the body of each request, as `method path field`. @param {any} api */
function fieldsOf(api) {
  const resolved = (schema) =>
    schema?.$ref
      ? schema.$ref
          .slice(2)
          .split('/')
          .reduce((part, name) => part[name], api)
      : schema;
  const namesIn = (given) => {
    const schema = resolved(given) ?? {};
    const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((kind) => schema[kind] ?? []);
    return [...Object.keys(schema.properties ?? {}), ...parts.flatMap(namesIn)];
  };
  const operations = Object.entries(api.paths).flatMap(([at, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => {
      const contents = Object.values(resolved(requestBody)?.content ?? {});
      return [`${method} ${at}`, contents.flatMap(({ schema }) => namesIn(schema))];
    }),
  );
  return Object.fromEntries(operations);
}

it('rollout: each field that a request has gained is judged', { skip: tag === null && 'no history' }, () => {
  const api = 'packages/client/openapi.json';
  const before = fieldsOf(JSON.parse(fileOf(/** @type {string} */ (tag), api)));
  const now = fieldsOf(JSON.parse(fs.readFileSync(path.join(root, api), 'utf8')));
  const gained = Object.keys(before).flatMap((operation) =>
    (now[operation] ?? [])
      .filter((field) => !before[operation].includes(field))
      .map((field) => `${operation} ${field}`),
  );
  assert.deepEqual([...new Set(gained)].sort(), Object.keys(judged).sort());
});

describe('rollout: this release and the one before', options, () => {
  it('a Worker of this release works with gates of the one before', async () => {
    await rollout.turn({ worker: newer, gates: older });
    await works('NEW_WORKER');
  });

  it('a gate of the release before refuses what it would ignore, and creates nothing', async () => {
    await rollout.turn({ worker: newer, gates: older });
    const entries = async () => (await good('GET', '/audit-log?limit=1')).data[0].sequence;
    const first = await entries();
    for (const [what, body] of Object.entries(later)) {
      const [method, at] = what.split(' ');
      const { status, json } = await call(method, at === '/' ? '' : at, body);
      assert.deepEqual([status, json.error.code], [503, 'UNAVAILABLE'], `${what}: ${JSON.stringify(json)}`);
    }
    // The reads of the log alone.
    assert.equal(await entries(), first + 1);
    const props = { org, trust: 'trs_0000000000000000000000', name: 'billing' };
    await rollout.turn({ worker: newer, gates: older, props });
    assert.match((await rollout.bound('BEFORE')).thrown, /^UNAVAILABLE/);
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
    const trust = await good('POST', '/trusts', later['POST /trusts issuer']);
    const props = { org, trust: trust.id, name: 'billing' };
    await rollout.turn({ worker: newer, gates: newer, props });
    assert.equal((await rollout.bound('BEFORE')).value, 'of before');
  });
});
