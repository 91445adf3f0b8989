// `npm run keys:rotate` on the real service: a master key is replaced while the vault is read and written,
// whatever is cut off.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyOfProject, env, runScript, startService } from '../service.mjs';
import { NEVER_ENDS } from '../slow.mjs';

/** @param {string} dir @param {string[]} args @param {Record<string, string>} [variables] */
async function rotate(dir, args, variables = {}) {
  const { status, stdout, said } = await runScript(
    dir,
    ['scripts/operate/keys-rotate.mjs', ...args, '--json'],
    variables,
  );
  return { status, said, json: status === 0 ? JSON.parse(stdout) : null };
}

it('key rotation: a master key is replaced, and removed once it wraps nothing', {
  timeout: NEVER_ENDS,
}, async () => {
  const dir = copyOfProject();
  assert.match((await rotate(dir, [])).said, /no vault and no \.dev\.vars yet.*npm start/);
  const file = path.join(dir, '.dev.vars');
  let service = await startService(dir);
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const old = service.variable('MASTER_KEYS');
  const found = async () => {
    const { json } = await service.call('POST', '/orgs', bootstrap, {
      name: 'Acme',
      owner: { email: 'a@example.com', name: 'A' },
    });
    return { at: `/orgs/${json.org.id}`, key: json.api_key.token };
  };
  const org = await found();
  const more = [];
  for (let i = 0; i < 130; i += 10) more.push(...(await Promise.all(Array.from({ length: 10 }, found))));
  const store = async ({ at, key }, name) => {
    const { status } = await service.call('POST', `${at}/secrets`, key, {
      name,
      type: 'generic',
      value: `value of ${name}`,
    });
    assert.equal(status, 201);
  };
  const expectValue = async ({ at, key }, name) =>
    assert.equal(
      (await service.call('GET', `${at}/secrets/by-name/${name}`, key)).json.value,
      `value of ${name}`,
    );
  await store(org, 'BEFORE');

  // Nothing is taken out, nor added twice, before its time.
  assert.match(
    (await rotate(dir, ['remove'])).json.message,
    /Only k1 is in use\. There is nothing left to do\. To begin a rotation: npm run keys:rotate -- add$/,
  );
  const added = await rotate(dir, ['add']);
  assert.match(added.json.message, /Restart the service\. Next: npm run keys:rotate -- rewrap$/);
  assert.deepEqual(added.json.master_keys, ['k2', 'k1'], added.said);
  const both = service.variable('MASTER_KEYS');
  assert.ok(both.endsWith(`,${old}`));
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.equal((await rotate(dir, ['add'])).status, 0);
  assert.equal(service.variable('MASTER_KEYS'), both, 'a repeat adds nothing');
  assert.equal(service.variable('BOOTSTRAP_TOKEN'), bootstrap);
  const url = ['--url', service.base];
  const early = await rotate(dir, ['rewrap', ...url]);
  assert.equal(early.status, 1);
  assert.match(early.said, /restart it/);
  assert.match((await rotate(dir, ['remove'])).said, /132 keys are still under another master key/);
  // Where there is no vault, nothing is known of its keys.
  for (const step of [[], ['add'], ['remove']]) {
    const lost = await rotate(dir, step, { STATE_DIR: path.join(dir, 'elsewhere') });
    assert.equal(lost.status, 1);
    assert.match(lost.said, /There is no vault in .*elsewhere: set STATE_DIR/);
  }
  assert.equal(service.variable('MASTER_KEYS'), both);
  await service.stop();

  service = await startService(dir, { PORT: String(service.port) });
  let going = true;
  let rounds = 0;
  const busy = (async () => {
    for (; going; rounds++) {
      await expectValue(org, 'BEFORE');
      await store(org, `DURING_${rounds}`);
      await sleep(100); // well within the budget of the key
    }
  })();
  // Cut off: killed as soon as the first keys are re-wrapped.
  const cut = spawn(process.execPath, ['scripts/operate/keys-rotate.mjs', 'rewrap', ...url], {
    cwd: dir,
    env,
    stdio: 'ignore',
  });
  const ended = new Promise((done) => cut.once('exit', done));
  while (cut.exitCode === null && !((await rotate(dir, [])).json.wrapped.k2 > 0)) await sleep(20);
  cut.kill('SIGKILL');
  await ended;
  const whole = await rotate(dir, ['rewrap', ...url]);
  assert.deepEqual([whole.json?.done, whole.json?.total], [132, 132], whole.said);
  going = false;
  await busy;
  assert.ok(rounds > 0);
  const removed = await rotate(dir, ['remove']);
  assert.deepEqual([removed.json?.removed, removed.json?.master_keys], [['k1'], ['k2']], removed.said);
  assert.deepEqual((await rotate(dir, ['remove'])).json.removed, [], 'a repeat takes nothing out');
  assert.equal(`${service.variable('MASTER_KEYS')},${old}`, both);
  assert.equal(service.variable('RETIRED_MASTER_KEYS'), old, 'for backups made before');
  await service.stop();

  service = await startService(dir, { PORT: String(service.port) });
  await expectValue(org, 'BEFORE');
  for (let i = 0; i < rounds; i++) await expectValue(org, `DURING_${i}`);
  await store(more.at(-1), 'AFTER');
  await expectValue(more.at(-1), 'AFTER');
  assert.ok(!service.said().includes(bootstrap) && !added.said.includes(both.slice(3, 40)));
});
