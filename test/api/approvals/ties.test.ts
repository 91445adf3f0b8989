// Ties: nobody decides for themselves by way of somebody whom they brought in, in either direction and
// through any number of people.
import { afterEach, describe, expect, it } from 'vitest';
import type { CredentialRow, MemberRow } from '../../../src/db/schema';
import { keeperOf } from '../../../src/gate/approvals/ties';
import { revision } from '../../../src/gate/request/writes';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  settle,
  under,
} from '../../support/governance/approvals';
import { newGrant, newTeam } from '../../support/people';
import { type Browser, change, newBrowser, newSignedIn, ORIGIN, signIn } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import { newIdp, person } from '../../support/signin/scim';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { BOOTSTRAP, type Caller, codeOf, newSecret, send, useWorld } from '../../support/world';

useWorld();
afterEach(() => {
  faults.clock = null;
});

const DENIED = [403, 'INSUFFICIENT_SCOPE'];
const MISMATCH = [409, 'APPROVAL_MISMATCH'];

/**
 * An organisation whose owner and admins have been there for long. Once it is closed, an admin has to approve
 * reads of a secret.
 */
async function newHouse() {
  const { o, browser: ann } = await newSignedIn();
  const bob = await signIn(o, 'admin');
  const cat = await signIn(o, 'admin');
  await settle(o);
  const secret = await newSecret(o, { name: 'DB' });
  const close = () =>
    newApprovalPolicy(o, ['secret.read'], {
      config: { approvers: { role: 'admin' } },
      applies_to: { names: ['DB'] },
    });
  const ask = async (by: Caller): Promise<string> => approvalIn(await by.get(`/secrets/${secret.id}`)).id;
  /** Whether somebody may decide what another asks for: true, or why not. */
  const decides = async (by: Browser, id: string): Promise<true | string> => {
    const answer = await approve(by, id);
    if (answer.status === 200) return true;
    expect(codeOf(answer)).toEqual(DENIED);
    return answer.json.error.message;
  };
  return { o, ann, bob, cat, secret, close, ask, decides };
}

/** Somebody invited by a member, who has enrolled. */
const invitee = (by: Caller, role: 'admin' | 'developer' = 'developer') => signIn(by, role);

describe('tie: an invitation', () => {
  it('bars the inviter from deciding for the invited member, who may be a puppet', async () => {
    const { bob, cat, secret, close, ask, decides } = await newHouse();
    const puppet = await invitee(bob.o);
    await close();
    const id = await ask(puppet.o);
    expect((await bob.o.get(`/approvals/${id}`)).json.may_decide).toBe(false);
    expect((await bob.o.get('/approvals?waiting_for=me')).json.data).toEqual([]);
    expect(await decides(bob, id)).toContain('Within the last seven days');
    expect(codeOf(await bob.o.post(`/approvals/${id}/reject`))).toEqual(DENIED);
    expect(await decides(cat, id)).toBe(true);
    expect((await puppet.o.get(`/secrets/${secret.id}`, under(id))).json.value).toBe(secret.value);
  });

  slow('ties through any number of people, and through a key that acts for one of them', async () => {
    const { bob, cat, close, ask, decides } = await newHouse();
    const key = await newKey(bob.o, { scopes: ['*'] });
    const eve = await invitee(key.o, 'admin');
    const fay = await invitee(eve.o);
    const gus = await invitee(bob.o, 'admin');
    await close();
    const id = await ask(fay.o);
    for (const by of [bob, eve]) expect(await decides(by, id)).toContain('Within the last seven days');
    // The other way too: whoever is below decides nothing for whoever is above.
    expect(await decides(eve, await ask(bob.o))).toContain('Within the last seven days');
    // Siblings are tied through their inviter.
    expect(await decides(gus, id)).toContain('Within the last seven days');
    expect(await decides(cat, id)).toBe(true);
  });

  it('ends after seven days', async () => {
    const { bob, close, ask, decides } = await newHouse();
    const puppet = await invitee(bob.o);
    await close();
    faults.clock = Date.now() + 7 * DAY - 3_600_000;
    const again = newBrowser(puppet.passkey);
    const bobs = newBrowser(bob.passkey);
    await again.login();
    await bobs.login();
    const id = await ask(again.o);
    expect(await decides(bobs, id)).toContain('Within the last seven days');
    faults.clock += 7_200_000;
    await again.login();
    await bobs.login();
    expect(await decides(bobs, id)).toBe(true);
  });
});

