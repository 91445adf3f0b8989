// Approvals of what ends: once a requester has ended, its approvals are void, are shown as such, and leave
// nothing behind.
import { describe, expect, it } from 'vitest';
import type { TeamMemberRow } from '../../../src/db/schema';
import { approvalDetails } from '../../../src/gate/approvals/details';
import { endApprovals } from '../../../src/gate/approvals/state';
import { revision } from '../../../src/gate/request/writes';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, leaveRows, loseStorage } from '../../support/gate';
import {
  approvalIn,
  approve,
  newApprovalPolicy,
  newOffice,
  plantApproval,
  settle,
  under,
} from '../../support/governance/approvals';
import { newTeam } from '../../support/people';
import { another, type Browser, change, newBrowser, ORIGIN, signIn } from '../../support/signin/browser';
import { newDevice, provenBy } from '../../support/signin/device';
import { newPasskey } from '../../support/signin/passkey';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Caller, codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

const MISMATCH = [409, 'APPROVAL_MISMATCH'];

/** An office with a held secret, and some further admins in their browsers. */
async function newHeld(admins = 0) {
  const office = await newOffice();
  const people: Browser[] = [];
  while (people.length < admins) people.push(await signIn(office.o, 'admin'));
  const secret = await newSecret(office.o);
  await newApprovalPolicy(office.o, ['secret.read']);
  const path = `/secrets/${secret.id}`;
  const held = async (by: Caller) => approvalIn(await by.get(path)).id as string;
  const statusOf = async (id: string) => (await office.o.get(`/approvals/${id}`)).json.status;
  return { ...office, people, path, held, statusOf };
}

