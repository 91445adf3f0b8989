// Approvals: a held request does nothing, and is done once, as it was asked, when others have approved it.
import { describe, expect, it } from 'vitest';
import { approvalWaiters } from '../../../src/gate/approvals/waiters';
import { rootOfCredential } from '../../../src/gate/rows/quota-root';
import { newSession } from '../../support/credentials';
import { inCore } from '../../support/gate';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  under,
} from '../../support/governance/approvals';
import { signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

const MISMATCH = [409, 'APPROVAL_MISMATCH'];
const HELD = [403, 'APPROVAL_REQUIRED'];

describe('approval: a read', () => {
  it('is held, approved by another person, and done once', async () => {
    const { o, ann, bob, asked } = await newOffice();
    const secret = await newSecret(o, { name: 'DB' });
    await newApprovalPolicy(o, ['secret.read']);
    const held = await asked.get(`/secrets/${secret.id}`);
    const approval = approvalIn(held);
    expect(approval).toEqual({
      id: expect.stringMatching(/^apr_/),
      status: 'pending',
      operation: 'secret.read',
      required: 1,
      approvals: [],
      expires_at: expect.any(String),
    });
    expect(held.text).not.toContain(secret.value);
    expect(approvalIn(await asked.get(`/secrets/${secret.id}`)).id).toBe(approval.id);
    expect(codeOf(await asked.get(`/secrets/${secret.id}`, under(approval.id)))).toEqual(MISMATCH);
    // Whoever is accountable for the request decides nothing.
    expect(codeOf(await approve(bob, approval.id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const shown = (await ann.o.get(`/approvals/${approval.id}`)).json;
    expect(shown).toMatchObject({
      status: 'pending',
      may_decide: true,
      summary: 'The API key "deploy" asks to read the secret DB.',
    });
    expect(shown.target).toEqual({ id: secret.id, name: 'DB', environment: 'production' });
    expect(
      (await ann.o.get('/approvals?waiting_for=me')).json.data.map(({ id }: { id: string }) => id),
    ).toEqual([approval.id]);
    expect((await bob.o.get('/approvals?waiting_for=me')).json.data).toEqual([]);
    const approved = await approve(ann, approval.id);
    expect([approved.status, approved.json.status]).toEqual([200, 'approved']);
    expect(approvalIn(await asked.get(`/secrets/${secret.id}`))).toMatchObject({
      id: approval.id,
      status: 'approved',
    });
    const read = await asked.get(`/secrets/${secret.id}`, under(approval.id));
    expect([read.status, read.json.value]).toEqual([200, secret.value]);
    expect(codeOf(await asked.get(`/secrets/${secret.id}`, under(approval.id)))).toEqual(MISMATCH);
    expect(approvalIn(await asked.get(`/secrets/${secret.id}`)).id).not.toBe(approval.id);
  });

  it('by name, by version and of all values is held too', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o, { name: 'DB' });
    const free = await newSecret(o, { name: 'free' });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['DB'] } });
    expect(codeOf(await asked.get('/secrets/by-name/DB'))).toEqual(HELD);
    expect(codeOf(await asked.get(`/secrets/${secret.id}?version=1`))).toEqual(HELD);
    expect(codeOf(await asked.get(`/secrets/${secret.id}`, { 'If-None-Match': '"v0"' }))).toEqual(HELD);
    const all = await asked.get('/environments/production/values');
    expect(all.json).toEqual({
      environment: 'production',
      values: { free: free.value },
      versions: { free: 1 },
      withheld: ['DB'],
    });
    expect(codeOf(await asked.get('/environments/production/values', under('apr_x')))).toEqual(MISMATCH);
    expect((await asked.get('/secrets/by-name/free')).json.value).toBe(free.value);
  });
});

