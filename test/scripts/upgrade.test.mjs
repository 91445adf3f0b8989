// The state of an earlier release, made by that release itself, is served by this one: D1 and gates go forward, nothing is lost, and
// what had ended stays so.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import zlib from 'node:zlib';
import { copyOfProject, project, startService } from './service.mjs';

const fixtures = path.join(project, 'test', 'fixtures');
const releases = fs.readdirSync(fixtures).filter((name) => name.startsWith('release-'));

describe('the state of an earlier release', () => {
  for (const name of releases)
    it(`${name.replace(/\.json\.gz$/, '')} is taken over whole`, { timeout: 150_000 }, async () => {
      const left = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(fixtures, name))).toString());
      const dir = copyOfProject();
      for (const [file, content] of Object.entries(left.files)) {
        const to = path.join(dir, '.wrangler', 'state', file);
        fs.mkdirSync(path.dirname(to), { recursive: true });
        fs.writeFileSync(to, Buffer.from(content, 'base64'));
      }
      const variables = Object.entries(left.variables).map(([variable, value]) => `${variable}="${value}"\n`);
      fs.writeFileSync(path.join(dir, '.dev.vars'), variables.join(''), { mode: 0o600 });
      const { call } = await startService(dir);

      const at = `/orgs/${left.org}`;
      const read = await call('GET', `${at}/secrets/${left.secret}`, left.key);
      assert.deepEqual([read.json.value, read.json.version, read.json.tags], ['postgres://second', 2, { team: 'core' }]);
      assert.equal((await call('GET', `${at}/secrets/${left.secret}?version=1`, left.key)).json.value, 'postgres://first');
      assert.equal((await call('GET', `${at}/secrets/${left.password.id}`, left.limited)).json.value, left.password.value);
      assert.equal((await call('GET', `${at}/secrets/${left.secret}`, left.limited)).status, 403);
      assert.equal((await call('GET', `${at}/secrets/${left.deleted}`, left.key)).status, 404);
      for (const token of left.revoked) assert.equal((await call('GET', `${at}/secrets`, token)).status, 401);

      assert.equal((await call('PATCH', `${at}/secrets/${left.secret}`, left.key, { value: 'postgres://third' })).json.version, 3);
      const log = await call('GET', `${at}/audit-log?limit=100`, left.key);
      assert.ok(log.json.data.some(({ action }) => action === 'org.create'));
      assert.ok(!log.json.data.some(({ action }) => action === 'integrity.alarm'));
      assert.equal((await call('GET', `${at}/audit-log/verify`, left.key)).json.ok, true);
    });
});
