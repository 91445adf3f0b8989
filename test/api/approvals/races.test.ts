// Approvals under time and concurrency: what races, what expires, and what changes between a request and its
// use.
import { describe, expect, it } from 'vitest';
import type { ApprovalRow, MemberRow } from '../../../src/db/schema';
import { revision } from '../../../src/gate/request/writes';
import { newAgent, newKey, newProvider } from '../../support/credentials';
import { faults } from '../../support/faults';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  under,
} from '../../support/governance/approvals';
import { change } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Caller, codeOf, newSecret, send, useWorld } from '../../support/world';

useWorld();

const MISMATCH = [409, 'APPROVAL_MISMATCH'];
const HELD = [403, 'APPROVAL_REQUIRED'];

describe('approval: concurrency', () => {
  slow('the same request sent many times concurrently waits for one approval', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read', 'secret.update']);
    const reads = await Promise.all(Array.from({ length: 20 }, () => asked.get(`/secrets/${secret.id}`)));
    const writes = await Promise.all(
      Array.from({ length: 20 }, () => asked.patch(`/secrets/${secret.id}`, { value: 'x' })),
    );
    for (const answers of [reads, writes])
      expect(new Set(answers.map((answer) => approvalIn(answer).id)).size).toBe(1);
    expect((await asked.get('/approvals')).json.data).toHaveLength(2);
  });

  slow(
    'two approvers and a canceller concurrently: the request ends in one state, and is used at most once',
    async () => {
      const { o, asked } = await newOffice();
      const cat = await colleague(o, 'admin');
      const dan = await colleague(o, 'admin');
      const secret = await newSecret(o);
      await newApprovalPolicy(o, ['secret.update'], {
        config: { approvers: { role: 'admin' }, required: 2 },
      });
      for (let round = 0; round < 5; round++) {
        const body = { value: `v-${round}` };
        const { id } = approvalIn(await asked.patch(`/secrets/${secret.id}`, body));
        await Promise.all([approve(cat, id), approve(dan, id), asked.post(`/approvals/${id}/cancel`)]);
        const { status, decisions } = (await asked.get(`/approvals/${id}`)).json;
        const used = await Promise.all(
          [1, 2, 3].map(() => asked.patch(`/secrets/${secret.id}`, body, under(id))),
        );
        expect(used.filter((answer) => answer.status === 200)).toHaveLength(status === 'approved' ? 1 : 0);
        expect(['approved', 'cancelled']).toContain(status);
        expect(decisions.length).toBeLessThanOrEqual(2);
      }
    },
  );

  slow('a policy that is tightened while an approval is used lets one of both come first', async () => {
    const { o, ann, asked } = await newOffice();
    const secret = await newSecret(o);
    const policy = await newApprovalPolicy(o, ['secret.update'], { config: { required: 1 } });
    const { id } = approvalIn(await asked.patch(`/secrets/${secret.id}`, { value: 'x' }));
    await approve(ann, id);
    const config = {
      operations: ['secret.update', 'secret.read'],
      required: 1,
      approvers: { role: 'owner' },
    };
    const [used, tightened] = await Promise.all([
      asked.patch(`/secrets/${secret.id}`, { value: 'x' }, under(id)),
      o.patch(`/policies/${policy}`, { config }),
    ]);
    expect(tightened.status).toBe(200);
    expect([200, 409]).toContain(used.status);
    expect(codeOf(await asked.patch(`/secrets/${secret.id}`, { value: 'x' }, under(id)))).toEqual(MISMATCH);
    expect((await o.get(`/secrets/${secret.id}/versions`)).json.data).toHaveLength(
      used.status === 200 ? 2 : 1,
    );
  });
});

describe('approval: time', () => {
  it('expires 24 hours after it was asked for, and 24 hours after it was given', async () => {
    const { o, ann, asked } = await newOffice();
    const a = await newSecret(o);
    const b = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read']);
    const waiting = approvalIn(await asked.get(`/secrets/${a.id}`));
    const given = approvalIn(await asked.get(`/secrets/${b.id}`));
    const approved = (await approve(ann, given.id)).json;
    expect(Date.parse(approved.expires_at)).toBeGreaterThanOrEqual(Date.parse(given.expires_at));
    faults.clock = Date.now() + DAY + 1000;
    expect((await asked.get(`/approvals/${waiting.id}`)).json.status).toBe('expired');
    expect(codeOf(await asked.get(`/secrets/${b.id}`, under(given.id)))).toEqual(MISMATCH);
    expect(approvalIn(await asked.get(`/secrets/${a.id}`)).id).not.toBe(waiting.id);
    expect(approvalIn(await asked.get(`/secrets/${b.id}`)).id).not.toBe(given.id);
  });
});

