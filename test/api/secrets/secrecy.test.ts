// After a whole run not one byte of a value, a token or a key lies in D1, in a gate or in what was logged.
import { env, exports } from 'cloudflare:workers';
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { newWebhook } from '../../support/integrations/webhooks';
import { newLink, view } from '../../support/shares';
import { invite, newBrowser, newSignedIn, ORIGIN } from '../../support/signin/browser';
import { newDevice, proofOf, WHOAMI, whoamiBy } from '../../support/signin/device';
import { exchange, newIssuer, newTrust } from '../../support/signin/issuers';
import { newPasskey } from '../../support/signin/passkey';
import { decide, newTerminal, signInTerminal } from '../../support/signin/terminal';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const bindings = env as unknown as { GATE: DurableObjectNamespace; MASTER_KEYS: string };

/** Every way in which a text may lie somewhere without being sealed. */
function spellings(text: string): string[] {
  const hex = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const base64 = [0, 1, 2].map((pad) => btoa('\0'.repeat(pad) + text).slice(pad ? 4 : 0, -4));
  return [text, hex, ...base64, [...text].reverse().join('')];
}

async function everythingIn(sql: (query: string) => Promise<unknown[]> | unknown[]): Promise<string> {
  const tables = (await sql(
    "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\' and name not like 'sqlite%'",
  )) as { name: string }[];
  const parts: string[] = [];
  for (const { name } of tables) parts.push(JSON.stringify(await sql(`select * from "${name}"`)));
  return parts.join('\n');
}

/** Collects what is logged from now on. */
function logging(): string[] {
  const logged: string[] = [];
  for (const level of ['log', 'warn', 'error', 'info'] as const)
    vi.spyOn(console, level).mockImplementation((...args) => void logged.push(args.join(' ')));
  return logged;
}

/** Everything that is kept or said about an organisation. */
async function placesOf(o: Caller, logged: string[]): Promise<Record<string, string>> {
  const audit = (await o.get('/audit-log?limit=100')).text;
  const events = (await o.get('/events?limit=100')).text;
  await (exports.default as unknown as ExportedHandler).scheduled?.(
    {} as never,
    undefined,
    undefined as never,
  );
  const queue = JSON.stringify(faults.queued);
  vi.restoreAllMocks();
  return {
    'the gate': await inGate(o, (_gate, state) =>
      everythingIn((query) => state.storage.sql.exec(query).toArray()),
    ),
    D1: await everythingIn(async (query) => (await db.prepare(query).all()).results),
    'the audit log': audit,
    'the events': events,
    'the queue': queue,
    'the log': logged.join('\n'),
  };
}

/** None of these texts, each with what it is, lies in one of the places. */
function expectNowhere(places: Record<string, string>, needles: Record<string, string>): void {
  for (const [what, text] of Object.entries(needles)) {
    expect(text.length, what).toBeGreaterThanOrEqual(8);
    // Of a short text, what base64 leaves of it would be found by chance.
    for (const spelling of text.length < 16 ? [text] : spellings(text))
      for (const [place, content] of Object.entries(places))
        expect(content.includes(spelling), `${what} in ${place}`).toBe(false);
  }
}

