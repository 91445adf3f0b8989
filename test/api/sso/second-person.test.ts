// The provider is not a second person: who came by a provider, or was given a role or a place by it, decides
// nothing for a week; and no approval policy holds a sign-in.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type {
  ApprovalRow,
  CredentialRow,
  MemberRow,
  PolicyRow,
  SsoConnectionRow,
} from '../../../src/db/schema';
import { ineligible } from '../../../src/gate/approvals/approvers';
import { tiesOf } from '../../../src/gate/approvals/ties';
import { inCore } from '../../support/gate';
import { approvalIn, newApprovalPolicy, settle } from '../../support/governance/approvals';
import { addPasskey, newMember, newTeam, ownerId } from '../../support/people';
import { newPasskey } from '../../support/signin/passkey';
import { newIdp, newUser } from '../../support/signin/scim';
import {
  changeConnection,
  claimsOf,
  connected,
  enrolled,
  newConnection,
  newSsoBrowser,
  ORIGIN,
} from '../../support/signin/sso-signin';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Caller, codeOf, newSecret, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const PROVIDER = /an identity provider brought you in/;

/** Why a member may not decide what somebody asks, for a policy of admins or of a team. */
const whyNot = (o: Caller, member: string, asker: string, approvers: object = { role: 'admin' }, later = 0) =>
  inCore(o, (core) =>
    ineligible(
      core,
      {
        accountable: [asker],
        environments: null,
        requester: { kind: 'member', id: asker, credential: asker },
        org_id: o.id,
      } as unknown as ApprovalRow,
      {
        name: 'p',
        config: { approvers, operations: ['member.change'], required: 1 },
      } as unknown as PolicyRow,
      core.rows.get('member', member) as MemberRow,
      Date.now() + later,
    ),
  );

const memberOf = async (
  provider: Parameters<ReturnType<typeof newSsoBrowser>['signIn']>[0],
  claims: Record<string, unknown>,
) => {
  const browser = newSsoBrowser();
  const answer = await browser.signIn(provider, claims);
  if (answer.status !== 303) throw new Error(answer.text);
  return (await browser.session()).member.id;
};

describe('single sign-on: nobody whom a provider', () => {
  it('made decides for a week, nor are two of them two people', async () => {
    const { o, provider, at } = await connected({ jit: 1, default_role: 'admin' });
    const bea = await memberOf(provider, claimsOf(at('bea')));
    const eve = await memberOf(provider, claimsOf(at('eve')));
    const dev = await newMember(o, 'developer');
    expect(await whyNot(o, bea, dev.id)).toMatch(PROVIDER);
    expect(await whyNot(o, bea, eve)).toMatch(PROVIDER);
    expect(await whyNot(o, bea, dev.id, undefined, 7 * DAY - 60_000)).toMatch(PROVIDER);
    expect(await whyNot(o, bea, dev.id, undefined, 7 * DAY + 60_000)).toBeNull();
    const isTied = await inCore(o, (core) => tiesOf(core, Date.now()).tied(bea, eve));
    expect(isTied).toBe(true);
  });

  it('gave a role decides for a week', async () => {
    const { o, provider, at, connection } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'), { groups: ['ops'] });
    const bea = await memberOf(provider, claims);
    const dev = await newMember(o, 'developer');
    // A week later, the provider gives the role.
    await inCore(o, (core) => {
      const row = core.rows.get('member', bea) as MemberRow;
      core.rows.put('member', { ...row, connections: [] });
    });
    await changeConnection(o, connection, { role_mappings: [{ group: 'ops', role: 'admin' }] });
    await memberOf(provider, claims);
    expect(await whyNot(o, bea, dev.id)).toMatch(PROVIDER);
  });

  it('put into an approving team decides for a week', async () => {
    const { o, provider, at, connection } = await connected({ default_role: 'admin' });
    const bea = await newMember(o, 'admin', { email: at('bea') });
    const team = await newTeam(o);
    await o.post('/policies', {
      name: 'team',
      kind: 'approval',
      config: { operations: ['member.change'], required: 1, approvers: { team_id: team } },
    });
    await changeConnection(o, connection, { team_mappings: [{ group: 'ops', team_id: team }] });
    await memberOf(provider, claimsOf(at('bea'), { groups: ['ops'] }));
    expect((await o.get(`/teams/${team}/members`)).json.data).toHaveLength(1);
    const dev = await newMember(o, 'developer');
    expect(await whyNot(o, bea.id, dev.id, { team_id: team })).toMatch(PROVIDER);
  });

  slow('linked without a passkey decides for a week; with one, nothing changes', async () => {
    const { o, provider, at } = await connected();
    const bea = await newMember(o, 'admin', { email: at('bea') });
    await memberOf(provider, claimsOf(at('bea')));
    const dev = await newMember(o, 'developer');
    expect(await whyNot(o, bea.id, dev.id)).toMatch(PROVIDER);
    const pat = await enrolled(o, at('pat'), 'admin');
    const browser = newSsoBrowser();
    await browser.signIn(provider, claimsOf(at('pat')));
    expect((await browser.link(pat.passkey)).status).toBe(200);
    expect(await whyNot(o, pat.id, dev.id)).not.toMatch(PROVIDER);
  });
});

