// Panic with `sso`: nobody signs in by single sign-on until an owner changes the connection; and what a panic
// lists of connections, domains and SCIM tokens.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { faults } from '../../support/faults';
import { newIdp } from '../../support/signin/scim';
import {
  claimsOf,
  connected,
  newSsoBrowser,
  reasonOf,
  stopConnections,
} from '../../support/signin/sso-signin';
import { DAY } from '../../support/time';
import { codeOf, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const STOPPED = 'a panic stopped the connection, until an owner changes it';

describe('single sign-on: a panic with sso', () => {
  it('refuses sign-ins until an owner changes the connection', async () => {
    const { o, owner, provider, at, connection } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    const path = `/sso-connections/${connection}`;
    await newSsoBrowser().signIn(provider, claims);
    expect((await owner.o.post('/panic', { reason: 'a panic' })).status).toBe(200);
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
    expect((await o.get(path)).json.stopped_at).toBeNull();
    expect((await o.post('/panic', { reason: 'a panic', sso: true })).status).toBe(200);
    expect((await o.get(path)).json.stopped_at).toMatch(/^20/);
    for (const one of [claims, claimsOf(at('eve'))]) {
      expect((await newSsoBrowser().signIn(provider, one)).status).toBe(403);
      expect(await reasonOf(o)).toBe(STOPPED);
    }
    // Only an owner in a confirmed browser session changes it, and owners sign in with their passkeys.
    expect(codeOf(await o.patch(path, { name: 'again' }))[0]).toBe(403);
    expect((await owner.login()).status).toBe(200);
    const changed = await owner.o.patch(path, { name: 'again' });
    expect([changed.status, changed.json.stopped_at], changed.text).toEqual([200, null]);
    expect((await newSsoBrowser().signIn(provider, claims)).status).toBe(303);
  });

  it('confirms no session either', async () => {
    const { o, provider, at } = await connected({ jit: 1 });
    const claims = claimsOf(at('bea'));
    expect((await o.post('/panic', { reason: 'a panic' })).status).toBe(200);
    const browser = newSsoBrowser();
    await browser.signIn(provider, claims);
    await browser.session();
    const started = await browser.start(
      { confirm: true, return_to: '/console' },
      { Authorization: `Bearer ${browser.token}` },
    );
    expect(started.status).toBe(200);
    await stopConnections(o);
    const auth_time = Math.floor(Date.now() / 1000);
    const answer = await browser.callback(provider.authorize(started.json.url, { ...claims, auth_time }));
    expect(answer.status).toBe(403);
  });
});

describe('panic: recent', () => {
  it('lists connections, domains and SCIM tokens of the last seven days', async () => {
    const { o, connection, domain, domainId } = await connected();
    const idp = await newIdp(o, { connection_id: connection });
    const { recent } = (await o.post('/panic', { reason: 'a panic' })).json;
    expect(recent.sso_connections).toMatchObject([{ id: connection, name: 'acme' }]);
    expect(recent.domains).toMatchObject([{ id: domainId, domain }]);
    expect(recent.scim_tokens).toMatchObject([{ id: idp.id, connection_id: connection }]);
    expect((await idp.get('/Users')).status).toBe(200);
    faults.clock = Date.now() + 8 * DAY;
    const later = (await o.post('/panic', { reason: 'a panic' })).json.recent;
    expect([later.sso_connections, later.domains, later.scim_tokens]).toEqual([[], [], []]);
  });
});