it('approval: a guess at a held value tells nothing', async () => {
  const { o, asked } = await newOffice();
  const secret = await newSecret(o, { name: 'PIN', value: '1234' });
  await newApprovalPolicy(o, ['secret.read']);
  const guess = async (value: string) => (await asked.patch(`/secrets/${secret.id}`, { value })).json.version;
  expect([await guess('9999'), await guess('9999'), await guess('1234')]).toEqual([2, 3, 4]);
});

describe('approval: Approval-Id', () => {
  it('works only for the same path, query, body and root', async () => {
    const { o, ann, asked, bob } = await newOffice();
    const a = await newSecret(o, { name: 'A' });
    const b = await newSecret(o, { name: 'B' });
    await newApprovalPolicy(o, ['secret.read', 'secret.update']);
    const { id } = approvalIn(await asked.get(`/secrets/${a.id}`));
    await approve(ann, id);
    const session = await newSession(asked);
    for (const answer of [
      await asked.get(`/secrets/${b.id}`, under(id)),
      await asked.get(`/secrets/${a.id}?version=1`, under(id)),
      await asked.get('/secrets/by-name/A', under(id)),
      await asked.patch(`/secrets/${a.id}`, { value: 'x' }, under(id)),
      await o.get(`/secrets/${a.id}`, under(id)),
      await bob.o.get(`/secrets/${a.id}`, under(id)),
      await asked.get(`/secrets/${a.id}`, under('apr_01M9xQeKcX3vTz6nWJfQ4b')),
      await asked.get(`/secrets/${a.id}`, under('nonsense')),
    ])
      expect(codeOf(answer)).toEqual(MISMATCH);
    // A session token of the key shares its root, as with Idempotency-Key.
    expect((await session.o.get(`/secrets/${a.id}`, under(id))).json.value).toBe(a.value);
  });

  slow('takes effect for only one of a hundred concurrent requests', async () => {
    const { o, ann, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.update']);
    const { id } = approvalIn(await asked.patch(`/secrets/${secret.id}`, { value: 'new' }));
    await approve(ann, id);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => asked.patch(`/secrets/${secret.id}`, { value: 'new' }, under(id))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => codeOf(answer)[1] === 'APPROVAL_MISMATCH')).toHaveLength(99);
    expect((await o.get(`/secrets/${secret.id}/versions`)).json.data).toHaveLength(2);
  });

  it('is void once the target has changed', async () => {
    const { o, ann, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read']);
    const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
    await approve(ann, id);
    await o.patch(`/secrets/${secret.id}`, { description: 'other' });
    expect(codeOf(await asked.get(`/secrets/${secret.id}`, under(id)))).toEqual(MISMATCH);
    expect(approvalIn(await asked.get(`/secrets/${secret.id}`)).id).not.toBe(id);
  });

  slow('is not used up if the request fails', async () => {
    const { o, ann, asked } = await newOffice();
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.update']);
    const patch = (headers: Record<string, string>) =>
      asked.patch(`/secrets/${secret.id}`, { value: 'new' }, headers);
    const { id } = approvalIn(await patch({}));
    await approve(ann, id);
    expect(codeOf(await patch({ ...under(id), 'If-Match': '"v9"' }))).toEqual([412, 'VERSION_CONFLICT']);
    expect((await patch(under(id))).status).toBe(200);
  });
});

