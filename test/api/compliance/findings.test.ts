// What a compliance report finds: each finding appears where its condition holds, and not otherwise.
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/db/ids';
import type { ApprovalRow, DeviceRow, WebhookRow } from '../../../src/db/schema';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { insertion } from '../../../src/gate/request/writes';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import { finding, found, newReport } from '../../support/governance/compliance';
import { newPolicy } from '../../support/governance/policies';
import { newWebhook } from '../../support/integrations/webhooks';
import { addPasskey, newMember, ownerId } from '../../support/people';
import { change } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { moveLog } from '../../support/storage/planted';
import { DAY, HOUR, MINUTE } from '../../support/time';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const NOW = Date.now();
/** An org of long ago; the clock stands so many days before now. */
async function oldOrg(days = 400): Promise<Caller> {
  faults.clock = NOW - days * DAY;
  return newOrg();
}
const daysAgo = (days: number) => {
  faults.clock = NOW - days * DAY;
};
const of = (o: Caller, id: Parameters<typeof found>[1], query = '') =>
  newReport(o, query).then((report) => found(report, id));

describe('compliance report: secrets', () => {
  slow('overdue for rotation are those whose own period or policy is over', async () => {
    const o = await oldOrg(200);
    expect(finding(await newReport(o), 'secrets-rotation-overdue').status).toBe('not_applicable');
    await newSecret(o, { name: 'free' });
    expect(await of(o, 'secrets-rotation-overdue')).toEqual({ status: 'warn', of: [] });
    await newSecret(o, { name: 'own', rotate_every_seconds: 30 * 86_400 });
    await newSecret(o, { name: 'app/ruled' });
    await newPolicy(o, 'rotation', { max_age_days: 60 }, { applies_to: { names: ['app/*'] } });
    const steps = [
      [171, 'pass', []],
      [169, 'warn', ['own']],
      [141, 'warn', ['own']],
      [139, 'fail', ['own', 'app/ruled']],
    ] as const;
    for (const [days, status, names] of steps) {
      daysAgo(days);
      expect(await of(o, 'secrets-rotation-overdue'), String(days)).toEqual({ status, of: names });
    }
    const { evidence } = finding(await newReport(o), 'secrets-rotation-overdue');
    expect(evidence.map(({ time }) => time)).toEqual(
      [170, 140].map((days) => new Date(NOW - days * DAY).toISOString()),
    );
  });

  slow('overdue by a schedule are those that it has called since their last value', async () => {
    const o = await oldOrg(100);
    const { id } = await newSecret(o, { name: 'monthly' });
    const policy = await newPolicy(o, 'rotation', { cron: '0 3 1 * *' });
    daysAgo(68);
    expect(await of(o, 'secrets-rotation-overdue')).toEqual({ status: 'warn', of: ['monthly'] });
    await o.post(`/secrets/${id}/rotate`, { value: 'new' });
    expect((await of(o, 'secrets-rotation-overdue')).status).toBe('pass');
    daysAgo(0);
    expect((await of(o, 'secrets-rotation-overdue')).status).toBe('fail');
    await o.patch(`/policies/${policy.id}`, { enabled: false });
    expect(await of(o, 'secrets-rotation-overdue')).toEqual({ status: 'warn', of: [] });
  });

  slow('never rotated are those with their first value after 90 days', async () => {
    const o = await oldOrg();
    const { id } = await newSecret(o, { name: 'rotated' });
    await newSecret(o, { name: 'first' });
    await o.patch(`/secrets/${id}`, { value: 'second' });
    for (const [days, status, names] of [
      [311, 'pass', []],
      [310, 'warn', ['first']],
      [36, 'warn', ['first']],
      [35, 'fail', ['first']],
    ] as const) {
      daysAgo(days);
      expect(await of(o, 'secrets-never-rotated'), String(days)).toEqual({ status, of: names });
    }
  });

  slow(
    'that expire within 30 days are expiring; expired, revoked and deleted ones are only counted',
    async () => {
      const o = await oldOrg(60);
      await newSecret(o, { name: 'forever' });
      await newSecret(o, { name: 'sixty', ttlSeconds: 60 * 86_400 });
      await newSecret(o, { name: 'one', ttlSeconds: 86_400 });
      await o.del(`/secrets/${(await newSecret(o, { name: 'gone', ttlSeconds: 86_400 })).id}`);
      expect(await of(o, 'secrets-expiring')).toEqual({ status: 'warn', of: ['one'] });
      daysAgo(31);
      expect((await of(o, 'secrets-expiring')).status).toBe('pass');
      daysAgo(30);
      const report = await newReport(o);
      expect(found(report, 'secrets-expiring')).toEqual({ status: 'warn', of: ['sixty'] });
      expect(report.inventory.secrets).toMatchObject({ active: 2, expired: 1 });
    },
  );

  slow('with names that break a naming policy are those that it applies to and does not match', async () => {
    const o = await oldOrg(1);
    for (let n = 0; n < 20; n++) await newSecret(o, { name: `ok-${n}` });
    await newSecret(o, { name: 'BAD' });
    expect(await of(o, 'secrets-naming')).toEqual({ status: 'not_applicable', of: [] });
    const policy = await newPolicy(o, 'naming', { pattern: '^[a-z0-9-]+$' });
    expect(await of(o, 'secrets-naming')).toEqual({ status: 'warn', of: ['BAD'] });
    await o.patch(`/policies/${policy.id}`, { applies_to: { types: ['password'] } });
    expect(await of(o, 'secrets-naming')).toEqual({ status: 'pass', of: [] });
    await o.patch(`/policies/${policy.id}`, { applies_to: {}, config: { pattern: '^x' } });
    expect((await of(o, 'secrets-naming')).status).toBe('fail');
  });

  slow('unread for 90 days are those not read on their own, by name or in bulk', async () => {
    const o = await oldOrg();
    const ids = new Map<string, string>();
    for (const name of ['unread', 'by-id', 'by-name', 'app/bulk'])
      ids.set(name, (await newSecret(o, { name })).id);
    daysAgo(311);
    expect(await of(o, 'secrets-unread')).toEqual({ status: 'pass', of: [] });
    daysAgo(310);
    expect((await of(o, 'secrets-unread')).of).toEqual([...ids.keys()]);
    daysAgo(200);
    await o.get(`/secrets/${ids.get('by-id')}`);
    await o.get('/secrets/by-name/by-name');
    await o.get('/environments/production/values?prefix=app/');
    await o.get(`/secrets/${ids.get('unread')}/versions`);
    expect(await of(o, 'secrets-unread')).toEqual({ status: 'warn', of: ['unread'] });
    // What moves to D1 or is read back by another gate is still known.
    await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    await evict(o);
    daysAgo(111);
    expect((await of(o, 'secrets-unread')).of).toEqual(['unread']);
    daysAgo(110);
    const { evidence, complete } = finding(await newReport(o), 'secrets-unread');
    expect([evidence.map(({ name }) => name), complete]).toEqual([[...ids.keys()], true]);
    expect(evidence[1]?.facts.last_read_at).toBe(new Date(NOW - 200 * DAY).toISOString());
  });

  slow('unread are incomplete if a gate has lost its record of reads', async () => {
    const o = await oldOrg(200);
    await newSecret(o, { name: 'old' });
    await loseStorage(o);
    daysAgo(0);
    const { complete, tested } = finding(await newReport(o), 'secrets-unread');
    expect(complete).toBe(false);
    expect(tested).toContain('Reads are recorded only since');
  });

  slow('show 100 pieces of evidence, and the whole count', async () => {
    const o = await oldOrg(100);
    for (let n = 0; n < 103; n++) await newSecret(o);
    daysAgo(0);
    const never = finding(await newReport(o), 'secrets-never-rotated');
    expect([never.count, never.evidence.length, never.examined]).toEqual([103, 100, 103]);
  });
});