describe('approval: a requester who ends', () => {
  it('approval: one of a credential is void once it is revoked, contained, or has expired, or once a credential above it has', async () => {
    const { o, ann, path, held, statusOf } = await newHeld();
    const [revoked, contained, above, brief] = await Promise.all([
      newKey(o),
      newKey(o),
      newAgent(o, { scopes: ['secrets:read', 'tokens:write'] }),
      newKey(o, { expires_at: new Date(Date.now() + 3_600_000).toISOString() }),
    ]);
    const below = await newAgent(above.o, { scopes: ['secrets:read'] });
    const ids = await Promise.all([revoked, contained, below, brief].map(({ o: by }) => held(by)));
    expect(await Promise.all(ids.map(statusOf))).toEqual(['pending', 'pending', 'pending', 'pending']);
    await plantApproval(o, ids[1] as string);
    const waiting = o.get(`/approvals/${ids[0]}?wait=25`);
    await o.del(`/api-keys/${revoked.id}`);
    await o.post(`/credentials/${contained.id}/contain`, {});
    await o.del(`/agent-credentials/${above.id}`);
    expect((await waiting).json).toMatchObject({ status: 'void', shown: null, may_decide: false });
    expect(await Promise.all(ids.map(statusOf))).toEqual(['void', 'void', 'void', 'pending']);
    for (const id of ids.slice(0, 3)) expect(codeOf(await approve(ann, id))).toEqual([409, 'CONFLICT']);
    faults.clock = Date.now() + 3_700_000;
    expect(await statusOf(ids[3] as string)).toBe('void');
    const list = async (query: string) =>
      (await o.get(`/approvals?${query}`)).json.data.map(({ id }: { id: string }) => id).sort();
    expect(await list('status=void')).toEqual([...ids].sort());
    expect(await list('status=pending')).toEqual([]);
    expect(codeOf(await o.get(path, under(ids[1] as string)))).toEqual(MISMATCH);
  });

  slow('approval: one of a removed member is void; of a member who signed out it stays', async () => {
    const { o, held, statusOf, people } = await newHeld(2);
    const [cat, dan] = people as [Browser, Browser];
    const removed = await held(cat.o);
    const left = await held(dan.o);
    await dan.logout();
    await o.del(`/members/${cat.member.id}`);
    expect([await statusOf(removed), await statusOf(left)]).toEqual(['void', 'pending']);
  });

  it('approval: what a session asked for is void once the session is contained, and stays so when it is forgotten', async () => {
    const { o, bob, asked, path, held, statusOf } = await newHeld();
    const session = await newSession(asked);
    const second = await another(bob);
    const byToken = await held(session.o);
    const byBrowser = await held(second.o);
    for (const id of [byToken, byBrowser]) await plantApproval(o, id);
    const browser = await inCore(o, ({ rows }) => rows.get('approval', byBrowser)?.requester.credential);
    for (const id of [session.id, browser])
      expect((await o.post(`/credentials/${id}/contain`, {})).status).toBe(200);
    expect([await statusOf(byToken), await statusOf(byBrowser)]).toEqual(['void', 'void']);
    // The root of both goes on, and cannot use them.
    expect(codeOf(await asked.get(path, under(byToken)))).toEqual(MISMATCH);
    expect(codeOf(await bob.o.get(path, under(byBrowser)))).toEqual(MISMATCH);
    await leaveRows(o, session.id);
    expect(await statusOf(byToken)).toBe('void');
    expect(codeOf(await asked.get(path, under(byToken)))).toEqual(MISMATCH);
  });

  it('approval: is void once the gate has lost its storage, which knew what made others void', async () => {
    const { o, ann, asked, path, held, statusOf } = await newHeld();
    const session = await newSession(asked);
    const id = await held(session.o);
    await plantApproval(o, id);
    expect((await asked.del(`/access-tokens/${session.id}`)).status).toBe(204);
    await loseStorage(o);
    expect(await statusOf(id)).toBe('void');
    expect(codeOf(await asked.get(path, under(id)))).toEqual(MISMATCH);
    expect(codeOf(await approve(ann, id))).toEqual([409, 'CONFLICT']);
    // Asked again, it is a request of its own, and deciders are shown what it would do.
    const anew = await held(asked);
    expect([anew === id, await statusOf(anew)]).toEqual([false, 'pending']);
  });

  it('approval: what a session asked for is void once its device is blocked, also when the session is forgotten', async () => {
    const { o, asked, path, held, statusOf } = await newHeld();
    const { id: device_id, keys } = await newDevice(o);
    const session = await newSession(asked, { device_id });
    const id = await held(provenBy(session.o, keys));
    await plantApproval(o, id);
    expect((await o.get(`/approvals/${id}`)).json.requester).not.toHaveProperty('device_id');
    expect((await o.post(`/devices/${device_id}/block`)).status).toBe(200);
    expect(await statusOf(id)).toBe('void');
    expect(codeOf(await asked.get(path, under(id)))).toEqual(MISMATCH);
    await leaveRows(o, session.id);
    expect(await statusOf(id)).toBe('void');
  });

  it('approval: what a browser session asked for is void once its passkey is removed', async () => {
    const { o, bob, path, held, statusOf } = await newHeld();
    const lost = newBrowser(await newPasskey(ORIGIN));
    const { json: options } = await bob.o.post(`/members/${bob.member.id}/passkeys/options`);
    const { json: added } = await bob.o.post(`/members/${bob.member.id}/passkeys`, {
      response: await lost.passkey.create(options),
    });
    await lost.login();
    const id = await held(lost.o);
    await plantApproval(o, id);
    expect((await bob.o.del(`/members/${bob.member.id}/passkeys/${added.id}`)).status).toBe(204);
    expect(await statusOf(id)).toBe('void');
    expect(codeOf(await bob.o.get(path, under(id)))).toEqual(MISMATCH);
  });

  it('approval: what sessions asked for is void after a panic', async () => {
    const { o, bob, asked, path, held, statusOf } = await newHeld();
    const session = await newSession(asked);
    const ids = [await held(session.o), await held(bob.o)];
    const kept = await held(asked);
    expect((await o.post('/panic', { reason: 'a laptop was stolen' })).status).toBe(200);
    expect(await Promise.all([...ids, kept].map(statusOf))).toEqual([
      'void',
      'void',
      kept === ids[0] ? 'void' : 'pending',
    ]);
    expect(codeOf(await asked.get(path, under(ids[0] as string)))).toEqual(MISMATCH);
  });
});