describe('approval: every path to the same effect', () => {
  slow('is held', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o, { name: 'prod/db', type: 'password', value: 'old' });
    const other = await newSecret(o, { name: 'plain' });
    const deleted = await newSecret(o, { name: 'prod/gone' });
    await o.patch(`/secrets/${secret.id}`, { value: 'second' });
    await o.del(`/secrets/${deleted.id}`);
    const team = (await o.post('/teams', { name: 't' })).json.id;
    await newApprovalPolicy(
      o,
      [
        'secret.read',
        'secret.update',
        'secret.delete',
        'break_glass.create',
        'provider_token.create',
        'team.change',
        'member.change',
      ],
      { applies_to: { names: ['prod/*'] } },
    );
    const member = (await o.get('/members')).json.data[1].id;
    const one = `/secrets/${secret.id}`;
    const held = async (answer: Promise<{ status: number; json: unknown }>) =>
      expect(codeOf((await answer) as never)).toEqual(HELD);
    await held(asked.get(one));
    await held(asked.get(`${one}?version=1`));
    await held(asked.get('/secrets/by-name/prod%2Fdb'));
    await held(asked.patch(one, { value: 'x' }));
    await held(asked.patch(one, { name: 'elsewhere' }));
    await held(asked.patch(one, { description: 'x' }));
    await held(asked.patch(`/secrets/${other.id}`, { name: 'prod/other' }));
    await held(asked.call('PUT', '/secrets/by-name/prod%2Fdb', { value: 'x' }));
    await held(asked.post(`${one}/rotate`, { value: 'x' }));
    await held(asked.post(`${one}/rotate`, { generate: {} }));
    await held(asked.post(`${one}/rollback`, { version: 1 }));
    await held(asked.del(one));
    await held(asked.del(`${one}?permanent=true`));
    await held(asked.post(`/secrets/${deleted.id}/restore`));
    await held(asked.post('/provider-tokens', { name: 'p', scopes: ['issue'], secrets: ['pro*'] }));
    await held(o.post('/break-glass-tokens', { reason: 'the database is down' }));
    await held(
      o.post('/grants', { grantee: { type: 'member', id: member }, permission: 'read', secrets: ['*db'] }),
    );
    await held(o.post(`/teams/${team}/members`, { member_id: member }));
    await held(o.del(`/teams/${team}`));
    await held(o.post('/members', { email: 'eve@example.com', name: 'Eve', role: 'viewer' }));
    await held(o.del(`/members/${member}`));
    const values = (await asked.get('/environments/production/values')).json;
    expect([values.values, values.withheld]).toEqual([{ plain: other.value }, ['prod/db']]);
    // What is outside of the policy goes on as before.
    expect(
      (await asked.post('/provider-tokens', { name: 'p', scopes: ['issue'], secrets: ['dev/*'] })).status,
    ).toBe(201);
    expect((await asked.patch(`/secrets/${other.id}`, { value: 'x' })).status).toBe(200);
    expect((await o.get(one)).json.error.code).toBe('APPROVAL_REQUIRED');
    expect((await o.get(`${one}/versions`)).json.data).toHaveLength(2);
  });

  it('is required for a new value by a policy on updates, and by one on rotation', async () => {
    for (const operation of ['secret.update', 'secret.rotate']) {
      const { o, asked } = await newOffice();
      const secret = await newSecret(o);
      await newApprovalPolicy(o, [operation]);
      expect(codeOf(await asked.post(`/secrets/${secret.id}/rotate`, { value: 'x' }))).toEqual(HELD);
      expect(codeOf(await asked.patch(`/secrets/${secret.id}`, { value: 'x' }))).toEqual(HELD);
    }
  });

  it('is required for a rename that would take a secret out of a policy', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o, { name: 'prod/db', type: 'password' });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['prod/*'], types: ['password'] } });
    expect(codeOf(await asked.patch(`/secrets/${secret.id}`, { name: 'dev/db' }))).toEqual(HELD);
    expect(codeOf(await asked.patch(`/secrets/${secret.id}`, { type: 'generic' }))).toEqual(HELD);
    expect((await asked.patch(`/secrets/${secret.id}`, { name: 'prod/db2' })).status).toBe(200);
  });
});

