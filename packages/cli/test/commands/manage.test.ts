// Environments, teams, grants, policies, devices, webhooks and log streams: each command once, against a real
// vault.
import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, expect, inject, it } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { newOrg } from '../../../../test/packages/vault.mjs';
import { CATALOGUE } from '../../src/proxy/upstream-catalogue.ts';
import { Machine, signedIn, succeeding } from '../harness.ts';

let machine: Machine;
const { ok, json } = succeeding(() => machine);
const rows = async (argv: string[]): Promise<Record<string, unknown>[]> => (await json(argv)).data;
const invite = (email: string) => json(['member', 'invite', email, '--name', 'Bea', '--role', 'viewer']);
/** What destroys something needs --yes in a script. */
const confirmed = async (argv: string[]) => {
  expect(await machine.svc(argv)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--yes'),
  });
  return json([...argv, '--yes']);
};

beforeAll(async () => {
  ({ machine } = await signedIn());
});

it('environment: created, renamed, listed and deleted; one with secrets is not deleted', async () => {
  expect(await json(['environment', 'create', 'QA'])).toMatchObject({ slug: 'qa' });
  expect(await json(['environment', 'rename', 'qa', 'Quality'])).toMatchObject({
    slug: 'qa',
    name: 'Quality',
  });
  expect((await rows(['environment', 'list'])).map(({ slug }) => slug)).toContain('qa');
  await ok(['set', 'KEPT', '-e', 'qa'], { stdin: 'v' });
  expect((await machine.svc(['environment', 'delete', 'qa', '--yes'])).code).toBe(6);
  await ok(['delete', 'KEPT', '-e', 'qa', '--permanent', '--yes']);
  expect(await confirmed(['environment', 'delete', 'qa'])).toEqual({ id: 'qa', deleted: true });
  expect((await machine.svc(['environment', 'rename', 'qa', 'x'])).code).toBe(5);
});

it('team, grant: a member gets the grants of a team, and loses them', async () => {
  const { id } = await invite('bea@example.com');
  const team = await json(['team', 'create', 'Payments']);
  expect(await json(['team', 'rename', team.id, 'Billing'])).toMatchObject({ name: 'Billing' });
  await ok(['team', 'add', team.id, id]);
  expect((await rows(['team', 'members', team.id])).map(({ member_id }) => member_id)).toEqual([id]);
  expect((await machine.svc(['grant', 'create', team.id])).stderr).toContain('--permission');
  const options = [
    '--permission',
    'write',
    '--environments',
    'staging',
    '--secrets',
    'billing/*',
    '--ttl',
    '1d',
  ];
  const grant = await json(['grant', 'create', team.id, ...options]);
  expect(grant).toMatchObject({
    grantee: { type: 'team', id: team.id },
    permission: 'write',
    secrets: ['billing/*'],
  });
  expect((await rows(['grant', 'list', '--to', team.id])).map((row) => row.id)).toEqual([grant.id]);
  const access = () =>
    json(['member', 'access', id, 'secrets:write', '--environment', 'staging', '--secret', 'billing/db']);
  expect(await access()).toMatchObject({ allowed: true });
  await confirmed(['team', 'remove', team.id, id]);
  expect(await access()).toMatchObject({ allowed: false });
  await confirmed(['grant', 'delete', grant.id]);
  await confirmed(['team', 'delete', team.id]);
  expect(await rows(['team', 'list'])).toEqual([]);
  const own = await json(['grant', 'create', id, '--permission', 'read']);
  expect(own.grantee).toEqual({ type: 'member', id });
});