describe('tie: a requester whom somebody else may be since', () => {
  it.each([
    ['enrols them again', (by: Caller, id: string) => by.post(`/members/${id}/enrolments`)],
    ['changes their address', (by: Caller, id: string) => by.patch(`/members/${id}`, { email: 'e@x.com' })],
  ])('attack: whoever %s spends nothing that was approved for them', async (_, takesOver) => {
    const { o, ann, bob, secret, close, ask } = await newHouse();
    const dan = await signIn(o, 'developer');
    await settle(o);
    await close();
    const open = await ask(dan.o);
    const approved = approvalIn(await dan.o.get('/secrets/by-name/DB')).id;
    expect((await approve(bob, approved)).status).toBe(200);
    await ann.confirm();
    expect((await takesOver(ann.o, dan.member.id)).status).toBeLessThan(300);
    for (const id of [open, approved]) expect((await bob.o.get(`/approvals/${id}`)).json.status).toBe('void');
    expect(codeOf(await dan.o.get('/secrets/by-name/DB', under(approved)))).toEqual(MISMATCH);
    const again = await ask(dan.o);
    expect((await approve(bob, again)).status).toBe(200);
    expect((await dan.o.get(`/secrets/${secret.id}`, under(again))).json.value).toBe(secret.value);
  });

  it('attack: whoever made an enrolment link before the request spends nothing by using it after', async () => {
    const { o, ann, bob, secret, close, ask } = await newHouse();
    const dan = await signIn(o, 'developer');
    await settle(o);
    await close();
    const { enrolment_url } = (await ann.o.post(`/members/${dan.member.id}/enrolments`)).json;
    faults.clock = Date.now() + 1000;
    const id = await ask(dan.o);
    expect((await approve(bob, id)).status).toBe(200);
    faults.clock += 1000;
    const puppet = newBrowser(await newPasskey(ORIGIN));
    expect((await puppet.enrol(enrolment_url)).status).toBe(200);
    expect(codeOf(await puppet.o.get(`/secrets/${secret.id}`, under(id)))).toEqual(MISMATCH);
  });
});

describe('tie: two deciders', () => {
  it('count as one if they are tied, also once the second approval was given', async () => {
    const { o, ann, secret, ask } = await newHouse();
    const dan = await signIn(o, 'developer');
    const two = await Promise.all([signIn(o, 'owner'), signIn(o, 'owner')]);
    await settle(o);
    await newApprovalPolicy(o, ['secret.read'], { config: { required: 2 } });
    const [eve, fay] = two as [Browser, Browser];
    const link = async (of: Browser) => {
      await ann.confirm();
      return (await ann.o.post(`/members/${of.member.id}/enrolments`)).json.enrolment_url;
    };
    const early = await ask(dan.o);
    for (const by of [ann, eve]) expect((await approve(by, early)).status).toBe(200);
    const puppet = newBrowser(await newPasskey(ORIGIN));
    expect((await puppet.enrol(await link(eve))).status).toBe(200);
    // What both approved before does not count either.
    expect(codeOf(await dan.o.get(`/secrets/${secret.id}`, under(early)))).toEqual(MISMATCH);
    const id = await ask(dan.o);
    expect((await approve(ann, id)).status).toBe(200);
    const answer = await approve(puppet, id);
    expect(codeOf(answer)).toEqual(DENIED);
    expect(answer.json.error.message).toContain('count as one');
    expect((await approve(fay, id)).json.status).toBe('approved');
    expect((await dan.o.get(`/secrets/${secret.id}`, under(id))).json.value).toBe(secret.value);
  });
});

describe('tie: a removed member', () => {
  it('still ties those whom they brought in and who brought them in', async () => {
    const { o, bob, cat, close, ask, decides } = await newHouse();
    const middle = await invitee(bob.o, 'admin');
    const further = await invitee(middle.o, 'admin');
    const puppet = await invitee(further.o);
    await close();
    const id = await ask(puppet.o);
    for (const { member } of [further, middle])
      expect((await o.del(`/members/${member.id}`)).status).toBe(200);
    expect(await decides(bob, id)).toContain('Within the last seven days');
    expect(await decides(cat, id)).toBe(true);
  });

  slow(
    'ties their inviter to requests of credentials that outlive them, even once the owner who kept it is gone',
    async () => {
      const { o, ann, bob, cat, secret, close, ask, decides } = await newHouse();
      const puppet = await invitee(bob.o);
      const owner = await ownerOfLong(o);
      await close();
      const key = await newKey(puppet.o, { scopes: ['secrets:read'] });
      expect((await ann.o.del(`/members/${puppet.member.id}`)).status).toBe(200);
      const id = await ask(key.o);
      expect(await decides(bob, id)).toContain('Within the last seven days');
      const keeper = await inCore(o, (core) => keeperOf(core, null)?.id);
      expect(keeper).toBe(ann.member.id);
      expect((await owner.o.del(`/members/${keeper}`)).status).toBe(200);
      expect(await decides(bob, id)).toContain('Within the last seven days');
      expect(await decides(cat, id)).toBe(true);
      expect((await key.o.get(`/secrets/${secret.id}`, under(id))).json.value).toBe(secret.value);
    },
  );
});