describe('compliance report: credentials', () => {
  slow('are unused after 90 days without a request of their own or of their descendants', async () => {
    const o = await oldOrg();
    await newKey(o, { name: 'idle' });
    const used = await newKey(o, { name: 'used' });
    const above = await newKey(o, { name: 'above' });
    const ended = await newKey(o, { name: 'ended' });
    await o.del(`/api-keys/${ended.id}`);
    await newProvider(o, { name: 'issuer' });
    daysAgo(320);
    await used.o.get('/secrets');
    await (await newSession(above.o)).o.get('/secrets');
    for (const [days, status, names] of [
      [311, 'pass', []],
      [310, 'warn', ['idle', 'issuer']],
      [221, 'warn', ['idle', 'used', 'above', 'issuer']],
      [220, 'fail', ['idle', 'used', 'above', 'issuer']],
    ] as const) {
      daysAgo(days);
      const answer = await of(o, 'credentials-unused');
      expect({ ...answer, of: answer.of.sort() }, String(days)).toEqual({ status, of: [...names].sort() });
    }
  });

  slow('without an expiry are those that neither end themselves nor with another', async () => {
    const o = await oldOrg();
    await newKey(o, { name: 'ends', scopes: ['*'], ttlSeconds: 86_400 });
    await newAgent(o, { name: 'agent' });
    await newProvider(o, { name: 'issuer' });
    expect(await of(o, 'credentials-without-expiry')).toEqual({
      status: 'warn',
      of: ['first key', 'issuer'],
    });
    daysAgo(35);
    expect((await of(o, 'credentials-without-expiry')).status).toBe('fail');
  });

  it('that end with another count with its end', async () => {
    const o = await oldOrg(10);
    const key = await newKey(o, { name: 'ends', ttlSeconds: 5 * 86_400 });
    const agent = await newAgent(key.o, { name: 'below' });
    expect((await agent.o.get('/secrets')).status).toBe(200);
    const { inventory } = await newReport(o);
    expect(inventory.credentials.find(({ kind }) => kind === 'agent')).toMatchObject({
      live: 1,
      without_expiry: 0,
    });
    daysAgo(4);
    expect((await newReport(o)).inventory.credentials.find(({ kind }) => kind === 'agent')?.live).toBe(0);
    expect(codeOf(await agent.o.get('/secrets'))).toEqual([401, 'TOKEN_EXPIRED']);
  });

  slow('are over-scoped with a wildcard and without limits', async () => {
    const o = await newOrg();
    await newKey(o, { name: 'plain', scopes: ['secrets:read'] });
    await newKey(o, { name: 'limited', scopes: ['*'], environments: ['production'] });
    await newKey(o, { name: 'named', scopes: ['secrets:*'], secrets: ['app/*'] });
    await newKey(o, { name: 'wide', scopes: ['secrets:*'] });
    expect(await of(o, 'credentials-over-scoped')).toEqual({ status: 'warn', of: ['first key', 'wide'] });
    await newAgent(o, { name: 'almighty', scopes: ['*'] });
    expect((await of(o, 'credentials-over-scoped')).status).toBe('fail');
  });

  slow('of which more than three API keys may do everything fail', async () => {
    const o = await newOrg();
    for (let n = 0; n < 2; n++) await newKey(o, { scopes: ['*'] });
    expect((await of(o, 'credentials-over-scoped')).status).toBe('warn');
    await newKey(o, { scopes: ['*'] });
    expect((await of(o, 'credentials-over-scoped')).status).toBe('fail');
  });

  it('are counted by kind', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    await newSession(key.o);
    await newSession(key.o);
    await newAgent(o);
    await newBreakGlass(o);
    const { inventory } = await newReport(o);
    expect(Object.fromEntries(inventory.credentials.map(({ kind, live }) => [kind, live]))).toEqual({
      api_key: 2,
      agent: 1,
      provider: 0,
      break_glass: 1,
      trust: 0,
      scim: 0,
      session: 2,
      browser: 0,
    });
  });
});