it('upstream: made of the catalogue or from stdin, shown, changed and deleted', async () => {
  await ok(['set', 'STRIPE_SECRET_KEY'], { stdin: 'sk_test_a-key-of-stripe' });
  expect(await rows(['upstream', 'catalogue'])).toContainEqual(
    expect.objectContaining({ name: 'anthropic' }),
  );
  expect((await machine.svc(['upstream', 'add', 'nobody'])).stderr).toContain('The catalogue has no nobody.');
  const made = await json(['upstream', 'add', 'stripe']);
  expect(made).toMatchObject({
    name: 'stripe',
    base_url: 'https://api.stripe.com',
    secrets: ['STRIPE_SECRET_KEY'],
    status: 'active',
  });
  const shown = await ok(['upstream', 'show', 'stripe']);
  expect(shown.stdout).toContain('GET, POST /v1/charges');
  const change = { allow: [{ methods: ['GET'], paths: ['/v1/balance'] }] };
  expect(await json(['upstream', 'update', 'stripe'], { stdin: JSON.stringify(change) })).toMatchObject(
    change,
  );
  const other = {
    name: 'payments',
    base_url: 'https://payments.example.com',
    environment: made.environment,
    auth: [{ type: 'query', name: 'key', value: '{{STRIPE_SECRET_KEY}}' }],
    allow: [{ methods: ['GET'], paths: ['/*'] }],
  };
  await ok(['upstream', 'create'], { stdin: JSON.stringify(other) });
  expect((await rows(['upstream', 'list'])).map(({ name }) => name).sort()).toEqual(['payments', 'stripe']);
  await confirmed(['upstream', 'delete', 'payments']);
  await confirmed(['upstream', 'delete', made.id]);
  expect(await rows(['upstream', 'list'])).toEqual([]);
  expect((await machine.svc(['upstream', 'show', 'stripe'])).stderr).toContain('no upstream stripe');
});

it.each(Object.keys(CATALOGUE))('upstream: the service takes %s of the catalogue', async (name) => {
  const ready = CATALOGUE[name];
  for (const secret of [ready?.secret ?? '', ...(ready?.also ?? [])])
    await ok(['set', secret], { stdin: 'a-credential-of-the-vendor' });
  const add = ['upstream', 'add', name];
  if (ready?.isOwnAddress) expect((await machine.svc(add)).stderr).toContain('--base-url');
  await ok([...add, ...(ready?.isOwnAddress ? ['--base-url', 'https://db.example.org'] : [])]);
});

it('policy: created from stdin, changed, disabled and deleted; an error does not repeat stdin', async () => {
  const policy = { name: 'Upper case', kind: 'naming', config: { pattern: '^[A-Z_]+$' } };
  await ok(['set', 'lower'], { stdin: 'v' });
  const { id } = await json(['policy', 'create'], { stdin: JSON.stringify(policy) });
  expect(JSON.parse((await ok(['policy', 'show', id])).stdout)).toMatchObject(policy);
  expect((await rows(['policy', 'violations', id])).map(({ name }) => name)).toContain('lower');
  expect((await machine.svc(['set', 'also-lower'], { stdin: 'v' })).code).not.toBe(0);
  expect(await json(['policy', 'update', id], { stdin: '{"name":"Capitals"}' })).toMatchObject({
    name: 'Capitals',
    enabled: true,
  });
  expect(await confirmed(['policy', 'disable', id])).toMatchObject({ enabled: false });
  await ok(['set', 'also-lower'], { stdin: 'v' });
  expect(await json(['policy', 'enable', id])).toMatchObject({ enabled: true });
  expect((await rows(['policy', 'list'])).map(({ name }) => name)).toEqual(['Capitals']);
  await confirmed(['policy', 'delete', id]);
  const refused = await machine.svc(['policy', 'create'], { stdin: 'sw0rdfish' });
  expect(refused).toMatchObject({ code: 2, stderr: expect.not.stringContaining('sw0rdfish') });
});

