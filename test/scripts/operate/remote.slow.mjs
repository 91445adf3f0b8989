// The operator's commands with --remote: wrangler itself, against a stand-in for Cloudflare's API that speaks
// its wire format and keeps the database in the local runtime's D1, with D1's own limits.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { vaultFile } from '../../../scripts/operate/vault/state-dir.mjs';
import { wranglerEnv } from '../../../scripts/shared/wrangler.mjs';
import { copyOfProject, runCommand, runScript, startService } from '../service.mjs';
import { NEVER_ENDS } from '../slow.mjs';

const ACCOUNT = '0123456789abcdef0123456789abcdef';
const DATABASE = '5f6e7d8c-0000-4000-8000-000000000001';

/**
 * https://developers.cloudflare.com/api/resources/d1/ and the secrets of a script.
 * @param {string} dir
 * @param {string} state
 */
async function cloudflare(dir, state) {
  const secrets = [];
  const files = new Map();
  const wrangler = (...args) =>
    runScript(
      dir,
      [path.join(dir, 'node_modules', 'wrangler', 'bin', 'wrangler.js'), ...args, '--local'],
      wranglerEnv,
    );
  const query = (sql) => {
    const db = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { timeout: 5000 });
    const results = sql
      .split(/;\s*(?:\n|$)/)
      .filter((part) => part.trim())
      .map((part) => ({ results: db.prepare(part).all(), success: true, meta: { duration: 1 } }));
    db.close();
    return results;
  };
  const answer = async (method, at, body) => {
    if (at.endsWith('/user')) return { id: '7c5dae5552338874e5053f2534d2767a', email: 'you@example.com' };
    if (at.endsWith('/accounts')) return [{ id: ACCOUNT, name: 'Acme', type: 'standard' }];
    if (at.endsWith('/memberships'))
      return [{ id: 'm', status: 'accepted', account: { id: ACCOUNT, name: 'Acme' }, roles: [] }];
    if (at.endsWith('/tokens/verify')) return { id: 't', status: 'active' };
    if (method === 'GET' && at.endsWith('/d1/database'))
      return [{ uuid: DATABASE, name: 'secrets-vault', version: 'production' }];
    if (at.includes('/d1/database/'))
      assert.ok(at.includes(`/d1/database/${DATABASE}/`), 'the database of the account');
    if (at.endsWith('/secrets')) {
      secrets.push(body.text);
      return { name: body.name, type: 'secret_text' };
    }
    if (at.endsWith('/query')) return query(body.sql);
    if (at.endsWith('/export')) {
      const { status, said } = await wrangler(
        'd1',
        'export',
        'DB',
        '--output',
        path.join(dir, 'exported.sql'),
      );
      assert.equal(status, 0, said);
      return {
        success: true,
        status: 'complete',
        messages: [],
        result: { filename: 'e.sql', signed_url: `${base}/download` },
      };
    }
    if (at.endsWith('/import') && body.action === 'init')
      return { success: true, filename: body.etag, upload_url: `${base}/upload/${body.etag}` };
    if (at.endsWith('/import')) {
      fs.writeFileSync(path.join(dir, 'imported.sql'), files.get(body.filename));
      const { status, said } = await wrangler(
        'd1',
        'execute',
        'DB',
        '--yes',
        '--file',
        path.join(dir, 'imported.sql'),
      );
      if (status !== 0) return { success: true, status: 'error', messages: [], errors: [said.slice(-300)] };
      const meta = { duration: 1, rows_read: 1, rows_written: 1, size_after: 1 };
      return {
        success: true,
        status: 'complete',
        messages: [],
        result: { num_queries: 1, final_bookmark: 'b', meta },
      };
    }
    throw new Error(`${method} ${at} is not expected`);
  };
  const server = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const at = request.url?.split('?')[0] ?? '';
    if (at.startsWith('/upload/')) {
      files.set(at.slice('/upload/'.length), body);
      return response.setHeader('ETag', `"${createHash('md5').update(body).digest('hex')}"`).end();
    }
    if (at === '/download') return fs.createReadStream(path.join(dir, 'exported.sql')).pipe(response);
    try {
      const result = await answer(request.method, at, JSON.parse(body.toString() || 'null'));
      response
        .setHeader('Content-Type', 'application/json')
        .end(JSON.stringify({ success: true, errors: [], messages: [], result }));
    } catch (error) {
      response.statusCode = 400;
      response.setHeader('Content-Type', 'application/json').end(
        JSON.stringify({
          success: false,
          errors: [{ code: 1000, message: error.message }],
          messages: [],
          result: null,
        }),
      );
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  after(() => server.close());
  const base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  return {
    secrets,
    variables: {
      CLOUDFLARE_API_BASE_URL: `${base}/client/v4`,
      CLOUDFLARE_API_TOKEN: 'of-a-test',
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
    },
  };
}

