// What deciders are shown of a held request: enough to judge it, never a value, and to nobody else who can
// list approvals.
import { expect, it, vi } from 'vitest';
import { hostOf } from '../../../src/adapters/sync/hosts';
import { tuple } from '../../../src/crypto/bytes';
import { hmacHex } from '../../../src/crypto/digest';
import { approvalDetails } from '../../../src/gate/approvals/details';
import { rootOfCredential } from '../../../src/gate/rows/quota-root';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, inGate, keysOf } from '../../support/gate';
import { approvalIn, approve, newApprovalPolicy, newOffice, under } from '../../support/governance/approvals';
import { herokuConfig, TOKEN } from '../../support/integrations/syncs';
import { newMember, newTeam } from '../../support/people';
import { signIn } from '../../support/signin/browser';
import { signInTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { type Answer, type Caller, codeOf, db, newSecret, useWorld } from '../../support/world';

useWorld();

const ALL = [
  'secret.read',
  'secret.rotate',
  'secret.share',
  'break_glass.create',
  'policy.change',
  'team.change',
  'member.change',
];

slow('approval: deciders are shown where, to whom and what, and no value or credential', async () => {
  const { o, ann, bob } = await newOffice();
  const secret = await newSecret(o, { name: 'DB', value: 'a-held-value' });
  const cat = await newMember(o, 'developer');
  const team = await newTeam(o, cat.id);
  const { id: integrationId } = (
    await o.post('/integrations', {
      kind: 'sync',
      platform: 'gitlab-ci',
      name: 'lab',
      config: { token: TOKEN, projectId: 'a/b', host: 'git.example.com' },
    })
  ).json;
  const policy = await newApprovalPolicy(o, ALL);
  const by = bob.o;
  /** What the owner is shown of a held call. */
  const shown = async (answer: Answer): Promise<Record<string, string>> => {
    const { json, text } = await ann.o.get(`/approvals/${approvalIn(answer).id}`);
    for (const hidden of ['a-held-value', 'another-value', TOKEN]) expect(text).not.toContain(hidden);
    return Object.fromEntries(
      json.shown.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
  };
  const env = 'production';
  expect(await shown(await by.get(`/secrets/${secret.id}`))).toMatchObject({
    Secret: 'DB',
    Environment: env,
  });
  expect(
    await shown(
      await by.patch(`/secrets/${secret.id}`, { value: 'another-value', description: 'new words' }),
    ),
  ).toMatchObject({
    Secret: 'DB',
    Value: 'replaced; the new version is 2',
    'description after': 'new words',
  });
  expect(
    await shown(
      await by.post('/integrations/sync', { platform: 'heroku', config: herokuConfig, environmentId: env }),
    ),
  ).toEqual({
    Platform: 'heroku',
    Host: 'api.heroku.com',
    appName: 'demo-app',
    'From environment': env,
    'Deletes what is gone': 'no',
    Secret: 'DB',
    Environment: env,
    Type: 'generic',
  });
  expect(
    await shown(await by.post('/integrations/sync', { integrationId, environmentId: env, prune: true })),
  ).toMatchObject({
    Host: 'git.example.com',
    projectId: 'a/b',
    Connection: `lab (${integrationId})`,
    'Deletes what is gone': 'yes',
  });
  expect(
    await shown(await by.post('/integrations/generate', { format: 'dotenv', environmentId: env })),
  ).toMatchObject({
    Format: 'dotenv',
    Secret: 'DB',
  });
  expect(
    await shown(await by.post(`/secrets/${secret.id}/share`, { kind: 'link', expires_in: 60, max_views: 3 })),
  ).toMatchObject({
    Secret: 'DB',
    Views: '3',
    Passphrase: 'no',
  });
  expect(
    await shown(
      await by.post('/grants', {
        grantee: { type: 'team', id: team },
        permission: 'write',
        environments: [env],
        secrets: ['D*'],
      }),
    ),
  ).toMatchObject({
    Grantee: expect.stringContaining(team),
    Permission: 'write',
    Environments: env,
    Names: 'D*',
    Expires: 'never',
  });
  expect(
    await shown(await by.post('/break-glass-tokens', { reason: 'the database is down', ttlSeconds: 600 })),
  ).toMatchObject({
    Reason: 'the database is down',
    Expires: expect.stringContaining('T'),
  });
  expect(await shown(await by.patch(`/policies/${policy}`, { enabled: false }))).toMatchObject({
    'enabled before': '1',
    'enabled after': '0',
  });
  expect(await shown(await by.patch(`/members/${cat.id}`, { role: 'viewer' }))).toMatchObject({
    Email: cat.email,
    'Role before': 'developer',
    'Role after': 'viewer',
  });
  expect(await shown(await by.del(`/teams/${team}/members/${cat.id}`))).toMatchObject({
    Member: expect.any(String),
    Change: 'removed',
  });
});

it('approval: long names hide none of several secrets from deciders', async () => {
  const { o, ann, bob } = await newOffice();
  const names = Array.from({ length: 35 }, (_, n) => `${'A'.repeat(250)}${100 + n}`).concat('ROOT');
  const items = (value: string) => ({
    source: 'doppler',
    environmentId: 'production',
    onConflict: 'overwrite',
    data: Object.fromEntries(names.map((name) => [name, value])),
  });
  expect((await o.post('/integrations/import', items('1'))).status).toBe(200);
  await newApprovalPolicy(o, ['secret.read', 'secret.update']);
  for (const held of [
    await bob.o.post('/integrations/generate', { format: 'dotenv', environmentId: 'production' }),
    await bob.o.post('/integrations/import', items('2')),
  ]) {
    const { shown } = (await ann.o.get(`/approvals/${approvalIn(held).id}`)).json;
    const pieces = (shown as { name: string; value: string }[]).filter(({ name }) => /^Names/.test(name));
    expect(pieces.map(({ value }) => value).join('')).toBe(names.join(', '));
  }
});

it('approval: only its root and who may decide it are shown what it does', async () => {
  const { o, ann, bob, asked } = await newOffice();
  const dan = await signIn(o, 'admin');
  const secret = await newSecret(o);
  await newApprovalPolicy(o, ['secret.read']);
  const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
  const auditor = (await newKey(o, { scopes: ['approvals:read'] })).o;
  const seen = async (by: Caller) => [
    (await by.get(`/approvals/${id}`)).json.shown !== null,
    (await by.get('/approvals')).json.data[0].shown !== null,
  ];
  for (const by of [asked, ann.o]) expect(await seen(by)).toEqual([true, true]);
  // An admin is no approver of the policy; the member accountable for the key did not ask in a session of
  // theirs; a key decides nothing.
  for (const by of [dan.o, bob.o, auditor, o]) expect(await seen(by)).toEqual([false, false]);
  const approved = await approve(ann, id);
  expect(approved.json).toMatchObject({ status: 'approved', shown: null });
  expect(await seen(ann.o)).toEqual([true, true]);
  await asked.get(`/secrets/${secret.id}`, under(id));
  for (const by of [asked, ann.o]) expect(await seen(by)).toEqual([false, false]);
});

it('approval: what deciders are shown is encrypted at rest, is no row of D1, and is bounded', async () => {
  const { o, asked } = await newOffice();
  const secret = await newSecret(o);
  await newApprovalPolicy(o, ['secret.update']);
  const ask = (description: string) => asked.patch(`/secrets/${secret.id}`, { value: 'x', description });
  faults.lags = true;
  const { id } = approvalIn(await ask('words of the request'));
  const stored = await inGate(o, (_gate, state) =>
    ['rows', 'approval_details', 'journal', 'replays'].map((table) =>
      JSON.stringify(state.storage.sql.exec(`select * from ${table}`).toArray()),
    ),
  );
  for (const text of stored) expect(text).not.toContain('words of the request');
  expect((await asked.get(`/approvals/${id}`)).json.shown).toContainEqual({
    name: 'description after',
    value: 'words of the request',
  });
  const fill = (root: string, bytes: number) =>
    inCore(o, (core) =>
      core.storage.transactionSync(() =>
        approvalDetails(core).save({
          id: `apr_${root}`,
          root,
          credential: '',
          sealed: 'x'.repeat(bytes),
          until: 9e15,
        }),
      ),
    );
  const root = await inCore(o, (core) =>
    rootOfCredential(core, core.rows.get('approval', id)?.root as string),
  );
  for (let i = 0; i < 16; i++) await fill(i === 0 ? root : `other${i}`, 1024 ** 2);
  expect(approvalIn(await ask('again')).status).toBe('pending');
  await inCore(
    o,
    ({ storage }) =>
      void storage.sql.exec('update approval_details set bytes = 16777000 where id = ?', `apr_${root}`),
  );
  expect(codeOf(await ask('a third time'))).toEqual([409, 'LIMIT_REACHED']);
  await inCore(o, ({ storage }) => {
    storage.sql.exec('update approval_details set bytes = 0 where root = ?', root);
    storage.sql.exec("update approval_details set bytes = 268435000 where id = 'apr_other1'");
  });
  expect(codeOf(await ask('a fourth time'))).toEqual([409, 'LIMIT_REACHED']);
});

it('approval: a decider in a terminal session is shown nothing', async () => {
  const { o, ann, asked } = await newOffice();
  const secret = await newSecret(o);
  await newApprovalPolicy(o, ['secret.read']);
  const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
  const terminal = await signInTerminal(ann);
  expect((await o.as(terminal.token).get(`/approvals/${id}`)).json).toMatchObject({
    status: 'pending',
    may_decide: false,
    shown: null,
  });
});

slow('approval: requests that ask at the same time keep the bounds', async () => {
  const { o, asked } = await newOffice();
  const secret = await newSecret(o);
  await newApprovalPolicy(o, ['secret.update']);
  const ask = (value: string) => asked.patch(`/secrets/${secret.id}`, { value });
  const { id } = approvalIn(await ask('first'));
  const size = await inCore(o, (core) => {
    const { length } = approvalDetails(core).of(id) as string;
    core.storage.sql.exec('update approval_details set bytes = ?', 16 * 1024 ** 2 - length - 10);
    return length;
  });
  expect(size).toBeGreaterThan(100);
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(ask));
  expect(answers.map(({ status }) => status).sort()).toEqual([403, 409, 409, 409, 409, 409]);
});

it('approval: X-Access-Call is shown whole, and the approval is for no other call', async () => {
  const { o, ann, bob, asked } = await newOffice();
  const secret = await newSecret(o);
  await newApprovalPolicy(o, ['secret.read', 'secret.update']);
  const call = `run_command ["sh","-c","planted-call"] ${'<x>'.repeat(2700)}`.slice(0, 8000);
  const read = (text: string | null, headers = {}) =>
    asked.get(`/secrets/${secret.id}`, { ...headers, ...(text !== null && { 'X-Access-Call': text }) });
  const plain = approvalIn(await read(null));
  const { id } = approvalIn(await read(call));
  expect(id).not.toBe(plain.id);
  expect(approvalIn(await read(call)).id).toBe(id);
  expect(approvalIn(await read(null)).id).toBe(plain.id);
  // A request without the header has the digest of earlier releases: their approvals keep working.
  const parts = ['approval', 'GET', `/api/v1/orgs/${o.id}/secrets/${secret.id}`, new Uint8Array()];
  const { digest } = await keysOf(o);
  expect((await ann.o.get(`/approvals/${plain.id}`)).json.request.digest).toBe(
    hmacHex(digest, tuple(...parts)),
  );
  const { json } = await ann.o.get(`/approvals/${id}`);
  expect(json.shown[0]).toEqual({ name: 'Call', value: call });
  expect(json.shown[1].name).toBe('Secret');
  expect((await bob.o.get(`/approvals/${id}`)).json.shown).toBeNull();
  await approve(ann, id);
  await approve(ann, plain.id);
  for (const other of [null, `${call.slice(0, -1)}!`, call.slice(0, -1)])
    expect(codeOf(await read(other, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect(codeOf(await read(call, under(plain.id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect((await read(call, under(id))).status).toBe(200);
  expect((await read(null, under(plain.id))).status).toBe(200);
});

slow(
  'approval: X-Access-Call is in no audit entry, event or row, and in the answer to nobody else',
  async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.update']);
    const headers = { 'X-Access-Call': 'planted-call' };
    const logged = vi.spyOn(console, 'log');
    const refused = await asked.patch(`/secrets/${secret.id}`, { value: 'x' }, headers);
    const { id } = approvalIn(refused);
    expect((await asked.get(`/approvals/${id}`)).json.shown[0]).toEqual({
      name: 'Call',
      value: 'planted-call',
    });
    expect((await asked.get(`/secrets/${secret.id}`, headers)).status).toBe(200);
    const tables = (
      await db
        .prepare("select name from sqlite_schema where type = 'table' and name not like '\\_%' escape '\\'")
        .all<{ name: string }>()
    ).results;
    const rows = await Promise.all(
      tables.map(async ({ name }) =>
        JSON.stringify((await db.prepare(`select * from "${name}"`).all()).results),
      ),
    );
    const kept = await inGate(o, (_gate, { storage: { sql } }) =>
      sql
        .exec<{ name: string }>(
          "select name from sqlite_schema where type = 'table' and name not like '\\_cf%' escape '\\'",
        )
        .toArray()
        .map(({ name }) => JSON.stringify(sql.exec(`select * from "${name}"`).toArray())),
    );
    expect(rows.length).toBeGreaterThan(10);
    expect(kept.length).toBeGreaterThan(5);
    const told = [refused, await o.get('/audit-log'), await o.get('/events'), await o.get('/approvals')].map(
      ({ text }) => text,
    );
    for (const text of [...rows, ...kept, ...told, JSON.stringify(logged.mock.calls)])
      expect(text).not.toContain('planted-call');
    logged.mockRestore();
  },
);

slow('idempotency: another X-Access-Call is another request', async () => {
  const { o } = await newOffice();
  const post = (call: string | null) =>
    o.post(
      '/teams',
      { name: 'ops' },
      { 'Idempotency-Key': 'k', ...(call !== null && { 'X-Access-Call': call }) },
    );
  const first = await post('one');
  expect(first.status).toBe(201);
  expect((await post('one')).json).toEqual(first.json);
  for (const other of ['two', null])
    expect(codeOf(await post(other))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
});

it('approval: the host shown is the one that the deployment calls', () => {
  expect(hostOf('heroku', {}, 'https://proxy.example.com/heroku')).toBe('proxy.example.com');
  expect(hostOf('kubernetes', { apiServer: 'https://k8s.example.com:6443' }, undefined)).toBe(
    'k8s.example.com:6443',
  );
  expect(hostOf('aws-ssm', { region: 'cn-north-1' }, undefined)).toBe('ssm.cn-north-1.amazonaws.com.cn');
});