it('policy create: warns if nobody can approve, or nobody the requests of the only approver', async () => {
  const { url, org, key, enrolmentUrl } = await newOrg(inject('vaultUrl'));
  const own = new Machine({ SVC_URL: url, SVC_ORG_ID: org, SVC_TOKEN: key });
  const config = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
  const policy = { name: 'Two people', kind: 'approval', applies_to: { names: ['payments/*'] }, config };
  const create = async () => (await own.svc(['policy', 'create'], { stdin: JSON.stringify(policy) })).stderr;
  expect(await create()).toMatch(/needs 1 approver, and 0 have set up their sign-in/);
  await signedInTerminal(url, enrolmentUrl);
  expect(await create()).toMatch(/warning: Ann is the only approver\. Nobody can approve their requests/);
  policy.config.approvers = { accountable: true } as never;
  expect(await create()).toMatch(/warning: This policy holds only agents/);
  const naming = { name: 'Any', kind: 'naming', config: { pattern: '.' } };
  expect((await own.svc(['policy', 'create'], { stdin: JSON.stringify(naming) })).stderr).not.toContain(
    'warning',
  );
});

it('device: registered with a public key, assigned, blocked and removed', async () => {
  const { id: owner } = await invite('dan@example.com');
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const register = ['device', 'register', 'Laptop', '--platform', 'Linux', '--serial', 'C02', '--key-stdin'];
  const made = await json(register, { stdin: JSON.stringify(publicKey.export({ format: 'jwk' })) });
  expect(made).toMatchObject({ name: 'Laptop', status: 'active', serial: 'C02' });
  expect(await json(['device', 'assign', made.id, owner])).toMatchObject({ member_id: owner });
  expect((await rows(['device', 'list', '--member', owner])).map(({ id }) => id)).toEqual([made.id]);
  expect(await json(['device', 'unassign', made.id])).toMatchObject({ member_id: null });
  expect(await confirmed(['device', 'block', made.id])).toMatchObject({ status: 'blocked' });
  expect(await rows(['device', 'list', '--status', 'active'])).toEqual([]);
  await confirmed(['device', 'remove', made.id]);
  expect(await rows(['device', 'list'])).toEqual([]);

  const jwk = privateKey.export({ format: 'jwk' });
  let sent = 0;
  const fetch: typeof globalThis.fetch = async () => {
    sent++;
    return new Response();
  };
  const refused = await machine.svc(register, { stdin: JSON.stringify(jwk), host: { fetch } });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('private key') });
  expect(refused.stderr).not.toContain(jwk.d);
  expect(sent).toBe(0);
});

it('domain, sso: added with the record to create, looked up, deleted; connections are listed', async () => {
  const added = await ok(['domain', 'add', 'Manage.example.com.']);
  expect(added.stdout).toMatch(
    /^type: {2}TXT\nname: {2}_secrets-vault\.manage\.example\.com\nvalue: svc-domain/,
  );
  const [row] = await rows(['domain', 'list']);
  expect(row).toMatchObject({ domain: 'manage.example.com', status: 'pending' });
  expect((await ok(['domain', 'show', 'manage.example.com'])).stdout).toContain('is pending');
  expect((await machine.svc(['domain', 'add', 'manage.example.com'])).code).toBe(6);
  expect((await machine.svc(['domain', 'add', 'localhost'])).code).toBe(2);
  expect((await machine.svc(['domain', 'verify', 'manage.example.com'])).code).toBe(6);
  expect((await machine.svc(['domain', 'verify', 'other.example.com'])).code).toBe(5);
  expect(await confirmed(['domain', 'delete', 'manage.example.com'])).toEqual({ id: row?.id, deleted: true });
  expect(await rows(['sso', 'list'])).toEqual([]);
  expect((await machine.svc(['sso', 'show', 'sso_0HrZKtC4bqXw2vJm8yNd1L'])).code).toBe(5);
});

