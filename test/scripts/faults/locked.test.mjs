// A local database that another process has locked: changes go on, callers who need it are asked to try
// again, and the log has no statement with its values.
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { vaultFile } from '../../../scripts/operate/vault/state-dir.mjs';
import { copyOfProject, startService } from '../service.mjs';
import { slow } from '../slow.mjs';

it('locked database: every request that needs it is 503 with a time, and the log has no statement', {
  ...slow(300_000),
}, async () => {
  const dir = copyOfProject();
  const service = await startService(dir);
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const founded = await service.call('POST', '/orgs', bootstrap, {
    name: 'Acme',
    owner: { email: 'you@example.com', name: 'You' },
  });
  const org = founded.json.org.id;
  const token = founded.json.api_key.token;
  await service.call('POST', `/orgs/${org}/secrets`, token, { name: 'ONE', type: 'generic', value: 'first' });
  const db = new DatabaseSync(/** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state'))), {
    timeout: 10_000,
  });
  const calls = (/** @type {string} */ lock) => [
    ['POST', `/orgs/${org}/secrets`, token, { name: `TWO_${lock}`, type: 'generic', value: 'second' }],
    ['POST', '/orgs', bootstrap, { name: 'Beta', owner: { email: 'me@example.com', name: 'Me' } }],
    ['GET', '/orgs', bootstrap],
    ['GET', `/orgs/${org}/audit-log`, token],
    ['GET', `/orgs/${org}/audit-log/verify`, token],
    ['GET', `/orgs/${org}/incidents`, token],
    ['POST', '/deployment/keys/rewrap', bootstrap, {}],
    ['POST', `/orgs/${org}/audit-log/archive`, bootstrap, {}],
  ];
  for (const lock of ['IMMEDIATE', 'EXCLUSIVE']) {
    db.exec(`BEGIN ${lock}`);
    const asked = await Promise.all(
      calls(lock).map(async ([method, at, as, body]) => {
        const { status, json } = await service.call(method, at, as, body);
        return { what: `${lock}: ${method} ${at}`, status, error: json?.error };
      }),
    );
    db.exec('ROLLBACK');
    for (const { what, status, error } of asked) {
      assert.ok(
        status === 200 ||
          status === 201 ||
          (status === 503 && error.code === 'UNAVAILABLE' && error.retry_after > 0),
        `${what}: ${status}`,
      );
    }
    assert.ok(asked.filter(({ status }) => status === 503).length >= 4, 'the lock is felt');
  }
  db.close();
  assert.doesNotMatch(service.said(), /Failed query|params:|"event":"fault"/);
  assert.match(service.said(), /"event":"d1_read_failed"/);
  assert.equal((await service.call('GET', '/orgs', bootstrap)).status, 200, 'once it is free');
});