/** A further owner who has been there for long, without touching what others' rows record. */
async function ownerOfLong(o: Caller): Promise<Browser> {
  const browser = await signIn(o, 'owner');
  await change(o.id, (call) => ({
    status: 200,
    data: null,
    writes: [
      revision(call, 'member', call.core.rows.get('member', browser.member.id) as MemberRow, {
        connections: [],
      }),
    ],
  }));
  return browser;
}

it('tie: those of removed members are bounded', async () => {
  const { o, ann, bob } = await newHouse();
  const connections = Array.from({ length: 1000 }, (_, n): [string, number, string] => [
    bob.member.id,
    Date.now(),
    `mem_${n}`,
  ]);
  await change(o.id, (call) => ({
    status: 200,
    data: null,
    writes: [
      revision(call, 'member', call.core.rows.get('member', ann.member.id) as MemberRow, { connections }),
    ],
  }));
  const invite = (email: string) => ann.o.post('/members', { email, name: 'New', role: 'viewer' });
  expect(codeOf(await invite('x@example.com'))).toEqual([409, 'LIMIT_REACHED']);
  const idp = await newIdp(o);
  expect((await idp.post('/Users', person())).status).toBe(409);
  faults.clock = Date.now() + 8 * DAY;
  await ann.login();
  expect((await invite('x@example.com')).status).toBe(201);
});

describe('tie: a promotion, re-enrolment or addition to an approving team', () => {
  it('counts in both directions, and leaving the team does not end it', async () => {
    const { o, cat, bob } = await newHouse();
    const dan = await colleague(o, 'admin');
    const eve = await colleague(o, 'admin');
    const team = await newTeam(o, bob.member.id, dan.member.id);
    await settle(o);
    const doomed = await newSecret(o, { name: 'DOOMED' });
    const config = { approvers: { team_id: team } };
    await newApprovalPolicy(o, ['secret.delete'], { config, applies_to: { names: ['DOOMED'] } });
    const ask = async (by: Caller) => approvalIn(await by.del(`/secrets/${doomed.id}`)).id;
    // Cat adds eve to the team, as dan approves. From then on neither of the two decides for the other.
    const add = (headers = {}) => cat.o.post(`/teams/${team}/members`, { member_id: eve.member.id }, headers);
    const held = approvalIn(await add()).id;
    expect((await approve(dan, held)).status).toBe(200);
    expect((await add(under(held))).status).toBe(201);
    expect(codeOf(await approve(eve, await ask(cat.o)))).toEqual(DENIED);
    expect((await approve(eve, await ask(dan.o))).status).toBe(200);
    const leave = (headers = {}) => o.del(`/teams/${team}/members/${eve.member.id}`, undefined, headers);
    const leaving = approvalIn(await leave()).id;
    expect((await approve(dan, leaving)).status).toBe(200);
    expect((await leave(under(leaving))).status).toBe(204);
    const row = await inCore(o, ({ rows }) => rows.get('member', eve.member.id));
    expect(row?.connections?.map(([by]) => by)).toEqual([cat.member.id]);
  });

  slow('through re-enrolment ties owners whom the operator recovers', async () => {
    const { o, ann } = await newHouse();
    const zoe = await ownerOfLong(o);
    const secret = await newSecret(o, { name: 'TWO' });
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { names: ['TWO'] } });
    const recover = (email: string) =>
      send('POST', `/api/v1/orgs/${o.id}/recovery`, { token: BOOTSTRAP, body: { reason: 'lost', email } });
    const id = approvalIn(await ann.o.get(`/secrets/${secret.id}`)).id;
    const mayDecide = async () => (await zoe.o.get(`/approvals/${id}`)).json.may_decide;
    expect(await mayDecide()).toBe(true);
    expect((await recover(ann.member.email)).status).toBe(201);
    expect((await recover(zoe.member.email)).status).toBe(201);
    expect(await mayDecide()).toBe(false);
  });

  it('is judged again when the approval is used', async () => {
    const { o, cat, secret, close, ask, decides } = await newHouse();
    const dan = await colleague(o, 'developer');
    const eve = await colleague(o, 'developer');
    await close();
    const id = await ask(dan.o);
    expect(await decides(cat, id)).toBe(true);
    // Cat changes the role of eve, who now is tied to cat, and dan is tied to eve by a row of hers.
    expect((await cat.o.patch(`/members/${eve.member.id}`, { role: 'viewer' })).status).toBe(200);
    await change(o.id, (call, now) => ({
      status: 200,
      data: null,
      writes: [
        revision(call, 'member', call.core.rows.get('member', eve.member.id) as MemberRow, {
          connections: [
            [cat.member.id, now],
            [dan.member.id, now],
          ],
        }),
      ],
    }));
    expect(codeOf(await dan.o.get(`/secrets/${secret.id}`, under(id)))).toEqual(MISMATCH);
  });
});

