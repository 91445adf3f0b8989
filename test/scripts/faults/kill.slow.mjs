// A runtime that is killed again and again under load: every change that was acknowledged is there
// afterwards, in the gate and, a moment later, in the database. Run by hand or in CI: npm run
// test:operations.
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { vaultFile } from '../../../scripts/operate/vault/state-dir.mjs';
import { copyOfProject, runtimesOf, startService } from '../service.mjs';
import { NEVER_ENDS } from '../slow.mjs';

// npm start ends at the sixth within ten minutes.
const KILLS = 5;
const WRITERS = 6;
/** How long the database may take to follow once the runtime stays up, in milliseconds. */
const FOLLOWS_WITHIN = 60_000;

it('journal: what was acknowledged survives a runtime that is killed under load, in gate and database', {
  timeout: NEVER_ENDS,
}, async () => {
  const dir = copyOfProject();
  const service = await startService(dir);
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'A',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const org = json.org.id;
  const keys = [];
  for (let n = 0; n < WRITERS; n++) {
    const { json: key } = await service.call('POST', `/orgs/${org}/api-keys`, json.api_key.token, {
      name: `writer ${n}`,
      scopes: ['*'],
    });
    keys.push(key);
  }
  /** @type {Map<string, string>} */
  const acknowledged = new Map();
  let going = true;
  let made = 0;
  const writers = keys.map(async ({ token }) => {
    while (going) {
      const name = `S_${++made}`;
      const value = `value of ${name}`;
      const answer = await service
        .call('POST', `/orgs/${org}/secrets`, token, { name, type: 'generic', value })
        .catch(() => null);
      if (answer?.status === 201) acknowledged.set(name, value);
      // Below the rate limit of a key.
      await sleep(answer ? 650 : 50);
    }
  });
  try {
    for (let n = 0; n < KILLS; n++) {
      await sleep(1500 + 700 * n);
      for (const pid of runtimesOf(service)) process.kill(pid, 'SIGKILL');
      await service.ready();
    }
  } finally {
    going = false;
    await Promise.all(writers);
  }
  assert.ok(acknowledged.size > KILLS, 'changes were made');

  const { values } = (
    await service.call('GET', `/orgs/${org}/environments/production/values`, json.api_key.token)
  ).json;
  for (const [name, value] of acknowledged) assert.equal(values[name], value, name);
  const db = new DatabaseSync(/** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state'))), {
    readOnly: true,
    timeout: 10_000,
  });
  const stored = () =>
    new Set(
      db
        .prepare(
          'SELECT s.name FROM secrets s JOIN secret_versions v ON v.secret_id = s.id AND v.version = 1',
        )
        .all()
        .map(({ name }) => name),
    );
  const missing = () => [...acknowledged.keys()].filter((name) => !stored().has(name));
  for (let waited = 0; missing().length && waited < FOLLOWS_WITHIN; waited += 500) await sleep(500);
  assert.deepEqual(missing(), []);
  assert.equal(stored().size, Object.keys(values).length);
  db.close();
  const verified = await service.call('GET', `/orgs/${org}/audit-log/verify`, json.api_key.token);
  assert.equal(verified.json.ok, true);
});