it('deployment: is backed up, restored, and gets a new master key', { timeout: NEVER_ENDS }, async () => {
  const dir = copyOfProject();
  let service = await startService(dir);
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const old = service.variable('MASTER_KEYS');
  const { json: founded } = await service.call('POST', '/orgs', bootstrap, {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const at = `/orgs/${founded.org.id}`;
  const key = founded.api_key.token;
  const large = 'ü'.repeat(32_768);
  await service.call('POST', `${at}/secrets`, key, { name: 'LARGE', type: 'generic', value: large });
  const state = path.join(dir, '.wrangler', 'state');
  const change = (sql, ...params) => {
    const db = new DatabaseSync(/** @type {string} */ (vaultFile(state)));
    db.prepare(sql).run(...params);
    db.close();
  };
  const rows = (table) => {
    const db = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { readOnly: true });
    const all = db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2, 3`).all();
    db.close();
    return all;
  };
  // D1 follows the gate within about a second, on a slow machine later.
  while (rows('secret_versions').length === 0) await sleep(200);
  await service.stop();
  // Longer than a statement of D1's may be. Not later than the gate, which would take itself for an old copy.
  change(
    "INSERT INTO audit_segments VALUES (?, 1, 1, 1, 1, 'p', 'l', '[]', '[]', '[]', ?)",
    founded.org.id,
    'A'.repeat(1_000_000),
  );
  const { secrets, variables } = await cloudflare(dir, state);
  const run = (command, args, more = {}) =>
    runCommand(dir, command, [...args, '--remote'], { ...variables, ...more });

  const before = ['orgs', 'secrets', 'secret_versions', 'audit_segments'].map(rows);
  const backedUp = await run('backup', ['--output', 'b.sql']);
  assert.equal(backedUp.status, 0, backedUp.said);
  assert.match(
    backedUp.said,
    /of 1 of 1 organisations .*: BOOTSTRAP_TOKEN is not set\. To include them, set it to the deployment's in the environment/,
  );
  change('DELETE FROM audit_segments');
  change("UPDATE orgs SET name = 'younger'");
  assert.match((await run('restore', ['b.sql'])).said, /not empty: pass --replace/);
  const restored = await run('restore', ['b.sql', '--replace', '--keys', '.dev.vars']);
  assert.equal(restored.status, 0, restored.said);
  assert.deepEqual(['orgs', 'secrets', 'secret_versions', 'audit_segments'].map(rows), before);

  change("UPDATE secret_versions SET value_sealed = 'AAAA'");
  const mended = await run('restore', ['b.sql', '--rows', '--keys', '.dev.vars', '--json']);
  assert.equal(mended.status, 0, mended.said);
  assert.deepEqual(
    JSON.parse(mended.stdout).restored.map(({ name, version }) => [name, version]),
    [['LARGE', 1]],
  );
  assert.deepEqual(rows('secret_versions'), before[2]);

  const keys = path.join(dir, 'keys');
  const rotate = (step, more = {}) =>
    run('keys:rotate', [step, '--keys', 'keys', '--settle', '0', '--json'], more);
  assert.match((await rotate('add')).said, /contains no valid MASTER_KEYS/);
  const added = await rotate('add', { MASTER_KEYS: old });
  assert.equal(added.status, 0, added.said);
  const list = /^MASTER_KEYS=(.*)$/m.exec(fs.readFileSync(keys, 'utf8'))?.[1] ?? '';
  const fresh = list.split(',')[0];
  assert.equal(list, `${fresh},${old}`);
  assert.deepEqual(
    secrets,
    [`${old},${fresh}`, list],
    'first so that all can open with it, then so that all wrap under it',
  );
  assert.equal(fs.statSync(keys).mode & 0o777, 0o600);
  assert.equal((await rotate('add')).status, 0);
  assert.deepEqual(secrets.slice(2), secrets.slice(0, 2), 'a repeat gives the same lists');
  assert.match((await rotate('remove')).said, /2 keys are still under another/);

  service = await startService(dir, { MASTER_KEYS: list });
  const rewrapped = await run('keys:rotate', ['rewrap', '--keys', 'keys', '--url', service.base, '--json']);
  assert.equal(rewrapped.status, 0, rewrapped.said);
  const removed = await rotate('remove');
  assert.equal(removed.status, 0, removed.said);
  assert.equal(secrets.at(-1), fresh);
  assert.match(
    fs.readFileSync(keys, 'utf8'),
    new RegExp(`^RETIRED_MASTER_KEYS=${old.replace(/[+/]/g, '\\$&')}$`, 'm'),
  );
  await service.stop();
  service = await startService(dir, { MASTER_KEYS: fresh });
  assert.equal((await service.call('GET', `${at}/secrets/by-name/LARGE`, key)).json.value, large);
  assert.ok(
    ![backedUp, restored, added, removed].some(
      ({ said }) => said.includes(old.slice(3)) || said.includes(fresh.slice(3)),
    ),
  );
});