describe('tie: a grant', () => {
  it('of one to the other bars both, also by a team or a key, and only these two', async () => {
    const { o, bob, cat, close, ask, decides } = await newHouse();
    await close();
    const dan = await colleague(o, 'developer');
    const eve = await colleague(o, 'developer');
    const id = await ask(dan.o);
    const granted = await newGrant(bob.o, 'member', dan.member.id, { secrets: ['other'] });
    expect(await decides(bob, id)).toContain('A grant');
    expect(await decides(cat, id)).toBe(true);
    // Grants do not chain: eve and dan have grants of bob, and cat has one of dan's.
    expect((await bob.o.del(`/grants/${granted.id}`)).status).toBe(204);
    const key = await newKey(bob.o, { scopes: ['secrets:*', 'members:*', 'tokens:*'] });
    const team = await newTeam(o, eve.member.id);
    await newGrant(key.o, 'team', team, { secrets: ['other'] });
    const other = await ask(eve.o);
    expect(await decides(bob, other)).toContain('A grant');
    expect(await decides(cat, other)).toBe(true);
    await newGrant(cat.o, 'member', bob.member.id, { secrets: ['other'] });
    expect(await decides(cat, await ask(bob.o))).toContain('A grant');
  });

  slow('to an agent bars whoever gave it', async () => {
    const { o, bob, cat, close, ask, decides } = await newHouse();
    const dan = await colleague(o, 'developer');
    await close();
    const agent = await newAgent(dan.o, { scopes: ['secrets:read'] });
    const shared = await newSecret(o, { name: 'SHARED' });
    const id = await ask(agent.o);
    const given = await bob.o.post(`/secrets/${shared.id}/share`, {
      kind: 'grant',
      grantee: { type: 'agent', id: agent.id },
      permission: 'read',
    });
    expect(given.status).toBe(201);
    expect(await decides(bob, id)).toContain('A grant');
    expect(await decides(cat, id)).toBe(true);
  });
});

describe('approval: nobody accountable', () => {
  const recover = async (o: Caller, email?: string) =>
    (
      await send('POST', `/api/v1/orgs/${o.id}/recovery`, {
        token: BOOTSTRAP,
        body: { reason: 'lost', ...(email && { email }) },
      })
    ).json;

  it('the owners are accountable for a recovery key, and tied to those whom it brings in', async () => {
    const { o, ann, bob, close, ask, decides } = await newHouse();
    const recovered = await recover(o);
    const key = o.as(recovered.api_key.token);
    const dan = await invitee(key, 'admin');
    await close();
    const id = await ask(key);
    const shown = (await ann.o.get(`/approvals/${id}`)).json;
    expect(shown.requester.accountable.map(({ member_id }: { member_id: string }) => member_id)).toEqual([
      ann.member.id,
    ]);
    expect(shown.may_decide).toBe(false);
    expect(await decides(ann, id)).toContain('accountable');
    expect(await decides(bob, id)).toBe(true);
    expect(await decides(dan, await ask(ann.o))).toContain('Within the last seven days');
    const enrolled = newBrowser(await newPasskey(ORIGIN));
    expect((await enrolled.enrol(recovered.enrolment_url)).status).toBe(200);
  });

  it('nobody decides for a key of an earlier release for which nobody is accountable', async () => {
    const { o, bob, close, ask } = await newHouse();
    const { api_key } = await recover(o);
    await change(o.id, (call) => ({
      status: 200,
      data: null,
      writes: [
        revision(call, 'credential', call.core.rows.get('credential', api_key.id) as CredentialRow, {
          accountable: [],
        }),
      ],
    }));
    // Whom it brings in is tied to the owners, as nobody else is known to stand behind it.
    const dan = await invitee(o.as(api_key.token), 'admin');
    const row = await inCore(o, ({ rows }) => rows.get('member', dan.member.id));
    expect(row?.connections?.length).toBe(1);
    await close();
    const id = await ask(o.as(api_key.token));
    const answer = await approve(bob, id);
    expect([...codeOf(answer), answer.json.error.message]).toEqual([
      ...DENIED,
      expect.stringContaining('No member is accountable'),
    ]);
  });
});
