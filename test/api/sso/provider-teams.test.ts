// Teams whose members an identity provider decides: what is said to whoever gives them something, and what
// ends when a connection no longer maps them.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { colleague, newApprovalPolicy } from '../../support/governance/approvals';
import { newMember, newTeam } from '../../support/people';
import { GROUP, newIdp, newUser } from '../../support/signin/scim';
import { changeConnection, claimsOf, connected, newSsoBrowser } from '../../support/signin/sso-signin';
import { type Caller, codeOf, newSecret, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const idsIn = async (o: Caller, team: string) =>
  (await o.get(`/teams/${team}/members`)).json.data.map((one: { member_id: string }) => one.member_id);
const put = (...ids: string[]) => ({ op: 'add', path: 'members', value: ids.map((value) => ({ value })) });

describe('warning: an identity provider decides who is in a team', () => {
  /** A team of people, one that a connection maps, and one that SCIM made. */
  async function teams() {
    const { o, connection } = await connected();
    const byHand = await newTeam(o);
    const mapped = await newTeam(o);
    await changeConnection(o, connection, { team_mappings: [{ group: 'g', team_id: mapped }] });
    const idp = await newIdp(o);
    const made = (await idp.post('/Groups', { schemas: [GROUP], displayName: 'made' })).json.id as string;
    return { o, byHand, mapped, made };
  }
  const warns = expect.stringContaining('identity provider decides');

  it('warning: a grant to such a team and a share with it have one, others have none', async () => {
    const { o, byHand, mapped, made } = await teams();
    const secret = await newSecret(o, { name: 'A', value: 'v' });
    const grantTo = (type: string, id: string) =>
      o.post('/grants', { grantee: { type, id }, permission: 'read' });
    const shareWith = (id: string) =>
      o.post(`/secrets/${secret.id}/share`, {
        kind: 'grant',
        grantee: { type: 'team', id },
        permission: 'read',
      });
    for (const id of [mapped, made])
      for (const answer of [await grantTo('team', id), await shareWith(id)])
        expect([answer.status, answer.json.warning]).toEqual([201, warns]);
    const member = await newMember(o, 'viewer');
    for (const answer of [
      await grantTo('team', byHand),
      await shareWith(byHand),
      await grantTo('member', member.id),
    ])
      expect([answer.status, answer.json.warning]).toEqual([201, undefined]);
  });

  it('warning: a policy whose approvers are such a team has one', async () => {
    const { o, byHand, mapped, made } = await teams();
    const people = [await newMember(o, 'admin'), await newMember(o, 'admin')];
    const policy = async (team_id: string) => {
      for (const { id } of people) await o.post(`/teams/${team_id}/members`, { member_id: id });
      return o.post('/policies', {
        name: 'p',
        kind: 'approval',
        config: { operations: ['secret.delete'], required: 1, approvers: { team_id } },
      });
    };
    for (const [team, warning] of [
      [mapped, warns],
      [made, warns],
      [byHand, undefined],
    ] as const) {
      const answer = await policy(team);
      expect([answer.status, answer.json.warning], answer.text).toEqual([201, warning]);
      const changed = await o.patch(`/policies/${answer.json.id}`, { name: 'q' });
      expect([changed.status, changed.json.warning], changed.text).toEqual([200, warning]);
    }
  });
});

describe('connection: a removed team mapping', () => {
  async function mapped() {
    const stand = await connected({ jit: 1 });
    const { o, connection, owner, provider, at } = stand;
    await owner.confirm();
    const team = await newTeam(o);
    const team_mappings = [{ group: 'ops', team_id: team }];
    await changeConnection(o, connection, { team_mappings });
    const signIn = async (name: string, groups: string[]) => {
      const browser = newSsoBrowser();
      await browser.signIn(provider, claimsOf(at(name), { groups }));
      return (await browser.session()).member.id;
    };
    const drop = (fields: object = { team_mappings: [] }) =>
      owner.o.patch(`/sso-connections/${connection}`, fields);
    return { ...stand, team, team_mappings, signIn, drop };
  }

  it('connection: ends the places that the claim and SCIM hold, and keeps those of people', async () => {
    const { o, connection, team, signIn, drop } = await mapped();
    const idp = await newIdp(o, { connection_id: connection });
    const claimed = await signIn('bea', ['ops']);
    const both = await signIn('cy', ['ops']);
    const { id: sent } = await newUser(idp);
    await idp.patch(`/Groups/${team}`, put(both, sent));
    const byHand = await newMember(o, 'developer');
    await o.post(`/teams/${team}/members`, { member_id: byHand.id });
    expect(await idsIn(o, team)).toHaveLength(4);
    const { revision } = (await o.get(`/teams/${team}`)).json;
    // Another change takes nothing.
    await drop({ team_mappings: [{ group: 'renamed', team_id: team }] });
    expect(await idsIn(o, team)).toEqual(expect.arrayContaining([claimed, both, sent]));
    const answer = await drop();
    expect(answer.status, answer.text).toBe(200);
    expect(await idsIn(o, team)).toEqual([byHand.id]);
    expect((await o.get(`/teams/${team}`)).json.revision).toBe(revision + 1);
  });

  it('connection: keeps what SCIM holds in a team that it made', async () => {
    const { o, connection, signIn, drop } = await mapped();
    const idp = await newIdp(o, { connection_id: connection });
    const bea = await signIn('bea', []);
    const { json: group } = await idp.post('/Groups', {
      schemas: [GROUP],
      displayName: 'made',
      members: [{ value: bea }],
    });
    await changeConnection(o, connection, { team_mappings: [{ group: 'x', team_id: group.id }] });
    expect((await drop()).status).toBe(200);
    expect(await idsIn(o, group.id)).toEqual([bea]);
  });

  it('connection: that of an approving team is held by its policy', async () => {
    const { o, team, signIn, drop, owner } = await mapped();
    const { member } = await colleague(o, 'admin');
    await o.post(`/teams/${team}/members`, { member_id: member.id });
    await signIn('bea', ['ops']);
    await newApprovalPolicy(o, ['secret.delete'], { config: { approvers: { team_id: team } } });
    await owner.confirm();
    expect(codeOf(await drop())).toEqual([403, 'APPROVAL_REQUIRED']);
    expect(await idsIn(o, team)).toHaveLength(2);
  });
});
