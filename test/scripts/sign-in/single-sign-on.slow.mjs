// Single sign-on with a real provider (oidc-provider, which is certified) in a real browser, on the real
// service: sign-in, groups, a terminal, a link with a passkey, back-channel logout and `enforce`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, describe, it } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';
import { chromium } from 'playwright-core';
import { copyOfProject, freePort, startService } from '../service.mjs';
import { listening, newPerson, newResolver } from './single-sign-on.mjs';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const skip = fs.existsSync(executablePath) ? false : 'there is no Chromium';

const port = await freePort();
const at = `http://localhost:${port}`;
const DOMAIN = 'acme-people.com';
const groups = /** @type {Record<string, string[]>} */ ({ bea: ['ops'] });

/** The provider; `logout` is where it sends back-channel logouts. */
async function newProvider() {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  let handler = /** @type {http.RequestListener} */ (() => {});
  const idp = `http://127.0.0.1:${await listening((request, answer) => handler(request, answer))}`;
  const configure = (/** @type {string | undefined} */ logout) => {
    const provider = new Provider(idp, {
      jwks: { keys: [jwk] },
      clients: [
        {
          client_id: 'svc',
          client_secret: 'a-client-secret-of-the-test',
          redirect_uris: [`${at}/sso/callback`],
          ...(logout && { backchannel_logout_uri: logout, backchannel_logout_session_required: true }),
        },
      ],
      scopes: ['openid', 'email', 'profile', 'groups'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
      conformIdTokenClaims: false,
      // Its own refuses private addresses.
      fetch: (url, { method, headers, body }) => fetch(url, { method, headers, body }),
      features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
      cookies: { keys: ['a-key-of-the-test'] },
      findAccount: async (_, id) => ({
        accountId: id,
        claims: async () => ({
          sub: id,
          email: `${id}@${DOMAIN}`,
          email_verified: true,
          name: id,
          groups: groups[id] ?? [],
        }),
      }),
    });
    provider.on('backchannel.error', (_, error) => process.stderr.write(`back-channel logout: ${error}\n`));
    handler = provider.callback();
  };
  configure(undefined);
  return { idp, configure };
}

const resolver = skip ? undefined : await newResolver();
const service = skip
  ? undefined
  : await startService(copyOfProject(), {
      PORT: String(port),
      PUBLIC_URL: at,
      ALLOW_PRIVATE_TARGETS: 'true',
      DNS_OVER_HTTPS_URL: resolver?.url ?? '',
    });
const browser = skip ? undefined : await chromium.launch({ executablePath, args: ['--no-sandbox'] });
after(() => browser?.close());

/** Signs in at the provider. @param {import('playwright-core').Page} page @param {string} name */
async function logIn(page, name) {
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'x');
  await page.click('button[type=submit]');
  await page.waitForLoadState();
  if (!page.url().startsWith(at)) await page.click('button[type=submit]');
}

const person = () => newPerson(browser, { at, domain: DOMAIN, logIn });