it('single sign-on: whoever changed what a connection gives stays tied to its people once it is deleted', async () => {
  const { o, owner, provider, provider_, at, domainId, connection } = await connected({ jit: 1 });
  const bea = await memberOf(provider, claimsOf(at('bea')));
  const cem = await memberOf(provider, claimsOf(at('cem')));
  const ann = await ownerId(o);
  const isTied = (to: string, later = 0) =>
    inCore(o, (core) => tiesOf(core, Date.now() + later).tied(ann, to));
  // The sign-ins were longer ago than a tie lasts, and the owner changes the connection now.
  await inCore(o, (core) => {
    for (const id of [bea, cem])
      core.rows.put('member', { ...(core.rows.get('member', id) as MemberRow), connections: [] });
    const made = core.rows.get('sso_connection', connection) as SsoConnectionRow;
    core.rows.put('sso_connection', { ...made, changed_by: [[ann, Date.now()]] });
  });
  expect([await isTied(bea), await isTied(cem)]).toEqual([true, true]);
  // Credentials that a removed member made may still ask.
  expect((await owner.o.del(`/members/${cem}`)).status).toBe(200);
  expect(await isTied(cem)).toBe(true);
  expect((await owner.o.del(`/sso-connections/${connection}`)).status).toBe(204);
  expect([await isTied(bea), await isTied(bea, 8 * DAY), await isTied(cem)]).toEqual([true, false, true]);
  // Nor does a sign-in by another connection cut it.
  await inCore(o, (core) => {
    for (const link of core.rows.within('sso_link', bea)) core.rows.forget('sso_link', link.id);
  });
  const other = await provider_();
  const next = await newConnection(o, other, { domains: [domainId] });
  expect(await memberOf(other, claimsOf(at('bea')))).toBe(bea);
  const now = await inCore(o, (core) => core.rows.get('member', bea)?.provisioned?.connection);
  expect([now, await isTied(bea)]).toEqual([next, true]);
});

describe('single sign-on: a member whom somebody lets another identity sign in as', () => {
  const isTied = (o: Caller, one: string, other: string) =>
    inCore(o, (core) => tiesOf(core, Date.now()).tied(one, other));
  const heldBy = (o: Caller) =>
    o.post('/policies', {
      name: 'people',
      kind: 'approval',
      config: { operations: ['member.change'], required: 1, approvers: { role: 'owner' } },
    });

  it('is tied to whoever changed their address, and a policy holds that', async () => {
    const { o, at } = await connected();
    const eve = await enrolled(o, at('eve'), 'admin');
    const bob = await newMember(o, 'developer', { email: at('bob') });
    await inCore(o, (core) => {
      for (const id of [eve.id, bob.id])
        core.rows.put('member', { ...(core.rows.get('member', id) as MemberRow), connections: [] });
    });
    const change = (fields: object) => eve.browser.o.patch(`/members/${bob.id}`, fields);
    expect((await change({ name: 'Bob', email: at('BOB') })).status).toBe(200);
    expect(await isTied(o, eve.id, bob.id)).toBe(false);
    expect((await change({ email: at('other') })).status).toBe(200);
    expect(await isTied(o, eve.id, bob.id)).toBe(true);
    // Their own address ties nobody, and no policy holds it.
    expect((await heldBy(o)).status).toBe(201);
    expect((await eve.browser.o.patch(`/members/${eve.id}`, { email: at('eva') })).status).toBe(200);
    expect(codeOf(await change({ email: at('third') }))).toEqual([403, 'APPROVAL_REQUIRED']);
  });

  it('is tied to whoever freed their links, and a policy holds that', async () => {
    const { o, owner, provider, at } = await connected({ jit: 1 });
    const bea = await memberOf(provider, claimsOf(at('bea')));
    await inCore(o, (core) => {
      core.rows.put('member', { ...(core.rows.get('member', bea) as MemberRow), connections: [] });
    });
    const ann = await ownerId(o);
    expect(await isTied(o, ann, bea)).toBe(false);
    expect((await owner.o.del(`/members/${bea}/links`)).status).toBe(204);
    expect(await isTied(o, ann, bea)).toBe(true);
    expect((await heldBy(o)).status).toBe(201);
    await memberOf(provider, claimsOf(at('bea')));
    expect(codeOf(await owner.o.del(`/members/${bea}/links`))).toEqual([403, 'APPROVAL_REQUIRED']);
  });
});

