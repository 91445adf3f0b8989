// Terminal login (RFC 8628), through the public interface: codes, confirmation, the terminal's session, and
// what must be refused.
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { newDeviceCode, placeOfUserCode, readUserCode } from '../../../src/auth/authentication/proofs';
import type { Env } from '../../../src/env';
import type { DeviceLogin } from '../../../src/objects/terminal-login';
import type { Throttle } from '../../../src/objects/throttle';
import { faults } from '../../support/faults';
import { keyring } from '../../support/gate';
import { colleague } from '../../support/governance/approvals';
import { another, newSignedIn, ORIGIN, signIn } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import { decide, newTerminal, signInTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { HOUR, MINUTE } from '../../support/time';
import { type Answer, codeOf, send, useWorld } from '../../support/world';

useWorld();

const SECOND = 1000;
const sidOf = (token: string) => decodeJwt(token).sid as string;
const expired = [400, 'CODE_EXPIRED'];

describe('device login', () => {
  it('gives a terminal the codes of RFC 8628; the user code is only in the fragment', async () => {
    const answer = await newTerminal().start();
    expect(answer.status).toBe(200);
    const { user_code } = answer.json;
    expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(answer.json).toEqual({
      device_code: expect.stringMatching(/^svcdc_[A-Z]{8}\.[\w-]{43}\.[\w-]{43}$/),
      user_code,
      verification_uri: `${ORIGIN}/device`,
      verification_uri_complete: `${ORIGIN}/device#${user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect(answer.headers.get('set-cookie')).toBe(null);
  });

  slow('signs a terminal in once a member has confirmed its code', async () => {
    const { o, browser } = await newSignedIn();
    const terminal = newTerminal('svc on ann-laptop');
    await terminal.start();
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
    const { user_code } = terminal.codes;
    const shown = await decide(browser, 'lookup', user_code.toLowerCase().replace('-', ' '));
    expect(shown.json).toEqual({
      user_code,
      client_name: 'svc on ann-laptop',
      address: terminal.address,
      place: null,
      same_address: false,
      created_at: expect.stringMatching(/Z$/),
      expires_at: expect.stringMatching(/Z$/),
    });
    expect(Date.parse(shown.json.expires_at) - Date.parse(shown.json.created_at)).toBe(10 * MINUTE);
    const confirmed = await decide(browser, 'confirm', user_code);
    expect(confirmed.json).toEqual({ status: 'confirmed', session_id: expect.stringMatching(/^ses_/) });
    const before = Date.now();
    const answer = await terminal.poll();
    expect(answer.status, answer.text).toBe(200);
    expect(Object.keys(answer.json).sort()).toEqual(['expiresAt', 'member', 'refresh_token', 'token']);
    expect(answer.headers.get('set-cookie')).toBe(null);
    expect(answer.json.member).toEqual(browser.member);
    expect(Date.parse(answer.json.expiresAt) - 10 * MINUTE).toBeGreaterThan(before - SECOND);
    expect(Date.parse(answer.json.expiresAt) - 10 * MINUTE).toBeLessThanOrEqual(Date.now());
    expect(sidOf(answer.json.token)).toBe(confirmed.json.session_id);
    expect((await terminal.whoami()).json).toMatchObject({
      kind: 'member',
      id: o.owner,
      parent_id: confirmed.json.session_id,
    });
    expect((await terminal.o.get('/secrets')).status).toBe(200);
  });

  slow('place: an address in the same network is distinguished from another', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    const { json } = await decide(browser, 'lookup', terminal.codes.user_code, {
      'CF-Connecting-IP': terminal.address,
    });
    expect([json.same_address, json.address]).toEqual([true, terminal.address]);
    // Of addresses that nobody knows it is not said that they are the same.
    const unknown = { 'CF-Connecting-IP': 'none' };
    const { user_code } = (await terminal.auth('/device', { client_name: 'svc' }, unknown)).json;
    expect((await decide(browser, 'lookup', user_code, unknown)).json).toMatchObject({
      same_address: false,
      address: 'unknown',
    });
  });

  slow('a member denies it; a decision is final', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    const { user_code } = terminal.codes;
    for (let i = 0; i < 2; i++)
      expect((await decide(browser, 'deny', user_code)).json).toEqual({ status: 'denied', session_id: null });
    for (let i = 0; i < 2; i++) expect(codeOf(await terminal.poll())).toEqual([400, 'ACCESS_DENIED']);
    expect(codeOf(await decide(browser, 'confirm', user_code))).toEqual(expired);
    expect(codeOf(await decide(browser, 'lookup', user_code))).toEqual(expired);
    await signInTerminal(browser);
    expect(codeOf(await terminal.poll())).toEqual([400, 'ACCESS_DENIED']);
  });

  slow('a confirmation may be repeated by the same member, and by no other', async () => {
    const { o, browser } = await newSignedIn();
    const ben = await signIn(o, 'admin');
    const stranger = (await newSignedIn()).browser;
    const terminal = newTerminal();
    await terminal.start();
    const { user_code } = terminal.codes;
    const first = await decide(browser, 'confirm', user_code);
    expect((await decide(browser, 'confirm', user_code)).text).toBe(first.text);
    for (const other of [ben, stranger])
      for (const what of ['lookup', 'confirm', 'deny'] as const)
        expect(codeOf(await decide(other, what, user_code)), what).toEqual(expired);
    expect(codeOf(await decide(browser, 'deny', user_code))).toEqual(expired);
    expect((await terminal.poll()).json.member).toEqual(browser.member);
    expect((await send('GET', '/api/v1/auth/sessions', { token: ben.token })).json.data).toHaveLength(1);
  });

  it.each(['of one organisation', 'of two organisations'])(
    'concurrency: of members %s who confirm at once one signs the terminal in',
    async (where) => {
      const { o, browser } = await newSignedIn();
      const stranger = where.includes('two') ? (await newSignedIn()).browser : await signIn(o, 'admin');
      const terminal = newTerminal();
      await terminal.start();
      const { user_code } = terminal.codes;
      const answers = await Promise.all(
        [browser, stranger].map((each) => decide(each, 'confirm', user_code)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
      const [winner, loser] = answers[0]?.status === 200 ? [browser, stranger] : [stranger, browser];
      // The other has no session of a terminal, live or not.
      expect((await send('GET', '/api/v1/auth/sessions', { token: loser.token })).json.data).toHaveLength(1);
      expect((await terminal.poll()).json.member).toEqual(winner.member);
      expect((await send('GET', '/api/v1/auth/sessions', { token: winner.token })).json.data).toHaveLength(2);
    },
  );

  it('concurrency: while the gate of one organisation begins the session, no other confirms or denies the login', async () => {
    const { o, browser } = await newSignedIn();
    const stranger = (await newSignedIn()).browser;
    const terminal = newTerminal();
    await terminal.start();
    const { user_code } = terminal.codes;
    // What claims the login is interrupted before the gate is called again.
    const { proof } = await (await keyring()).deployment();
    const login = (env as unknown as Env).DEVICE_LOGIN.getByName(
      placeOfUserCode(proof, readUserCode(user_code) as string),
    );
    expect(await login.claim(o.id)).toMatchObject({ decided: null });
    for (const what of ['confirm', 'deny'] as const)
      expect(codeOf(await decide(stranger, what, user_code))).toEqual(expired);
    expect((await send('GET', '/api/v1/auth/sessions', { token: stranger.token })).json.data).toHaveLength(1);
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
    expect((await decide(browser, 'confirm', user_code)).status).toBe(200);
    expect((await terminal.poll()).json.member).toEqual(browser.member);
  });

  slow('concurrency: only one of a concurrent confirmation and denial takes effect', async () => {
    const { browser } = await newSignedIn();
    const other = (await newSignedIn()).browser;
    const terminal = newTerminal();
    await terminal.start();
    const { user_code } = terminal.codes;
    const [confirmed, denied] = await Promise.all([
      decide(browser, 'confirm', user_code),
      decide(other, 'deny', user_code),
    ]);
    expect([confirmed.status, denied.status].sort()).toEqual([200, 400]);
    const sessions = (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data;
    expect(sessions).toHaveLength(confirmed.status === 200 ? 2 : 1);
    expect((await terminal.poll()).status).toBe(confirmed.status);
  });

  slow('concurrency: concurrent polls get one session, each with its own refresh token', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    await decide(browser, 'confirm', terminal.codes.user_code);
    const answers = await Promise.all([1, 2, 3].map(() => terminal.poll()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ json }) => sidOf(json.token))).size).toBe(1);
    expect(new Set(answers.map(({ json }) => json.refresh_token)).size).toBe(3);
    for (const { json } of answers) expect((await terminal.refresh(json.refresh_token)).status).toBe(200);
  });

  slow('a device code that is used again later than ten seconds after ends the session', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    faults.clock += 9 * SECOND;
    const repeated = await terminal.poll();
    expect(repeated.status).toBe(200);
    faults.clock += 2 * SECOND;
    expect(codeOf(await terminal.poll())).toEqual(expired);
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await terminal.refresh()).status).toBe(401);
  });

  it('codes expire after ten minutes, and so does a session that no terminal has fetched', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const early = newTerminal();
    const late = newTerminal();
    const unfetched = newTerminal();
    for (const each of [early, late, unfetched]) await each.start();
    await decide(browser, 'confirm', unfetched.codes.user_code);
    const sessions = async () =>
      (await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data.length;
    expect(await sessions()).toBe(2);
    faults.clock += 10 * MINUTE - SECOND;
    await browser.confirm();
    await decide(browser, 'confirm', early.codes.user_code);
    expect((await early.poll()).status).toBe(200);
    faults.clock += SECOND;
    for (const each of [late, unfetched]) expect(codeOf(await each.poll())).toEqual(expired);
    for (const what of ['lookup', 'confirm', 'deny'] as const)
      expect(codeOf(await decide(browser, what, late.codes.user_code)), what).toEqual(expired);
    expect(await sessions()).toBe(2);
    faults.clock += HOUR;
    expect((await early.refresh()).status).toBe(200);
  });

  it('SLOW_DOWN: adds five seconds to the interval for each early poll', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    const polledAfter = async (seconds: number) => {
      faults.clock = (faults.clock as number) + seconds * SECOND;
      return codeOf(await terminal.poll())[1];
    };
    expect(await polledAfter(0)).toBe('AUTHORIZATION_PENDING');
    expect(await polledAfter(5)).toBe('AUTHORIZATION_PENDING');
    expect(await polledAfter(4)).toBe('AUTHORIZATION_PENDING');
    expect(await polledAfter(3)).toBe('SLOW_DOWN');
    expect(await polledAfter(5)).toBe('SLOW_DOWN');
    expect(await polledAfter(14)).toBe('AUTHORIZATION_PENDING');
    // What is confirmed is not held up.
    await decide(browser, 'confirm', terminal.codes.user_code);
    expect((await terminal.poll()).status).toBe(200);
  });

  it('an early poll writes nothing, and twenty of them in a minute block further ones', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    const { proof } = await (await keyring()).deployment();
    const place = placeOfUserCode(proof, readUserCode(terminal.codes.user_code) as string);
    const login = (
      env as unknown as { DEVICE_LOGIN: DurableObjectNamespace<DeviceLogin> }
    ).DEVICE_LOGIN.getByName(place);
    const written = () =>
      runInDurableObject(login, async (_, { storage }) => JSON.stringify([...(await storage.list())]));
    const before = await written();
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
    for (let n = 0; n < 20; n++) expect(codeOf(await terminal.poll())).toEqual([400, 'SLOW_DOWN']);
    expect(codeOf(await terminal.poll())).toEqual([429, 'RATE_LIMITED']);
    expect(await written()).toBe(before);
    await decide(browser, 'confirm', terminal.codes.user_code);
    expect((await terminal.poll()).status).toBe(200);
  });

  it('rate limit: 1,200 polls a minute from an address, of whatever logins', async () => {
    const terminal = newTerminal();
    await terminal.start();
    const throttle = (env as unknown as { THROTTLE: DurableObjectNamespace<Throttle> }).THROTTLE.getByName(
      `device poll ${terminal.address}`,
    );
    for (let n = 0; n < 1199; n++) await throttle.counted(1200);
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
    const held = await terminal.poll();
    expect([...codeOf(held), Number(held.headers.get('retry-after')) > 0]).toEqual([
      429,
      'RATE_LIMITED',
      true,
    ]);
    expect(await runInDurableObject(throttle, async (_, { storage }) => (await storage.list()).size)).toBe(0);
  });

  it('a forged, altered or foreign device code is refused like an expired one, without a call', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    const other = newTerminal();
    for (const each of [terminal, other]) await each.start();
    await decide(browser, 'confirm', terminal.codes.user_code);
    const { device_code, user_code } = terminal.codes;
    const [head, random, mac] = device_code.split('.') as [string, string, string];
    const before = faults.gate;
    for (const wrong of [
      'x',
      user_code,
      `${head}.${random}.${mac.slice(0, -1)}`,
      `${head}.${other.codes.device_code.split('.')[1]}.${mac}`,
      `${other.codes.device_code.split('.')[0]}.${random}.${mac}`,
      newDeviceCode(new Uint8Array(32), user_code.replace('-', '')),
    ])
      expect(codeOf(await newTerminal().poll(wrong)), wrong).toEqual(expired);
    expect(faults.gate).toBe(before);
    expect((await terminal.poll()).status).toBe(200);
  });

  it('a device code of an earlier login with the same user code is refused', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    const { proof } = await (await keyring()).deployment();
    const earlier = newDeviceCode(proof, terminal.codes.user_code.replace('-', ''));
    await decide(browser, 'confirm', terminal.codes.user_code);
    expect(codeOf(await newTerminal().poll(earlier))).toEqual(expired);
    expect((await terminal.poll()).status).toBe(200);
  });

  it('a user code alone gives nothing', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    const spy = newTerminal();
    await terminal.start();
    await decide(browser, 'confirm', terminal.codes.user_code);
    expect(codeOf(await spy.auth('/device/token', { device_code: terminal.codes.user_code }))).toEqual(
      expired,
    );
    expect(codeOf(await spy.auth('/device/lookup', { user_code: terminal.codes.user_code }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
    expect(codeOf(await spy.auth('/device/token', { user_code: terminal.codes.user_code }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
  });

  it('validation: refuses a name that is empty, long, hidden or of several lines, and takes markup as text', async () => {
    const terminal = newTerminal();
    for (const client_name of [
      '',
      'x'.repeat(101),
      'x'.repeat(10_000),
      'a\nb',
      'a\u0000',
      'a\u202Eb',
      'a\u2028b',
      '\uD800',
      7,
      null,
    ])
      expect(codeOf(await terminal.auth('/device', { client_name })), JSON.stringify(client_name)).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    const { browser } = await newSignedIn();
    const hostile = newTerminal('<img src=x onerror=alert(1)>');
    await hostile.start();
    expect((await decide(browser, 'lookup', hostile.codes.user_code)).json.client_name).toBe(
      '<img src=x onerror=alert(1)>',
    );
  });
});

describe('device login: limits', () => {
  it('rate limit: a hundred logins a minute can be started from an address', async () => {
    const terminal = newTerminal();
    const started = await Promise.all(Array.from({ length: 100 }, () => terminal.start()));
    expect(started.filter(({ status }) => status !== 200)).toEqual([]);
    const held = await terminal.start();
    expect(codeOf(held)).toEqual([429, 'RATE_LIMITED']);
    expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await newTerminal().start()).status).toBe(200);
  });

  it('rate limit: a member enters twenty codes a minute from all addresses, and the right one is held up too', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    const guess = (at: number) =>
      decide(browser, 'lookup', 'BCDF-GHJK', { 'CF-Connecting-IP': `192.0.2.${at}` });
    for (let i = 0; i < 20; i++) expect(codeOf(await guess(i))).toEqual(expired);
    const calls = faults.gate;
    const held = await decide(browser, 'confirm', terminal.codes.user_code, {
      'CF-Connecting-IP': '192.0.2.99',
    });
    expect(codeOf(held)).toEqual([429, 'RATE_LIMITED']);
    expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(faults.gate - calls).toBe(2);
    const { data } = (await browser.o.get('/audit-log?action=auth.device_confirm')).json;
    expect(data.map(({ status }: { status: number }) => status)).toEqual([429]);
  });

  slow('rate limit: an address enters twenty codes a minute for all members', async () => {
    const people = [(await newSignedIn()).browser, (await newSignedIn()).browser];
    const from = { 'CF-Connecting-IP': '192.0.2.201' };
    const answers: Answer[] = [];
    for (let i = 0; i < 21; i++)
      answers.push(await decide(people[i % 2] as (typeof people)[0], 'lookup', 'BCDF-GHJK', from));
    expect(answers.map(({ status }) => status)).toEqual([...Array(20).fill(400), 429]);
  });

  it('rate limit: twenty forged device codes block further ones of an address, never a genuine one', async () => {
    const terminal = newTerminal();
    await terminal.start();
    for (let i = 0; i < 20; i++) expect(codeOf(await terminal.poll('svcdc_x'))).toEqual(expired);
    expect(codeOf(await terminal.poll('svcdc_x'))).toEqual([429, 'RATE_LIMITED']);
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
  });
});

describe('device login: confirmation', () => {
  slow('needs a browser session that was confirmed with a passkey in the last five minutes', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    faults.clock += 5 * MINUTE + SECOND;
    expect(codeOf(await decide(browser, 'confirm', terminal.codes.user_code))).toEqual([
      403,
      'REAUTHENTICATION_REQUIRED',
    ]);
    expect((await decide(browser, 'lookup', terminal.codes.user_code)).status).toBe(200);
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
    await browser.confirm();
    expect((await decide(browser, 'confirm', terminal.codes.user_code)).status).toBe(200);
    expect((await terminal.poll()).status).toBe(200);
  });

  slow('kind: a terminal session confirms, looks up and denies no other, nor does a credential', async () => {
    const { o, browser } = await newSignedIn();
    const signedIn = await signInTerminal(browser);
    const terminal = newTerminal();
    await terminal.start();
    for (const token of [signedIn.token, o.token])
      for (const what of ['lookup', 'confirm', 'deny'] as const)
        expect(
          codeOf(await decide(browser, what, terminal.codes.user_code, { Authorization: `Bearer ${token}` })),
          what,
        ).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect(codeOf(await terminal.poll())).toEqual([400, 'AUTHORIZATION_PENDING']);
  });

  it('audit log: names the session of a confirmation, and the address of the terminal that fetched it', async () => {
    const { o, browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    await decide(browser, 'lookup', 'BCDF-GHJK');
    const session = sidOf(terminal.token);
    const { data } = (await browser.o.get('/audit-log?limit=4')).json;
    const seen = data.filter(({ action }: { action: string }) => action.startsWith('auth.device'));
    const actor = { kind: 'member', id: o.owner, name: 'Ann' };
    expect(seen).toMatchObject([
      { action: 'auth.device_lookup', status: 400, resource: null },
      {
        action: 'auth.device_token',
        status: 200,
        resource: session,
        ip: terminal.address,
        actor: { ...actor, parent_id: session },
      },
      { action: 'auth.device_confirm', status: 200, resource: session, ip: browser.address, actor },
    ]);
    const all = (await browser.o.get('/audit-log?limit=100')).text;
    for (const secret of [
      terminal.codes.device_code,
      terminal.codes.user_code,
      terminal.refreshToken,
      terminal.token,
    ])
      expect(all).not.toContain(secret);
  });
});

describe('terminal session: refresh', () => {
  slow('returns the next JWT and refresh token, without a cookie', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const before = [terminal.token, terminal.refreshToken];
    const answer = await terminal.refresh();
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toEqual({
      token: expect.any(String),
      expiresAt: expect.stringMatching(/Z$/),
      refresh_token: expect.stringMatching(/^svcref_/),
      member: browser.member,
    });
    expect(answer.headers.get('set-cookie')).toBe(null);
    expect(before).not.toContain(terminal.refreshToken);
    expect(sidOf(terminal.token)).toBe(sidOf(before[0] as string));
    for (let i = 0; i < 3; i++) expect((await terminal.refresh()).status).toBe(200);
  });

  slow('a refresh token that was used before ends the session everywhere', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const stolen = terminal.refreshToken;
    await terminal.refresh();
    faults.clock = Date.now() + 10 * SECOND;
    expect(codeOf(await terminal.refresh(stolen))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await terminal.refresh()).status).toBe(401);
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await browser.whoami()).status).toBe(200);
  });

  slow('a lost reply can be repeated within ten seconds, with a token that is valid until used', async () => {
    faults.clock = Date.now();
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const lost = terminal.refreshToken;
    const tokens = new Set<string>();
    for (let i = 0; i < 3; i++) tokens.add((await terminal.refresh(lost)).json.refresh_token);
    expect(tokens.size).toBe(3);
    faults.clock += HOUR;
    for (const token of tokens) expect((await terminal.refresh(token)).status).toBe(200);
  });

  it('origin: a page gains nothing, and cookies and refresh tokens do not mix', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const { refreshToken } = terminal;
    for (const Origin of [ORIGIN, 'https://evil.example.com', 'null'])
      expect(codeOf(await terminal.refresh(refreshToken, { Origin })), Origin).toEqual([
        403,
        'ORIGIN_NOT_ALLOWED',
      ]);
    const Cookie = `__Host-svc_refresh=${browser.cookie}`;
    for (const headers of [{ Cookie }, { Cookie, Origin: ORIGIN }] as Record<string, string>[])
      expect(codeOf(await terminal.refresh(refreshToken, headers))).toEqual([400, 'VALIDATION_FAILED']);
    // The value of a cookie is no refresh token, and the other way round.
    expect(codeOf(await newTerminal().refresh(browser.cookie))).toEqual([401, 'UNAUTHENTICATED']);
    expect(codeOf(await newTerminal().refresh(`svcref_${browser.cookie}`))).toEqual([401, 'UNAUTHENTICATED']);
    for (const cookie of [refreshToken, refreshToken.slice('svcref_'.length)])
      expect(codeOf(await browser.refresh(cookie))).toEqual([401, 'UNAUTHENTICATED']);
    expect(codeOf(await terminal.auth('/refresh', {}))).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect((await terminal.refresh(refreshToken)).status).toBe(200);
  });

  slow('a forged refresh token is refused like any, without a call of the gate', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const [org, session, n, mac] = terminal.refreshToken.split('.') as [string, string, string, string];
    const before = faults.gate;
    for (const wrong of [
      'x',
      `${org}.${session}.2.${mac}`,
      `${org}.${session}.0.${mac}`,
      `${org}.${session}.${n}.${mac.slice(0, -1)}`,
    ])
      expect(codeOf(await newTerminal().refresh(wrong)), wrong).toEqual([401, 'UNAUTHENTICATED']);
    expect(faults.gate).toBe(before);
  });

  slow('a JWT as refresh token is refused, by prefix or not, and ends no session', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const before = faults.gate;
    for (const jwt of [terminal.token, browser.token, `svcref_${terminal.token}`])
      expect(codeOf(await newTerminal().refresh(jwt))).toEqual([401, 'UNAUTHENTICATED']);
    expect(faults.gate).toBe(before);
    expect((await terminal.refresh()).status).toBe(200);
    expect((await browser.whoami()).status).toBe(200);
  });

  slow('ends after twelve hours without a refresh, and after seven days', async () => {
    faults.clock = Date.now();
    const start = faults.clock;
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const idle = await signInTerminal(browser);
    for (let hours = 10; hours < 7 * 24; hours += 10) {
      faults.clock = start + hours * HOUR;
      expect((await terminal.refresh()).status, `${hours} h`).toBe(200);
    }
    expect(codeOf(await idle.refresh())).toEqual([401, 'TOKEN_EXPIRED']);
    faults.clock = start + 7 * 24 * HOUR + 5 * SECOND;
    expect(codeOf(await terminal.refresh())).toEqual([401, 'TOKEN_EXPIRED']);
  });
});

describe('terminal session', () => {
  slow('is listed and ended like one of a browser', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser, 'svc on ann-laptop');
    const list = async (token: string) => (await send('GET', '/api/v1/auth/sessions', { token })).json.data;
    const clients = (await list(browser.token)).map(({ client, client_name }: Record<string, string>) => [
      client,
      client_name,
    ]);
    expect(clients.sort()).toEqual([
      ['browser', null],
      ['terminal', 'svc on ann-laptop'],
    ]);
    const mine = (await list(terminal.token)).find(({ current }: { current: boolean }) => current);
    expect(mine).toMatchObject({
      id: sidOf(terminal.token),
      client: 'terminal',
      passkey_id: expect.stringMatching(/^psk_/),
    });
    expect((await send('DELETE', `/api/v1/auth/sessions/${mine.id}`, { token: browser.token })).status).toBe(
      204,
    );
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect(codeOf(await terminal.refresh())).toEqual([401, 'TOKEN_REVOKED']);
    // A terminal signs itself out.
    const second = await signInTerminal(browser);
    expect(
      (await send('DELETE', `/api/v1/auth/sessions/${sidOf(second.token)}`, { token: second.token })).status,
    ).toBe(204);
    expect((await second.refresh()).status).toBe(401);
    expect((await browser.whoami()).status).toBe(200);
  });

  slow(
    'limit: counts among the twenty sessions of a member, and never ends the one that confirms it',
    async () => {
      const { browser } = await newSignedIn();
      const later = await another(browser);
      for (let i = 0; i < 17; i++) await later.login();
      const terminal = await signInTerminal(browser);
      expect((await send('GET', '/api/v1/auth/sessions', { token: browser.token })).json.data).toHaveLength(
        20,
      );
      await later.confirm();
      const next = await signInTerminal(later);
      expect((await browser.whoami()).status).toBe(401);
      for (const each of [terminal, next]) expect((await each.whoami()).status).toBe(200);
    },
  );

  it('approvals: decides none, and cannot be confirmed with a passkey', async () => {
    const { o, browser } = await newSignedIn();
    const config = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
    await o.post('/policies', { name: 'p', kind: 'approval', config });
    const { id } = (await o.post('/secrets', { name: 's', type: 'generic', value: 'v' })).json;
    const dev = await colleague(o, 'developer');
    const asked = (await dev.o.get(`/secrets/${id}`)).json.error.approval.id;
    const terminal = await signInTerminal(browser);
    const kind = [403, 'CREDENTIAL_KIND_NOT_ALLOWED'];
    for (const verb of ['approve', 'reject'])
      expect(codeOf(await terminal.o.post(`/approvals/${asked}/${verb}`)), verb).toEqual(kind);
    const as = { Authorization: `Bearer ${terminal.token}` };
    expect(codeOf(await browser.auth('/confirm/options', {}, as))).toEqual(kind);
    const response = await browser.passkey.get(await browser.confirmOptions());
    expect(codeOf(await browser.auth('/confirm', { response }, as))).toEqual(kind);
    expect((await browser.o.post(`/approvals/${asked}/approve`)).status).toBe(200);
    // It may withdraw what it asked for itself.
    const devTerminal = await signInTerminal(dev);
    const own = (
      await devTerminal.o.get(
        `/secrets/${(await o.post('/secrets', { name: 't', type: 'generic', value: 'v' })).json.id}`,
      )
    ).json.error.approval.id;
    expect((await devTerminal.o.post(`/approvals/${own}/cancel`)).status).toBe(200);
  });

  slow('confirmation: does nothing that needs one, and is told to use a browser', async () => {
    const { o, browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const kind = [403, 'CREDENTIAL_KIND_NOT_ALLOWED'];
    for (const [method, path, body] of [
      ['POST', '/panic', { reason: 'a laptop was stolen' }],
      ['DELETE', '', { confirm: 'an org' }],
      ['POST', `/members/${o.owner}/enrolments`, undefined],
      ['POST', '/members', { email: 'eve@example.com', name: 'Eve', role: 'owner' }],
      ['POST', `/members/${o.owner}/passkeys/options`, undefined],
      ['POST', '/api-keys', { name: 'k', scopes: ['*'] }],
    ] as const)
      expect(codeOf(await terminal.o.call(method, path, body)), `${method} ${path}`).toEqual(kind);
  });

  slow('has the permissions of its member from the next request on, and none after removal', async () => {
    const { o, browser } = await newSignedIn();
    const ben = await signIn(o, 'developer');
    const terminal = await signInTerminal(ben);
    expect((await terminal.o.get('/api-keys')).status).toBe(200);
    await browser.o.patch(`/members/${ben.member.id}`, { role: 'viewer' });
    expect(codeOf(await terminal.o.get('/api-keys'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await terminal.refresh()).json.member.role).toBe('viewer');
    await browser.o.del(`/members/${ben.member.id}`);
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await terminal.refresh()).status).toBe(401);
  });

  slow('is revoked together with the passkey of the confirming browser', async () => {
    const { o, browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const mine = `/members/${o.owner}/passkeys`;
    const response = await (await newPasskey(ORIGIN)).create((await browser.o.post(`${mine}/options`)).json);
    const [first] = (await browser.o.get(mine)).json.data;
    expect((await browser.o.post(mine, { response })).status).toBe(201);
    expect((await browser.o.del(`${mine}/${first.id}`)).status).toBe(204);
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
  });

  slow('panic: ends it, also between confirmation and the next poll', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const waiting = newTerminal();
    await waiting.start();
    await decide(browser, 'confirm', waiting.codes.user_code);
    expect((await browser.o.post('/panic', { reason: 'a laptop was stolen' })).status).toBe(200);
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await terminal.refresh()).status).toBe(401);
    expect(codeOf(await waiting.poll())).toEqual([400, 'ACCESS_DENIED']);
  });

  slow('ends between confirmation and the next poll with the sessions of its member', async () => {
    const { browser } = await newSignedIn();
    const terminal = newTerminal();
    await terminal.start();
    await decide(browser, 'confirm', terminal.codes.user_code);
    await send('DELETE', '/api/v1/auth/sessions', { token: browser.token });
    expect(codeOf(await terminal.poll())).toEqual([400, 'ACCESS_DENIED']);
  });

  slow('is revoked together with its organisation', async () => {
    const { browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const waiting = newTerminal();
    await waiting.start();
    await decide(browser, 'confirm', waiting.codes.user_code);
    expect((await browser.o.del('', { confirm: 'an org' })).status).toBe(204);
    expect((await terminal.whoami()).status).toBe(401);
    expect((await terminal.refresh()).status).toBe(401);
    expect(codeOf(await waiting.poll())).toEqual([400, 'ACCESS_DENIED']);
  });

  it('containment of the browser session that confirmed it ends it too', async () => {
    const { o, browser } = await newSignedIn();
    const terminal = await signInTerminal(browser);
    const contained = await o.post(`/credentials/${sidOf(browser.token)}/contain`, {});
    expect(contained.status, contained.text).toBe(200);
    expect(codeOf(await terminal.whoami())).toEqual([401, 'TOKEN_REVOKED']);
  });
});