const newDevice = (o: Caller, fields: Partial<DeviceRow>) =>
  change(o.id, (call, now) => ({
    status: 200,
    data: null,
    writes: [
      insertion(call, 'device', {
        org_id: o.id,
        id: newId('dev'),
        name: 'laptop',
        platform: 'linux',
        created_by: 'x',
        created_at: now,
        updated_at: now,
        ...fields,
      }),
    ],
  }));

describe('compliance report: people and devices', () => {
  slow('members without a passkey are named; an owner or admin only has a week', async () => {
    const o = await oldOrg(30);
    const owner = await ownerId(o);
    await addPasskey(o, owner);
    expect(await of(o, 'members-without-passkey')).toEqual({ status: 'pass', of: [] });
    await newMember(o, 'developer', { name: 'Dev' });
    await newMember(o, 'admin', { name: 'Adm' });
    expect(await of(o, 'members-without-passkey')).toEqual({ status: 'warn', of: ['Dev', 'Adm'] });
    daysAgo(22);
    const report = await newReport(o);
    expect(found(report, 'members-without-passkey').status).toBe('fail');
    expect(report.inventory.members).toEqual({
      total: 3,
      by_role: { owner: 1, admin: 1, developer: 1, viewer: 0, auditor: 0 },
      without_passkey: 2,
      suspended: 0,
    });
  });

  slow('devices without an assigned member are reported unless they are blocked', async () => {
    const o = await newOrg();
    expect((await of(o, 'devices-unassigned')).status).toBe('not_applicable');
    await newDevice(o, { member_id: await ownerId(o) });
    await newDevice(o, { blocked_at: 1 });
    expect((await of(o, 'devices-unassigned')).status).toBe('pass');
    await newDevice(o, { name: 'spare' });
    const report = await newReport(o);
    expect(found(report, 'devices-unassigned')).toEqual({ status: 'warn', of: ['spare'] });
    expect(report.inventory.devices).toEqual({ total: 3, assigned: 1, blocked: 1 });
  });
});

