// A backup of a vault in use is a snapshot, is restored completely, and is refused if it is incomplete, too
// new or encrypted under other keys.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { vaultFile } from '../../../../scripts/operate/vault/state-dir.mjs';
import { putState, releases } from '../../releases/fixtures.mjs';
import { copyOfProject, runCommand as run, startService } from '../../service.mjs';
import { slow } from '../../slow.mjs';

/** What a line-wise or quote-blind reader of SQL would trip over. */
const AWKWARD = "it's;\r\n-- no comment;\n''\u2028\0𝄞;\n";

/**
 * @param {string} dir
 * @param {string} script
 * @param {string[]} args
 * @param {Record<string, string>} [variables]
 */

/** The same backup with something changed, and a checksum that fits. */
function altered(text, change) {
  const body = change(text.slice(0, text.lastIndexOf('-- sha256 ')));
  return `${body}-- sha256 ${createHash('sha256').update(body).digest('hex')}\n`;
}

it('backup: a vault in use is backed up and restored', slow(200_000), async () => {
  const dir = copyOfProject();
  let service = await startService(dir);
  const bootstrap = service.variable('BOOTSTRAP_TOKEN');
  const { json: founded } = await service.call('POST', '/orgs', bootstrap, {
    name: "O'Hara;",
    owner: { email: 'a@example.com', name: 'A' },
  });
  const key = founded.api_key.token;
  const at = `/orgs/${founded.org.id}`;
  const store = async (name, value) => {
    const { status } = await service.call('POST', `${at}/secrets`, key, {
      name,
      type: 'generic',
      value,
      description: "it's; -- 𝄞",
    });
    assert.equal(status, 201);
  };
  const read = async (name) => (await service.call('GET', `${at}/secrets/by-name/${name}`, key)).json;
  const large = 'ü'.repeat(32_768);
  await store('LARGE', large);
  // A segment of the audit log that is longer than D1 takes in one statement. Its numbers are below those of
  // the gate, which would refuse requests if the database had later ones.
  const segment = Buffer.from(Array.from({ length: 750_000 }, (_, i) => (i * 2_654_435_761) >>> 24)).toString(
    'base64',
  );
  const state = path.join(dir, '.wrangler', 'state');
  const database = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { timeout: 5000 });
  database
    .prepare("INSERT INTO audit_segments VALUES (?, -2, -1, 1, 1, ?, 'l', '[]', '[]', '[]', ?)")
    .run(founded.org.id, AWKWARD, segment);
  database.close();

  let going = true;
  let written = 0;
  const busy = (async () => {
    for (; going; written++) {
      await store(`S${written}`, `value ${written}`);
      await sleep(10); // well within the budget of the key
    }
  })();
  // The database follows the gate within a second or so.
  const vault = new DatabaseSync(/** @type {string} */ (vaultFile(state)), { timeout: 5000 });
  while (Number(vault.prepare('SELECT count(*) AS n FROM secrets').get()?.n) === 0) await sleep(50);
  vault.close();
  const before = written;
  const backedUp = await run(dir, 'backup', ['--output', 'b.sql', '--url', 'http://127.0.0.1:1']); // the rows below are no audit log
  assert.equal(backedUp.status, 0, backedUp.said);
  assert.match(
    backedUp.said,
    /of 1 of 1 organisations are only in their gates and not in this backup: no vault answers at/,
  );
  const during = written;
  going = false;
  await busy;
  assert.ok(during > before, 'writes went on');
  const file = path.join(dir, 'b.sql');
  const text = fs.readFileSync(file, 'utf8');
  const header = JSON.parse(text.split('\n')[1].slice(3));
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.equal(header.rows.secrets, header.rows.secret_versions, 'a snapshot: each secret with its version');
  assert.ok(header.rows.secrets >= 1 && !text.includes(large.slice(0, 40)));
  for (const statement of text.split(/;\n/)) assert.ok(Buffer.byteLength(statement) < 100_000);
  assert.match((await run(dir, 'backup', ['--output', 'b.sql'])).said, /exists: name another/);
  assert.match(
    (await run(dir, 'restore', ['b.sql', '--replace'])).said,
    /in use by another npm start.*nothing was changed/,
  );
  await service.stop();

  // Refused, with nothing touched.
  const elsewhere = path.join(dir, 'elsewhere');
  const refused = async (content, why, variables = {}) => {
    fs.writeFileSync(path.join(dir, 'other.sql'), content);
    const { status, said } = await run(dir, 'restore', ['other.sql'], { STATE_DIR: elsewhere, ...variables });
    assert.equal(status, 1, said);
    assert.match(said, why);
    assert.ok(!fs.existsSync(elsewhere));
  };
  const flipped = Buffer.from(text);
  flipped[flipped.length >> 1] ^= 1;
  await refused(flipped, /checksum/);
  await refused(text.slice(0, -200), /checksum/);
  await refused(text.slice(0, text.lastIndexOf('-- sha256')), /checksum/);
  await refused('', /checksum/);
  await refused(
    altered(text, (body) => body.replace('"0000_foundation.sql"', '"0000_foundation.sql","9999_later.sql"')),
    /newer checkout/,
  );
  await refused(
    altered(text, (body) => `${body}ATTACH 'x' AS y;\n`),
    /contains unexpected statements/,
  );
  await refused(
    altered(text, (body) => `${body}DELETE FROM "orgs";\n`),
    /contains unexpected statements/,
  );
  await refused(text, /does not decrypt this backup: it lacks k1, or has another key with that id/, {
    MASTER_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  });

  // Into an empty place, under the same keys.
  const restored = await run(dir, 'restore', ['b.sql'], { STATE_DIR: elsewhere });
  assert.equal(restored.status, 0, restored.said);
  const rows = (from) => {
    const db = new DatabaseSync(/** @type {string} */ (vaultFile(from)), { readOnly: true });
    const all = ['orgs', 'secrets', 'secret_versions', 'audit_segments'].map((table) =>
      db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2, 3`).all(),
    );
    db.close();
    return all;
  };
  assert.deepEqual([rows(elsewhere)[3][0].entries, rows(elsewhere)[3][0].prev_hash], [segment, AWKWARD]);
  assert.match(
    (await run(dir, 'restore', ['b.sql'], { STATE_DIR: elsewhere })).said,
    /not empty: pass --replace/,
  );
  service = await startService(dir, { STATE_DIR: elsewhere });
  assert.equal((await read('LARGE')).value, large);
  assert.equal((await read('LARGE')).description, "it's; -- 𝄞");
  for (let i = 0; i < header.rows.secrets - 1; i++) assert.equal((await read(`S${i}`)).value, `value ${i}`);
  await store('AFTER', 'written to the restored vault');
  assert.equal((await read('AFTER')).value, 'written to the restored vault');
  const unreasoned = await run(dir, 'restore', ['--adopt', '--url', service.base]);
  assert.match(unreasoned.said, /--reason is missing/);
  const adopted = await run(dir, 'restore', ['--adopt', '--url', service.base, '--reason', 'a test']);
  assert.match(adopted.said, /^1 organisation has adopted/);
  await service.stop();

  // In place of a younger one: all of it, or nothing.
  const younger = rows(state);
  const trap = new DatabaseSync(/** @type {string} */ (vaultFile(state)));
  trap.exec("CREATE TRIGGER trap BEFORE INSERT ON secrets BEGIN SELECT raise(ABORT, 'no'); END");
  const failed = await run(dir, 'restore', ['b.sql', '--replace']);
  assert.equal(failed.status, 1);
  assert.match(failed.said, /The vault is unchanged/);
  assert.deepEqual(rows(state), younger);
  trap.exec('DROP TRIGGER trap');
  trap.close();
  const replaced = await run(dir, 'restore', ['b.sql', '--replace']);
  assert.equal(replaced.status, 0, replaced.said);
  assert.equal(rows(state)[1].length, header.rows.secrets);
  assert.ok(younger[1].length >= header.rows.secrets);
  service = await startService(dir);
  // No change is taken before, even where the rows that it needs are the same: it would hide what the
  // database lacks.
  const early = await service.call('POST', `${at}/secrets`, key, {
    name: 'EARLY',
    type: 'generic',
    value: 'before adoption',
  });
  assert.equal(early.status, 503);
  assert.match(early.json.error.message, /After a restore of a whole backup, the operator must call/);
  const told = await run(dir, 'restore', ['--adopt', '--url', service.base, '--reason', 'went back']);
  assert.match(told.said, /^1 organisation has adopted/);
  assert.equal((await read('LARGE')).value, large);
  await store('AFTER', 'written after it went back');
  assert.equal((await read('AFTER')).value, 'written after it went back');
});

/**
 * A stand-in for a service that archives.
 * @param {{ orgs: string[], archive: (org: string) => [number, object], list?: [number, object], vault?:
 * boolean }} how `list`: what it answers in place of its organisations; `vault`: whether it looks like one
 */
async function standIn({ orgs, archive, list = undefined, vault = true }) {
  const asked = [];
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    asked.push(`${request.method} ${pathname} ${request.headers.authorization ?? ''}`);
    const at = Number(searchParams.get('cursor') ?? 0);
    const page = { data: [{ id: orgs[at] }], has_more: at + 1 < orgs.length, next_cursor: String(at + 1) };
    const [status, json] =
      pathname === '/healthz'
        ? [200, {}]
        : pathname.endsWith('/orgs')
          ? (list ?? [200, page])
          : archive(pathname.split('/')[4]);
    response
      .writeHead(status, { 'Content-Type': 'application/json', ...(vault && { 'Request-Id': 'req_1' }) })
      .end(JSON.stringify(json));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  after(() => server.close());
  return {
    asked,
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
  };
}

it('backup: the gates move their audit entries to the database first, or it says that they did not', {
  ...slow(120_000),
}, async () => {
  const dir = copyOfProject();
  const state = putState(releases.at(-1) ?? '', dir);
  const orgs = [state.org, state.more.bad.org];
  const token = `Bearer ${state.variables.BOOTSTRAP_TOKEN}`;
  let made = 0;
  const backup = async (...args) => {
    const file = path.join(dir, `b${++made}.sql`);
    const done = await run(dir, 'backup', ['--output', file, '--json', ...args]);
    return { ...done, file, json: done.status === 0 ? JSON.parse(done.stdout) : null };
  };
  const counts = ({ json }) => [json.archived, json.not_archived];
  const ok = (_org) => /** @type {[number, object]} */ ([200, { archived: 1, head: 1 }]);

  const stopped = await backup();
  assert.deepEqual(counts(stopped), [0, 2]);
  assert.match(
    stopped.said,
    /of 2 of 2 organisations .* no service runs on this vault\. To include them, start the service and create/,
  );

  // The backup is of what the archiving has left.
  let busy = true;
  const good = await standIn({
    orgs,
    archive(org) {
      const database = new DatabaseSync(
        /** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state'))),
        { timeout: 5000 },
      );
      database.prepare('UPDATE orgs SET name = ? WHERE id = ?').run(`archived ${org}`, org);
      database.close();
      if (!busy) return ok(org);
      busy = false;
      return [503, { error: { code: 'UNAVAILABLE', message: 'later', retry_after: 1 } }];
    },
  });
  const whole = await backup('--url', good.url);
  assert.deepEqual(counts(whole), [2, 0]);
  assert.equal(whole.said, whole.stdout, 'and no warning');
  const at = (org) => `POST /api/v1/orgs/${org}/audit-log/archive ${token}`;
  const list = `GET /api/v1/orgs ${token}`;
  const health = 'GET /healthz ';
  assert.deepEqual(good.asked, [health, list, list, at(orgs[0]), at(orgs[0]), at(orgs[1]), health]);
  const text = fs.readFileSync(whole.file, 'utf8');
  for (const org of orgs) assert.ok(text.includes(`archived ${org}`));

  // One organisation that cannot be archived costs the others nothing.
  const refusing = await standIn({
    orgs,
    archive: (org) => (org === orgs[0] ? [500, { error: { code: 'INTERNAL', message: 'no' } }] : ok(org)),
  });
  const refused = await backup('--url', refusing.url);
  assert.deepEqual([refused.status, fs.existsSync(refused.file)], [1, true]);
  assert.match(
    refused.said,
    new RegExp(
      `newest changes and audit entries of 1 of 2 organisations, which were not archived:\\n +${orgs[0]}: 500 INTERNAL no`,
    ),
  );
  const { archived, not_archived, left } = JSON.parse(refused.stdout);
  assert.deepEqual(
    [archived, not_archived, left.map(({ org, status }) => [org, status])],
    [1, 1, [[orgs[0], 500]]],
  );
  const spared = await backup('--url', refusing.url, '--except', orgs[0]);
  assert.deepEqual(counts(spared), [1, 1]);
  assert.match(
    spared.said,
    new RegExp(`Left out as asked, so without their newest changes and audit entries: ${orgs[0]}`),
  );

  const names = [...orgs, 'org_gone'];
  const shrinking = await standIn({
    orgs: names,
    archive(org) {
      if (org !== 'org_gone') return ok(org);
      names.pop();
      return [404, {}];
    },
  });
  assert.deepEqual(counts(await backup('--url', shrinking.url)), [2, 0]);

  const other = await standIn({ orgs: ['org_of_another_vault'], archive: ok });
  assert.match(
    (await backup('--url', other.url)).said,
    /of 2 of 2 organisations .* check that it is the right service/,
  );

  // Its database is away, and the file can be read.
  const away = await standIn({
    orgs,
    archive: ok,
    list: [500, { error: { code: 'INTERNAL', message: 'no' } }],
  });
  const without = await backup('--url', away.url);
  assert.deepEqual([without.status, fs.existsSync(without.file)], [1, true], without.said);
  assert.match(
    without.said,
    /of 2 of 2 organisations .* answers 500\. To include them, mend it as npm run doctor/,
  );
  const barred = await standIn({
    orgs,
    archive: ok,
    list: [401, { error: { code: 'UNAUTHENTICATED', message: 'no' } }],
  });
  const none = await backup('--url', barred.url);
  assert.deepEqual([none.status, fs.existsSync(none.file)], [1, false]);
  assert.match(none.said, /refused the request \(401/);

  const stranger = await standIn({ orgs, archive: ok, vault: false });
  assert.deepEqual(counts(await backup('--url', stranger.url)), [0, 2]);
  assert.deepEqual(stranger.asked, ['GET /healthz '], 'and never sees the token');
});

it('backup: a restore keeps the audit log of a small organisation', slow(200_000), async () => {
  const dir = copyOfProject();
  const first = await startService(dir);
  const { json: founded } = await first.call('POST', '/orgs', first.variable('BOOTSTRAP_TOKEN'), {
    name: 'Small',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const at = `/orgs/${founded.org.id}`;
  const key = founded.api_key.token;
  const { json: secret } = await first.call('POST', `${at}/secrets`, key, {
    name: 'S',
    type: 'generic',
    value: 'v',
  });
  assert.equal((await first.call('GET', `${at}/secrets/${secret.id}`, key)).json.value, 'v');
  const before = (await first.call('GET', `${at}/audit-log`, key)).json.data;
  const made = await run(dir, 'backup', ['--output', 'b.sql', '--json'], { PORT: String(first.port) });
  assert.equal(made.status, 0, made.said);
  assert.deepEqual(
    [made.said, JSON.parse(made.stdout).archived, JSON.parse(made.stdout).not_archived],
    [made.stdout, 1, 0],
  );
  // Twice is as good as once, and the log goes on.
  assert.equal((await run(dir, 'backup', ['--output', 'again.sql', '--url', first.base])).status, 0);
  assert.equal((await first.call('GET', `${at}/audit-log/verify`, key)).json.ok, true);
  await first.call('GET', `${at}/secrets/${secret.id}`, key); // after the backup: lost
  await first.stop();

  const STATE_DIR = path.join(dir, 'elsewhere');
  assert.equal((await run(dir, 'restore', ['b.sql'], { STATE_DIR })).status, 0);
  const second = await startService(dir, { STATE_DIR });
  const adopted = await run(dir, 'restore', ['--adopt', '--url', second.base, '--reason', 'a test']);
  assert.equal(adopted.status, 0, adopted.said);
  const { json: log } = await second.call('GET', `${at}/audit-log?limit=100`, key);
  for (const entry of before)
    assert.deepEqual(
      log.data.find(({ sequence }) => sequence === entry.sequence),
      entry,
    );
  assert.ok(log.data.some(({ action, reason }) => action === 'org.adopt' && reason === 'a test'));
  const { json: verified } = await second.call('GET', `${at}/audit-log/verify`, key);
  assert.deepEqual([verified.ok, verified.checked_from], [true, 1], JSON.stringify(verified));
});
