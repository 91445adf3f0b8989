// Approvals that may be repeated: a read, by the credential that asked, for as long as policies and approvers
// allow, and nothing else.
import { describe, expect, it } from 'vitest';
import type { MemberRow } from '../../../src/db/schema';
import { revision } from '../../../src/gate/request/writes';
import { newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import {
  approvalIn,
  colleague,
  newApprovalPolicy,
  newOffice,
  under,
} from '../../support/governance/approvals';
import { herokuConfig } from '../../support/integrations/syncs';
import { change as alter, another, type Browser, signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

const MISMATCH = [409, 'APPROVAL_MISMATCH'];
const INVALID = [400, 'VALIDATION_FAILED'];
const HELD = [403, 'APPROVAL_REQUIRED'];

const approveFor = (browser: Browser, id: string, valid_for_seconds?: unknown) =>
  browser.o.post(
    `/approvals/${id}/approve`,
    valid_for_seconds === undefined ? undefined : { valid_for_seconds },
  );

async function newRepeatable(operations = ['secret.read'], config: object = { max_valid_seconds: 3600 }) {
  const office = await newOffice();
  const secret = await newSecret(office.o, { name: 'DB' });
  const policy = await newApprovalPolicy(office.o, operations, { config });
  return { ...office, secret, policy, path: `/secrets/${secret.id}` };
}

describe('approval: valid_for_seconds', () => {
  it('approval: the same credential repeats the call until the time has passed, and each use names the approval', async () => {
    const { o, ann, asked, secret, path } = await newRepeatable();
    const { id } = approvalIn(await asked.get(path));
    expect((await asked.get(`/approvals/${id}`)).json).toMatchObject({
      max_valid_seconds: 3600,
      valid_for_seconds: 0,
    });
    expect((await approveFor(ann, id, 600)).json).toMatchObject({
      status: 'approved',
      valid_for_seconds: 600,
    });
    const reads = await Promise.all([1, 2, 3, 4, 5].map(() => asked.get(path, under(id))));
    expect(reads.map(({ json }) => json.value)).toEqual(Array(5).fill(secret.value));
    expect((await asked.get(`/approvals/${id}`)).json.status).toBe('approved');
    const entries = (await o.get('/audit-log?action=secret.read&limit=100')).json.data as {
      status: number;
      approval?: string;
    }[];
    expect(entries.filter(({ status, approval }) => status === 200 && approval === id)).toHaveLength(5);
    // Another session of the same root is another credential; another call is another call.
    expect(codeOf(await (await newSession(asked)).o.get(path, under(id)))).toEqual(MISMATCH);
    expect(codeOf(await asked.get(`${path}?version=1`, under(id)))).toEqual(MISMATCH);
    expect(codeOf(await asked.get(path))).toEqual(HELD);
    faults.clock = Date.now() + 601_000;
    expect(codeOf(await asked.get(path, under(id)))).toEqual(MISMATCH);
    expect((await asked.get(`/approvals/${id}`)).json.status).toBe('expired');
  });

  it('approval: what one credential may repeat, another of the same root asks for itself', async () => {
    const { ann, asked, path, secret } = await newRepeatable();
    const first = approvalIn(await asked.get(path)).id;
    const other = (await newSession(asked)).o;
    expect(approvalIn(await other.get(path)).id).toBe(first);
    expect((await approveFor(ann, first, 600)).status).toBe(200);
    const second = approvalIn(await other.get(path));
    expect(second).toMatchObject({ status: 'pending' });
    expect(second.id).not.toBe(first);
    // Each finds its own, and neither ends the other's.
    expect(approvalIn(await asked.get(path)).id).toBe(first);
    expect((await asked.get(path, under(first))).json.value).toBe(secret.value);
    expect((await approveFor(ann, second.id, 60)).status).toBe(200);
    for (const [o, mine, others] of [
      [asked, first, second.id],
      [other, second.id, first],
    ] as const) {
      expect(approvalIn(await o.get(path))).toMatchObject({ id: mine, status: 'approved' });
      expect((await o.get(path, under(mine))).json.value).toBe(secret.value);
      expect(codeOf(await o.get(path, under(others)))).toEqual(MISMATCH);
    }
    // One that has expired is asked for anew.
    faults.clock = Date.now() + 61_000;
    const third = approvalIn(await other.get(path));
    expect(third).toMatchObject({ status: 'pending' });
    expect((await approveFor(ann, third.id, 300)).status).toBe(200);
    expect((await other.get(path, under(third.id))).status).toBe(200);
    expect((await asked.get(path, under(first))).status).toBe(200);
  });

  it('approval: a session of a member repeats, and another of theirs does not', async () => {
    const { ann, bob, path } = await newRepeatable();
    const { id } = approvalIn(await bob.o.get(path));
    const second = await another(bob);
    expect((await approveFor(ann, id, 60)).status).toBe(200);
    expect(codeOf(await second.o.get(path, under(id)))).toEqual(MISMATCH);
    for (let i = 0; i < 2; i++) expect((await bob.o.get(path, under(id))).status).toBe(200);
  });

  slow('approval: ends with the secret, the policy, its approvers or by its requester', async () => {
    for (const change of ['secret', 'policy', 'cancel', 'approver'] as const) {
      const { o, ann, asked, path, policy } = await newRepeatable();
      const { id } = approvalIn(await asked.get(path));
      expect((await approveFor(ann, id, 3600)).status).toBe(200);
      expect((await asked.get(path, under(id))).status).toBe(200);
      if (change === 'secret') await o.patch(path, { value: 'another' });
      if (change === 'policy') await o.patch(`/policies/${policy}`, { name: 'renamed' });
      if (change === 'cancel') await asked.post(`/approvals/${id}/cancel`);
      if (change === 'approver')
        await alter(o.id, (call) => {
          const row = call.core.rows.get('member', ann.member.id) as MemberRow;
          return { status: 200, data: null, writes: [revision(call, 'member', row, { role: 'viewer' })] };
        });
      expect(codeOf(await asked.get(path, under(id))), change).toEqual(MISMATCH);
    }
  });

  slow('approval: a sync is sent once, although it reads', async () => {
    const { o, ann, bob } = await newRepeatable();
    const sync = (headers?: Record<string, string>) =>
      bob.o.post(
        '/integrations/sync',
        { platform: 'heroku', config: herokuConfig, environmentId: 'production' },
        headers,
      );
    const { id } = approvalIn(await sync());
    expect((await o.get(`/approvals/${id}`)).json.max_valid_seconds).toBe(0);
    expect(codeOf(await approveFor(ann, id, 60))).toEqual(INVALID);
    expect((await approveFor(ann, id)).status).toBe(200);
    expect((await sync(under(id))).status).toBe(202);
    expect(codeOf(await sync(under(id)))).toEqual(MISMATCH);
  });

  it('approval: no more than every policy that holds the call allows, and only for reading', async () => {
    const { o, ann, bob, asked, path, secret } = await newRepeatable(
      ['secret.read', 'secret.update', 'secret.share'],
      {
        max_valid_seconds: 3600,
        repeat_writes: true,
      },
    );
    const read = approvalIn(await asked.get(path)).id;
    for (const seconds of [3601, 0, -1, 1.5, '60', 28_801])
      expect(codeOf(await approveFor(ann, read, seconds))).toEqual(INVALID);
    const link = { kind: 'link', expires_in: 60, max_views: 1 };
    const grant = { kind: 'grant', grantee: { type: 'member', id: bob.member.id }, permission: 'read' };
    for (const held of [
      await asked.patch(path, { value: 'x' }),
      await asked.post(`${path}/share`, link),
      await bob.o.post(`${path}/share`, grant),
    ])
      expect(codeOf(await approveFor(ann, approvalIn(held).id, 60))).toEqual(INVALID);
    await newApprovalPolicy(o, ['secret.read'], {
      config: { max_valid_seconds: 60 },
      name: 'stricter',
      applies_to: { names: ['DB'] },
    });
    const both = approvalIn(await asked.get(path)).id;
    expect(both).not.toBe(read);
    expect(codeOf(await approveFor(ann, both, 61))).toEqual(INVALID);
    expect((await approveFor(ann, both, 60)).status).toBe(200);
    await newApprovalPolicy(o, ['secret.read'], { name: 'once' });
    const once = approvalIn(await asked.get(path)).id;
    expect(codeOf(await approveFor(ann, once, 1))).toEqual(INVALID);
    expect((await approveFor(ann, once)).status).toBe(200);
    expect((await asked.get(path, under(once))).json.value).toBe(secret.value);
    expect(codeOf(await asked.get(path, under(once)))).toEqual(MISMATCH);
  });

  slow(
    'approval: the shorter time of two approvers counts, and without a time from either the call is made once',
    async () => {
      const office = await newOffice();
      const cat = await signIn(office.o, 'admin');
      const dan = await colleague(office.o, 'admin');
      const secret = await newSecret(office.o);
      await newApprovalPolicy(office.o, ['secret.read'], {
        config: { approvers: { role: 'admin' }, required: 2, max_valid_seconds: 3600 },
      });
      const path = `/secrets/${secret.id}`;
      for (const [first, second, valid] of [
        [600, 300, 300],
        [600, undefined, 0],
      ] as const) {
        const { id } = approvalIn(await office.asked.get(path));
        await approveFor(cat, id, first);
        expect((await approveFor(dan, id, second)).json).toMatchObject({
          status: 'approved',
          valid_for_seconds: valid,
        });
        expect((await office.asked.get(path, under(id))).status).toBe(200);
        expect((await office.asked.get(path, under(id))).status).toBe(valid ? 200 : 409);
        await office.asked.post(`/approvals/${id}/cancel`);
      }
    },
  );

  it('policy: allowing more repetition weakens it, and is held by the policy itself', async () => {
    const { o, policy } = await newRepeatable();
    const config = (fields: object) => ({
      config: {
        operations: ['secret.read'],
        required: 1,
        approvers: { role: 'owner' },
        max_valid_seconds: 3600,
        ...fields,
      },
    });
    for (const more of [{ max_valid_seconds: 3601 }, { repeat_writes: true }])
      expect(codeOf(await o.patch(`/policies/${policy}`, config(more)))).toEqual(HELD);
    expect((await o.patch(`/policies/${policy}`, config({ max_valid_seconds: 60 }))).status).toBe(200);
  });
});