const newApproval = (o: Caller, fields: Partial<ApprovalRow>) =>
  change(o.id, (call, now) => ({
    status: 200,
    data: null,
    writes: [
      insertion(call, 'approval', {
        org_id: o.id,
        id: newId('apr'),
        status: 'pending',
        operation: 'secret.read',
        action: 'secret.read',
        root: 'r',
        requester: { kind: 'api_key', id: 'key_x', parent_id: null, name: 'deploy' },
        accountable: ['mem_a'],
        digest: crypto.randomUUID(),
        method: 'GET',
        path: '/',
        summary: 'Read',
        resource_name: 'app/key',
        targets: {},
        policies: [{ id: 'pol_x', revision: 1, name: 'Four eyes', required: 2 }],
        decisions: [],
        request_id: 'r',
        ip: '',
        created_at: now,
        expires_at: now + DAY,
        ...fields,
      }),
    ],
  }));
const approvedBy = (...members: string[]) =>
  members.map((member) => ({ member, decision: 'approve' as const, at: NOW }));

describe('compliance report: approvals', () => {
  it('need a policy to pass, and are listed with those who decided', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'admin', { name: 'Bea' });
    expect(await of(o, 'approvals')).toEqual({ status: 'warn', of: [] });
    await newApproval(o, { status: 'used', decisions: approvedBy(id, 'mem_b') });
    const { evidence, status, tested } = finding(await newReport(o), 'approvals');
    expect(status).toBe('warn');
    expect(tested).toContain('no approval policy is enabled');
    expect(evidence[0]).toMatchObject({
      name: 'app/key',
      facts: { requester_name: 'deploy', status: 'used' },
    });
    expect(evidence[0]?.people?.map(({ name, decision }) => [name, decision])).toEqual([
      ['Bea', 'approve'],
      [null, 'approve'],
    ]);
  });

  it.each([
    ['one person counted twice', approvedBy('mem_b', 'mem_b')],
    ['too few', approvedBy('mem_b')],
    ['the member who is accountable', approvedBy('mem_b', 'mem_a')],
    ['whoever asked', approvedBy('mem_b', 'key_x')],
    ['a rejection', [...approvedBy('mem_b'), { member: 'mem_c', decision: 'reject' as const, at: NOW }]],
  ])('fail if a request was used with %s', async (_, decisions) => {
    const o = await newOrg();
    await newApproval(o, { status: 'used', decisions });
    expect((await of(o, 'approvals')).status).toBe('fail');
  });

  it('are those of the period, and a request that expired undecided is said', async () => {
    const o = await oldOrg(50);
    await newApproval(o, {});
    daysAgo(49.5);
    expect(finding(await newReport(o), 'approvals').evidence[0]?.facts.status).toBe('pending');
    daysAgo(40);
    expect(finding(await newReport(o), 'approvals').evidence[0]?.facts.status).toBe('expired undecided');
    expect((await of(o, 'approvals', `?from=${new Date(NOW - 45 * DAY).toISOString()}`)).of).toEqual([]);
  });
});

