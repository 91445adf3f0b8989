// The state of an earlier release, made by that release itself, is served by this one: D1 and gates go
// forward, nothing is lost, and what had ended stays so.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { passkeySoftware } from '../passkeys.mjs';
import { copyOfProject, runScript, startService } from '../service.mjs';
import { slow } from '../slow.mjs';
import { putState, releases } from './fixtures.mjs';

const ORIGIN = 'http://localhost';

describe('upgrade: the state of an earlier release', () => {
  for (const [at, name] of releases.entries()) {
    const options = at === 0 || at === releases.length - 1 ? { timeout: 150_000 } : slow(150_000);
    it(`${name.replace(/\.json\.gz$/, '')} is taken over completely`, options, async () => {
      const dir = copyOfProject();
      const left = putState(name, dir);
      const { call } = await startService(dir, { PUBLIC_URL: ORIGIN });

      const at = `/orgs/${left.org}`;
      const read = await call('GET', `${at}/secrets/${left.secret}`, left.key);
      assert.deepEqual(
        [read.json.value, read.json.version, read.json.tags],
        ['postgres://second', 2, { team: 'core' }],
      );
      assert.equal(
        (await call('GET', `${at}/secrets/${left.secret}?version=1`, left.key)).json.value,
        'postgres://first',
      );
      assert.equal(
        (await call('GET', `${at}/secrets/${left.password.id}`, left.limited)).json.value,
        left.password.value,
      );
      assert.equal((await call('GET', `${at}/secrets/${left.secret}`, left.limited)).status, 403);
      assert.equal((await call('GET', `${at}/secrets/${left.deleted}`, left.key)).status, 404);
      for (const token of left.revoked) assert.equal((await call('GET', `${at}/secrets`, token)).status, 401);

      assert.equal(
        (await call('PATCH', `${at}/secrets/${left.secret}`, left.key, { value: 'postgres://third' })).json
          .version,
        3,
      );
      const log = async (action) =>
        (await call('GET', `${at}/audit-log?action=${action}`, left.key)).json.data.length;
      assert.deepEqual([await log('org.create'), await log('integrity.alarm')], [1, 0]);
      assert.equal((await call('GET', `${at}/audit-log/verify`, left.key)).json.ok, true);
      if (left.more) await checkMore(call, left);
      await checkOffline(dir, call, left, !name.includes('0.5.0'));
    });
  }
});

/**
 * An export of the log of then and of now is intact to whoever has the files alone.
 * @param {string} dir
 * @param {any} call
 * @param {any} left
 * @param {boolean} isBeforeFormats
 */