describe('secrecy: after use of every route', () => {
  afterEach(() => vi.restoreAllMocks());

  it('D1, the gate, the queue, the audit log and the log hold no value, token or key', async () => {
    const logged = logging();
    const o = await newOrg();
    const secret = await newSecret(o, { type: 'password', value: 'the-first-value-0123456789' });
    await o.patch(`/secrets/${secret.id}`, { value: 'the-second-value-0123456789' });
    const generated = (await o.post(`/secrets/${secret.id}/rotate`, {}, { 'Idempotency-Key': 'rotate' })).json
      .value as string;
    const first = (
      await o.post('/secrets', { name: 'N', type: 'password', generate: {} }, { 'Idempotency-Key': 'create' })
    ).json.value as string;
    const key = await newKey(o);
    const session = await newSession(key.o);
    const kept = (await o.post('/access-tokens', { ttlSeconds: 60 }, { 'Idempotency-Key': 'mint' })).json
      .token as string;
    await session.o.get(`/secrets/${secret.id}`);
    await session.o.get('/environments/production/values');
    await o.post('/secrets', { name: 'bad name', type: 'generic', value: 'a-refused-value-0123456789' });
    await o.post(`/secrets/${secret.id}/rollback`, { version: 1 });
    const provider = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] }))
      .json.token as string;
    const provide = (verb: string, fields: object) =>
      send('POST', `/api/v1/provider/${verb}`, {
        token: provider,
        body: { secretName: 'db/password', environment: 'production', ...fields },
        headers: { 'Idempotency-Key': verb },
      });
    await provide('issue', { value: 'the-issued-value-0123456789', ttlSeconds: 60 });
    await provide('rotate', { newValue: 'the-rotated-value-0123456789' });
    await provide('revoke', {});
    await provide('rotate', { newValue: 'the-refused-value-0123456789' });
    const { id: member, url } = await invite(o, 'viewer');
    const browser = newBrowser(await newPasskey(ORIGIN));
    await browser.enrol(url);
    const jwt = browser.token;
    const cookie = browser.cookie;
    await browser.refresh();
    const shared = await newSecret(o, { value: 'the-shared-value-0123456789' });
    const link = await newLink(o, shared.id, { passphrase: 'the-passphrase-0123456789' });
    await view(link, 'the-wrong-passphrase-0123456789');
    const seen = await view(link, 'the-passphrase-0123456789');
    const open = (
      await o.post(
        `/secrets/${shared.id}/share`,
        { kind: 'link', expires_in: 60, max_views: 9 },
        { 'Idempotency-Key': 'share' },
      )
    ).json.url as string;
    await view({ id: link.id, key: open.slice(open.indexOf('#') + 1) });
    const places = await placesOf(o, logged);
    for (const place of ['the gate', 'D1']) expect(places[place]).toContain(secret.id);
    expect(places.D1).toContain(member);
    expect(places.D1).toContain(link.id);
    expect(places.D1).not.toContain('"d":');
    expect(places['the log']).toContain(o.id);
    expect(places['the queue']).toContain('probe');
    expect(seen.json.value).toBe('the-shared-value-0123456789');
    expectNowhere(places, {
      'shared value': 'the-shared-value-0123456789',
      passphrase: 'the-passphrase-0123456789',
      'wrong passphrase': 'the-wrong-passphrase-0123456789',
      'key of a link': link.key.slice('svcshare_'.length),
      'key of a link whose response is stored': open.slice(open.indexOf('svcshare_') + 'svcshare_'.length),
      'first value': 'the-first-value-0123456789',
      'second value': 'the-second-value-0123456789',
      'generated value': generated,
      'value generated at creation': first,
      'refused value': 'a-refused-value-0123456789',
      'issued value': 'the-issued-value-0123456789',
      'rotated value': 'the-rotated-value-0123456789',
      'value that was not rotated to': 'the-refused-value-0123456789',
      'provider token': provider.slice('svcprov_'.length),
      'first key': o.token.slice('svc_live_'.length),
      'second key': key.token.slice('svc_live_'.length),
      'session token': session.token.slice('svcsess_'.length),
      'kept token': kept.slice('svcsess_'.length),
      'enrolment token': url.slice(url.indexOf('svcenrol_') + 'svcenrol_'.length),
      'JWT signature': jwt.split('.')[2] as string,
      'MAC of a cookie': cookie.split('.')[3] as string,
      'MAC of the next cookie': browser.cookie.split('.')[3] as string,
      'bootstrap token': BOOTSTRAP,
      'master key': bindings.MASTER_KEYS.slice(3),
    });
  });

  it('workload identity, terminals, devices, scans, imports and connections leave no token, code, text or credential', async () => {
    const logged = logging();
    const { o, browser } = await newSignedIn();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const other = await newIssuer({ url: issuer.url, kid: issuer.kid });
    const [accepted, expired, forged] = await Promise.all([
      issuer.sign(),
      issuer.sign({ exp: 1 }),
      other.sign(),
    ]);
    const workload = (await exchange(o, trust, accepted)).json.token as string;
    for (const token of [expired, forged, `${accepted}x`])
      expect((await exchange(o, trust, token)).status).toBe(401);

    const terminal = await signInTerminal(browser);
    const jwt = terminal.token;
    const refreshToken = terminal.refreshToken;
    await terminal.refresh();
    const denied = newTerminal();
    await denied.start();
    await decide(browser, 'deny', denied.codes.user_code);
    expect((await denied.poll()).json.error.code).toBe('ACCESS_DENIED');

    const device = await newDevice(o);
    const bound = await newSession((await newKey(o)).o, { device_id: device.id });
    const proof = await proofOf(device.keys, bound.token, 'GET', WHOAMI);
    expect((await whoamiBy(bound.token, proof)).status).toBe(200);

    const aws = `AKIA${'QWERTYUIOPASDFGH'}`;
    expect((await o.post('/scans', { text: `key = ${aws}` })).json.findings).toHaveLength(1);
    const data = { NEW: 'the-imported-value-0123456789', 'bad name': 'the-refused-import-0123456789' };
    await o.post('/integrations/import', { source: 'svc', onConflict: 'skip', data });
    const config = { webhookUrl: 'https://hooks.slack.com/services/T00/B00/the-webhook-of-slack-0123' };
    expect(
      (await o.post('/integrations', { name: 'chat', kind: 'notify', platform: 'slack', config })).status,
    ).toBe(201);
    const hook = await newWebhook(o, {
      url: 'https://hook.example.com/in?token=the-token-in-an-address-0123',
    });

    const places = await placesOf(o, logged);
    for (const id of [trust.id, device.id, hook.id]) expect(places.D1).toContain(id);
    expect(places['the audit log']).toContain('auth.exchange');
    expectNowhere(places, {
      'token of an issuer': accepted.split('.')[2] as string,
      'expired token of an issuer': expired.split('.')[2] as string,
      'forged token of an issuer': forged.split('.')[2] as string,
      'jti of a token of an issuer': decodeJwt(accepted).jti as string,
      'session token of a workload': workload.slice('svcsess_'.length),
      'device code': terminal.codes.device_code,
      'user code': terminal.codes.user_code,
      'user code as it is typed': denied.codes.user_code.replace('-', ''),
      'device code that was denied': denied.codes.device_code,
      'refresh token of a terminal': refreshToken.split('.')[3] as string,
      'next refresh token': terminal.refreshToken.split('.')[3] as string,
      'JWT of a terminal': jwt.split('.')[2] as string,
      'token that is bound to a device': bound.token.slice('svcsess_'.length),
      'proof of a device': proof.split('.')[2] as string,
      'text that was scanned': aws,
      'imported value': data.NEW,
      'value whose import was refused': data['bad name'],
      'address of a connection': 'the-webhook-of-slack-0123',
      'query of a webhook': 'the-token-in-an-address-0123',
      'signing secret of a webhook': hook.secret.slice('whsec_'.length),
    });
  });
});
