// Makes a fixture of the state that a release leaves. Copy it, ../passkeys.mjs and
// test/support/signin/passkey.ts to the same places in a checkout of that release, and run it there; it takes
// two minutes:
//   node test/scripts/releases/make-fixture.mjs release-1.2.3.json.gz
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { passkeySoftware } from '../passkeys.mjs';
import { copyOfProject, project, startService } from '../service.mjs';

const output = path.resolve(process.argv[2] ?? 'release.json.gz');
const ORIGIN = 'http://localhost';
const FAR = '2090-01-01T00:00:00.000Z';

/** A passkey of the tests' own software, and what is needed to sign in with it later. */
async function newPasskey() {
  const code = await passkeySoftware();
  const { subtle } = crypto;
  const generate = subtle.generateKey.bind(subtle);
  /** @type {CryptoKeyPair | undefined} */
  let pair;
  Object.defineProperty(subtle, 'generateKey', {
    configurable: true,
    value: async (...args) => (pair = await /** @type {any} */ (generate)(...args)),
  });
  const passkey = await code.newPasskey(ORIGIN);
  Reflect.deleteProperty(subtle, 'generateKey');
  const key = await subtle.exportKey('jwk', /** @type {CryptoKeyPair} */ (pair).privateKey);
  return { passkey, kept: () => ({ id: passkey.id, handle: passkey.handle, key }) };
}

