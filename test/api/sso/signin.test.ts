// Single sign-on: starting, the callback, who a person is, and what the session is.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MemberRow } from '../../../src/db/schema';
import { inGate } from '../../support/gate';
import { newMember, newTeam } from '../../support/people';
import { newBrowser, signIn } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import { GROUP, newIdp, newUser } from '../../support/signin/scim';
import {
  type Claims,
  changeConnection,
  claimsOf,
  connected,
  deleteConnection,
  enrolled,
  newConnection,
  newDomain,
  newSsoBrowser,
  ORIGIN,
  reasonOf,
} from '../../support/signin/sso-signin';
import { slow } from '../../support/slow';
import { codeOf, newOrg, send, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const entries = async (o: { get(path: string): Promise<{ json: { data: Claims[] } }> }, action: string) =>
  (await o.get(`/audit-log?action=${action}&limit=5`)).json.data;

describe('single sign-on: a sign-in', () => {
  it('of a just-in-time member begins a session like that of a passkey, marked sso', async () => {
    const { o, provider, connection, at } = await connected({ jit: 1 });
    const browser = newSsoBrowser();
    const started = await browser.start({ email: at('Bea'), return_to: '/console/secrets?q=1' });
    const url = new URL(started.json.url);
    expect(url.origin + url.pathname).toBe(`${provider.issuer.url}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      scope: 'openid email profile',
      redirect_uri: `${ORIGIN}/sso/callback`,
      code_challenge_method: 'S256',
      login_hint: at('Bea'),
    });
    expect(started.headers.getSetCookie()[0]).toMatch(
      /^__Host-svc_sso=[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const claims = claimsOf(at('bea'));
    const back = await browser.callback(provider.authorize(started.json.url, claims));
    expect([back.status, back.headers.get('location')]).toEqual([303, '/console/secrets?q=1']);
    expect([...browser.jar.keys()]).toEqual(['__Host-svc_refresh']);
    const { member } = await browser.session();
    expect(member).toMatchObject({ email: at('bea'), name: 'Bea', role: 'viewer', environments: null });
    expect((await browser.whoami()).json).toMatchObject({ kind: 'member', id: member.id });
    const [session] = (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data;
    expect(session).toMatchObject({ method: 'sso', passkey_id: null, current: true, client: 'browser' });
    const shown = (await o.get(`/members/${member.id}`)).json;
    expect(shown).toMatchObject({ status: 'active', invited_by: connection, passkeys: 0 });
    expect((await entries(o, 'auth.sso'))[0]).toMatchObject({
      outcome: 'success',
      actor: { id: null, name: 'acme' },
      resource: member.id,
      reason: 'a member was made',
    });
    await newSsoBrowser().signIn(provider, claims);
    expect((await entries(o, 'auth.sso'))[0]).toMatchObject({
      actor: { id: member.id },
      resource: expect.stringMatching(/^ses_/),
      reason: null,
    });
  });

  slow('is of the same member each time, whatever the address is meanwhile', async () => {
    const { o, provider, at, connection } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    await newSsoBrowser().signIn(provider, claims);
    const browser = newSsoBrowser();
    const again = { ...claims, email: 'bea@elsewhere.example.org', email_verified: false };
    expect((await browser.signIn(provider, again, { connection_id: connection })).status).toBe(303);
    expect((await browser.session()).member.email).toBe(at('bea'));
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  slow('does not confirm: what needs a passkey still does', async () => {
    const { provider, at } = await connected({ jit: 1, default_role: 'admin' });
    const browser = newSsoBrowser();
    await browser.signIn(provider, claimsOf(at('bea')));
    await browser.session();
    const answer = await browser.call(
      'POST',
      '/api/v1/auth/device/confirm',
      { user_code: 'BCDF-GHJK' },
      { Authorization: `Bearer ${browser.token}` },
    );
    expect(codeOf(answer)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
  });

  it('of somebody unknown is refused without jit, and so is an address outside the verified domains', async () => {
    const { o, provider, at, connection } = await connected();
    const browser = newSsoBrowser();
    expect((await browser.signIn(provider, claimsOf(at('bea')))).status).toBe(403);
    expect(await reasonOf(o)).toBe('no member has this address');
    const other = claimsOf('bea@other.example.com');
    expect((await browser.signIn(provider, other, { connection_id: connection })).status).toBe(403);
    expect(await reasonOf(o)).toBe('the address is in no verified domain of the connection');
  });
});

it('single sign-on: a sign-in of somebody whom a person removed is refused, until an owner readmits them', async () => {
  const { o, provider, at } = await connected({ jit: 1 });
  const claims = claimsOf(at('eve'));
  const browser = newSsoBrowser();
  expect((await browser.signIn(provider, claims)).status).toBe(303);
  const { id } = (await browser.session()).member;
  expect((await o.del(`/members/${id}`)).status).toBe(200);
  // The address with another identity, and the identity with another address.
  for (const one of [claims, claimsOf(at('Eve')), { ...claims, email: at('other') }]) {
    expect((await newSsoBrowser().signIn(provider, one)).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member was removed');
  }
  expect((await o.post('/members/readmit', { email: at('EVE') })).status).toBe(204);
  expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
});

describe('single sign-on: a start', () => {
  it('for an unknown domain is answered as one without a connection, and as an unknown connection', async () => {
    const { o, at, domain } = await connected();
    const pending = `pending-${domain}`;
    await newDomain(o, pending, null);
    const bare = `bare-${domain}`;
    await newDomain(o, bare);
    const answers = await Promise.all(
      [
        { email: 'x@nowhere.example.com' },
        { email: `x@${pending}` },
        { email: `x@${bare}` },
        { email: `x@sub.${domain}` },
        { connection_id: 'sso_01M9xQeKcX3vTz6nWJfQ4b' },
        { connection_id: 'nonsense' },
      ].map((body) => newSsoBrowser().start(body)),
    );
    for (const answer of answers) {
      expect(codeOf(answer)).toEqual([404, 'SSO_NOT_FOUND']);
      expect(answer.headers.getSetCookie()).toEqual([]);
      expect(answer.json.error.message).toBe(answers[0]?.json.error.message);
    }
    expect((await newSsoBrowser().start({ email: at('anybody') })).status).toBe(200);
  });

  it('takes no return_to but a path of this deployment', async () => {
    const { at } = await connected();
    const bad = [
      '//evil.example.com',
      '/\\evil.example.com',
      'https://evil.example.com',
      'evil',
      '',
      '/a\r\nSet-Cookie: x=y',
      '/a\nb',
      '/ä',
      '/a b',
      '/a\\b',
      '/\t/evil',
      `/${'a'.repeat(600)}`,
    ];
    for (const return_to of bad)
      expect(codeOf(await newSsoBrowser().start({ email: at('a'), return_to })), return_to).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    for (const return_to of ['/', '/console', '/device#ABCD-EFGH', '/a?b=//c'])
      expect((await newSsoBrowser().start({ email: at('a'), return_to })).status).toBe(200);
  });

  it('takes one way to name a connection, and no other origin', async () => {
    const { at, connection } = await connected();
    for (const body of [{}, { email: at('a'), connection_id: connection }, { confirm: false }, { email: 1 }])
      expect(codeOf(await newSsoBrowser().start(body))[0]).toBe(400);
    expect(
      codeOf(await newSsoBrowser().start({ email: at('a') }, { Origin: 'https://evil.example' })),
    ).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
  });

  slow('of an unknown address is limited to 20 a minute', async () => {
    await connected();
    const browser = newSsoBrowser();
    for (let n = 0; n < 20; n++) expect((await browser.start({ email: 'x@no.example' })).status).toBe(404);
    expect((await browser.start({ email: 'x@no.example' })).status).toBe(429);
  });
});

describe('single sign-on: linking by address', () => {
  it('links an invited member once, ends the invitation and tells owners', async () => {
    const { o, provider, at, connection } = await connected();
    const invited = await newMember(o, 'developer', { email: at('Bea') });
    const claims = claimsOf(at('bea'));
    const browser = newSsoBrowser();
    expect((await browser.signIn(provider, claims)).status).toBe(303);
    expect((await browser.session()).member).toMatchObject({ id: invited.id, role: 'developer' });
    const later = newBrowser(await newPasskey(ORIGIN));
    expect(codeOf(await later.enrol(invited.enrolment_url))).toEqual([410, 'ENROLMENT_GONE']);
    const { data } = (await o.get('/events')).json as { data: { type: string; data: Claims }[] };
    expect(data.filter(({ type }) => type === 'MEMBER_CHANGED').at(-1)?.data).toMatchObject({
      member_id: invited.id,
      linked: { connection_id: connection },
    });
    expect((await entries(o, 'auth.sso'))[0]).toMatchObject({
      actor: { id: invited.id },
      reason: 'a member was linked',
    });
    const other = newSsoBrowser();
    expect((await other.signIn(provider, { ...claims, sub: 'another' })).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member is linked to another identity');
  });

  it('takes only true for a verified address, and nothing else that looks like it', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    for (const email_verified of ['true', 1, false, undefined, null, [true]]) {
      const answer = await newSsoBrowser().signIn(provider, claimsOf(at('bea'), { email_verified }));
      expect(answer.status, String(email_verified)).toBe(403);
      expect(await reasonOf(o)).toBe('the provider names no verified e-mail address');
    }
    for (const email of [undefined, 7, 'no address', [at('bea')], `evil@x, ${at('bea')}`, `bea@${at('x')}`])
      expect(
        (await newSsoBrowser().signIn(provider, { ...claimsOf(at('bea')), email }, { email: at('bea') }))
          .status,
      ).toBe(403);
    expect((await o.get('/members')).json.data).toHaveLength(1);
  });

  it('asks a member with a passkey for it, and the link is confirmed and sso', async () => {
    const { o, provider, at } = await connected();
    const { email, ...member } = await enrolled(o, at('bea'));
    const browser = newSsoBrowser();
    const claims = claimsOf(email);
    const asked = await browser.signIn(provider, claims, { email, return_to: '/console/x' });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/sso/link#/console/x']);
    expect((await browser.refresh()).status).toBe(401);
    const linked = await browser.link(member.passkey);
    expect([linked.status, linked.json.member.id]).toEqual([200, member.id]);
    const sessions = (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data;
    expect(sessions.find(({ current }: Claims) => current)).toMatchObject({ method: 'sso' });
    // Confirmed: a passkey was proved just now.
    expect((await send('POST', '/api/v1/auth/sso/link/options', { body: {} })).status).toBe(401);
    const next = newSsoBrowser();
    expect((await next.signIn(provider, claims)).headers.get('location')).toBe('/console');
    // A second link by the same browser begins nothing.
    expect((await browser.link(member.passkey)).status).toBe(401);
  });

  it('takes a passkey of somebody in more groups than a cookie holds, who has them at the next sign-in', async () => {
    const { o, provider, at, connection } = await connected();
    const names = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(36, '0'));
    await changeConnection(o, connection, {
      role_mappings: names.map((group) => ({ group, role: 'developer' as const })),
    });
    const bea = await enrolled(o, at('bea'));
    const claims = claimsOf(at('bea'), { groups: names });
    const browser = newSsoBrowser();
    const asked = await browser.signIn(provider, claims);
    expect(asked.headers.get('location')).toMatch('/sso/link');
    for (const cookie of asked.headers.getSetCookie()) expect(cookie.length).toBeLessThan(4096);
    expect((await browser.link(bea.passkey)).status).toBe(200);
    const { provisioned } = (await inGate(o, ({ core }) => core.rows.get('member', bea.id))) as MemberRow;
    expect(provisioned?.groups).toEqual([]);
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
    const after = (await inGate(o, ({ core }) => core.rows.get('member', bea.id))) as MemberRow;
    expect(after.provisioned?.groups).toHaveLength(100);
  });

  it('with the passkey of somebody else, or from another browser, links nobody', async () => {
    const { o, provider, at } = await connected();
    const bea = await enrolled(o, at('bea'));
    const eve = await enrolled(o, at('eve'));
    const browser = newSsoBrowser();
    await browser.signIn(provider, claimsOf(at('bea')));
    expect((await browser.link(eve.passkey)).status).toBe(401);
    const options = (await browser.call('POST', '/api/v1/auth/sso/link/options', {})).json;
    const elsewhere = newSsoBrowser();
    const response = await bea.passkey.get(options);
    expect((await elsewhere.call('POST', '/api/v1/auth/sso/link', { response })).status).toBe(401);
    // A challenge to log in does not link.
    const login = (await browser.call('POST', '/api/v1/auth/login/options', {})).json;
    const other = await bea.passkey.get(login);
    expect((await browser.call('POST', '/api/v1/auth/sso/link', { response: other })).status).toBe(401);
    expect((await browser.call('POST', '/api/v1/auth/sso/link', { response })).status).toBe(200);
  });

  slow('of an owner takes a passkey, enrolled or not', async () => {
    const { o, owner, provider, at } = await connected({ jit: 1 });
    await owner.o.patch(`/members/${owner.member.id}`, { email: at('ann') });
    const browser = newSsoBrowser();
    expect((await browser.signIn(provider, claimsOf(at('ann')))).headers.get('location')).toMatch(
      '/sso/link',
    );
    expect((await browser.link(owner.passkey)).status).toBe(200);
    await newMember(owner.o, 'owner', { email: at('second') });
    expect((await newSsoBrowser().signIn(provider, claimsOf(at('second')))).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member can only link with a passkey, and has none');
  });

  slow('anew takes a passkey once a connection was deleted, or an owner', async () => {
    const { o, owner, provider, at, connection, domainId } = await connected();
    const { id } = await newMember(o, 'developer', { email: at('bea') });
    const claims = claimsOf(at('bea'));
    const browser = newSsoBrowser();
    await browser.signIn(provider, claims);
    const { token } = await browser.session();
    await deleteConnection(o, connection);
    expect(codeOf(await o.as(token).get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    await newConnection(o, provider, { domains: [domainId] });
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member can only link with a passkey, and has none');
    expect(codeOf(await o.del(`/members/${id}/links`))[0]).toBe(403);
    expect((await owner.o.del(`/members/${id}/links`)).status).toBe(204);
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
  });
});

describe('single sign-on: groups', () => {
  it('give the role that holds most and places in teams, and take them again', async () => {
    const { o, provider, at, connection } = await connected({ jit: 1 });
    const team = await newTeam(o);
    const other = await newTeam(o);
    await changeConnection(o, connection, {
      role_mappings: [
        { group: 'dev', role: 'developer' },
        { group: 'ops', role: 'admin' },
        { group: 'root', role: 'owner' },
      ],
      team_mappings: [
        { group: 'dev', team_id: team },
        { group: 'ops', team_id: other },
      ],
    });
    const claims = claimsOf(at('bea'));
    const roleAfter = async (groups: unknown) => {
      const browser = newSsoBrowser();
      const answer = await browser.signIn(provider, { ...claims, groups });
      expect(answer.status).toBe(303);
      const { member } = await browser.session();
      const teams = await Promise.all(
        [team, other].map(async (id) => (await o.get(`/teams/${id}/members`)).json.data.length),
      );
      return [member.role, ...teams];
    };
    expect(await roleAfter(['dev', 'root', 'Ops'])).toEqual(['developer', 1, 0]);
    expect(await roleAfter(['dev', 'ops'])).toEqual(['admin', 1, 1]);
    expect(await roleAfter('ops')).toEqual(['admin', 0, 1]);
    expect(await roleAfter(['root'])).toEqual(['viewer', 0, 0]);
    expect(await roleAfter(['ops'])).toEqual(['admin', 0, 1]);
    const over = newSsoBrowser();
    await over.signIn(provider, { ...claims, _claim_names: { groups: 'src1' } });
    expect((await over.session()).member.role).toBe('admin');
    expect(await roleAfter(undefined)).toEqual(['viewer', 0, 0]);
  });

  it('keep a place that SCIM takes away, until the claim does', async () => {
    const { o, provider, at, connection } = await connected();
    const idp = await newIdp(o);
    const userName = at('bea');
    const { id } = await newUser(idp, {
      userName,
      emails: [{ primary: true, value: userName, type: 'work' }],
    });
    const made = await idp.post('/Groups', {
      schemas: [GROUP],
      displayName: 'dev',
      members: [{ value: id }],
    });
    expect(made.status, made.text).toBe(201);
    const team = made.json.id as string;
    await changeConnection(o, connection, { team_mappings: [{ group: 'dev', team_id: team }] });
    const members = async () => (await o.get(`/teams/${team}/members`)).json.data.length;
    const claims = claimsOf(userName);
    expect((await newSsoBrowser().signIn(provider, { ...claims, groups: ['dev'] })).status).toBe(303);
    const taken = await idp.patch(`/Groups/${team}`, { op: 'remove', path: `members[value eq "${id}"]` });
    expect([taken.status, await members()], taken.text).toEqual([200, 1]);
    await newSsoBrowser().signIn(provider, { ...claims, groups: [] });
    expect(await members()).toBe(0);
  });

  it('change no role that a person gave, nor a place', async () => {
    const { o, provider, at, connection } = await connected({ jit: 1 });
    const team = await newTeam(o);
    const claims = claimsOf(at('bea'), { groups: ['dev'] });
    const browser = newSsoBrowser();
    await browser.signIn(provider, claims);
    const { member } = await browser.session();
    await o.patch(`/members/${member.id}`, { role: 'auditor' });
    await o.post(`/teams/${team}/members`, { member_id: member.id });
    await changeConnection(o, connection, {
      role_mappings: [{ group: 'dev', role: 'admin' }],
      team_mappings: [{ group: 'none', team_id: team }],
    });
    await newSsoBrowser().signIn(provider, claims);
    expect((await o.get(`/members/${member.id}`)).json.role).toBe('auditor');
    expect((await o.get(`/teams/${team}/members`)).json.data).toHaveLength(1);
  });
});

it('single sign-on: an organisation without it signs in by passkey as before', async () => {
  const o = await newOrg();
  const browser = await signIn(o, 'developer');
  expect((await browser.login()).status).toBe(200);
});
