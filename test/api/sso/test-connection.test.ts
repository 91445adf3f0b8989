// The test of a connection: an owner sees what a provider says and what a sign-in would do, and nobody is
// signed in. What comes back counts only in the browser that began it, once, and while the owner's session is
// alive.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newTeam } from '../../support/people';
import type { Browser } from '../../support/signin/browser';
import { signIn } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import {
  changeConnection,
  claimsOf,
  connected,
  deleteConnection,
  enrolled,
  newSsoBrowser,
  ORIGIN,
  type SsoBrowser,
  stopConnections,
} from '../../support/signin/sso-signin';
import { type Answer, type Caller, codeOf, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const begin = (browser: SsoBrowser, by: { token: string }, o: Caller, connection: string) =>
  browser.call('POST', `/api/v1/orgs/${o.id}/sso-connections/${connection}/test`, undefined, {
    Authorization: `Bearer ${by.token}`,
  });

type Stand = Awaited<ReturnType<typeof connected>>;

async function office(fields: Parameters<typeof connected>[0] = {}) {
  const stand = await connected(fields);
  await stand.owner.confirm();
  const browser = newSsoBrowser();
  const started = async (by: Browser = stand.owner) => {
    const answer = await begin(browser, by, stand.o, stand.connection);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.json.url as string;
  };
  return { ...stand, browser, started };
}
/** Tests the connection as somebody of whom the provider says this; answers the page. */
const testedAs = async (
  {
    browser,
    provider,
    started,
  }: Pick<Awaited<ReturnType<typeof office>>, 'browser' | 'provider' | 'started'>,
  claims: Parameters<Stand['provider']['authorize']>[1],
) => browser.callback(provider.authorize(await started(), claims));

const text = ({ text: html }: Answer) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
const entriesOf = async (o: Caller) =>
  (await o.get('/audit-log?action=sso_connection.test&limit=5')).json.data as Record<string, unknown>[];

describe('connection test: a sign-in that shows what it would do', () => {
  it('connection test: shows the claims, the member that would be made, role and teams, and does nothing', async () => {
    const stand = await office({
      jit: 1,
      role_mappings: [{ group: 'devs', role: 'developer', environments: null as never }],
    });
    const { o, browser, connection, at, provider } = stand;
    const team = await newTeam(o);
    await changeConnection(o, connection, { team_mappings: [{ group: 'ops', team_id: team }] });
    const claims = claimsOf(at('bea'), { groups: ['devs', 'ops', 'other'], department: 'Payments' });
    const members = (await o.get('/members')).json.data;
    const { revision } = (await o.get(`/sso-connections/${connection}`)).json;
    const answer = await testedAs(stand, claims);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const part of ['new member', at('bea'), 'developer', 'devs, ops', 'Teams team', 'Payments'])
      expect(text(answer)).toContain(part);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect([...browser.jar.keys()]).toEqual([]);
    expect(answer.headers.getSetCookie().join()).not.toContain('__Host-svc_refresh');
    expect((await o.get('/members')).json.data).toEqual(members);
    expect((await o.get(`/teams/${team}/members`)).json.data).toEqual([]);
    expect((await o.get(`/sso-connections/${connection}`)).json.revision).toBe(revision);
    expect((await o.get('/audit-log?action=auth.sso')).json.data).toEqual([]);
    const [done, begun] = await entriesOf(o);
    const reason = 'a member would be made';
    expect(done).toMatchObject({
      resource: connection,
      outcome: 'success',
      reason,
      actor: { kind: 'member' },
    });
    expect(begun).toMatchObject({ resource: connection, outcome: 'success' });
    expect(JSON.stringify([done, begun])).not.toMatch(/Payments|bea@/);
    // The person signs in afterwards as if there had been no test.
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
  });

  it('connection test: says who is linked, asked for a passkey, or refused and why', async () => {
    const stand = await office();
    const { o, connection, at, provider } = stand;
    const bea = await enrolled(o, at('bea'));
    const asked = await testedAs(stand, claimsOf(bea.email));
    expect(text(asked)).toContain('asked for a passkey');
    expect((await o.get('/audit-log?action=auth.sso')).json.data).toEqual([]);
    const unknown = await testedAs(stand, claimsOf(at('cy')));
    expect(text(unknown)).toContain('would be refused');
    expect(text(unknown)).toContain('no member has this address');
    expect((await entriesOf(o))[0]?.reason).toBe('no member has this address');
    const unverified = await testedAs(stand, claimsOf(at('cy'), { email_verified: 'true' }));
    expect(text(unverified)).toContain('the provider names no verified e-mail address');
    await changeConnection(o, connection, { jit: 1 });
    const claims = claimsOf(at('dan'));
    await newSsoBrowser().signIn(provider, claims);
    expect(text(await testedAs(stand, claims))).toMatch(/would be signed in.*linked already/);
    await stopConnections(o);
    expect(text(await testedAs(stand, claims))).toContain('a panic stopped the connection');
  });

  it('connection test: a provider whose token does not hold is told of without its claims', async () => {
    const stand = await office({ jit: 1 });
    const { provider, at } = stand;
    provider.odd.idToken = (right) => `${right.slice(0, -6)}AAAAAA`;
    const answer = await testedAs(stand, claimsOf(at('bea'), { department: 'Payments' }));
    expect(answer.status).toBe(200);
    expect(text(answer)).toContain('would be refused');
    expect(answer.text).not.toContain('Payments');
    provider.odd.idToken = undefined as never;
  });

  it('connection test: the page shows what a provider sends as text', async () => {
    const stand = await office({ jit: 1 });
    const name = '<script src="/x"></script><img src=x onerror=alert(1)>';
    const answer = await testedAs(stand, claimsOf(stand.at('bea'), { name, [name]: name, groups: [name] }));
    expect(answer.status).toBe(200);
    expect(answer.text).not.toMatch(/<script|<img src=x/);
  });
});