describe('SCIM: a token without a connection', () => {
  it('SCIM: its maker is tied for a week to whom it makes, resumes or gives another address', async () => {
    const { o, owner, at } = await connected();
    const ann = await ownerId(o);
    const idp = await newIdp(owner.o);
    const made = (name: string) => newUser(idp, { userName: at(name), emails: [{ value: at(name) }] });
    const isTied = (to: string) => inCore(o, (core) => tiesOf(core, Date.now()).tied(ann, to));
    const { id } = await made('eve');
    const isTiedBy = async (path: string, ...values: unknown[]) => {
      await inCore(o, ({ rows }) =>
        rows.put('member', { ...(rows.get('member', id) as MemberRow), connections: [] }),
      );
      const before = await isTied(id);
      for (const value of values)
        expect((await idp.patch(`/Users/${id}`, { op: 'replace', path, value })).status).toBe(200);
      return [before, await isTied(id)];
    };
    expect(await isTied(id)).toBe(true);
    expect(await isTiedBy('active', false, true)).toEqual([false, true]);
    expect(await isTiedBy('emails', [{ value: at('other') }])).toEqual([false, true]);
    expect(await isTiedBy('displayName', 'Eve')).toEqual([false, false]);
    await inCore(o, ({ rows }) =>
      rows.put('credential', {
        ...(rows.get('credential', idp.id) as CredentialRow),
        created_at: Date.now() - 8 * DAY,
      }),
    );
    expect(await isTied((await made('bea')).id)).toBe(false);
  });
});

describe('single sign-on: an approval policy', () => {
  slow('holds no sign-in: what a connection gives was held when it was made', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    await newMember(o, 'admin');
    await newMember(o, 'admin');
    const made = await o.post('/policies', {
      name: 'people',
      kind: 'approval',
      config: { operations: ['member.change', 'team.change'], required: 1, approvers: { role: 'admin' } },
    });
    expect(made.status).toBe(201);
    expect(await memberOf(provider, claimsOf(at('bea')))).toMatch(/^mem_/);
    expect((await newMember(o, 'viewer').catch((error: Error) => error.message)) as string).toMatch(
      /APPROVAL_REQUIRED/,
    );
  });
});

describe('single sign-on: the word of a provider', () => {
  /** A held request, and a session, confirmed at the provider, of an admin who came long ago. */
  async function confirmedByProvider() {
    const world = await connected({ jit: 1, default_role: 'admin' });
    const { o, provider, at } = world;
    const claims = claimsOf(at('bea'));
    const browser = newSsoBrowser();
    await browser.signIn(provider, claims);
    const { token, member } = await browser.session();
    await settle(o);
    const started = await browser.start({ confirm: true }, { Authorization: `Bearer ${token}` });
    const auth_time = Math.floor(Date.now() / 1000);
    await browser.callback(provider.authorize(started.json.url, { ...claims, auth_time }));
    const bea = o.as((await browser.session()).token);
    await newSecret(o, { name: 'DB' });
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { role: 'admin' } } });
    const asked = approvalIn(await o.get('/secrets/by-name/DB')).id as string;
    return { ...world, bea, member, asked };
  }
  const approves = (by: Caller, id: string) => by.post(`/approvals/${id}/approve`);

  it('approves nothing: that takes a passkey', async () => {
    const { bea, member, asked, o } = await confirmedByProvider();
    const answer = await approves(bea, asked);
    expect([codeOf(answer), answer.text.includes('a passkey')]).toEqual([[403, 'INSUFFICIENT_SCOPE'], true]);
    await addPasskey(o, member.id);
    expect((await approves(bea, asked)).status).toBe(403);
  });

  it('registers a passkey that decides nothing for a week', async () => {
    const { bea, member, asked, o } = await confirmedByProvider();
    const { json: options } = await bea.post(`/members/${member.id}/passkeys/options`);
    const response = await (await newPasskey(ORIGIN)).create(options);
    expect((await bea.post(`/members/${member.id}/passkeys`, { name: 'p', response })).status).toBe(201);
    expect((await approves(bea, asked)).json.error.message).toMatch(PROVIDER);
    await settle(o);
    expect((await approves(bea, asked)).json.error.message).toContain('a passkey');
  });
});
