// After a whole run not one byte of a value, a token or a key lies in D1, in a gate or in what was logged.
import { env, exports } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { invite, newBrowser, ORIGIN } from '../../support/browser';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { newPasskey } from '../../support/passkey';
import { newLink, view } from '../../support/shares';
import { BOOTSTRAP, db, newOrg, newSecret, send, useWorld } from '../../support/world';

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

describe('secrecy: after use of every route', () => {
  it('D1, the gate, the queue, the audit log and the log hold no value, token or key', async () => {
    const logged: string[] = [];
    for (const level of ['log', 'warn', 'error', 'info'] as const)
      vi.spyOn(console, level).mockImplementation((...args) => void logged.push(args.join(' ')));
    const o = await newOrg();
    const secret = await newSecret(o, { type: 'password', value: 'the-first-value-0123456789' });
    await o.patch(`/secrets/${secret.id}`, { value: 'the-second-value-0123456789' });
    const generated = (await o.post(`/secrets/${secret.id}/rotate`, {}, { 'Idempotency-Key': 'rotate' })).json.value as string;
    const first = (await o.post('/secrets', { name: 'N', type: 'password', generate: {} }, { 'Idempotency-Key': 'create' })).json
      .value as string;
    const key = await newKey(o);
    const session = await newSession(key.o);
    const kept = (await o.post('/access-tokens', { ttlSeconds: 60 }, { 'Idempotency-Key': 'mint' })).json.token as string;
    await session.o.get(`/secrets/${secret.id}`);
    await session.o.get('/environments/production/values');
    await o.post('/secrets', { name: 'bad name', type: 'generic', value: 'a-refused-value-0123456789' });
    await o.post(`/secrets/${secret.id}/rollback`, { version: 1 });
    const provider = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] })).json.token as string;
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
    const [jwt, cookie] = [browser.token, browser.cookie];
    await browser.refresh();
    const shared = await newSecret(o, { value: 'the-shared-value-0123456789' });
    const link = await newLink(o, shared.id, { passphrase: 'the-passphrase-0123456789' });
    await view(link, 'the-wrong-passphrase-0123456789');
    const seen = await view(link, 'the-passphrase-0123456789');
    const open = (
      await o.post(`/secrets/${shared.id}/share`, { kind: 'link', expires_in: 60, max_views: 9 }, { 'Idempotency-Key': 'share' })
    ).json.url as string;
    await view({ id: link.id, key: open.slice(open.indexOf('#') + 1) });
    const audit = (await o.get('/audit-log?limit=100')).text;
    await (exports.default as unknown as ExportedHandler).scheduled?.({} as never, undefined, undefined as never);
    const queued = JSON.stringify(faults.queued);
    vi.restoreAllMocks();

    const stored = await inGate(o, (_gate, state) => everythingIn((query) => state.storage.sql.exec(query).toArray()));
    const inDatabase = await everythingIn(async (query) => (await db.prepare(query).all()).results);
    expect(stored).toContain(secret.id);
    expect(inDatabase).toContain(secret.id);
    expect(inDatabase).toContain(member);
    expect(inDatabase).not.toContain('"d":');
    expect(logged.join('\n')).toContain(o.id);
    expect(queued).toContain('probe');
    expect(seen.json.value).toBe('the-shared-value-0123456789');
    expect(inDatabase).toContain(link.id);
    const needles = {
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
    };
    for (const [what, text] of Object.entries(needles))
      for (const spelling of spellings(text))
        for (const [where, content] of Object.entries({
          'the gate': stored,
          D1: inDatabase,
          'the audit log': audit,
          'the queue': queued,
          'the log': logged.join('\n'),
        }))
          expect(content.includes(spelling), `${what} in ${where}`).toBe(false);
  });
});