describe('connection test: only an owner sees the result', () => {
  it('permission: no other role, no key, and no owner without a confirmation begins a test', async () => {
    const stand = await connected({ jit: 1 });
    const { o, connection, owner } = stand;
    const admin = await signIn(o, 'admin');
    await admin.confirm();
    const browser = newSsoBrowser();
    expect(codeOf(await begin(browser, admin, o, connection))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await o.post(`/sso-connections/${connection}/test`))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    const later = newSsoBrowser();
    await changeConnection(o, connection, { default_role: 'admin' });
    await later.signIn(stand.provider, claimsOf(stand.at('bea')));
    await later.session();
    expect((await begin(later, later, o, connection)).status).toBe(403);
    await owner.confirm();
    const other = await connected();
    expect(codeOf(await begin(browser, owner, o, other.connection))).toEqual([404, 'NOT_FOUND']);
    expect([...browser.jar.keys()]).toEqual([]);
  });

  it('connection test: in another browser, a second time and after the connection is gone it is refused', async () => {
    const stand = await office({ jit: 1 });
    const { o, browser, provider, connection, at, started } = stand;
    const claims = claimsOf(at('bea'), { department: 'Payments' });
    const elsewhere = await newSsoBrowser().callback(provider.authorize(await started(), claims));
    expect([elsewhere.status, elsewhere.text.includes('Payments')]).toEqual([403, false]);
    const url = await started();
    const cookie = browser.jar.get('__Host-svc_sso') as string;
    expect((await browser.callback(provider.authorize(url, claims))).status).toBe(200);
    // The provider sends the browser back again, with a new code for the same state.
    browser.jar.set('__Host-svc_sso', cookie);
    const again = await browser.callback(provider.authorize(url, claims));
    expect([again.status, again.text.includes('Payments')]).toEqual([403, false]);
    const late = await started();
    await deleteConnection(o, connection);
    expect((await browser.callback(provider.authorize(late, claims))).status).toBe(403);
  });

  it('connection test: the result is not shown once the session of the owner ended, or they are no owner', async () => {
    const stand = await office({ jit: 1 });
    const { o, browser, provider, at, started, owner } = stand;
    const claims = claimsOf(at('bea'), { department: 'Payments' });
    const second = await enrolled(o, at('second'), 'owner');
    await second.browser.confirm();
    const demoted = await started(second.browser);
    await owner.confirm();
    expect((await owner.o.patch(`/members/${second.id}`, { role: 'admin' })).status).toBe(200);
    const answers = [await browser.callback(provider.authorize(demoted, claims))];
    await owner.confirm();
    const ended = await started();
    await owner.logout();
    answers.push(await browser.callback(provider.authorize(ended, claims)));
    for (const answer of answers) {
      expect([answer.status, answer.text.includes('Payments')]).toEqual([403, false]);
      expect(answer.text).toContain('You are not signed in');
    }
  });

  it('connection test: its state begins no session, and that of a sign-in shows no claims', async () => {
    const stand = await office({ jit: 1 });
    const { o, browser, provider, at, started } = stand;
    const claims = claimsOf(at('bea'), { department: 'Payments' });
    const test = await started();
    const testCookie = browser.jar.get('__Host-svc_sso') as string;
    const signing = (await browser.start({ email: at('bea') })).json.url as string;
    const signInCookie = browser.jar.get('__Host-svc_sso') as string;
    // The response to one with the cookie of the other.
    const mixed = [await browser.callback(provider.authorize(test, claims))];
    browser.jar.set('__Host-svc_sso', testCookie);
    mixed.push(await browser.callback(provider.authorize(signing, claims)));
    for (const answer of mixed) {
      expect(answer.text).not.toContain('Payments');
      expect(answer.headers.getSetCookie().join()).not.toContain('__Host-svc_refresh=');
    }
    expect(signInCookie).not.toBe(testCookie);
    expect((await o.get('/members')).json.data).toHaveLength(1);
    // Nor does a link follow from it, nor a confirmation.
    browser.jar.set('__Host-svc_sso', testCookie);
    const options = await browser.call('POST', '/api/v1/auth/sso/link/options', {});
    expect(codeOf(options)).toEqual([401, 'UNAUTHENTICATED']);
    const linking = await browser.call('POST', '/api/v1/auth/sso/link', {
      response: await (await newPasskey(ORIGIN)).get(await stand.owner.options()),
    });
    expect(linking.status).toBe(401);
    expect((await browser.refresh()).status).not.toBe(200);
  });
});