async function checkOffline(dir, call, { org, key, variables }, isBeforeFormats) {
  const at = `/orgs/${org}/audit-log`;
  assert.equal((await call('POST', `${at}/archive`, variables.BOOTSTRAP_TOKEN)).status, 200);
  let checkpoints = [];
  for (let tries = 0; tries < 100 && checkpoints.length === 0; tries++) {
    checkpoints = (await call('GET', `${at}/checkpoints`, key)).json.data;
    await sleep(200);
  }
  const entries = [];
  for (let cursor = ''; cursor !== null; ) {
    const page = (await call('GET', `${at}?limit=100${cursor && `&cursor=${cursor}`}`, key)).json;
    entries.push(...page.data);
    cursor = page.next_cursor;
  }
  assert.ok(entries.some(({ format }) => format === 2));
  // Releases before 0.5.0 wrote entries without a format.
  assert.equal(
    entries.some(({ format }) => format === undefined),
    isBeforeFormats,
  );
  const file = (/** @type {string} */ name, /** @type {string} */ text) =>
    fs.writeFileSync(path.join(dir, name), text);
  file('log.ndjson', entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  file('checkpoints.json', JSON.stringify(checkpoints));
  file('key.json', JSON.stringify((await call('GET', `${at}/key`, key)).json));
  const verify = () =>
    runScript(dir, [
      'scripts/operate/audit-verify.mjs',
      'log.ndjson',
      '--checkpoints',
      'checkpoints.json',
      '--key',
      'key.json',
      '--accept-uncovered',
      '--json',
    ]);
  const { status, stdout } = await verify();
  const verdict = JSON.parse(stdout);
  assert.deepEqual(
    [status, verdict.ok, verdict.first.sequence, verdict.entries],
    [0, true, 1, entries.length],
    stdout,
  );
  assert.ok(verdict.checkpoints >= 1);
  const old = entries.length - 1;
  file(
    'log.ndjson',
    entries
      .map((entry, n) => `${JSON.stringify(n === old ? { ...entry, action: 'nothing.happened' } : entry)}\n`)
      .join(''),
  );
  assert.equal((await verify()).status, 1);
}

/**
 * What fixtures hold since 0.3.0.
 * @param {Awaited<ReturnType<typeof startService>>['call']} call
 * @param {any} left
 */
async function checkMore(call, { org, key, more }) {
  const at = `/orgs/${org}`;
  const get = (target, token = key) => call('GET', `${at}${target}`, token);
  for (const token of more.live) assert.equal((await call('GET', '/whoami', token)).json.org_id, org);
  for (const [id, value] of Object.entries(more.values))
    assert.equal((await get(`/secrets/${id}`)).json.value, value);
  for (const [id, status] of Object.entries(more.statuses))
    assert.equal((await get(`/secrets/${id}`)).status, status);
  const versions = (await get(`/secrets/${more.many}/versions`)).json.data.map(({ version }) => version);
  assert.deepEqual(versions, [4, 3, 2, 1]);
  assert.equal((await get('/secrets/by-name/app/renamed')).json.id, more.many);
  assert.equal((await get('/secrets/by-name/issued')).json.value, 'provided');
  assert.deepEqual(
    [(await get('/secrets/by-name/withdrawn')).status, (await get('/secrets/by-name/app/kept')).json.value],
    [410, 'once'],
  );

  // The audit log is whole, from its segments in D1 on to what lay in the gate.
  let checked = 0;
  for (let cursor = ''; cursor !== null; ) {
    const page = (await get(`/audit-log/verify${cursor && `?cursor=${cursor}`}`)).json;
    assert.deepEqual([page.ok, page.checked_from], [true, checked + 1], JSON.stringify(page));
    checked = page.checked_to;
    cursor = page.next;
  }
  assert.ok(checked > more.entries);

  // People sign in with their passkeys; a member who was removed does not. Grants and teams hold.
  const auth = (target, body) => call('POST', `/auth${target}`, '', body, { Origin: ORIGIN });
  const { newPasskey } = await passkeySoftware();
  const signIn = async ({ id, handle, key: jwk }) => {
    const signing = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, false, [
      'sign',
    ]);
    const passkey = await newPasskey(ORIGIN);
    return auth('/login', {
      response: await passkey.get((await auth('/login/options', {})).json, { id, handle, key: signing }),
    });
  };
  for (const [member, passkey] of Object.entries(more.people)) {
    const answer = await signIn(passkey);
    assert.deepEqual([answer.status, answer.json.member?.id], [200, member]);
    assert.equal((await get('/secrets', answer.json.token)).status, 200);
  }
  assert.equal((await signIn(more.removed)).status, 401);
  assert.deepEqual([(await get('/teams')).json.data.length, (await get('/grants')).json.data.length], [1, 2]);

  // A chain of agents ends from its head on; a panic of then is one still.
  assert.equal((await call('DELETE', `${at}/agent-credentials/${more.agent}`, key)).status, 204);
  assert.deepEqual(
    await Promise.all(more.live.slice(1, 3).map(async (token) => (await get('/secrets', token)).status)),
    [401, 401],
  );
  const [secret] = (await call('GET', `/orgs/${more.bad.org}/secrets`, more.bad.key)).json.data;
  assert.equal(
    (await call('GET', `/orgs/${more.bad.org}/secrets/${secret.id}`, more.bad.key)).json.value,
    'survived',
  );
}
