// Single sign-on while something else happens: rows altered in D1, and changes between the steps of a
// sign-in. What was decided before a change counts for nothing after it.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MemberRow } from '../../../src/db/schema';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { add, newMember } from '../../support/people';
import { newIdp, newUser } from '../../support/signin/scim';
import {
  changeConnection,
  claimsOf,
  connected,
  deleteConnection,
  enrolled,
  newConnection,
  newSsoBrowser,
  reasonOf,
} from '../../support/signin/sso-signin';
import { type Caller, db, send, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const at = (email: string) => ({ userName: email, emails: [{ primary: true, value: email }] });

describe('single sign-on: tampering', () => {
  it('a connection or a domain that was altered in D1 begins no sign-in', async () => {
    const { o, connection, domainId, at } = await connected({ jit: 1 });
    const start = async (body: object) => (await newSsoBrowser().start(body)).status;
    expect(await start({ connection_id: connection })).toBe(200);
    const path = '$.provider.authorization_endpoint';
    const to = (url: string) =>
      db
        .prepare('update sso_connections set config = json_set(config, ?, ?) where id = ?')
        .bind(path, url, connection)
        .run();
    const old = await db
      .prepare('select json_extract(config, ?) as url from sso_connections where id = ?')
      .bind(path, connection)
      .first<{ url: string }>();
    await to('https://evil.example.com/authorize');
    expect(await start({ connection_id: connection })).toBe(404);
    expect(await start({ email: at('bea') })).toBe(404);
    await to(old?.url as string);
    expect(await start({ email: at('bea') })).toBe(200);
    await db.prepare('update domains set verified_at = 1 where id = ?').bind(domainId).run();
    expect(await start({ email: at('bea') })).toBe(404);
    expect((await o.get('/members')).json.data).toHaveLength(1);
  });
});

describe('single sign-on: a change during a sign-in', () => {
  /** A sign-in, and something that happens while the provider is asked for the token. */
  async function during(happens: (world: Awaited<ReturnType<typeof linked>>) => Promise<unknown>) {
    const world = await linked();
    const { provider, claims } = world;
    provider.odd.idToken = async (right) => {
      await happens(world);
      return right;
    };
    const answer = await newSsoBrowser().signIn(provider, claims, { connection_id: world.connection });
    return { status: answer.status, reason: await reasonOf(world.o) };
  }
  async function linked() {
    const world = await connected({ jit: 1 });
    const claims = claimsOf(world.at('bea'));
    const browser = newSsoBrowser();
    await browser.signIn(world.provider, claims);
    const { member } = await browser.session();
    return { ...world, claims, member, browser };
  }

  it('of the member or the connection counts', async () => {
    expect(await during(({ o, member }) => o.post(`/members/${member.id}/suspend`))).toEqual({
      status: 403,
      reason: 'the member is suspended',
    });
    expect(await during(({ o, member }) => o.del(`/members/${member.id}`))).toEqual({
      status: 403,
      reason: 'the member was removed',
    });
    expect(
      await during(({ owner, connection }) => owner.o.patch(`/sso-connections/${connection}`, { name: 'x' })),
    ).toEqual({ status: 403, reason: 'the connection was changed during the sign-in' });
    const deleted = await during(({ o, connection }) => deleteConnection(o, connection));
    expect(deleted.status).toBe(403);
  });

  it('that gives the connection another issuer ends a link that waits for a passkey', async () => {
    const { o, provider, provider_, connection, at } = await connected();
    const bea = await enrolled(o, at('bea'));
    const browser = newSsoBrowser();
    expect((await browser.signIn(provider, claimsOf(at('bea')))).headers.get('location')).toMatch(
      '/sso/link',
    );
    const other = await provider_();
    const row = await inGate(o, ({ core }) => core.rows.get('sso_connection', connection));
    await changeConnection(o, connection, { config: { ...row?.config, issuer: other.issuer.url } });
    expect((await browser.link(bea.passkey)).status).toBe(401);
  });
});

describe('single sign-on: who is not linked', () => {
  it('a member who is suspended, linked to nothing yet', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    const { id } = await newMember(o, 'developer', { email: at('bea') });
    const row = await inGate(o, ({ core }) => core.rows.get('member', id));
    await add(o, 'member', [{ ...(row as MemberRow), suspended_at: Date.now() }]);
    expect((await newSsoBrowser().signIn(provider, claimsOf(at('bea')))).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member is suspended');
  });

  it('a person whom another connection provisions', async () => {
    const world = await connected({ jit: 1 });
    const { o, provider, domainId } = world;
    const other = await newConnection(o, provider, { domains: [domainId] });
    const idp = await newIdp(o);
    const user = await newUser(idp, at(world.at('bea')));
    const row = (await inGate(o, ({ core }) => core.rows.get('member', user.id))) as MemberRow;
    const provisioned = row.provisioned && { ...row.provisioned, connection: other };
    await add(o, 'member', [{ ...row, provisioned }]);
    expect((await newSsoBrowser().signIn(provider, claimsOf(world.at('bea')))).status).toBe(403);
    expect(await reasonOf(o)).toBe('the member belongs to another connection');
  });
});

describe('single sign-on: at once, and cut off', () => {
  const COOKIE = '__Host-svc_sso';
  const sessionsOf = (o: Caller) =>
    inGate(o, ({ core }) => core.rows.within('credential', 'browser').filter(({ sso }) => sso !== null));

  it('of callbacks of one sign-in at once one begins a session, and one member is made', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    const browser = newSsoBrowser();
    const { url } = (await browser.start({ email: at('bea') })).json;
    const cookie = browser.jar.get(COOKIE) as string;
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => {
        const tab = newSsoBrowser();
        tab.jar.set(COOKIE, cookie);
        return tab.callback(provider.authorize(url, claims));
      }),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403]);
    expect(await sessionsOf(o)).toHaveLength(1);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  it('two people of one address at once become one member, and the other is refused', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    const answers = await Promise.all(
      [1, 2, 3].map(() => newSsoBrowser().signIn(provider, claimsOf(at('same')))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  it('one person in several browsers at once is one member with a session in each', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    const answers = await Promise.all([1, 2, 3].map(() => newSsoBrowser().signIn(provider, claims)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    expect(await sessionsOf(o)).toHaveLength(3);
    expect((await o.get('/members')).json.data).toHaveLength(2);
  });

  it.each(['before', 'after'] as const)(
    'a callback whose call of the gate is cut off (%s it takes effect) makes one member, who signs in again',
    async (fate) => {
      const { o, provider, at } = await connected({ jit: 1 });
      const claims = claimsOf(at('bea'));
      const browser = newSsoBrowser();
      const { url } = (await browser.start({ email: at('bea') })).json;
      const cookie = browser.jar.get(COOKIE) as string;
      const from = faults.gate;
      faults.rpc = (n) => (n === from + 1 ? { fate, retryable: false } : null);
      const cut = await browser.callback(provider.authorize(url, claims));
      faults.rpc = null;
      expect(cut.status).toBe(503);
      expect(browser.jar.has('__Host-svc_refresh')).toBe(false);
      browser.jar.set(COOKIE, cookie);
      const again = await browser.callback(provider.authorize(url, claims));
      expect(again.status).toBe(fate === 'before' ? 303 : 403);
      expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
      expect((await o.get('/members')).json.data).toHaveLength(2);
    },
  );

  it('a suspension at once with a sign-in leaves no session that lives', async () => {
    const { o, provider, claims, member } = await (async () => {
      const world = await connected({ jit: 1 });
      const signing = claimsOf(world.at('bea'));
      const browser = newSsoBrowser();
      await browser.signIn(world.provider, signing);
      return { ...world, claims: signing, member: (await browser.session()).member };
    })();
    const browsers = [newSsoBrowser(), newSsoBrowser(), newSsoBrowser()];
    const signIns = browsers.map((browser) => browser.signIn(provider, claims));
    const [suspended] = await Promise.all([o.post(`/members/${member.id}/suspend`), ...signIns]);
    expect(suspended?.status).toBe(200);
    for (const browser of browsers) expect((await browser.refresh()).status).not.toBe(200);
  });

  it('a logout at the provider at once with a sign-in ends the sessions before it, and is counted once', async () => {
    const { provider, connection, at } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    const before = newSsoBrowser();
    await before.signIn(provider, claims);
    await before.session();
    const token = await provider.issuer.sign(
      {
        aud: 'svc-client',
        sub: claims.sub,
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        exp: undefined,
        nbf: undefined,
      },
      { typ: 'logout+jwt' },
    );
    const logout = () =>
      send('POST', `/sso/${connection}/logout`, {
        body: new TextEncoder().encode(`logout_token=${token}`),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'CF-Connecting-IP': '203.0.114.251' },
      });
    const after = newSsoBrowser();
    const [first, second, signedIn] = await Promise.all([logout(), logout(), after.signIn(provider, claims)]);
    expect([first.status, second.status].sort()).toEqual([200, 400]);
    expect(signedIn.status).toBe(303);
    expect((await before.whoami()).status).toBe(401);
    // A later logout ends whatever the race left.
    expect((await before.refresh()).status).not.toBe(200);
  });
});