describe('approval: deciders', () => {
  it('are not those whom the requester brought in during the last week', async () => {
    const { o, ann, bob } = await newOffice();
    const eve = await signIn(bob.o, 'admin');
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' }, required: 1 } });
    const secret = await newSecret(o);
    const { id } = approvalIn(await bob.o.get(`/secrets/${secret.id}`));
    expect(codeOf(await approve(bob, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await approve(eve, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    // An owner is not among the approvers of this policy.
    expect(codeOf(await approve(ann, id))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await o.post(`/approvals/${id}/approve`))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
  });

  slow('count once each, and one rejection ends the request', async () => {
    const { o, ann, bob } = await newOffice();
    const cat = await colleague(o, 'admin');
    const dan = await colleague(o, 'admin');
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' }, required: 2 } });
    const a = await newSecret(o);
    const b = await newSecret(o);
    const first = approvalIn(await bob.o.get(`/secrets/${a.id}`));
    const one = await approve(cat, first.id);
    const again = await approve(cat, first.id);
    expect([one.json.status, again.json.status, again.json.approvals.length]).toEqual([
      'pending',
      'pending',
      1,
    ]);
    expect((await approve(dan, first.id)).json.status).toBe('approved');
    expect((await bob.o.get(`/secrets/${a.id}`, under(first.id))).status).toBe(200);
    const second = approvalIn(await bob.o.get(`/secrets/${b.id}`));
    await approve(cat, second.id);
    expect((await dan.o.post(`/approvals/${second.id}/reject`)).json.status).toBe('rejected');
    expect(codeOf(await approve(dan, second.id))).toEqual([409, 'CONFLICT']);
    expect(codeOf(await bob.o.get(`/secrets/${b.id}`, under(second.id)))).toEqual(MISMATCH);
    expect(ann.member.role).toBe('owner');
  });

  it('no longer count once they lost the right', async () => {
    const { o, ann, bob } = await newOffice();
    const cat = await colleague(o, 'admin');
    const policy = await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const secret = await newSecret(o);
    const { id } = approvalIn(await bob.o.get(`/secrets/${secret.id}`));
    await approve(cat, id);
    expect((await ann.o.del(`/members/${cat.member.id}`)).status).toBe(200);
    expect(codeOf(await bob.o.get(`/secrets/${secret.id}`, under(id)))).toEqual(MISMATCH);
    expect(policy).toMatch(/^pol_/);
  });
});

describe('approval: waiting', () => {
  slow('a wait ends with the decision', async () => {
    const { o, ann, asked } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    const { id } = approvalIn(await asked.get(`/secrets/${(await newSecret(o)).id}`));
    const waiting = asked.get(`/approvals/${id}?wait=25`);
    await approve(ann, id);
    expect((await waiting).json.status).toBe('approved');
    expect((await asked.get(`/approvals/${id}?wait=25`)).json.status).toBe('approved');
  });

  it('is answered at once past a hundred waits of one root', async () => {
    const { o, asked } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    const { id } = approvalIn(await asked.get(`/secrets/${(await newSecret(o)).id}`));
    const ends: (() => void)[] = [];
    await inCore(o, (core) => {
      const { root } = core.rows.get('approval', id) as { root: string };
      const top = rootOfCredential(core, root);
      let isWaiting = true;
      for (let n = 0; n < 100; n++) approvalWaiters(core).wait(top, () => isWaiting, 60_000);
      ends.push(() => {
        isWaiting = false;
        approvalWaiters(core).check();
      });
    });
    expect((await asked.get(`/approvals/${id}?wait=25`)).json.status).toBe('pending');
    await inCore(o, () => ends[0]?.());
    // Less than the wait.
  }, 15_000);

  it('can be cancelled only by the requester', async () => {
    const { o, ann, asked } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    const { id } = approvalIn(await asked.get(`/secrets/${(await newSecret(o)).id}`));
    expect(codeOf(await ann.o.post(`/approvals/${id}/cancel`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await asked.post(`/approvals/${id}/cancel`)).json.status).toBe('cancelled');
    expect((await asked.post(`/approvals/${id}/cancel`)).status).toBe(200);
    expect(codeOf(await approve(ann, id))).toEqual([409, 'CONFLICT']);
  });
});