describe('single sign-on with a real provider', { skip }, () => {
  it('signs in, follows groups, signs a terminal in, links, logs out and enforces', async () => {
    const { idp, configure } = await newProvider();
    const founded = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
      name: 'Acme',
      owner: { email: 'ann@example.com', name: 'Ann' },
    });
    const { id } = founded.json.org;
    const key = founded.json.api_key.token;
    const owner = await person();
    await owner.page.goto(founded.json.owner.enrolment_url);
    await owner.page.click('#act');
    await owner.says(/set up/);

    const domain = (await service.call('POST', `/orgs/${id}/domains`, key, { domain: DOMAIN })).json;
    resolver.records[domain.record.name] = domain.record.value;
    const verified = await service.call('POST', `/orgs/${id}/domains/${domain.id}/verify`, key);
    assert.equal(verified.json.status, 'verified');
    const made = await service.call('POST', `/orgs/${id}/sso-connections`, await owner.token(), {
      kind: 'oidc',
      name: 'Provider',
      issuer: idp,
      client_id: 'svc',
      client_secret: 'a-client-secret-of-the-test',
      scopes: ['openid', 'email', 'profile', 'groups'],
      domains: [domain.id],
      jit: true,
      role_mappings: [{ group: 'ops', role: 'admin' }],
    });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    const connection = made.json.id;
    configure(`http://127.0.0.1:${port}/sso/${connection}/logout`);

    // A new member, with the role of their groups.
    const bea = await person();
    await bea.signIn('bea');
    await bea.says(/are signed in/);
    assert.equal(await bea.page.locator('#email').textContent(), `bea@${DOMAIN}`);
    assert.equal(await bea.page.locator('#role').textContent(), 'admin');

    // The owner tests the connection as somebody who is not there, and nobody is made or signed in.
    const url = await owner.page.evaluate(
      async ([path, jwt]) => {
        const answer = await fetch(path, { method: 'POST', headers: { Authorization: `Bearer ${jwt}` } });
        return (await answer.json()).url;
      },
      [`/api/v1/orgs/${id}/sso-connections/${connection}/test`, await owner.token()],
    );
    await owner.page.goto(url);
    await owner.atProvider('cy');
    assert.match((await owner.page.locator('h1').textContent()) ?? '', /new member would be made/);
    assert.match((await owner.page.locator('main').textContent()) ?? '', /cy@acme-people[.]com.*viewer/s);
    await owner.page.setViewportSize({ width: 390, height: 844 });
    const share = await owner.page.evaluate(() => {
      const widthOf = (/** @type {string} */ name) => document.querySelector(name)?.clientWidth ?? 0;
      return widthOf('dl dd') / widthOf('dl');
    });
    assert.ok(share > 0.5, `on a phone the values have ${share} of the width`);
    await owner.page.click('a.button');
    await owner.page.waitForURL(`${at}/console/sso`);
    const people = (await service.call('GET', `/orgs/${id}/members`, key)).json.data;
    assert.deepEqual(people.map((/** @type {{ name: string }} */ one) => one.name).sort(), ['Ann', 'bea']);

    // A terminal, which she confirms at the provider: she has no passkey.
    const codes = (await service.call('POST', '/auth/device', '', { client_name: 'svc on a laptop' })).json;
    await bea.page.goto(codes.verification_uri_complete);
    await bea.page.waitForSelector('#confirm:not([aria-disabled])');
    await bea.page.click('#confirm');
    await bea.page.waitForURL((url) => !url.href.startsWith(at));
    await bea.atProvider('bea');
    await bea.page.waitForSelector('#confirm:not([aria-disabled])');
    await bea.page.click('#confirm');
    await bea.page.waitForSelector('#over:not([hidden])');
    assert.match((await bea.page.locator('#end').textContent()) ?? '', /terminal is signed in/);
    const polled = await service.call('POST', '/auth/device/token', '', { device_code: codes.device_code });
    assert.equal(polled.status, 200, JSON.stringify(polled.json));
    const terminal = polled.json.token;

    // A member with a passkey links with it, once.
    const invited = await service.call('POST', `/orgs/${id}/members`, key, {
      email: `pat@${DOMAIN}`,
      name: 'Pat',
      role: 'developer',
    });
    const pat = await person();
    await pat.page.goto(invited.json.enrolment_url);
    await pat.page.click('#act');
    await pat.says(/set up/);
    await pat.page.click('#out');
    await pat.page.waitForURL(`${at}/sign-in`);
    await pat.signIn('pat');
    await pat.page.waitForURL(`${at}/sso/link`);
    await pat.page.click('#act');
    await pat.page.waitForURL(`${at}/sign-in`);
    await pat.says(/are signed in/);

    // Signed out at the provider, while the sessions read in a loop.
    const mine = await bea.token();
    const statusOf = async (/** @type {string} */ jwt) =>
      (await service.call('GET', `/orgs/${id}`, jwt)).status;
    assert.deepEqual([await statusOf(mine), await statusOf(terminal)], [200, 200]);
    await bea.page.goto(`${idp}/session/end`);
    await bea.page.click('button[type=submit][value=yes]');
    for (let waited = 0; (await statusOf(mine)) === 200; waited += 100) {
      assert.ok(waited < 20_000, 'the session goes on');
      await new Promise((done) => setTimeout(done, 100));
    }
    assert.deepEqual([await statusOf(mine), await statusOf(terminal)], [401, 401]);

    // `enforce` leaves owners their passkeys, and nobody else of the domain.
    const before = await pat.token();
    const changed = await service.call(
      'PATCH',
      `/orgs/${id}/sso-connections/${connection}`,
      await owner.token(),
      {
        enforce: true,
      },
    );
    assert.equal(changed.status, 200, JSON.stringify(changed.json));
    assert.equal(await statusOf(before), 200, 'a session of single sign-on goes on');
    await pat.page.goto(`${at}/sign-in`);
    await pat.says(/are signed in/);
    await pat.page.click('#out');
    await pat.says(/signed out/);
    await pat.page.click('#act');
    await pat.says(/requires single sign-on/);
    await owner.page.goto(`${at}/sign-in`);
    await owner.says(/are signed in/);
  });
});