describe('compliance report: break-glass tokens', () => {
  it('are reported with their reason and actions', async () => {
    const o = await newOrg();
    expect(await of(o, 'break-glass-use')).toEqual({ status: 'pass', of: [] });
    const secret = await newSecret(o);
    const token = await newBreakGlass(o, { reason: 'the database is on fire' });
    for (let n = 0; n < 2; n++) await token.o.get(`/secrets/${secret.id}`);
    await token.o.get('/members');
    const { status, evidence } = finding(await newReport(o), 'break-glass-use');
    expect(status).toBe('warn');
    expect(evidence).toHaveLength(1);
    expect(evidence[0]).toMatchObject({
      id: token.id,
      facts: { reason: 'the database is on fire', uses: 3, refused: 1 },
    });
    expect(evidence[0]?.detail).toContain('secret.read 2');
  });

  slow('are found in closed segments too, and nothing is counted twice', async () => {
    const o = await newOrg();
    const token = await newBreakGlass(o);
    for (let n = 0; n < 5; n++) await token.o.get('/secrets');
    const before = finding(await newReport(o), 'break-glass-use');
    await moveLog(o, 3);
    const { status, evidence } = finding(await newReport(o), 'break-glass-use');
    expect({ status, evidence }).toEqual({ status: before.status, evidence: before.evidence });
    expect(evidence[0]?.facts.uses).toBe(5);
  });

  it('of another time than the period are left out; one that was issued just before it has no reason here', async () => {
    const o = await oldOrg(10);
    const token = await newBreakGlass(o, { ttlSeconds: 14_400 });
    faults.clock = (faults.clock as number) + HOUR;
    await token.o.get('/secrets');
    const from = new Date((faults.clock as number) - MINUTE).toISOString();
    faults.clock = (faults.clock as number) + MINUTE;
    const { status, evidence } = finding(await newReport(o, `?from=${from}`), 'break-glass-use');
    expect([status, evidence[0]?.facts.reason, evidence[0]?.facts.uses]).toEqual(['warn', null, 1]);
    daysAgo(0);
    expect((await of(o, 'break-glass-use', `?from=${new Date(NOW - 5 * DAY).toISOString()}`)).of).toEqual([]);
  });

  it('fail if a use has no issue in the log', async () => {
    const o = await newOrg();
    await inCore(o, ({ auditLog }) => {
      const actor = { kind: 'break_glass', id: 'bgt_forged', parent_id: null, name: null };
      const draft = { actor, action: 'secret.read', resource: null, environment: null, version: null };
      auditLog.append({ ...draft, reason: null, request_id: 'r', ip: '', user_agent: null }, 200, Date.now());
    });
    expect(await of(o, 'break-glass-use')).toEqual({ status: 'fail', of: ['bgt_forged'] });
  });
});