it('scim, links: only the token is on stdout; listed, revoked; identities of a member are listed', async () => {
  const { stdout, stderr } = await ok(['scim', 'create', 'Okta', '--end-credentials', '--ttl', '90d']);
  expect(stdout).toMatch(/^svcscim_\S+\n$/);
  expect(stderr).toMatch(/tenant URL is http\S+\/scim\/v2\/org_\w+\./);
  const [row] = await rows(['scim', 'list']);
  expect(row).toMatchObject({ name: 'Okta', connection_id: null, end_credentials: true });
  expect((await ok(['scim', 'list'])).stdout).toContain('Okta');
  const unknown = ['scim', 'create', 'x', '--connection', 'sso_0HrZKtC4bqXw2vJm8yNd1L'];
  expect((await machine.svc(unknown)).code).toBe(2);
  expect(await confirmed(['scim', 'revoke', row?.id as string])).toEqual({ id: row?.id, revoked: true });
  const { id } = await invite('linked@example.com');
  expect(await rows(['member', 'links', id])).toEqual([]);
  expect((await machine.svc(['member', 'links', 'mem_0HrZKtC4bqXw2vJm8yNd1L'])).code).toBe(5);
});

it('webhook: only the signing secret is on stdout; tested, rotated, disabled and deleted', async () => {
  const { stdout, stderr } = await ok(
    ['webhook', 'create', '-', '--events', 'SECRET_ROTATED,SECRET_DELETED', '--description', 'Deploys'],
    {
      stdin: 'https://hooks.example.com/vault\n',
    },
  );
  expect(stdout).toMatch(/^whsec_\S+\n$/);
  const [id = ''] = /whk_\w+/.exec(stderr) ?? [];
  const [row] = await rows(['webhook', 'list']);
  expect(row).toMatchObject({
    id,
    url: 'https://hooks.example.com/vault',
    events: ['SECRET_ROTATED', 'SECRET_DELETED'],
    enabled: true,
  });
  const tested = await machine.svc(['webhook', 'test', id, '--json']);
  expect(tested.json).toMatchObject({ webhook_id: id, event_type: 'WEBHOOK_TEST', status: 'failed' });
  expect(tested.code).toBe(1);
  expect((await rows(['webhook', 'deliveries', id, '-n', '1']))[0]).toMatchObject({
    id: tested.json.id,
    status: 'failed',
  });
  expect((await machine.svc(['webhook', 'redeliver', id])).code).toBe(2);
  expect(await json(['webhook', 'redeliver', id, '--delivery', tested.json.id])).toMatchObject({
    status: 'pending',
  });
  expect(await json(['webhook', 'redeliver', id, '--since', '1h'])).toMatchObject({
    redelivered: expect.any(Number),
  });
  expect((await confirmed(['webhook', 'rotate', id, '--overlap', '1h'])).secret).toMatch(/^whsec_/);
  expect(await json(['webhook', 'disable', id])).toMatchObject({ enabled: false });
  expect(await json(['webhook', 'enable', id])).toMatchObject({ enabled: true });
  await confirmed(['webhook', 'delete', id]);
  expect((await machine.svc(['webhook', 'create', 'https://hooks.example.com/x'])).stderr).toContain(
    '--events',
  );
});

it('log-stream: only the signing secret is on stdout; shown, changed, disabled and deleted', async () => {
  const stream = { name: 'SIEM', kind: 'https', config: { url: 'https://siem.example.com/audit' } };
  const { stdout, stderr } = await ok(['log-stream', 'create'], { stdin: JSON.stringify(stream) });
  expect(stdout).toMatch(/^whsec_\S+\n$/);
  const [id = ''] = /log_\w+/.exec(stderr) ?? [];
  expect((await rows(['log-stream', 'list']))[0]).toMatchObject({ id, name: 'SIEM', enabled: true });
  expect(await json(['log-stream', 'show', id])).toMatchObject({ config: stream.config });
  const changed = await ok(['log-stream', 'update', id], { stdin: JSON.stringify({ name: 'Other' }) });
  expect(changed.stdout).toBe('');
  expect((await machine.svc(['log-stream', 'seek', id])).code).toBe(2);
  expect((await machine.svc(['log-stream', 'test', id])).code).not.toBe(0);
  expect(await confirmed(['log-stream', 'disable', id])).toMatchObject({ enabled: false });
  expect(await json(['log-stream', 'enable', id])).toMatchObject({ enabled: true, name: 'Other' });
  await confirmed(['log-stream', 'delete', id]);
});