describe('approval: changes between the request and its use', () => {
  it('an approver who became connected to the requester no longer counts', async () => {
    const { o, bob, asked } = await newOffice();
    const cat = await colleague(o, 'admin');
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
    expect((await approve(cat, id)).json.status).toBe('approved');
    await change(o.id, (call, now) => {
      const row = call.core.rows.get('member', cat.member.id) as MemberRow;
      return {
        status: 200,
        data: null,
        writes: [revision(call, 'member', row, { connections: [[bob.member.id, now]] })],
      };
    });
    expect(codeOf(await asked.get(`/secrets/${secret.id}`, under(id)))).toEqual(MISMATCH);
  });

  it('a caller who is revoked while it waits learns nothing more', async () => {
    const { o, ann, bob } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    const key = await newKey(bob.o, { scopes: ['secrets:read'] });
    const { id } = approvalIn(await key.o.get(`/secrets/${(await newSecret(o)).id}`));
    const waiting = key.o.get(`/approvals/${id}?wait=25`);
    await o.del(`/api-keys/${key.id}`);
    await approve(ann, id);
    expect((await waiting).status).toBe(401);
  });

  it('is for the body that was sent', async () => {
    const { o, ann, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.update']);
    const { id } = approvalIn(await asked.patch(`/secrets/${secret.id}`, { value: 'x' }));
    await approve(ann, id);
    for (const body of [{ value: 'y' }, { value: 'x', description: 'd' }, '{"value": "x"}'])
      expect(codeOf(await asked.patch(`/secrets/${secret.id}`, body, under(id)))).toEqual(MISMATCH);
    expect((await asked.patch(`/secrets/${secret.id}`, { value: 'x' }, under(id))).status).toBe(200);
  });
});

describe('approval: bounds', () => {
  it('calls of a provider token are never held', async () => {
    const { o } = await newOffice();
    const provider = await newProvider(o);
    await newApprovalPolicy(o, [
      'secret.read',
      'secret.update',
      'secret.rotate',
      'secret.delete',
      'provider_token.create',
    ]);
    const call = (verb: string, body: object) =>
      send('POST', `/api/v1/provider/${verb}`, {
        token: provider.token,
        body: { secretName: 'DB', environment: 'production', ...body },
      });
    expect((await call('issue', { value: 'a', ttlSeconds: 60 })).status).toBe(201);
    expect((await call('rotate', { newValue: 'b' })).status).toBe(200);
    expect((await call('revoke', {})).status).toBe(200);
    expect(codeOf(await o.post('/provider-tokens', { name: 'p', scopes: ['revoke'] }))).toEqual(HELD);
  });

  it('at most 100 requests of one credential wait', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.update']);
    await change(o.id, (call, now) => {
      const { core } = call;
      const root = core.rows.after('credential', '', 100).find(({ name }) => name === 'deploy')?.id as string;
      const shared = {
        org_id: o.id,
        root,
        status: 'pending',
        operation: 'secret.update',
        action: 'secret.update',
        method: 'PATCH',
        path: '/',
        summary: '',
      };
      const lists = {
        requester: { kind: 'api_key', id: root, parent_id: null, name: 'deploy' },
        accountable: [],
        targets: {},
        policies: [],
        decisions: [],
      };
      const rest = {
        request_id: 'req',
        ip: '',
        created_at: now,
        expires_at: now + DAY,
        revision: 1,
        mac: '',
      };
      for (let i = 0; i < 100; i++) {
        const row = { ...shared, ...lists, ...rest, id: `apr_${i}`, digest: `digest-${i}`, ended_at: null };
        core.rows.put('approval', row as unknown as ApprovalRow);
      }
      return { status: 200, data: null };
    });
    expect(codeOf(await asked.patch(`/secrets/${secret.id}`, { value: 'x' }))).toEqual([
      409,
      'LIMIT_REACHED',
    ]);
  });

  it('shows a limited credential only its own approvals', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o, { name: 'app/a' });
    await newApprovalPolicy(o, ['secret.read']);
    const agent = await newAgent(o, { scopes: ['secrets:read', 'approvals:read'], secrets: ['app/*'] });
    const mine = approvalIn(await agent.o.get(`/secrets/${secret.id}`));
    const other = approvalIn(await asked.get(`/secrets/${secret.id}`));
    const ids = async (caller: Caller) =>
      (await caller.get('/approvals')).json.data.map(({ id }: { id: string }) => id);
    expect(await ids(agent.o)).toEqual([mine.id]);
    expect(codeOf(await agent.o.get(`/approvals/${other.id}`))).toEqual([404, 'NOT_FOUND']);
    expect((await ids(o)).sort()).toEqual([mine.id, other.id].sort());
    // Who asked may look without the scope.
    const bare = await newAgent(o, { scopes: ['secrets:read'] });
    const { id } = approvalIn(await bare.o.get(`/secrets/${secret.id}`));
    expect((await bare.o.get(`/approvals/${id}`)).status).toBe(200);
    expect(codeOf(await bare.o.get('/approvals'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await bare.o.get(`/approvals/${other.id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });
});