describe('approval: a decision that ends', () => {
  /** An approver approves in a session of a second passkey. */
  async function approvedByLost() {
    const held = await newHeld();
    const lost = newBrowser(await newPasskey(ORIGIN));
    const { ann, asked } = held;
    const { json: options } = await ann.o.post(`/members/${ann.member.id}/passkeys/options`);
    const { json: added } = await ann.o.post(`/members/${ann.member.id}/passkeys`, {
      response: await lost.passkey.create(options),
    });
    await lost.login();
    const id = await held.held(asked);
    expect((await approve(lost, id)).json.status).toBe('approved');
    return { ...held, id, passkey: added.id as string };
  }

  it('approval: a decision counts no more once the passkey behind it is removed', async () => {
    const { ann, asked, path, id, passkey } = await approvedByLost();
    expect((await ann.o.del(`/members/${ann.member.id}/passkeys/${passkey}`)).status).toBe(204);
    expect(codeOf(await asked.get(path, under(id)))).toEqual(MISMATCH);
  });

  slow('approval: once too few decisions count, the same request asks anew', async () => {
    const { ann, asked, path, id, passkey, held } = await approvedByLost();
    expect((await ann.o.del(`/members/${ann.member.id}/passkeys/${passkey}`)).status).toBe(204);
    const again = await held(asked);
    expect(again).not.toBe(id);
    expect((await approve(ann, again)).json.status).toBe('approved');
    expect((await asked.get(path, under(again))).status).toBe(200);
  });

  /**
   * A policy decided by a team of two, and how one of them leaves the team and joins it again: with
   * approvals, and known to all for long.
   */
  async function newPanel(required: number) {
    const { o, asked } = await newOffice();
    const cat = await signIn(o, 'admin');
    const dan = await signIn(o, 'admin');
    const team = await newTeam(o, cat.member.id, dan.member.id);
    await settle(o);
    const path = `/secrets/${(await newSecret(o)).id}`;
    await newApprovalPolicy(o, ['secret.read'], { config: { required, approvers: { team_id: team } } });
    const { id } = approvalIn(await asked.get(path));
    const rejoin = ({ member }: Browser) =>
      change(o.id, (call, now) => {
        const row = call.core.rows.get('team_member', `${team}.${member.id}`) as TeamMemberRow;
        return { status: 200, data: null, writes: [revision(call, 'team_member', row, { created_at: now })] };
      });
    return { cat, dan, id, rejoin, use: () => asked.get(path, under(id)) };
  }

  it('approval: a decision counts no more once its member has left the approving team, also after a return', async () => {
    const { cat, id, rejoin, use } = await newPanel(1);
    expect((await approve(cat, id)).json.status).toBe('approved');
    await rejoin(cat);
    expect(codeOf(await use())).toEqual(MISMATCH);
  });

  slow('approval: a decision that counts no more can be made again', async () => {
    const { cat, dan, id, rejoin, use } = await newPanel(2);
    expect((await approve(cat, id)).json.status).toBe('pending');
    await rejoin(cat);
    expect((await approve(dan, id)).json.status).toBe('pending');
    expect((await approve(cat, id)).json.status).toBe('approved');
    expect((await use()).status).toBe(200);
  });

  slow('approval: a decision counts no more after a panic', async () => {
    const { o, asked, path, id } = await approvedByLost();
    expect((await o.post('/panic', { reason: 'a laptop was stolen' })).status).toBe(200);
    expect(codeOf(await asked.get(path, under(id)))).toEqual(MISMATCH);
  });
});

it('approval: what deciders were shown is erased once it ends, becomes void or expires', async () => {
  const { o, ann, bob, asked, held } = await newHeld();
  const keys = await Promise.all([1, 2, 3, 4].map(() => newKey(bob.o)));
  const ids = await Promise.all(keys.map(({ o: by }) => held(by)));
  const kept = () => inCore(o, (core) => ids.map((id) => approvalDetails(core).of(id) !== null));
  expect(await kept()).toEqual([true, true, true, true]);
  await (keys[0] as { o: Caller }).o.post(`/approvals/${ids[0]}/cancel`);
  await ann.o.post(`/approvals/${ids[1]}/reject`);
  await o.del(`/api-keys/${keys[2]?.id}`);
  await inCore(o, (core) => endApprovals(core, Date.now()));
  expect(await kept()).toEqual([false, false, false, true]);
  faults.clock = Date.now() + DAY + 1000;
  await inCore(o, (core) => endApprovals(core, Date.now() + DAY + 1000));
  expect(await kept()).toEqual([false, false, false, false]);
  expect((await asked.get(`/approvals/${ids[3]}`)).json.shown).toBe(null);
});
