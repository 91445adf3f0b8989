// Signing in with passkeys, through the public interface: enrolment, login, refresh, sign-out, and what must
// be refused.
import { exports } from 'cloudflare:workers';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { newChallenge } from '../../../src/auth/authentication/proofs';
import { fromBase64Url, toBase64Url } from '../../../src/crypto/bytes';
import { revision } from '../../../src/gate/request/writes';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import {
  another,
  change,
  invite,
  newBrowser,
  newEnrolment,
  newOrgToEnrol,
  newSignedIn,
  ORIGIN,
} from '../../support/signin/browser';
import { newPasskey, type Spoil, spoiledAssertions } from '../../support/signin/passkey';
import { slow } from '../../support/slow';
import { HOUR } from '../../support/time';
import { codeOf, send, useWorld } from '../../support/world';

useWorld();

const SECOND = 1000;
const passkey = (options?: Parameters<typeof newPasskey>[1]) => newPasskey(ORIGIN, options);
const tokenOf = (url: string) => new URL(url).hash.slice(1);

describe('enrolment', () => {
  it('requires a discoverable passkey with user verification, and names its owner', async () => {
    const o = await newOrgToEnrol();
    const browser = newBrowser(await passkey());
    const { json } = await browser.auth('/enrol/options', { token: tokenOf(o.url) });
    expect(json).toMatchObject({
      rp: { id: 'localhost' },
      user: { name: 'ann@example.com', displayName: 'Ann' },
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
      attestation: 'none',
      excludeCredentials: [],
    });
    expect(json.pubKeyCredParams.map(({ alg }: { alg: number }) => alg)).toEqual([-7, -8, -257]);
    expect(fromBase64Url(json.user.id)).toHaveLength(48);
    expect(fromBase64Url(json.challenge)).toHaveLength(38);
  });

  it('signs in: a JWT of ten minutes, and a cookie that no script can read', async () => {
    const { o, browser } = await newSignedIn();
    const before = Date.now();
    const answer = await browser.login();
    expect(answer.json.member).toEqual({
      id: o.owner,
      email: 'ann@example.com',
      name: 'Ann',
      role: 'owner',
      environments: null,
      org_id: o.id,
    });
    expect(Date.parse(answer.json.expiresAt) - 600_000).toBeGreaterThan(before - 1000);
    expect(Date.parse(answer.json.expiresAt) - 600_000).toBeLessThanOrEqual(Date.now());
    expect(decodeProtectedHeader(answer.json.token)).toEqual({
      alg: 'ES256',
      typ: 'JWT',
      kid: expect.stringMatching(/^jwk_\w{22}\.\w{11}$/),
    });
    const claims = decodeJwt(answer.json.token);
    expect(claims).toMatchObject({
      iss: ORIGIN,
      aud: `${ORIGIN}/api/v1`,
      sub: o.owner,
      org: o.id,
      sid: expect.stringMatching(/^ses_/),
    });
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^__Host-svc_refresh=[\w.-]+; Max-Age=43\d{3}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect((await browser.whoami()).json).toMatchObject({
      kind: 'member',
      id: o.owner,
      parent_id: claims.sid,
      rate_limit: 600,
      scopes: ['*'],
    });
  });

  it('events: raises MEMBER_ENROLLED; audit log: the member is the actor', async () => {
    const { o, browser } = await newSignedIn();
    const events = await inCore(o, (core) => core.outbox.oldest(100));
    expect(events.filter(({ type }) => type === 'MEMBER_ENROLLED').map(({ data }) => data.member_id)).toEqual(
      [o.owner],
    );
    const { data } = (await browser.o.get('/audit-log?action=auth.enrol')).json;
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      actor: { kind: 'member', id: o.owner },
      resource: o.owner,
      outcome: 'success',
    });
  });

  it.each(['ES256', 'EdDSA', 'RS256'] as const)(
    'accepts a passkey of %s, which can then sign in',
    async (algorithm) => {
      const { browser } = await newSignedIn({ algorithm });
      expect((await browser.login()).status).toBe(200);
    },
  );

  slow('works once, for a day, until it is replaced; every invalid one gets the same response', async () => {
    const o = await newOrgToEnrol();
    const second = await newEnrolment(o.id, o.owner);
    const browser = newBrowser(await passkey());
    const replaced = await browser.enrol(o.url);
    expect((await browser.enrol(second)).status).toBe(200);
    const spent = await browser.enrol(second);
    const asked = faults.gate;
    const lapsed = await browser.auth('/enrol/options', {
      token: tokenOf(await newEnrolment(o.id, o.owner, Date.now() - 1)),
    });
    const token = tokenOf(second);
    const forged = await browser.auth('/enrol/options', {
      token: `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
    });
    const none = await browser.auth('/enrol/options', { token: 'x' });
    const response = await browser.passkey.create({
      ...(await browser.options()),
      rp: { id: 'localhost' },
      user: { id: 'x' },
      pubKeyCredParams: [{ alg: -7 }],
    });
    const late = await browser.auth('/enrol', { token, response });
    expect(faults.gate).toBe(asked);
    for (const dead of [replaced, spent, lapsed, forged, none, late])
      expect([dead.status, dead.text]).toEqual([410, replaced.text]);
    expect(replaced.json.error.code).toBe('ENROLMENT_GONE');
  });

  it('expires after a day by the clock of the gate, too', async () => {
    const o = await newOrgToEnrol();
    const browser = newBrowser(await passkey());
    faults.clock = Date.now() + 24 * HOUR;
    expect(codeOf(await browser.enrol(o.url))).toEqual([410, 'ENROLMENT_GONE']);
    faults.clock = Date.now() + 23 * HOUR;
    expect((await browser.enrol(o.url)).status).toBe(200);
  });

  it('concurrency: one of two requests succeeds', async () => {
    const o = await newOrgToEnrol();
    const browsers = await Promise.all([passkey(), passkey(), passkey()]);
    const answers = await Promise.all(browsers.map((each) => newBrowser(each).enrol(o.url)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410]);
  });

  slow('refuses a response that does not fit its options, and stays usable', async () => {
    const { o, browser } = await newSignedIn();
    const other = await invite(o, 'viewer');
    const mine = await newBrowser(await passkey()).auth('/enrol/options', { token: tokenOf(other.url) });
    const fresh = newBrowser(await passkey());
    const spoils: Spoil[] = [
      { origin: 'https://evil.example.com' },
      { rpId: 'evil.example.com' },
      { challenge: toBase64Url(new Uint8Array(38)) },
      { challenge: (await browser.options()).challenge },
      { type: 'webauthn.get' },
      { uv: false },
      { up: false },
      { crossOrigin: true },
      { fmt: 'packed', attStmt: new Map([['x5c', new Map()]]) },
      { fmt: 'fido-u2f' },
      { attStmt: new Map([['sig', 'x']]) },
    ];
    for (const spoil of spoils) {
      const answer = await newBrowser(fresh.passkey).enrol(other.url, spoil);
      expect(codeOf(answer), JSON.stringify(spoil)).toEqual([400, 'VALIDATION_FAILED']);
    }
    // A challenge that was given for another enrolment.
    const again = await newEnrolment(o.id, other.id);
    const response = await fresh.passkey.create(mine.json);
    expect(codeOf(await fresh.auth('/enrol', { token: tokenOf(again), response }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    expect((await fresh.enrol(again)).status).toBe(200);
    expect(fresh.member.role).toBe('viewer');
  });

  slow('a second one adds a passkey and keeps the others, which its options exclude', async () => {
    const { o, browser } = await newSignedIn();
    const url = await newEnrolment(o.id, o.owner);
    const options = await browser.auth('/enrol/options', { token: tokenOf(url) });
    expect(options.json.excludeCredentials.map(({ id }: { id: string }) => id)).toEqual([browser.passkey.id]);
    const second = newBrowser(await passkey());
    expect((await second.enrol(url)).status).toBe(200);
    for (const each of [browser, second]) expect((await each.login()).status).toBe(200);
    expect((await browser.o.get(`/members/${o.owner}/passkeys`)).json.data).toHaveLength(2);
  });
});

describe('login', () => {
  it('options name no member, and have one form for all', async () => {
    const browser = newBrowser(await passkey());
    const a = await browser.options();
    const b = await browser.options();
    expect({ ...a, challenge: '' }).toEqual({ ...b, challenge: '' });
    expect(a).toMatchObject({ rpId: 'localhost', userVerification: 'required', allowCredentials: [] });
    expect(a.challenge).not.toBe(b.challenge);
  });

  slow('is refused with one body for every reason, without a gate call', async () => {
    const { o, browser } = await newSignedIn();
    const stranger = await newSignedIn();
    const handle = fromBase64Url(browser.passkey.handle) as Uint8Array;
    const altered = handle.slice();
    altered[20] = (altered[20] as number) ^ 1;
    const creation = (
      await stranger.browser.auth('/enrol/options', { token: tokenOf(await newEnrolment(o.id, o.owner)) })
    ).json;
    const spoils: Record<string, Spoil> = {
      'origin of another port': { origin: `${ORIGIN}:8443` },
      'challenge of another deployment': {
        challenge: toBase64Url(newChallenge(new Uint8Array(32), ['login'])),
      },
      'challenge of an enrolment': { challenge: creation.challenge },
      ...(await spoiledAssertions()),
      'no handle': { handle: null },
      'a handle of nobody': { handle: 'AAAA' },
      'an altered handle': { handle: toBase64Url(altered) },
      'the handle of another org': { handle: stranger.browser.passkey.handle },
      'a credential that is not there': { id: 'AAAA' },
    };
    const asked = faults.gate;
    const bodies = new Set<string>();
    for (const [what, spoil] of Object.entries(spoils)) {
      const from = newBrowser(browser.passkey);
      const answer = await from.login(spoil);
      expect(codeOf(answer), what).toEqual([401, 'UNAUTHENTICATED']);
      expect(answer.headers.get('set-cookie'), what).toBe(null);
      bodies.add(answer.text);
    }
    expect(bodies.size).toBe(1);
    expect(faults.gate).toBe(asked);
    expect((await browser.login()).status).toBe(200);
  });

  it('takes as many queries for a removed passkey as for an existing one', async () => {
    const { browser } = await newSignedIn();
    const options = await browser.options();
    const looks = async (spoil: Spoil) => {
      const response = await browser.passkey.get(options, spoil);
      const before = faults.d1;
      expect((await newBrowser(browser.passkey).auth('/login', { response })).status).toBe(401);
      return faults.d1 - before;
    };
    expect(await looks({ id: 'AAAA' })).toBe(await looks({ signature: 'AAAA' }));
  });

  slow('refuses a response that was used, also with concurrent requests', async () => {
    const { browser } = await newSignedIn();
    const response = await browser.passkey.get(await browser.options());
    const answers = await Promise.all(
      [1, 2, 3].map(() => newBrowser(browser.passkey).auth('/login', { response })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect(codeOf(await newBrowser(browser.passkey).auth('/login', { response }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
    // Nor does it serve once more after the session is over.
    await send('DELETE', '/api/v1/auth/sessions', { token: (await another(browser)).token });
    expect((await newBrowser(browser.passkey).auth('/login', { response })).status).toBe(401);
  });

  slow('checks a counter: one that does not grow is refused', async () => {
    const { browser } = await newSignedIn({ counts: true });
    expect((await browser.login()).status).toBe(200);
    expect((await browser.login({ counter: 10 })).status).toBe(200);
    for (const counter of [10, 9, 0])
      expect(codeOf(await browser.login({ counter })), String(counter)).toEqual([401, 'UNAUTHENTICATED']);
    expect((await browser.login({ counter: 11 })).status).toBe(200);
  });

  it('checks the counter in the gate too, when D1 was restored', async () => {
    const { o, browser } = await newSignedIn({ counts: true });
    await browser.login({ counter: 10 });
    await inCore(o, (core) => {
      const [row] = core.rows.after('passkey', '', 1);
      if (row) core.rows.put('passkey', { ...row, counter: 50 });
    });
    expect(codeOf(await browser.login({ counter: 20 }))).toEqual([401, 'UNAUTHENTICATED']);
  });

  slow('is refused outside the allowed addresses of members, with the same body', async () => {
    const { o, browser } = await newSignedIn();
    const before = await newBrowser(browser.passkey).login({ signature: 'AAAA' });
    await change(o.id, (call) => {
      const org = call.core.rows.get('org', o.id);
      if (!org) throw new Error('no org');
      return {
        status: 200,
        data: null,
        writes: [revision(call, 'org', org, { member_addresses: ['192.0.2.0/24'] })],
      };
    });
    const answer = await newBrowser(browser.passkey).login();
    expect([answer.status, answer.text]).toEqual([401, before.text]);
    expect(codeOf(await browser.whoami())).toEqual([403, 'ADDRESS_NOT_ALLOWED']);
  });

  it('validation: accepts only the shape of the contract', async () => {
    const { browser } = await newSignedIn();
    const response = await browser.passkey.get(await browser.options());
    for (const body of [
      {},
      { response: 1 },
      { response: { ...response, type: 'password' } },
      { response, org_id: 'x' },
    ])
      expect(codeOf(await browser.auth('/login', body))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await browser.auth('/login/options', { email: 'ann@example.com' }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
  });

  slow('rate limit: twenty refused in a minute block further ones, never one that succeeds', async () => {
    const { browser } = await newSignedIn();
    for (let i = 0; i < 20; i++) expect((await browser.login({ signature: 'AAAA' })).status).toBe(401);
    const asked = faults.gate;
    const held = await browser.login({ signature: 'AAAA' });
    expect(codeOf(held)).toEqual([429, 'RATE_LIMITED']);
    expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(codeOf(await browser.auth('/enrol/options', { token: 'x' }))).toEqual([429, 'RATE_LIMITED']);
    expect(faults.gate).toBe(asked);
    expect((await browser.login()).status).toBe(200);
    expect((await browser.refresh()).status).toBe(200);
  });

  slow('limit: more than twenty sessions end the oldest', async () => {
    const { browser } = await newSignedIn();
    const first = browser.token;
    for (let i = 0; i < 19; i++) await browser.login();
    expect((await send('GET', '/api/v1/whoami', { token: first })).status).toBe(200);
    await browser.login();
    expect(codeOf(await send('GET', '/api/v1/whoami', { token: first }))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data).toHaveLength(20);
  });
});

describe('refresh', () => {
  slow('returns the next JWT of the session and the next cookie', async () => {
    const { browser } = await newSignedIn();
    const token = browser.token;
    const cookie = browser.cookie;
    const answer = await browser.refresh();
    expect(answer.status).toBe(200);
    expect(answer.json.member).toEqual(browser.member);
    expect(browser.cookie).not.toBe(cookie);
    expect(decodeJwt(browser.token).sid).toBe(decodeJwt(token).sid);
    expect(answer.headers.get('ratelimit')).toMatch(/^"credential";r=\d+/);
    for (let i = 0; i < 5; i++) expect((await browser.refresh()).status).toBe(200);
  });

  slow('a cookie that was used before ends the session everywhere', async () => {
    const { browser } = await newSignedIn();
    const stolen = browser.cookie;
    await browser.refresh();
    const good = browser.cookie;
    const token = browser.token;
    faults.clock = Date.now() + 10 * SECOND;
    const theft = await browser.refresh(stolen);
    expect(codeOf(theft)).toEqual([401, 'TOKEN_REVOKED']);
    expect(theft.headers.get('set-cookie')).toMatch(
      /^__Host-svc_refresh=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect((await browser.refresh(good)).status).toBe(401);
    expect(codeOf(await send('GET', '/api/v1/whoami', { token }))).toEqual([401, 'TOKEN_REVOKED']);
    faults.clock = null;
    expect((await browser.login()).status).toBe(200);
    const { data } = (await browser.o.get('/audit-log?action=auth.refresh&outcome=denied')).json;
    expect(data.map(({ status }: { status: number }) => status)).toEqual([401, 401]);
  });

  it('a lost reply can be repeated within ten seconds, with a new cookie that is valid until used', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const lost = browser.cookie;
    const cookies: string[] = [];
    for (let i = 0; i < 3; i++) {
      expect((await browser.refresh(lost)).status).toBe(200);
      cookies.push(browser.cookie);
    }
    expect(new Set(cookies).size).toBe(3);
    faults.clock = Date.now() + HOUR;
    for (const cookie of cookies) expect((await browser.refresh(cookie)).status).toBe(200);
    faults.clock += 11 * SECOND;
    expect((await browser.refresh(cookies[0])).status).toBe(401);
    expect((await browser.refresh(browser.cookie)).status).toBe(401);
  });

  slow('concurrency: each request gets its own cookie, up to a limit', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const { cookie } = browser;
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => newBrowser(browser.passkey).refresh(cookie)),
    );
    const given = answers
      .filter(({ status }) => status === 200)
      .map(({ headers }) => headers.get('set-cookie')?.split(';')[0]);
    expect(new Set(given).size).toBe(32);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(8);
    const own = given[5]?.split('=')[1] as string;
    faults.clock = Date.now() + 11 * SECOND;
    expect((await browser.refresh(own)).status).toBe(200);
  });

  slow('requires the cookie unchanged, from a page of this deployment', async () => {
    const { browser } = await newSignedIn();
    const { cookie } = browser;
    const other = await another(browser);
    const [org, session, n, mac] = cookie.split('.') as [string, string, string, string];
    const elsewhere = { Origin: 'https://evil.example.com' };
    expect(codeOf(await browser.refresh(cookie, elsewhere))).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(codeOf(await browser.logout(cookie, elsewhere))).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(codeOf(await browser.refresh(cookie, { Origin: 'null' }))).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    const bare = {
      method: 'POST',
      path: '/api/v1/auth/refresh',
      headers: { Cookie: `__Host-svc_refresh=${cookie}` },
    };
    expect(codeOf(await send(bare.method, bare.path, { headers: bare.headers }))).toEqual([
      403,
      'ORIGIN_NOT_ALLOWED',
    ]);
    const asked = faults.gate;
    for (const wrong of [
      `${org}.${session}.2.${mac}`,
      `${org}.${other.cookie.split('.')[1]}.${n}.${mac}`,
      `${other.cookie.split('.').slice(0, 3).join('.')}.${mac}`,
      `${org}.${session}.${n}.${mac.slice(0, -1)}`,
      `${org}.${session}.${n}`,
      `${org}.${session}.0${n}.${mac}`,
      browser.token,
      'x',
    ])
      expect(codeOf(await newBrowser(browser.passkey).refresh(wrong)), wrong).toEqual([
        401,
        'UNAUTHENTICATED',
      ]);
    expect(codeOf(await browser.auth('/refresh'))).toEqual([401, 'UNAUTHENTICATED']);
    expect(faults.gate).toBe(asked);
    expect((await browser.refresh(cookie)).status).toBe(200);
  });

  it('cors: another site cannot read the response', async () => {
    const { browser } = await newSignedIn();
    const answer = await browser.refresh();
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    const preflight = await send('OPTIONS', '/api/v1/auth/refresh', {
      headers: { Origin: 'https://evil.example.com' },
    });
    expect(preflight.status).toBe(405);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('session', () => {
  slow('ends after twelve hours without a refresh, and after seven days', async () => {
    const { browser } = await newSignedIn();
    const start = Date.now();
    faults.clock = start + 12 * HOUR - 5 * SECOND;
    expect((await browser.refresh()).status).toBe(200);
    for (let hours = 22; hours < 7 * 24; hours += 10) {
      faults.clock = start + hours * HOUR;
      expect((await browser.refresh()).status, `${hours} h`).toBe(200);
    }
    const cookie = browser.cookie;
    faults.clock = start + 7 * 24 * HOUR + 5 * SECOND;
    expect(codeOf(await browser.refresh(cookie))).toEqual([401, 'TOKEN_EXPIRED']);
    expect(codeOf(await browser.whoami())).toEqual([401, 'TOKEN_EXPIRED']);
    faults.clock = null;
    const idle = await another(browser);
    faults.clock = Date.now() + 12 * HOUR + SECOND;
    expect(codeOf(await idle.whoami())).toEqual([401, 'TOKEN_EXPIRED']);
    expect(codeOf(await idle.refresh())).toEqual([401, 'TOKEN_EXPIRED']);
  });

  it('sign-out ends it immediately, only by the cookie; a repeat gives the same response', async () => {
    const { browser } = await newSignedIn();
    const other = await another(browser);
    const { cookie, token } = browser;
    for (let i = 0; i < 2; i++) {
      const answer = await browser.logout(cookie);
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
        204,
        expect.stringMatching(/^__Host-svc_refresh=; Max-Age=0;/),
      ]);
      expect(codeOf(await send('GET', '/api/v1/whoami', { token }))).toEqual([401, 'TOKEN_REVOKED']);
    }
    expect((await browser.auth('/logout')).status).toBe(204);
    expect((await browser.logout('junk')).status).toBe(204);
    expect((await browser.refresh(cookie)).status).toBe(401);
    expect((await other.whoami()).status).toBe(200);
  });

  slow('is listed to its member, who can end one or all; those of others are 404', async () => {
    const { o, browser } = await newSignedIn();
    const other = await another(browser);
    const list = async () => (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json;
    const { data } = await list();
    const mine = decodeJwt(browser.token).sid;
    expect(data).toHaveLength(2);
    expect(data.find(({ current }: { current: boolean }) => current)).toMatchObject({
      id: mine,
      created_at: expect.stringMatching(/Z$/),
      expires_at: expect.stringMatching(/Z$/),
      last_used_at: expect.stringMatching(/Z$/),
      last_used_place: null,
      passkey_id: expect.stringMatching(/^psk_/),
    });
    const pages = (await send('GET', '/api/v1/auth/sessions?limit=1', { token: browser.token })).json;
    expect([pages.data.length, pages.has_more]).toEqual([1, true]);
    const rest = await send('GET', `/api/v1/auth/sessions?limit=1&cursor=${pages.next_cursor}`, {
      token: browser.token,
    });
    expect(rest.json.data[0].id).not.toBe(pages.data[0].id);

    const ben = newBrowser(await passkey());
    await ben.enrol((await invite(o, 'admin')).url);
    const end = (id: string, token: string) => send('DELETE', `/api/v1/auth/sessions${id}`, { token });
    expect(codeOf(await end(`/${mine}`, ben.token))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await end('/ses_x', browser.token))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await end(`/${o.id}`, browser.token))).toEqual([404, 'NOT_FOUND']);
    for (let i = 0; i < 2; i++)
      expect((await end(`/${decodeJwt(other.token).sid}`, browser.token)).status).toBe(204);
    expect((await other.whoami()).status).toBe(401);
    expect((await list()).data).toHaveLength(1);
    const third = await another(browser);
    expect((await end('', browser.token)).status).toBe(204);
    for (const each of [browser, third]) expect((await each.whoami()).status).toBe(401);
    expect((await ben.whoami()).status).toBe(200);
    expect(codeOf(await send('GET', '/api/v1/auth/sessions', { token: o.token }))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
  });

  it('permission: has the permissions of its member from the next request on, and none after removal', async () => {
    const { o } = await newSignedIn();
    const { id, url } = await invite(o, 'viewer');
    const ben = newBrowser(await passkey());
    await ben.enrol(url);
    const browsers = [ben, await another(ben)];
    const tries = async () =>
      (await Promise.all(browsers.map((each) => each.o.get('/api-keys')))).map(({ status }) => status);
    expect(await tries()).toEqual([403, 403]);
    await change(o.id, (call) => {
      const member = call.core.rows.get('member', id);
      if (!member) throw new Error('no member');
      return { status: 200, data: null, writes: [revision(call, 'member', member, { role: 'developer' })] };
    });
    expect(await tries()).toEqual([200, 200]);
    expect((await ben.refresh()).json.member.role).toBe('developer');
    await change(o.id, () => ({
      status: 200,
      data: null,
      statements: [{ sql: 'delete from members where org_id = ? and id = ?', params: [o.id, id] }],
      deletes: [{ kind: 'member', id }],
    }));
    for (const each of browsers) expect(codeOf(await each.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await ben.refresh()).status).toBe(401);
    expect((await newBrowser(ben.passkey).login()).status).toBe(401);
  });

  it('cost: one gate call and no D1 a request in a warm isolate', async () => {
    const { browser } = await newSignedIn();
    await browser.whoami();
    const before = { gate: faults.gate, d1: faults.d1 };
    await browser.whoami();
    await browser.o.get('/environments');
    expect({ gate: faults.gate - before.gate, d1: faults.d1 - before.d1 }).toEqual({ gate: 2, d1: 0 });
  });

  it('idempotency: sessions of a member share keys, and no one-time value', async () => {
    const { browser } = await newSignedIn();
    const other = await another(browser);
    const body = { name: 'k', scopes: ['org:read'] };
    const headers = { 'Idempotency-Key': 'once' };
    const first = await browser.o.post('/api-keys', body, headers);
    expect(first.status).toBe(201);
    expect((await browser.o.post('/api-keys', body, headers)).text).toBe(first.text);
    const again = await other.o.post('/api-keys', body, headers);
    expect([again.status, again.json.id, again.json.token]).toEqual([201, first.json.id, null]);
  });
});

describe('passkey', () => {
  slow('a member lists, renames and removes their own without a scope, but not the last one', async () => {
    const { o } = await newSignedIn();
    const { id, url } = await invite(o, 'viewer');
    const ben = newBrowser(await passkey());
    await ben.enrol(url);
    const path = `/members/${id}/passkeys`;
    const [first] = (await ben.o.get(path)).json.data;
    expect(first).toMatchObject({
      id: expect.stringMatching(/^psk_/),
      name: 'Passkey on this device',
      transports: ['hybrid', 'internal'],
      backed_up: true,
    });
    expect(Object.keys(first).sort()).toEqual([
      'backed_up',
      'created_at',
      'id',
      'name',
      'revision',
      'transports',
    ]);
    expect((await ben.o.patch(`${path}/${first.id}`, { name: 'Laptop' })).json).toEqual({
      ...first,
      name: 'Laptop',
      revision: first.revision + 1,
    });
    expect(codeOf(await ben.o.del(`${path}/${first.id}`))).toEqual([409, 'LAST_PASSKEY']);
    expect(codeOf(await ben.o.del(`${path}/psk_x`))).toEqual([404, 'NOT_FOUND']);

    const key = await passkey({ counts: true });
    const options = await ben.o.post(`${path}/options`);
    expect([options.status, options.json.user.id, options.json.excludeCredentials.length]).toEqual([
      200,
      ben.passkey.handle,
      1,
    ]);
    const response = await key.create(options.json);
    const added = await ben.o.post(path, { response });
    expect([added.status, added.json.name, added.json.backed_up]).toEqual([201, 'Security key', false]);
    expect(codeOf(await ben.o.post(path, { response }))).toEqual([409, 'CONFLICT']);
    expect((await newBrowser(key).login()).status).toBe(200);

    const byKey = newBrowser(key);
    await byKey.login();
    expect((await ben.o.del(`${path}/${added.json.id}`)).status).toBe(204);
    expect(codeOf(await byKey.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await newBrowser(key).login()).status).toBe(401);
    expect((await ben.whoami()).status).toBe(200);
    // What was removed does not come back by what added it.
    expect(codeOf(await ben.o.post(path, { response }))).toEqual([409, 'CONFLICT']);
  });

  slow('permission: only members add their own, with options issued to them', async () => {
    const { o, browser } = await newSignedIn();
    const { id, url } = await invite(o, 'admin');
    const ben = newBrowser(await passkey());
    await ben.enrol(url);
    const mine = `/members/${o.owner}/passkeys`;
    const options = (await browser.o.post(`${mine}/options`)).json;
    for (const who of [ben.o, o.as(o.token)]) {
      expect(codeOf(await who.post(`${mine}/options`))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
      expect(codeOf(await who.post(mine, { response: await (await passkey()).create(options) }))).toEqual([
        403,
        'CREDENTIAL_KIND_NOT_ALLOWED',
      ]);
    }
    const fresh = await passkey();
    for (const spoil of [
      { uv: false },
      { origin: 'https://evil.example.com' },
      { challenge: (await ben.options()).challenge },
    ] as Spoil[])
      expect(codeOf(await browser.o.post(mine, { response: await fresh.create(options, spoil) }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    const theirs = (await ben.o.post(`/members/${id}/passkeys/options`)).json;
    expect(codeOf(await browser.o.post(mine, { response: await fresh.create(theirs) }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    expect(
      (await browser.o.post(mine, { response: await fresh.create(options), name: 'Desk' })).json.name,
    ).toBe('Desk');
  });

  it('permission: those of another are changed by callers who may change that member; those of owners by owners', async () => {
    const { o, browser } = await newSignedIn();
    const people = await Promise.all(
      (['admin', 'viewer', 'auditor'] as const).map(async (role) => {
        const { id, url } = await invite(o, role);
        const each = newBrowser(await passkey());
        await each.enrol(url);
        return { id, each };
      }),
    );
    const [admin, viewer, auditor] = people as [(typeof people)[0], (typeof people)[0], (typeof people)[0]];
    const of = async (id: string) =>
      `/members/${id}/passkeys/${(await browser.o.get(`/members/${id}/passkeys`)).json.data[0].id}`;
    const name = { name: 'x' };
    expect(codeOf(await admin.each.o.patch(await of(o.owner), name))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await admin.each.o.patch(await of(viewer.id), name)).status).toBe(200);
    expect((await browser.o.patch(await of(admin.id), name)).status).toBe(200);
    expect((await auditor.each.o.get(`/members/${viewer.id}/passkeys`)).status).toBe(200);
    expect(codeOf(await auditor.each.o.patch(await of(viewer.id), name))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect(codeOf(await viewer.each.o.get(`/members/${auditor.id}/passkeys`))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect(codeOf(await browser.o.patch((await of(viewer.id)).replace(viewer.id, auditor.id), name))).toEqual(
      [404, 'NOT_FOUND'],
    );
    expect(codeOf(await browser.o.get('/members/mem_x/passkeys'))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('sign-in pages', () => {
  it.each(['/enrol', '/sign-in', '/device'])(
    '%s runs only scripts of this deployment, and cannot be framed',
    async (path) => {
      const { status, text, headers } = await send('GET', path);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const policy = headers.get('content-security-policy') ?? '';
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "connect-src 'self'",
      ])
        expect(policy).toContain(part);
      expect(policy).not.toContain('unsafe');
      expect(text).toContain('data-origin="http://localhost"');
      // Its own origin is the only address that it shows.
      expect(text.replaceAll(/"http:\/\/localhost"|>http:\/\/localhost</g, '')).not.toMatch(
        /<script(?! src="\/assets\/\w+\.js"><\/script>)|\son\w+=|https?:\/\//,
      );
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      for (const [, src = ''] of text.matchAll(/<script src="([^"]+)"/g)) {
        const script = await send('GET', src);
        expect([script.status, script.headers.get('content-type')]).toEqual([
          200,
          'text/javascript; charset=utf-8',
        ]);
        expect(script.text.length).toBeGreaterThan(1000);
      }
      expect((await send('POST', path)).status).toBe(405);
    },
  );

  it.each([
    ['/approvals', '/console/approvals'],
    ['/approvals/apr_0HrZKtC4bqXw2vJm8yNd1L', '/console/approvals/apr_0HrZKtC4bqXw2vJm8yNd1L'],
    ['/approvals/%2f%2fevil.example', '/console/approvals/%2F%2Fevil.example'],
  ])('redirect: %s leads to %s, on this deployment', async (path, target) => {
    const { status, headers } = await exports.default.fetch(`http://localhost${path}`, {
      redirect: 'manual',
    });
    expect([status, headers.get('location')]).toEqual([302, target]);
    expect((await send('POST', path)).status).toBe(405);
  });

  it('not found: an unknown path is an error in JSON, whatever the caller accepts', async () => {
    const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    for (const [method, path, headers] of [
      ['GET', '/nothing/here', html],
      ['GET', '/nothing', {}],
      ['GET', '/api/v1/nothing', html],
      ['POST', '/nothing', html],
    ] as const) {
      const answer = await send(method, path, { headers });
      expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
      expect(answer.text).not.toContain('nothing');
    }
  });
});