it('makes the state', { timeout: 400_000 }, async () => {
  const dir = copyOfProject();
  const { call, variable, stop } = await startService(dir, { PUBLIC_URL: ORIGIN });
  const bootstrap = variable('BOOTSTRAP_TOKEN');
  const good = async (...args) => {
    const { status, json } = await call(.../** @type {Parameters<typeof call>} */ (args));
    assert.ok(status < 300, `${args.slice(0, 2)}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  const founded = await good('POST', '/orgs', bootstrap, {
    name: 'Left',
    owner: { email: 'ann@example.com', name: 'Ann' },
  });
  const org = founded.org.id;
  const key = founded.api_key.token;
  const at = `/orgs/${org}`;
  const on = (token) => ({
    post: (target, body, headers = {}) => good('POST', at + target, token, body, headers),
    patch: (target, body) => good('PATCH', at + target, token, body),
    get: (target) => good('GET', at + target, token),
    del: (target) => good('DELETE', at + target, token),
  });
  const o = on(key);
  const auth = (target, body) => good('POST', `/auth${target}`, '', body, { Origin: ORIGIN });

  // Secrets of all states, with versions.
  const create = (fields) => o.post('/secrets', { type: 'generic', value: 'v', ...fields });
  const secret = await create({
    name: 'db/url',
    type: 'database_url',
    value: 'postgres://first',
    tags: { team: 'core' },
  });
  await o.patch(`/secrets/${secret.id}`, { value: 'postgres://second' });
  const password = {
    ...(await create({ name: 'app/password', type: 'password', value: 'a password' })),
    value: 'a password',
  };
  const deleted = await create({ name: 'app/deleted' });
  const soft = await create({ name: 'app/soft', value: 'comes back' });
  const large = await create({ name: 'app/large', value: 'ü'.repeat(32_768), description: "it's 𝄞" });
  const brief = await create({ name: 'app/brief', ttlSeconds: 1 });
  const staging = await create({ name: 'app/staging', environment: 'staging', value: 'of staging' });
  const many = await create({
    name: 'app/many',
    type: 'password',
    value: 'one',
    rotate_every_seconds: 86_400,
  });
  for (const value of ['two', 'three']) await o.post(`/secrets/${many.id}/rotate`, { value });
  await o.post(`/secrets/${many.id}/rollback`, { version: 1 });
  await o.patch(`/secrets/${many.id}`, { name: 'app/renamed' });
  await o.del(`/secrets/${deleted.id}?permanent=true`);
  await o.del(`/secrets/${soft.id}`);
  const provider = await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] });
  const provide = (what, fields) =>
    good('POST', `/provider/${what}`, provider.token, { environment: 'production', ...fields });
  for (const secretName of ['issued', 'withdrawn'])
    await provide('issue', { secretName, value: 'issued', ttlSeconds: 31_536_000 });
  await provide('rotate', { secretName: 'issued', newValue: 'provided' });
  await provide('revoke', { secretName: 'withdrawn' });

  // Credentials: live, ended, with parents, and a chain of agents.
  const newKey = (fields, by = o) => by.post('/api-keys', { name: 'k', scopes: ['*'], ...fields });
  const limited = await newKey({
    scopes: ['secrets:list', 'secrets:read'],
    secrets: ['app/*'],
    allowed_addresses: ['127.0.0.0/8', '::1'],
  });
  const revoked = await newKey({});
  const orphan = await on(revoked.token).post('/access-tokens', { ttlSeconds: 3600 });
  await o.del(`/api-keys/${revoked.id}`);
  const lapsed = await newKey({ expires_at: new Date(Date.now() + 5000).toISOString() });
  const rotated = await newKey({});
  const successor = await o.post(`/api-keys/${rotated.id}/rotate`, { overlap_seconds: 0 });
  const agents = [];
  for (let maker = o, n = 0; n < 4; n++) {
    const scopes = ['secrets:list', 'secrets:read', 'tokens:write'];
    const patterns = [`app/*${'*'.repeat(n > 1 ? 1 : 0)}`];
    agents.push(
      await maker.post('/agent-credentials', { name: `a${n}`, scopes, secrets: patterns, rate_limit: 600 }),
    );
    maker = on(agents[n].token);
  }
  const below = await newKey({ scopes: ['secrets:read'], secrets: ['app/*'] }, on(agents[1].token));
  await o.del(`/agent-credentials/${agents[2].id}`);
  await o.post('/access-tokens', { ttlSeconds: 60 });
  await o.post('/break-glass-tokens', { reason: 'the database is down', ttlSeconds: 60 });
  const contained = await newKey({});
  const thief = await newKey({}, on(contained.token));
  await on(thief.token).get(`/secrets/${secret.id}`);
  await o.post(`/credentials/${contained.id}/contain`, {});

  // People: with passkeys and sessions, invited, removed; teams and grants.
  const enrol = async (url) => {
    const one = await newPasskey();
    const token = new URL(url).hash.slice(1);
    const response = await one.passkey.create(await auth('/enrol/options', { token }));
    return { ...one, ...(await auth('/enrol', { token, response })) };
  };
  const owner = await enrol(founded.owner.enrolment_url);
  const invite = (n, role) => o.post('/members', { email: `m${n}@example.com`, name: `M ${n}`, role });
  const developer = await enrol((await invite(1, 'developer')).enrolment_url);
  const invited = await invite(2, 'viewer');
  const removed = await enrol((await invite(3, 'admin')).enrolment_url);
  await o.del(`/members/${removed.member.id}`);
  const { id: team } = await o.post('/teams', { name: 'core' });
  await o.post(`/teams/${team}/members`, { member_id: developer.member.id });
  const grantee = { type: 'team', id: team };
  await o.post('/grants', { grantee, permission: 'read', secrets: ['db/*'], expires_at: FAR });
  await o.post('/grants', {
    grantee: { type: 'member', id: invited.id },
    permission: 'write',
    environments: ['staging'],
  });
  const session = await auth('/login', {
    response: await owner.passkey.get(await auth('/login/options', {})),
  });
  await on(session.token).get('/secrets');

  // An organisation that had a bad day.
  const bad = await good('POST', '/orgs', bootstrap, {
    name: 'Bad day',
    owner: { email: 'bob@example.com', name: 'Bob' },
  });
  await good('POST', `/orgs/${bad.org.id}/secrets`, bad.api_key.token, {
    name: 'S',
    type: 'generic',
    value: 'survived',
  });
  const panic = await good('POST', `/orgs/${bad.org.id}/panic`, bad.api_key.token, {
    reason: 'a laptop was stolen',
    api_keys: true,
  });

  // What is above lies in a segment in D1 before what is below is written: a segment has a thousand entries,
  // and moves after a minute.
  for (let n = 0; n < 100; n++) await Promise.all(Array.from({ length: 10 }, () => o.get('/environments')));
  process.stderr.write('waiting until audit entries have moved\n');
  await sleep(75_000);
  const kept = { name: 'app/kept', type: 'generic', value: 'once' };
  await o.post('/secrets', kept, { 'Idempotency-Key': 'kept' });
  await call('POST', `${at}/secrets`, key, { name: '' }, { 'Idempotency-Key': 'refused' });
  await call('GET', `${at}/secrets/${'x'.repeat(2000)}`, key);
  await o.get('/secrets');
  const entries = (await o.get('/audit-log?limit=1')).data[0].sequence;
  const left = {
    release: JSON.parse(fs.readFileSync(path.join(project, 'package.json'), 'utf8')).version,
    variables: { MASTER_KEYS: variable('MASTER_KEYS'), BOOTSTRAP_TOKEN: bootstrap },
    org,
    key,
    secret: secret.id,
    deleted: deleted.id,
    password: { id: password.id, value: password.value },
    limited: limited.token,
    revoked: [revoked, orphan, lapsed, rotated, agents[2], agents[3], contained, thief, bad.api_key].map(
      ({ token }) => token,
    ),
    more: {
      live: [successor, agents[0], agents[1], below].map(({ token }) => token),
      values: { [large.id]: 'ü'.repeat(32_768), [staging.id]: 'of staging', [many.id]: 'one' },
      statuses: { [brief.id]: 410, [soft.id]: 404 },
      soft: soft.id,
      many: many.id,
      entries,
      agent: agents[0].id,
      removed: removed.kept(),
      people: { [founded.owner.id]: owner.kept(), [developer.member.id]: developer.kept() },
      bad: { org: bad.org.id, key: panic.api_key.token },
    },
  };
  await stop();
  const state = path.join(dir, '.wrangler', 'state');
  const names = fs
    .readdirSync(path.join(state, 'v3'), { recursive: true, encoding: 'utf8' })
    .map((name) => path.join('v3', name));
  const files = names.filter(
    (name) => /\/(d1|do)\/.*\.sqlite(-wal)?$/.test(name) && fs.statSync(path.join(state, name)).size > 0,
  );
  const read = (name) => fs.readFileSync(path.join(state, name)).toString('base64');
  const whole = { ...left, files: Object.fromEntries(files.map((name) => [name, read(name)])) };
  fs.writeFileSync(output, zlib.gzipSync(JSON.stringify(whole), { level: 9 }));
});
