// svc contain and svc incident: a dry run shows what ends, a token is read from stdin alone, and an incident
// follows what is left to do.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { deeds } from '../../src/credentials/incidents.ts';
import { type Machine, signedIn, succeeding } from '../harness.ts';

let machine: Machine;
const { ok, json } = succeeding(() => machine);
/** A key with a session that read one secret whose value was given. */
async function leaked(secret: string) {
  await ok(['set', secret, '--type', 'api_key', '-e', 'production'], { stdin: 'sk_test_1' });
  const key = await json(['key', 'create', `job ${secret}`, '--scopes', 'secrets:read,tokens:write']);
  const session = await json(['token', 'create', '--ttl', '10m'], { env: { SVC_TOKEN: key.token } });
  await ok(['get', secret, '-e', 'production'], { env: { SVC_TOKEN: session.token } });
  return { key, session };
}

beforeAll(async () => {
  ({ machine } = await signedIn());
});

it('contain --dry-run: shows depth and what would end, with what sessions read, and changes nothing', async () => {
  const { key, session } = await leaked('DRY');
  const { stdout, stderr } = await ok(['contain', key.id, '--dry-run', '--rotate-generated']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  expect(rows.map(([what, name, which]) => [what, name, which?.split(' 20')[0]])).toEqual([
    ['would end', 'job DRY', 'api_key'],
    ['would end', 'job DRY', 'session depth 1'],
    ['created', 'job DRY', 'session'],
    ['read', 'DRY', 'version 1'],
    ['rotate at its issuer', 'DRY', '-'],
  ]);
  expect(stderr).toContain('Nothing was changed');
  const foreseen = await json(['contain', key.id, '--dry-run']);
  expect(foreseen).toMatchObject({
    dry_run: true,
    incident_id: null,
    children: [{ id: session.id, depth: 1, ended_by_contain: true }],
  });
  await ok(['whoami'], { env: { SVC_TOKEN: session.token } });
  const { revoked } = await json(['contain', key.id, '--yes']);
  expect(revoked).toEqual(foreseen.revoked);
  expect((await machine.svc(['whoami'], { env: { SVC_TOKEN: session.token } })).code).not.toBe(0);
});

it('contain --dry-run: what was revoked before does not count as what would end', async () => {
  const { key, session } = await leaked('TWICE');
  await ok(['token', 'revoke', session.id, '--yes']);
  const { stdout, stderr } = await ok(['contain', key.id, '--dry-run']);
  expect(stdout).toContain('would end\tjob TWICE\tapi_key');
  expect(stdout).toContain('has ended\tjob TWICE\tsession');
  expect(stderr).toContain('1 credential would end');
});

it('contain --token-stdin: takes the token from stdin, never as an argument, and repeats it nowhere', async () => {
  const { key, session } = await leaked('BY_TOKEN');
  for (const argv of [['contain'], ['contain', key.id, '--token-stdin']])
    expect((await machine.svc(argv, { stdin: session.token })).code).toBe(2);
  const ran = await machine.svc(['contain', '--token-stdin', '--yes'], { stdin: `${session.token}\n` });
  expect(ran.code, ran.stderr).toBe(0);
  expect(`${ran.stdout}${ran.stderr}`).not.toContain(session.token);
  expect((await machine.svc(['whoami'], { env: { SVC_TOKEN: session.token } })).code).not.toBe(0);
  await ok(['whoami'], { env: { SVC_TOKEN: key.token } });
  const refused = await machine.svc(['contain', '--token-stdin', '--yes'], { stdin: 'sw0rdfish' });
  expect(refused.code).toBe(5);
  expect(refused.stderr).not.toContain('sw0rdfish');
});

it('contain: begins with a token in a log, whose credential scan names', async () => {
  const { key, session } = await leaked('IN_A_LOG');
  const log = path.join(machine.home, 'job.log');
  fs.writeFileSync(log, `12:00 GET /deploy Authorization: Bearer ${session.token}\n`);
  const scanned = await machine.svc(['scan', log]);
  expect(scanned.code, scanned.stderr).toBe(9);
  expect(scanned.stdout).toContain(session.id);
  expect(scanned.stdout).toContain('live');
  expect(scanned.stderr).toContain('svc contain');
  expect(`${scanned.stdout}${scanned.stderr}`).not.toContain(session.token);
  expect((await ok(['contain', session.id, '--dry-run'])).stdout).toContain('would end\tjob IN_A_LOG');
  await ok(['contain', session.id, '--yes']);
  expect((await machine.svc(['scan', log])).stdout).toContain('not live');
  await ok(['whoami'], { env: { SVC_TOKEN: key.token } });
});

it('contain: lists the connections and domains that it created', async () => {
  const scopes = 'integrations:*,secrets:read,sso:write';
  const key = await json(['key', 'create', 'connects', '--scopes', scopes]);
  await ok(['domain', 'add', 'theirs.example.com'], { env: { SVC_TOKEN: key.token } });
  const config = JSON.stringify({ token: 'HRKU-x', appName: 'demo-app' });
  await ok(['sync', 'connect', 'heroku', '--name', 'theirs'], {
    env: { SVC_TOKEN: key.token },
    stdin: config,
  });
  const { stdout } = await ok(['contain', key.id, '--yes']);
  expect(stdout).toMatch(/connected\ttheirs\theroku /);
  expect(stdout).toMatch(/added domain\ttheirs\.example\.com\t/);
});

it('incident: listed and shown with what is left to rotate, closed and opened again', async () => {
  const { key } = await leaked('FOLLOWED');
  const { incident_id } = await json(['contain', key.id, '--yes']);
  const { stdout } = await ok(['incident', 'show', incident_id]);
  expect(stdout).toContain('0 of 1');
  expect(stdout).toMatch(/rotate\tFOLLOWED\tit knows version 1/);
  await ok(['rotate', 'FOLLOWED', '-e', 'production'], { stdin: 'sk_test_2' });
  expect(await json(['incident', 'show', incident_id])).toMatchObject({ rotation: { rotated: 1, total: 1 } });
  expect(await json(['incident', 'close', incident_id, '--note', 'done'])).toMatchObject({
    status: 'closed',
    note: 'done',
  });
  const ids = async (status: string) =>
    ((await json(['incident', 'list', '--status', status])).data as { id: string }[]).map(({ id }) => id);
  expect([(await ids('open')).includes(incident_id), (await ids('closed')).includes(incident_id)]).toEqual([
    false,
    true,
  ]);
  expect(await json(['incident', 'open', incident_id, '--note', ''])).toMatchObject({
    status: 'open',
    note: null,
  });
  expect((await machine.svc(['incident', 'show', 'inc_none'])).code).toBe(5);
});

it('a report lists what was used through upstreams, and the upstreams that were made', () => {
  const time = '2026-01-01T00:00:00.000Z';
  const none = { credentials: [], read: [], written: [], shared: [], connections: [], syncs: [] };
  const rows = deeds({
    ...none,
    credential: { kind: 'api_key', id: 'key_1', name: null },
    revoked: [],
    log_streams: [],
    domains: [],
    sso_connections: [],
    used: [{ secret_id: 'sec_1', name: 'KEY', environment: null, version: 1, time }],
    upstreams: [{ id: 'ups_1', name: 'stripe', action: 'upstream.update', time }],
  });
  expect(rows).toEqual([
    ['used through upstream', 'KEY', `version 1 ${time}`],
    ['changed upstream', 'stripe', time],
  ]);
});