describe('compliance report: the audit log', () => {
  slow('refused administrative requests are grouped by caller and action', async () => {
    const o = await newOrg();
    const key = await newKey(o, { name: 'curious', scopes: ['secrets:read'] });
    const ask = async (times: number) => {
      for (let n = 0; n < times; n++) await key.o.get('/members');
    };
    await ask(9);
    // A refused read of a secret is no administration.
    await (await newKey(o, { scopes: ['org:read'] })).o.get('/secrets');
    expect((await of(o, 'refused-administration')).status).toBe('pass');
    await ask(1);
    await moveLog(o, 5);
    const { status, examined, evidence } = finding(await newReport(o), 'refused-administration');
    expect([status, examined, evidence.length]).toEqual(['warn', 10, 1]);
    expect(evidence[0]).toMatchObject({
      id: key.id,
      facts: { action: 'member.list', requests: 10, actor_name: 'curious' },
    });
  });

  slow('a panic and a containment are reported', async () => {
    const o = await newOrg();
    expect((await of(o, 'emergency-operations')).status).toBe('pass');
    const key = await newKey(o);
    await o.post(`/credentials/${key.id}/contain`);
    await o.post('/panic', { reason: 'a laptop was stolen' });
    const { status, evidence } = finding(await newReport(o), 'emergency-operations');
    expect([status, evidence.map(({ facts }) => facts.action)]).toEqual([
      'warn',
      ['org.panic', 'credential.contain'],
    ]);
    expect(evidence[0]?.facts.reason).toBe('a laptop was stolen');
  });

  slow('an integrity alarm fails', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    expect((await of(o, 'integrity-alarms')).status).toBe('pass');
    await db
      .prepare('update secret_versions set value_sealed = ? where secret_id = ?')
      .bind('AAAA', id)
      .run();
    await inCore(o, (core) => ciphertexts(core).clear());
    expect((await o.get(`/secrets/${id}`)).status).toBeGreaterThanOrEqual(500);
    expect((await of(o, 'integrity-alarms')).status).toBe('fail');
  });

  slow('a chain that was altered fails, and so does a segment that cannot be read', async () => {
    const o = await newOrg();
    for (let n = 0; n < 6; n++) await o.get('/members');
    await moveLog(o, 3);
    const chain = finding(await newReport(o), 'audit-chain');
    expect(chain.status).not.toBe('fail');
    expect(chain.examined).toBeGreaterThanOrEqual(6);
    await db
      .prepare("update audit_segments set entries = 'AAAA' where org_id = ? and first_sequence = 4")
      .bind(o.id)
      .run();
    const { status, evidence } = finding(await newReport(o), 'audit-chain');
    expect([status, evidence[0]?.facts.sequence]).toEqual(['fail', 4]);
  });

  it('a retention below a year is a warning', async () => {
    const o = await newOrg();
    await change(o.id, (call) => {
      const org = call.core.rows.get('org', o.id);
      if (!org) throw new Error('no org');
      return {
        status: 200,
        data: null,
        writes: [{ ...insertion(call, 'org', { ...org, audit_retention_days: 90 }), from: org.revision }],
      };
    });
    const report = await newReport(o);
    expect(report.inventory.audit_log.retention_days).toBe(90);
    expect(finding(report, 'audit-chain').evidence.map(({ detail }) => detail)).toContain(
      'Entries are kept for 90 days.',
    );
  });

  slow('webhooks: those that were disabled by failures are found', async () => {
    const o = await newOrg();
    const none = finding(await newReport(o), 'delivery-failures');
    expect([none.status, none.count]).toEqual(['not_applicable', 0]);
    expect(none.tested).toContain('no webhooks are configured');
    const webhook = await newWebhook(o);
    expect(finding(await newReport(o), 'delivery-failures').status).toBe('pass');
    await inCore(o, ({ rows }) =>
      rows.put('webhook', { ...(rows.get('webhook', webhook.id) as WebhookRow), disabled: 'gone' }),
    );
    const { status, evidence } = finding(await newReport(o), 'delivery-failures');
    expect([status, evidence]).toMatchObject([
      'warn',
      [{ id: webhook.id, name: webhook.host, facts: { reason: 'gone' } }],
    ]);
  });
});
