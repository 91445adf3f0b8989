// Reauthentication: what changes who may sign in, or ends the organisation, takes a passkey assertion of the
// last five minutes. A stolen JWT or a stolen refresh cookie alone does none of it, whatever its owner
// confirms meanwhile.

import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { CHALLENGE_LIVES, newChallenge } from '../../../src/auth/authentication/proofs';
import { allScopes } from '../../../src/auth/scopes';
import { fromBase64Url, toBase64Url } from '../../../src/crypto/bytes';
import { newId } from '../../../src/db/ids';
import { revision } from '../../../src/gate/request/writes';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults, holdNext, until } from '../../support/faults';
import { inCore, keyring } from '../../support/gate';
import { newMember } from '../../support/people';
import {
  another,
  type Browser,
  change,
  invite,
  newBrowser,
  newSignedIn,
  ORIGIN,
  signIn,
} from '../../support/signin/browser';
import { newIssuer, newTrust, newWorkload } from '../../support/signin/issuers';
import { newPasskey, type Spoil, spoiledAssertions } from '../../support/signin/passkey';
import { signInTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { newLongSecret } from '../../support/storage/planted';
import { MINUTE } from '../../support/time';
import { type Answer, type Caller, callerOf, codeOf, db, send, useWorld, whoami } from '../../support/world';

useWorld();

/** Every scope, without `*` itself. */
const EACH_SCOPE = allScopes.filter((scope) => scope.endsWith(':*'));
const REFUSED = [403, 'REAUTHENTICATION_REQUIRED'];
const passkey = (options?: Parameters<typeof newPasskey>[1]) => newPasskey(ORIGIN, options);
const later = (minutes: number) => {
  faults.clock = Date.now() + minutes * MINUTE;
};
const passkeysOf = async (o: Caller, member: string) =>
  ((await o.get(`/members/${member}/passkeys`)).json.data as { id: string }[]).map(({ id }) => id);
const confirmWith = (token: string, response: unknown, path = '/confirm') =>
  send('POST', `/api/v1/auth${path}`, { token, body: path === '/confirm' ? { response } : {} });

/** Every call that takes a confirmation, made by whoever holds a JWT of the owner. */
async function restricted(o: Caller & { owner: string }) {
  const viewer = await newMember(o, 'viewer');
  const second = await newMember(o, 'owner');
  const [own] = await passkeysOf(o, o.owner);
  const other = await signIn(o, 'developer');
  const [theirs] = await passkeysOf(o, other.member.id);
  const calls: Record<string, (as: Caller) => Promise<Answer>> = {
    'options of a passkey': (as) => as.post(`/members/${o.owner}/passkeys/options`),
    'add a passkey': async (as) => {
      const options = await as.post(`/members/${o.owner}/passkeys/options`);
      const response = options.status === 200 ? await (await passkey()).create(options.json) : null;
      return response ? as.post(`/members/${o.owner}/passkeys`, { response }) : options;
    },
    'rename an own passkey': (as) => as.patch(`/members/${o.owner}/passkeys/${own}`, { name: 'x' }),
    'remove an own passkey': (as) => as.del(`/members/${o.owner}/passkeys/${own}`),
    "rename another's passkey": (as) =>
      as.patch(`/members/${other.member.id}/passkeys/${theirs}`, { name: 'x' }),
    "remove another's passkey": (as) => as.del(`/members/${other.member.id}/passkeys/${theirs}`),
    're-enrol': (as) => as.post(`/members/${viewer.id}/enrolments`),
    're-enrol oneself': (as) => as.post(`/members/${o.owner}/enrolments`),
    'invite an owner': (as) => as.post('/members', { email: 'thief@example.com', name: 'T', role: 'owner' }),
    'make an owner': (as) => as.patch(`/members/${viewer.id}`, { role: 'owner' }),
    'demote an owner': (as) => as.patch(`/members/${second.id}`, { role: 'viewer' }),
    'remove an owner': (as) => as.del(`/members/${second.id}`),
    panic: (as) => as.post('/panic', { reason: 'to lock them out', api_keys: true }),
    'delete the organisation': (as) => as.del('', { confirm: 'an org' }),
  };
  return calls;
}

describe('reauthentication', () => {
  it('is required five minutes after sign-in, for every call that changes who may sign in or that ends credentials', async () => {
    const { o, browser } = await newSignedIn();
    const calls = await restricted(o);
    // What waits in the gate grows with each request.
    const stored = async () => {
      const answers = await Promise.all(
        ['/members', `/members/${o.owner}/passkeys`, ''].map((path) => o.get(path)),
      );
      return answers.map(({ text }) => text.replace(/,"backlog":\{[^}]*\}/, ''));
    };
    const before = await stored();
    later(5.1);
    const as = browser.o;
    for (const [what, call] of Object.entries(calls)) {
      const answer = await call(as);
      expect(codeOf(answer), what).toEqual(REFUSED);
      expect(answer.json.error.message).toContain('/auth/confirm');
    }
    expect(await stored()).toEqual(before);
    const { data } = (await o.get('/audit-log?action=passkey.delete')).json;
    expect(data[0]).toMatchObject({ outcome: 'denied', status: 403, actor: { kind: 'member', id: o.owner } });
    // The rest of what a member does needs none.
    expect((await as.patch(`/members/${o.owner}`, { name: 'Anna' })).status).toBe(200);
    expect((await as.post('/members', { email: 'v@example.com', name: 'V', role: 'viewer' })).status).toBe(
      201,
    );
    expect((await as.get(`/members/${o.owner}/passkeys`)).status).toBe(200);
  });

  it('is required of every credential that somebody can make without one: none of them does any of this', async () => {
    const { o, browser } = await newSignedIn();
    const first = (await whoami(o)).json.id;
    const calls = {
      ...(await restricted(o)),
      'limit the addresses of members': (as: Caller) => as.patch('', { allowed_addresses: ['192.0.2.0/24'] }),
      'keep the audit log for less time': (as: Caller) => as.patch('', { audit_retention_days: 90 }),
      'rotate a key that acts as an owner': (as: Caller) => as.post(`/api-keys/${first}/rotate`, {}),
      'confirm an export of the audit log': (as: Caller) =>
        as.post('/audit-log/export/confirm', { through: 1, hash: 'a'.repeat(64) }),
    };
    const admin = await signIn(o, 'admin');
    const terminal = await signInTerminal(browser);
    later(5.1);
    const owner = browser.o;
    const issuer = await newIssuer();
    const made: Record<string, Caller> = {
      'API key with each scope by its name': (await newKey(owner, { scopes: EACH_SCOPE })).o,
      'API key for all environments': (
        await newKey(owner, { scopes: ['*'], environments: ['development', 'staging', 'production'] })
      ).o,
      'API key for all names': (await newKey(terminal.o, { scopes: ['*'], secrets: ['*'] })).o,
      agent: (await newAgent(owner, { scopes: ['*'] })).o,
      workload: (await newWorkload(o, await newTrust(owner, issuer, { scopes: ['*'] }), await issuer.sign()))
        .o,
      'break-glass token': (await newBreakGlass(owner)).o,
      'provider token': (await newProvider(owner)).o,
      'terminal session': terminal.o,
    };
    made['session token'] = (await newSession(made['API key with each scope by its name'] as Caller)).o;
    for (const [who, as] of Object.entries(made))
      for (const [what, call] of Object.entries(calls))
        expect((await call(as)).status, `${who}: ${what}`).toBe(403);
    // An admin makes keys that hold everything, but none that acts as an owner.
    const key = (await newKey(admin.o, { scopes: ['*'] })).o;
    // Rotated by an admin, a key no longer acts as an owner.
    const { 'rotate a key that acts as an owner': rotate, ...others } = calls;
    for (const [what, call] of Object.entries(others))
      expect((await call(key)).status, `API key of an admin: ${what}`).toBe(403);
    const successor = o.as((await rotate(key)).json.token);
    for (const [what, call] of Object.entries(others))
      expect((await call(successor)).status, `successor: ${what}`).toBe(403);
  });

  it('is required to lift the limits of an API key that then acts as an owner, and only owners do', async () => {
    const { o, browser } = await newSignedIn();
    const limits = { allowed_addresses: ['192.0.2.0/24', '127.0.0.0/8', '::1'] };
    const limited = async () => newKey(o, { scopes: ['*'], ...limits });
    const lift = (as: Caller, { id }: { id: string }) =>
      as.patch(`/api-keys/${id}`, { allowed_addresses: null });
    const actsAsOwner = async ({ o: key }: { o: Caller }) =>
      (await key.patch('', { audit_retention_days: 400 })).status === 200;
    const admin = await signIn(o, 'admin');
    const terminal = await signInTerminal(browser);
    const key = await limited();
    expect(codeOf(await lift(terminal.o, key))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    later(5.1);
    expect(codeOf(await lift(browser.o, key))).toEqual(REFUSED);
    // What limits it further needs no confirmation.
    const narrower = { allowed_addresses: ['192.0.2.0/24', '127.0.0.0/8'] };
    expect((await browser.o.patch(`/api-keys/${key.id}`, narrower)).status).toBe(200);
    await browser.confirm();
    expect((await lift(browser.o, key)).status).toBe(200);
    expect(await actsAsOwner(key)).toBe(true);
    const together = await limited();
    const both = { allowed_addresses: null, aws: true };
    expect((await admin.o.patch(`/api-keys/${together.id}`, both)).status).toBe(200);
    expect(await actsAsOwner(together)).toBe(false);
    const lifted = await limited();
    expect((await lift(admin.o, lifted)).status).toBe(200);
    expect(await actsAsOwner(lifted)).toBe(false);
    // Nor once an owner limits it again and lifts that.
    expect((await o.patch(`/api-keys/${lifted.id}`, limits)).status).toBe(200);
    expect((await lift(o, lifted)).status).toBe(200);
    expect(await actsAsOwner(lifted)).toBe(false);
  });

  slow('lasts five minutes from sign-in, enrolment and confirmation, only for that session', async () => {
    const { o, browser } = await newSignedIn();
    const rename = async (as: Browser) =>
      (await as.o.patch(`/members/${o.owner}/passkeys/${own}`, { name: 'x' })).status;
    const [own] = await passkeysOf(o, o.owner);
    const second = await another(browser);
    const { sid } = decodeJwt(browser.token);
    later(4.9);
    expect([await rename(browser), await rename(second)]).toEqual([200, 200]);
    later(6);
    expect([await rename(browser), await rename(second)]).toEqual([403, 403]);
    const answer = await browser.confirm();
    expect([answer.status, Object.keys(answer.json).sort()]).toEqual([200, ['expiresAt', 'member', 'token']]);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-svc_refresh=[\w.-]+; Max-Age=43\d{3}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(decodeJwt(answer.json.token).sid).toBe(sid);
    expect([await rename(browser), await rename(second)]).toEqual([200, 403]);
    later(10.9);
    expect(await rename(browser)).toBe(200);
    expect((await browser.refresh()).status).toBe(200);
    expect(await rename(browser)).toBe(200);
    later(11.1);
    expect(await rename(browser)).toBe(403);
  });

  slow('allows a confirmed member each of these calls', async () => {
    for (const what of Object.keys(await restricted((await newSignedIn()).o))) {
      faults.clock = null;
      const { o, browser } = await newSignedIn();
      const call = (await restricted(o))[what] as (as: Caller) => Promise<Answer>;
      later(6);
      expect(codeOf(await call(browser.o)), what).toEqual(REFUSED);
      await browser.confirm();
      const { status, text } = await call(browser.o);
      // Both have one.
      if (what.startsWith('remove') && what.endsWith('passkey')) expect(text).toContain('LAST_PASSKEY');
      else expect(status, `${what}: ${text}`).toBeLessThan(300);
    }
  });

  slow('is not required from API keys that act as an owner', async () => {
    const { o } = await newSignedIn();
    const { id } = await newMember(o, 'viewer');
    later(60);
    expect((await o.post(`/members/${id}/enrolments`)).status).toBe(201);
    expect((await o.patch(`/members/${id}`, { role: 'owner' })).status).toBe(200);
    expect((await o.post('/panic', { reason: 'x' })).status).toBe(200);
    expect((await o.del('', { confirm: 'an org' })).status).toBe(204);
  });

  it('is checked after kind and scope', async () => {
    const { o } = await newSignedIn();
    const viewer = await signIn(o, 'viewer');
    later(6);
    expect(codeOf(await viewer.o.post(`/members/${o.owner}/enrolments`))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect(
      codeOf(await viewer.o.post('/members', { email: 'x@example.com', name: 'X', role: 'owner' })),
    ).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  slow('is required from a session that a release before 0.4.0 began', async () => {
    const { o, browser } = await newSignedIn();
    const { sid } = decodeJwt(browser.token) as { sid: string };
    await change(o.id, (call) => {
      const row = call.core.rows.get('credential', sid);
      if (!row) throw new Error('no session');
      return {
        status: 200,
        data: null,
        writes: [
          revision(call, 'credential', row, {
            refresh: { live: [1], used: [], last: 1 },
            confirmed_at: null,
          }),
        ],
      };
    });
    const [own] = await passkeysOf(o, o.owner);
    const rename = async () =>
      (await browser.o.patch(`/members/${o.owner}/passkeys/${own}`, { name: 'x' })).status;
    expect(await rename()).toBe(403);
    expect((await browser.confirm()).status).toBe(200);
    expect(await rename()).toBe(200);
  });
});

describe('reauthentication: a stolen JWT', () => {
  it('gains nothing when its owner confirms, in the same second or later', async () => {
    const { o, browser } = await newSignedIn();
    const calls = await restricted(o);
    const stolen = callerOf(o.id, browser.token);
    later(6);
    expect((await browser.confirm()).status).toBe(200);
    expect(browser.token).not.toBe(stolen.token);
    for (const [what, call] of Object.entries(calls))
      expect(codeOf(await call(stolen)), what).toEqual(REFUSED);
    // It goes on for what needs no confirmation, as the owner's other tabs do.
    expect((await stolen.get('/members')).status).toBe(200);
    expect((await calls['rename an own passkey']?.(browser.o))?.status).toBe(200);
  });

  it('cannot confirm with a passkey of its own, in its own org or as another member', async () => {
    const { o, browser } = await newSignedIn();
    const mallory = await signIn(o, 'admin');
    const stranger = await newSignedIn();
    const options = await browser.confirmOptions();
    const thief = browser.token;
    for (const by of [mallory, stranger.browser])
      for (const handle of [undefined, null, browser.passkey.handle])
        for (const id of [undefined, browser.passkey.id]) {
          const response = await by.passkey.get(options, {
            ...(handle !== undefined && { handle }),
            ...(id && { id }),
          });
          expect(codeOf(await confirmWith(thief, response))).toEqual([401, 'UNAUTHENTICATED']);
        }
    expect(mallory.member.org_id).toBe(o.id);
  });
});

describe('reauthentication: a stolen refresh cookie', () => {
  it('is refused after a confirmation, also within ten seconds, and its use ends the session', async () => {
    const { o, browser } = await newSignedIn();
    const stolen = browser.cookie;
    const thief = newBrowser(browser.passkey);
    // Its use before the confirmation leaves the owner's own cookie to be forgiven, and the thief with
    // another.
    expect((await thief.refresh(stolen)).status).toBe(200);
    const theirs = thief.cookie;
    const jwt = thief.token;
    later(6);
    expect((await browser.confirm()).status).toBe(200);
    expect(codeOf(await callerOf(o.id, jwt).post(`/members/${o.owner}/enrolments`))).toEqual(REFUSED);
    expect((await thief.refresh(theirs)).status).toBe(401);
    expect(codeOf(await browser.whoami())).toEqual([401, 'TOKEN_REVOKED']);
  });

  it('that was used just before a confirmation is not accepted after it', async () => {
    const { browser } = await newSignedIn();
    const stolen = browser.cookie;
    expect((await browser.refresh()).status).toBe(200);
    expect((await browser.confirm()).status).toBe(200);
    expect(codeOf(await newBrowser(browser.passkey).refresh(stolen))).toEqual([401, 'TOKEN_REVOKED']);
    expect(codeOf(await browser.whoami())).toEqual([401, 'TOKEN_REVOKED']);
  });

  slow('that was set by the confirmation refreshes, and earlier ones do not', async () => {
    const { browser } = await newSignedIn();
    await browser.confirm();
    expect((await browser.refresh()).status).toBe(200);
    expect((await browser.refresh()).status).toBe(200);
    expect((await browser.whoami()).status).toBe(200);
  });
});

describe('reauthentication: confirm', () => {
  it('offers the passkeys of the member, with user verification, only to a browser session of the member', async () => {
    const { o, browser } = await newSignedIn();
    const options = await browser.confirmOptions();
    expect(options).toMatchObject({
      rpId: 'localhost',
      timeout: CHALLENGE_LIVES,
      userVerification: 'required',
      allowCredentials: [{ id: browser.passkey.id, type: 'public-key' }],
    });
    expect(fromBase64Url(options.challenge)).toHaveLength(38);
    for (const path of ['/confirm/options', '/confirm']) {
      const response = await browser.passkey.get(options);
      expect(codeOf(await confirmWith(o.token, response, path))).toEqual([
        403,
        'CREDENTIAL_KIND_NOT_ALLOWED',
      ]);
    }
    expect(codeOf(await send('POST', '/api/v1/auth/confirm/options', { body: {} }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
  });

  slow(
    'is refused with the body of a refused login for every reason, and leaves an audit entry',
    async () => {
      const { o, browser } = await newSignedIn();
      const twin = await another(browser);
      const { proof } = await keyring().deployment();
      const sid = decodeJwt(browser.token).sid as string;
      const challenge = (purpose: string[], now?: number) => ({
        challenge: toBase64Url(newChallenge(proof, purpose, now)),
      });
      const creation = (await browser.o.post(`/members/${o.owner}/passkeys/options`)).json;
      const spoils: Record<string, Spoil> = {
        'challenge of a login': { challenge: (await browser.options()).challenge },
        'challenge of a passkey': { challenge: creation.challenge },
        'challenge of another session': { challenge: (await twin.confirmOptions()).challenge },
        'challenge of another org': challenge(['confirm', 'org_x', sid, '1']),
        'challenge of an earlier confirmation': challenge(['confirm', o.id, sid, '0']),
        'challenge that is five minutes old': challenge(
          ['confirm', o.id, sid, '1'],
          Date.now() - CHALLENGE_LIVES,
        ),
        ...(await spoiledAssertions()),
        'a handle of nobody': { handle: 'AAAA' },
        'a credential that is not there': { id: 'AAAA' },
      };
      const bodies = new Set([(await newBrowser(browser.passkey).login({ signature: 'AAAA' })).text]);
      const before = browser.token;
      const remaining = async () => Number((await browser.whoami()).headers.get('x-ratelimit-remaining'));
      const left = await remaining();
      for (const [what, spoil] of Object.entries(spoils)) {
        const answer = await browser.confirm(spoil);
        expect(codeOf(answer), what).toEqual([401, 'UNAUTHENTICATED']);
        expect(answer.headers.get('set-cookie'), what).toBe(null);
        bodies.add(answer.text);
      }
      expect(bodies.size).toBe(1);
      const many = Object.keys(spoils).length;
      expect(left - (await remaining())).toBe(2 * many + 1);
      const { data } = (await o.get('/audit-log?action=auth.confirm&outcome=denied&limit=100')).json;
      expect(
        data.filter(
          ({ status, resource }: { status: number; resource: string }) => status === 401 && resource === sid,
        ),
      ).toHaveLength(many);
      expect(browser.token).toBe(before);
      // The right one, without a handle as well.
      expect((await browser.confirm(challenge(['confirm', o.id, sid, '1']))).status).toBe(200);
      expect((await browser.confirm({ handle: null })).status).toBe(200);
    },
  );

  it('accepts each challenge once, also with concurrent requests and with an Idempotency-Key', async () => {
    const { browser } = await newSignedIn();
    const { token } = browser;
    const response = await browser.passkey.get(await browser.confirmOptions());
    const first = await Promise.all([1, 2, 3, 4].map(() => confirmWith(token, response)));
    expect(first.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
    const used = first.find(({ status }) => status === 200)?.json.token as string;
    for (const bearer of [token, used]) {
      const again = await send('POST', '/api/v1/auth/confirm', {
        token: bearer,
        body: { response },
        headers: { 'Idempotency-Key': 'k' },
      });
      expect(codeOf(again)).toEqual([401, 'UNAUTHENTICATED']);
    }
    const fresh = { response: await browser.passkey.get(await browser.confirmOptions()) };
    const once = () =>
      send('POST', '/api/v1/auth/confirm', { token: used, body: fresh, headers: { 'Idempotency-Key': 'k' } });
    expect([(await once()).status, (await once()).status]).toEqual([200, 401]);
    const options = () =>
      send('POST', '/api/v1/auth/confirm/options', { token: used, headers: { 'Idempotency-Key': 'o' } });
    const a = await options();
    const b = await options();
    expect([a.status, b.status, a.json.challenge === b.json.challenge]).toEqual([200, 200, false]);
    expect(Object.keys(a.json).sort()).toEqual(Object.keys(b.json).sort());
  });

  it('checks the counter, in D1 and in the gate', async () => {
    const { o, browser } = await newSignedIn({ counts: true });
    expect((await browser.confirm({ counter: 10 })).status).toBe(200);
    for (const counter of [10, 9, 0])
      expect((await browser.confirm({ counter })).status, String(counter)).toBe(401);
    await inCore(o, (core) => {
      const [row] = core.rows.after('passkey', '', 1);
      if (row) core.rows.put('passkey', { ...row, counter: 50 });
    });
    expect((await browser.confirm({ counter: 20 })).status).toBe(401);
    expect((await browser.confirm({ counter: 51 })).status).toBe(200);
    expect((await newBrowser(browser.passkey).login({ counter: 51 })).status).toBe(401);
  });

  slow('is refused for a passkey that was altered in D1 or removed', async () => {
    const { o, browser } = await newSignedIn();
    const options = (await browser.o.post(`/members/${o.owner}/passkeys/options`)).json;
    const second = await passkey();
    const { id } = (
      await browser.o.post(`/members/${o.owner}/passkeys`, { response: await second.create(options) })
    ).json;
    expect((await browser.confirm({}, second)).status).toBe(200);
    await db.prepare("update passkeys set name = 'x' where org_id = ? and id = ?").bind(o.id, id).run();
    expect((await browser.confirm({}, second)).status).toBe(401);
    await browser.o.del(`/members/${o.owner}/passkeys/${id}`);
    expect((await browser.confirm({}, second)).status).toBe(401);
    expect((await browser.confirm()).status).toBe(200);
  });

  it('integrity: ignores the counter in a planted passkey row of another member', async () => {
    const { o, browser } = await newSignedIn();
    const mallory = await signIn(o, 'admin');
    // The row says that it is the owner's; its MAC says otherwise.
    await db
      .prepare('update passkeys set member_id = ? where org_id = ? and member_id = ?')
      .bind(o.owner, o.id, mallory.member.id)
      .run();
    expect((await browser.confirm({ handle: browser.passkey.handle }, mallory.passkey)).status).toBe(401);
  });

  it('is refused for an ended session', async () => {
    const { browser } = await newSignedIn();
    const response = await browser.passkey.get(await browser.confirmOptions());
    await browser.logout();
    expect(codeOf(await confirmWith(browser.token, response))).toEqual([401, 'TOKEN_REVOKED']);
  });
});

describe('panic: by a member', () => {
  const panic = (as: Caller, fields: Record<string, unknown> = {}) =>
    as.post('/panic', { reason: 'a laptop was stolen', ...fields });

  it('ends every copy of the cookie and every other JWT of the session that it keeps, also right after sign-in', async () => {
    const { o, browser } = await newSignedIn();
    const old = callerOf(o.id, browser.token);
    const stolen = browser.cookie;
    const thief = newBrowser(browser.passkey);
    expect((await thief.refresh(stolen)).status).toBe(200);
    expect((await old.get('/members')).status).toBe(200);
    expect((await panic(old)).status).toBe(200);
    // The JWT that called goes on; the thief's, which is newer, and every cookie do not.
    expect((await old.get('/members')).status).toBe(200);
    expect(codeOf(await thief.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect(codeOf(await thief.o.post('/panic', { reason: 'x' }))).toEqual([401, 'TOKEN_REVOKED']);
    // The owner goes on with a passkey; JWTs of before stay refused.
    expect((await browser.confirm()).status).toBe(200);
    expect((await browser.whoami()).status).toBe(200);
    expect(codeOf(await thief.whoami())).toEqual([401, 'TOKEN_REVOKED']);
    expect(codeOf(await old.get('/members'))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await browser.refresh()).status).toBe(200);
    expect((await browser.whoami()).status).toBe(200);
    for (const cookie of [stolen, thief.cookie]) expect((await thief.refresh(cookie)).status).toBe(401);
  });

  it('refuses requests in flight with another JWT of the session', async () => {
    const { o, browser } = await newSignedIn();
    const thief = newBrowser(browser.passkey);
    const owner = callerOf(o.id, browser.token);
    expect((await thief.refresh(browser.cookie)).status).toBe(200);
    const { id } = await newLongSecret(o);
    const { held, release } = holdNext('read');
    const first = o.patch(`/secrets/${id}`, { value: 'first' });
    await held();
    const before = faults.gate;
    const second = thief.o.patch(`/secrets/${id}`, { value: 'second' });
    await until(() => faults.gate > before);
    expect((await panic(owner)).status).toBe(200);
    release();
    expect((await first).status).toBe(200);
    expect(codeOf(await second)).toEqual([401, 'TOKEN_REVOKED']);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe('first');
  });

  it('ends a session when its stolen cookie is used', async () => {
    const { browser } = await newSignedIn();
    const stolen = browser.cookie;
    expect((await panic(browser.o)).status).toBe(200);
    expect((await newBrowser(browser.passkey).refresh(stolen)).status).toBe(401);
    expect(codeOf(await browser.whoami())).toEqual([401, 'TOKEN_REVOKED']);
  });

  slow(
    'lists passkeys, sessions, waiting enrolments and grants of the last seven days, newest first',
    async () => {
      const { o, browser } = await newSignedIn();
      const twin = await another(browser);
      const ben = await signIn(o, 'developer');
      const waiting = await invite(o, 'viewer');
      const grant = (
        await o.post('/grants', {
          grantee: { type: 'member', id: waiting.id },
          permission: 'read',
          secrets: ['app/*'],
        })
      ).json;
      const { recent } = (await panic(browser.o)).json;
      const bens = await passkeysOf(o, ben.member.id);
      const anns = await passkeysOf(o, o.owner);
      expect(recent.passkeys).toEqual([
        {
          id: bens[0],
          member_id: ben.member.id,
          name: 'Passkey on this device',
          created_at: expect.stringMatching(/Z$/),
        },
        {
          id: anns[0],
          member_id: o.owner,
          name: 'Passkey on this device',
          created_at: expect.stringMatching(/Z$/),
        },
      ]);
      const sid = ({ token }: Browser) => decodeJwt(token).sid;
      expect(recent.sessions.map(({ id }: { id: string }) => id)).toEqual([
        sid(ben),
        sid(twin),
        sid(browser),
      ]);
      expect(recent.sessions[0]).toEqual({
        id: sid(ben),
        member_id: ben.member.id,
        passkey_id: bens[0],
        created_at: expect.stringMatching(/Z$/),
        last_used_at: null,
        last_used_place: null,
      });
      expect(recent.enrolments).toEqual([
        {
          member_id: waiting.id,
          email: expect.stringContaining('@'),
          created_at: expect.any(String),
          expires_at: expect.any(String),
        },
      ]);
      expect(recent.grants).toEqual([
        {
          id: grant.id,
          grantee: { type: 'member', id: waiting.id },
          permission: 'read',
          created_by: expect.stringMatching(/^key_/),
          created_at: expect.any(String),
          expires_at: null,
        },
      ]);
      expect(recent.trusts).toEqual([]);
      later(8 * 24 * 60);
      expect((await panic(o)).json.recent).toEqual({
        passkeys: [],
        sessions: [],
        enrolments: [],
        grants: [],
        trusts: [],
        log_streams: [],
        sso_connections: [],
        domains: [],
        scim_tokens: [],
        upstreams: [],
      });
    },
  );

  slow('limits each list to 1,000 items and 200 kB', async () => {
    const { o, browser } = await newSignedIn();
    const now = Date.now();
    await inCore(o, (core) => {
      const [member] = core.rows.after('member', '', 1);
      const [passkey] = core.rows.after('passkey', '', 1);
      const session = core.rows.within('credential', 'browser')[0];
      if (!member || !passkey || !session) throw new Error('nobody has enrolled');
      const long = '€'.repeat(100);
      core.storage.transactionSync(() => {
        for (let i = 0; i < 1500; i++) {
          const id = newId('mem');
          const enrolment = {
            enrolment_hash: String(i),
            enrolment_made_at: now,
            enrolment_ends_at: now + MINUTE,
          };
          core.rows.put('member', {
            ...member,
            id,
            email: `${i}${'x'.repeat(230)}@example.com`,
            role: 'viewer',
            ...enrolment,
          });
          core.rows.put('passkey', { ...passkey, id: newId('psk'), member_id: id, name: long });
          const ses = newId('ses');
          core.rows.put('credential', { ...session, id: ses, token_hash: ses, member_id: id });
          core.rows.put('grant', {
            org_id: o.id,
            id: newId('grt'),
            grantee_type: 'member',
            grantee_id: id,
            permission: 'read',
            environments: null,
            accountable: null,
            secrets: [long],
            upstreams: null,
            created_by: id,
            dies_with: null,
            created_at: now,
            expires_at: null,
            revision: 1,
            mac: '',
          });
        }
      });
    });
    const stored = ['passkeys', 'sessions', 'enrolments', 'grants'];
    const once = () => browser.o.post('/panic', { reason: 'x' }, { 'Idempotency-Key': 'once' });
    const answer = await once();
    expect(answer.status).toBe(200);
    for (const [what, list] of Object.entries(answer.json.recent as Record<string, object[]>)) {
      expect(list.length, what).toBeLessThanOrEqual(1000);
      expect(JSON.stringify(list).length, what).toBeLessThan(205_000);
      if (stored.includes(what)) expect(list.length, what).toBeGreaterThan(300);
    }
    expect((await once()).json).toEqual(answer.json);
  });
});
