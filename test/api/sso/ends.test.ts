// Single sign-on: what ends its sessions, back-channel logout, `enforce` and every way past it, and
// confirming a session at the provider.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newMember } from '../../support/people';
import { newBrowser } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import {
  changeConnection,
  changeDomain,
  claimsOf,
  connected,
  deleteConnection,
  enrolled,
  newDomain,
  newSsoBrowser,
  ORIGIN,
  reasonOf,
  type SsoBrowser,
} from '../../support/signin/sso-signin';
import { newTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { codeOf, send, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

/** A member who has signed in, with the session of their page. */
async function signedIn(fields: Parameters<typeof connected>[0] = {}) {
  const world = await connected({ jit: 1, ...fields });
  const claims = claimsOf(world.at('bea'), { sid: 'sid-1' });
  const browser = newSsoBrowser();
  await browser.signIn(world.provider, claims);
  const { member } = await browser.session();
  return { ...world, claims, browser, member };
}

const isOver = async (browser: SsoBrowser) => codeOf(await browser.whoami());
const OVER = [401, 'TOKEN_REVOKED'];

describe('single sign-on: a session ends', () => {
  it('with its connection, its link and its member, with the reply', async () => {
    const first = await signedIn();
    await deleteConnection(first.o, first.connection);
    expect(await isOver(first.browser)).toEqual(OVER);
    expect((await first.browser.refresh()).status).toBe(401);
    const second = await signedIn();
    expect((await second.owner.o.del(`/members/${second.member.id}/links`)).status).toBe(204);
    expect(await isOver(second.browser)).toEqual(OVER);
    const third = await signedIn();
    expect((await third.o.del(`/members/${third.member.id}`)).status).toBe(200);
    expect(await isOver(third.browser)).toEqual(OVER);
  });

  it('with its issuer, and does not come back with it', async () => {
    const { owner, browser, connection, provider, provider_, stand } = await signedIn();
    const other = await provider_();
    stand.answer = ({ href, origin }) =>
      href === `${origin}/.well-known/openid-configuration`
        ? Response.json({
            issuer: origin,
            authorization_endpoint: `${origin}/authorize`,
            token_endpoint: `${origin}/token`,
            jwks_uri: `${origin}/jwks`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['ES256'],
          })
        : undefined;
    const change = async (fields: object) => {
      const answer = await owner.o.patch(`/sso-connections/${connection}`, fields);
      expect(answer.status, answer.text).toBe(200);
    };
    await change({ scopes: ['openid', 'email'] });
    expect((await browser.whoami()).status).toBe(200);
    for (const { issuer } of [other, provider]) {
      await change({ issuer: issuer.url, client_secret: 'other' });
      expect(await isOver(browser)).toEqual(OVER);
      expect((await browser.refresh()).status).toBe(401);
    }
  });

  it('with a suspension, which no sign-in gets around', async () => {
    const { o, provider, claims, member, connection } = await signedIn();
    const { inGate } = await import('../../support/gate');
    const { add } = await import('../../support/people');
    const row = await inGate(o, ({ core }) => core.rows.get('member', member.id));
    await add(o, 'member', [{ ...(row as NonNullable<typeof row>), suspended_at: Date.now() }]);
    const start = { connection_id: connection };
    expect((await newSsoBrowser().signIn(provider, claims, start)).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member is suspended');
    expect((await newSsoBrowser().signIn(provider, { ...claims, sub: 'new' }, start)).status).toBe(403);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  it('with its link for good: the same identity links anew, and no earlier session comes back', async () => {
    const { o, owner, browser, member, provider, claims } = await signedIn();
    expect((await owner.o.del(`/members/${member.id}/links`)).status).toBe(204);
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
    expect(await isOver(browser)).toEqual(OVER);
    expect((await browser.refresh()).status).toBe(401);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  it('of a terminal that it confirmed, too', async () => {
    const { o, provider, browser, claims, connection } = await signedIn();
    const terminal = newTerminal();
    await terminal.start();
    const session = { Authorization: `Bearer ${browser.token}` };
    const started = await browser.start({ confirm: true, return_to: '/device#X' }, session);
    const confirmed = { ...claims, auth_time: Math.floor(Date.now() / 1000) };
    expect((await browser.callback(provider.authorize(started.json.url, confirmed))).status).toBe(303);
    await browser.session();
    const answer = await browser.call(
      'POST',
      '/api/v1/auth/device/confirm',
      { user_code: terminal.codes.user_code },
      { Authorization: `Bearer ${browser.token}` },
    );
    expect(answer.status).toBe(200);
    const polled = await terminal.poll();
    expect(polled.status).toBe(200);
    const token = polled.json.token as string;
    expect((await send('GET', '/api/v1/whoami', { token })).status).toBe(200);
    const list = (await send('GET', '/api/v1/auth/sessions', { token })).json.data;
    expect(list.map(({ method }: { method: string }) => method)).toEqual(['sso', 'sso']);
    await deleteConnection(o, connection);
    expect(codeOf(await send('GET', '/api/v1/whoami', { token }))).toEqual(OVER);
  });
});

describe('single sign-on: back-channel logout', () => {
  const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };

  async function world() {
    const found = await signedIn();
    const { provider, connection, claims } = found;
    const logout = async (
      change: Record<string, unknown> = {},
      header: Record<string, unknown> = {},
      ip = `203.0.114.${n++ % 250}`,
    ) => {
      const token = await provider.issuer.sign(
        {
          aud: 'svc-client',
          sub: claims.sub,
          sid: 'sid-1',
          events: EVENTS,
          exp: undefined,
          nbf: undefined,
          ...change,
        },
        { typ: 'logout+jwt', ...header },
      );
      return send('POST', `/sso/${connection}/logout`, {
        body: new TextEncoder().encode(`logout_token=${token}`),
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          'CF-Connecting-IP': ip,
        },
      });
    };
    return { ...found, logout };
  }
  let n = 0;

  slow('ends the session of a sid, with the reply, and no other', async () => {
    const { browser, provider, claims, logout } = await world();
    const other = newSsoBrowser();
    await other.signIn(provider, { ...claims, sid: 'sid-2' });
    await other.session();
    expect((await logout()).status).toBe(200);
    expect(await isOver(browser)).toEqual(OVER);
    expect((await browser.refresh()).status).toBe(401);
    expect((await other.whoami()).status).toBe(200);
    // By the sid alone.
    expect((await logout({ sub: undefined, sid: 'sid-2' })).status).toBe(200);
    expect(await isOver(other)).toEqual(OVER);
  });

  it('without a sid ends all of the person by this connection, and no session of a passkey', async () => {
    const { o, browser, provider, claims, logout, at, member } = await world();
    const own = newBrowser(await newPasskey(ORIGIN));
    await own.enrol((await o.post(`/members/${member.id}/enrolments`)).json.enrolment_url);
    const second = newSsoBrowser();
    await second.signIn(provider, { ...claims, sid: undefined });
    await second.session();
    const eve = newSsoBrowser();
    await eve.signIn(provider, claimsOf(at('eve'), { sid: 'sid-1' }));
    await eve.session();
    const pass = await enrolled(o, at('pat'));
    expect((await logout({ sid: undefined })).status).toBe(200);
    expect(await isOver(browser)).toEqual(OVER);
    expect(await isOver(second)).toEqual(OVER);
    expect((await eve.whoami()).status).toBe(200);
    expect((await pass.browser.whoami()).status).toBe(200);
    expect((await own.whoami()).status).toBe(200);
  });

  it('takes no other token, none twice and none by another key', async () => {
    const { browser, logout, connection, provider_ } = await world();
    const now = Math.floor(Date.now() / 1000);
    const wrong: Record<string, unknown>[] = [
      { events: undefined },
      { events: {} },
      { events: { 'http://schemas.openid.net/event/backchannel-logout': 'x' } },
      { nonce: 'x' },
      { iss: 'https://evil.example.com' },
      { aud: 'another' },
      { iat: now - 301 },
      { iat: now + 600 },
      { iat: undefined },
      { jti: undefined },
      { jti: '' },
      { sub: undefined, sid: undefined },
      { exp: now - 60 },
    ];
    for (const change of wrong) expect((await logout(change)).status, JSON.stringify(change)).toBe(400);
    expect((await logout({}, { kid: 'unknown' })).status).toBe(400);
    const other = await provider_({});
    const foreign = await other.issuer.sign({ aud: 'svc-client', sub: 'x', events: EVENTS });
    for (const body of [`logout_token=${foreign}`, 'logout_token=x.y.z', '', 'logout_token=a&logout_token=b'])
      expect(
        (
          await send('POST', `/sso/${connection}/logout`, {
            body: new TextEncoder().encode(body),
            headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          })
        ).status,
      ).toBe(400);
    expect((await browser.whoami()).status).toBe(200);
    expect((await logout({ jti: 'once', sid: 'none' })).status).toBe(200);
    expect((await logout({ jti: 'once' })).status).toBe(400);
    expect((await browser.whoami()).status).toBe(200);
  });

  it('is taken from an address with too many refused ones, which other customers of a provider share', async () => {
    const { browser, logout } = await world();
    const ip = '203.0.115.9';
    for (let i = 0; i < 20; i++) await logout({ aud: 'another' }, {}, ip);
    expect((await logout({ aud: 'another' }, {}, ip)).status).toBe(429);
    expect((await logout({}, {}, ip)).status).toBe(200);
    expect(await isOver(browser)).toEqual(OVER);
  });

  slow('of an unknown connection is refused like any other', async () => {
    const { logout } = await world();
    void logout;
    const answer = await send('POST', '/sso/sso_01M9xQeKcX3vTz6nWJfQ4b/logout', {
      body: new TextEncoder().encode('logout_token=a.b.c'),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(answer.status).toBe(400);
    expect((await send('GET', '/sso/sso_01M9xQeKcX3vTz6nWJfQ4b/logout')).status).toBe(405);
  });
});

describe('single sign-on: enforce', () => {
  const REQUIRED = [403, 'SSO_REQUIRED'];

  it('refuses passkeys of the members of the domains, ends their sessions, and leaves owners and others', async () => {
    const { o, owner, at, connection, provider } = await connected();
    const bea = await enrolled(o, at('bea'));
    const other = await enrolled(o, `bea@elsewhere-${at('x').slice(2)}`);
    await owner.o.patch(`/members/${owner.member.id}`, { email: at('ann') });
    const terminal = newTerminal();
    await terminal.start();
    await bea.browser.auth(
      '/device/confirm',
      { user_code: terminal.codes.user_code },
      { Authorization: `Bearer ${bea.browser.token}` },
    );
    const token = (await terminal.poll()).json.token as string;
    expect((await send('GET', '/api/v1/whoami', { token })).status).toBe(200);
    const waiting = newTerminal();
    await waiting.start();
    await bea.browser.auth(
      '/device/confirm',
      { user_code: waiting.codes.user_code },
      { Authorization: `Bearer ${bea.browser.token}` },
    );

    await changeConnection(o, connection, { enforce: 1 });

    // Sessions of browsers and terminals, their refresh, and a code that was confirmed before.
    expect(codeOf(await bea.browser.whoami())).toEqual(OVER);
    expect((await bea.browser.refresh()).status).toBe(401);
    expect(codeOf(await send('GET', '/api/v1/whoami', { token }))).toEqual(OVER);
    expect(codeOf(await waiting.poll())).toEqual([400, 'ACCESS_DENIED']);
    // A new sign-in, in this browser or another one.
    expect(codeOf(await bea.browser.login())).toEqual(REQUIRED);
    expect(codeOf(await newBrowser(bea.passkey).login())).toEqual(REQUIRED);
    // A wrong passkey is still refused like every other.
    expect(codeOf(await bea.browser.login({ signature: 'AAAA' }))).toEqual([401, 'UNAUTHENTICATED']);
    // An enrolment, of somebody new and of this one again.
    const invited = await newMember(o, 'developer', { email: at('new') });
    expect(codeOf(await newBrowser(await newPasskey(ORIGIN)).enrol(invited.enrolment_url))).toEqual(REQUIRED);
    const again = (await o.post(`/members/${bea.id}/enrolments`)).json.enrolment_url;
    expect(codeOf(await newBrowser(await newPasskey(ORIGIN)).enrol(again))).toEqual(REQUIRED);
    // The way that is left.
    const browser = newSsoBrowser();
    await browser.signIn(provider, claimsOf(at('bea')));
    expect((await browser.link(bea.passkey)).status).toBe(200);
    expect((await browser.whoami()).status).toBe(200);
    // Owners, and members of other domains.
    expect((await owner.whoami()).status).toBe(200);
    expect((await owner.login()).status).toBe(200);
    expect((await other.browser.whoami()).status).toBe(200);
    expect((await other.browser.login()).status).toBe(200);
  });

  slow('holds only for verified domains, and ends no session of single sign-on', async () => {
    const { o, at, connection, domainId, browser } = await signedIn();
    const bea = await enrolled(o, at('pat'));
    await changeConnection(o, connection, { enforce: 1 });
    expect((await browser.whoami()).status).toBe(200);
    await changeDomain(o, domainId, { verified_at: null });
    expect((await bea.browser.login()).status).toBe(200);
  });

  it('ends sessions of passkeys for good, with the time when it was switched on', async () => {
    const { o, owner, at, connection } = await connected();
    const bea = await enrolled(o, at('bea'));
    for (const enforce of [true, false])
      expect((await owner.o.patch(`/sso-connections/${connection}`, { enforce })).status).toBe(200);
    const later = newBrowser(bea.passkey);
    expect((await later.login()).status).toBe(200);
    expect((await later.whoami()).status).toBe(200);
    expect(codeOf(await bea.browser.whoami())).toEqual(OVER);
  });

  it('ends sessions for good of a domain, too, that came while it was on', async () => {
    const { o, owner, connection, domainId } = await connected();
    const change = async (fields: object) =>
      expect((await owner.o.patch(`/sso-connections/${connection}`, fields)).status).toBe(200);
    await change({ enforce: true });
    const bea = await enrolled(o, 'bea@came-later.example.com');
    await change({ domains: [domainId, await newDomain(o, 'came-later.example.com')] });
    expect(codeOf(await bea.browser.whoami())).toEqual(OVER);
    await change({ enforce: false });
    expect(codeOf(await bea.browser.whoami())).toEqual(OVER);
    expect((await newBrowser(bea.passkey).login()).status).toBe(200);
  });
});

describe('single sign-on: sessions that enforce ended stay ended', () => {
  it.each([
    'the connection is deleted',
    'it is switched off and the connection deleted',
    'the connection loses the domain',
    'the domain is deleted',
  ])('when %s', async (way) => {
    const { o, owner, at, connection, domainId } = await connected();
    const bea = await enrolled(o, at('bea'));
    const other = await enrolled(o, 'bea@elsewhere.example.com');
    const path = `/sso-connections/${connection}`;
    const change = async (fields: object) => expect((await owner.o.patch(path, fields)).status).toBe(200);
    await change({ enforce: true });
    expect(codeOf(await bea.browser.whoami())).toEqual(OVER);
    if (way.includes('off')) await change({ enforce: false });
    if (way.includes('loses')) await change({ domains: [] });
    else if (way === 'the domain is deleted') expect((await o.del(`/domains/${domainId}`)).status).toBe(204);
    else expect((await owner.o.del(path)).status).toBe(204);
    expect(codeOf(await bea.browser.whoami())).toEqual(OVER);
    const later = newBrowser(bea.passkey);
    expect((await later.login()).status).toBe(200);
    expect((await later.whoami()).status).toBe(200);
    for (const one of [other.browser, owner]) expect((await one.whoami()).status).toBe(200);
  });
});

describe('single sign-on: confirming a session', () => {
  async function confirming(
    change: Record<string, unknown> = {},
    fields: Parameters<typeof connected>[0] = {},
  ) {
    const world = await signedIn(fields);
    const { browser, provider, claims } = world;
    const headers = { Authorization: `Bearer ${browser.token}` };
    const started = await browser.start({ confirm: true, return_to: '/console' }, headers);
    const now = Math.floor(Date.now() / 1000);
    const back = async () =>
      browser.callback(provider.authorize(started.json.url, { ...claims, auth_time: now, ...change }));
    return { ...world, started, back, headers };
  }
  const isConfirmed = async (browser: SsoBrowser) => {
    await browser.session();
    const answer = await browser.call(
      'POST',
      '/api/v1/auth/device/confirm',
      { user_code: 'BCDF-GHJK' },
      { Authorization: `Bearer ${browser.token}` },
    );
    return answer.json.error.code !== 'REAUTHENTICATION_REQUIRED';
  };

  slow('takes a sign-in at the provider with max_age=0, by the same identity', async () => {
    const { browser, started, back } = await confirming();
    expect(new URL(started.json.url).searchParams.get('max_age')).toBe('0');
    const old = browser.jar.get('__Host-svc_refresh') as string;
    const before = browser.token;
    const answer = await back();
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console']);
    expect(await isConfirmed(browser)).toBe(true);
    // A JWT from before does not confirm, and an earlier cookie ends the session.
    const earlier = await send('POST', '/api/v1/auth/device/confirm', {
      token: before,
      body: { user_code: 'BCDF-GHJK' },
    });
    expect(codeOf(earlier)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    browser.jar.set('__Host-svc_refresh', old);
    expect((await browser.refresh()).status).toBe(401);
  });

  it('by another person, an old authentication or none is refused', async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const change of [
      { sub: 'another' },
      { auth_time: now - 400 },
      { auth_time: undefined },
      { auth_time: now + 400 },
    ]) {
      const { browser, back } = await confirming(change);
      expect((await back()).status, JSON.stringify(change)).toBe(403);
      expect(await isConfirmed(browser)).toBe(false);
    }
  });

  it('is for sessions of single sign-on, of members without a passkey', async () => {
    const { o, browser, headers, member, at } = await confirming();
    const bea = await enrolled(o, `x${at('y')}`);
    const start = (token: string) =>
      newSsoBrowser().start({ confirm: true }, { Authorization: `Bearer ${token}` });
    expect(codeOf(await start(bea.browser.token))).toEqual([409, 'CONFLICT']);
    const { addPasskey } = await import('../../support/people');
    await addPasskey(o, member.id);
    expect(codeOf(await browser.start({ confirm: true }, headers))).toEqual([409, 'CONFLICT']);
    expect(codeOf(await start('x.y.z'))[0]).toBe(401);
    expect(codeOf(await newSsoBrowser().start({ confirm: true }))[0]).toBe(401);
    expect(codeOf(await start(o.token))[0]).toBe(401);
  });

  it('is not for owners, whatever the provider confirmed before they were', async () => {
    const { o, owner, browser, back, member, headers } = await confirming();
    expect((await back()).status).toBe(303);
    expect(await isConfirmed(browser)).toBe(true);
    expect((await owner.o.patch(`/members/${member.id}`, { role: 'owner' })).status).toBe(200);
    expect(await isConfirmed(browser)).toBe(false);
    const as = o.as(browser.token);
    for (const answer of [
      await as.post('/scim-tokens', { name: 'x' }),
      await as.post(`/members/${owner.member.id}/enrolments`),
      await as.del(`/members/${owner.member.id}/links`),
      await as.post('/panic', {}),
    ])
      expect(codeOf(answer)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    const again = { Authorization: `Bearer ${browser.token}` };
    expect(codeOf(await browser.start({ confirm: true }, again))).toEqual([409, 'CONFLICT']);
    expect(headers).not.toEqual(again);
  });

  it('of somebody who became an owner at the provider is refused', async () => {
    const { owner, browser, back, member } = await confirming();
    expect((await owner.o.patch(`/members/${member.id}`, { role: 'owner' })).status).toBe(200);
    expect((await back()).status).toBe(403);
    expect(await isConfirmed(browser)).toBe(false);
  });

  slow('begins no session, and a passkey that came meanwhile ends it', async () => {
    const { o, browser, back, member } = await confirming();
    const { addPasskey } = await import('../../support/people');
    await addPasskey(o, member.id);
    expect((await back()).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member has a passkey or needs one');
    expect((await browser.session()).member.id).toBe(member.id);
  });
});
