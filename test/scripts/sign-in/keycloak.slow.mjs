// Single sign-on with Keycloak in a real browser, by SAML and by OpenID Connect, on `npm start -- --saml`.
// `npm run test:single-sign-on` installs Keycloak; without it, or without Chromium, the tests are skipped.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { copyOfProject, freePort, startService } from '../service.mjs';
import { CLIENT, KEYCLOAK, logInAtKeycloak, startKeycloak } from './keycloak.mjs';
import { newPerson, newResolver } from './single-sign-on.mjs';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const missing = [executablePath, KEYCLOAK].find((file) => !fs.existsSync(file));
const skip = missing ? `there is no ${missing}` : false;

const REALM = 'acme';
const DOMAIN = 'acme-people.com';
const OTHER = 'https://other.example.com';

describe('single sign-on with Keycloak', { skip }, () => {
  const port = /** @type {Promise<number>} */ (freePort());
  let at = '';
  /** @type {Awaited<ReturnType<typeof startService>>} */
  let service;
  /** @type {Awaited<ReturnType<typeof startKeycloak>>} */
  let keycloak;
  /** @type {Awaited<ReturnType<typeof newResolver>>} */
  let resolver;
  /** @type {import('playwright-core').Browser} */
  let browser;
  let org = '';
  let key = '';
  let domain = '';
  /** @type {Awaited<ReturnType<typeof newPerson>>} */
  let owner;

  const person = () => newPerson(browser, { at, domain: DOMAIN, logIn: logInAtKeycloak });
  /** @param {string} method @param {string} path @param {unknown} [body] @param {string} [token] */
  const api = async (method, path, body, token = key) => {
    const { status, json } = await service.call(method, `/orgs/${org}${path}`, token, body);
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  /** The reasons of refused sign-ins, the newest first. */
  const reasons = async () =>
    (await api('GET', '/audit-log?action=auth.sso&outcome=denied')).data.map(
      (/** @type {{ reason: string }} */ { reason }) => reason,
    );
  /** @param {string} jwt */
  const statusOf = async (jwt) => (await service.call('GET', `/orgs/${org}`, jwt)).status;
  /** Reads in a loop, until a read is refused. @param {string} jwt */
  const readUntilRefused = async (jwt) => {
    for (let tries = 0; tries < 5000; tries++) {
      const status = await statusOf(jwt);
      if (status !== 200) return status;
    }
    return 200;
  };

  before(async () => {
    at = `http://localhost:${await port}`;
    resolver = await newResolver();
    const variables = {
      PORT: String(await port),
      PUBLIC_URL: at,
      ALLOW_PRIVATE_TARGETS: 'true',
      DNS_OVER_HTTPS_URL: resolver.url,
    };
    service = await startService(copyOfProject(), variables, ['--saml']);
    keycloak = await startKeycloak(await freePort());
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    await keycloak.makeRealm(REALM, {
      domain: DOMAIN,
      users: { dee: ['ops'], eve: [], pat: ['ops'] },
      redirect: `${at}/sso/callback`,
    });
    const founded = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
      name: 'Acme',
      owner: { email: 'ann@example.com', name: 'Ann' },
    });
    org = founded.json.org.id;
    key = founded.json.api_key.token;
    owner = await person();
    await owner.page.goto(founded.json.owner.enrolment_url);
    await owner.page.click('#act');
    await owner.says(/set up/);
    const added = await api('POST', '/domains', { domain: DOMAIN });
    domain = added.id;
    resolver.records[added.record.name] = added.record.value;
  });
  after(() => browser?.close());

  it('SAML: an owner makes the connection in the console, and people sign in with it', async () => {
    const { page } = owner;
    await api('POST', '/teams', { name: 'Platform' });
    await page.goto(`${at}/console/sso`);
    await page.getByRole('button', { name: `Actions for ${DOMAIN}` }).click();
    await page.getByRole('menuitem', { name: 'Show record and verify' }).click();
    await page.getByRole('button', { name: 'Verify domain' }).click();
    await page.getByText('Verified', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'New connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create connection' }).waitFor();
    await dialog.getByLabel('Protocol').selectOption('saml');
    await dialog.getByLabel('Name', { exact: true }).fill('Keycloak by SAML');
    await dialog.getByLabel('Metadata URL').fill(keycloak.metadataUrl(REALM));
    await dialog.getByLabel(DOMAIN).check();
    await dialog.getByLabel('Make members at their first sign-in').check();
    for (const [fieldset, choice] of [
      ['Roles by group', ['Role', 'admin']],
      ['Teams by group', ['Team', 'Platform']],
    ]) {
      const group = dialog.getByRole('group', { name: String(fieldset) });
      await group.getByRole('button', { name: 'Add group' }).click();
      await group.getByLabel('Group', { exact: true }).fill('ops');
      await group.getByLabel(choice[0]).selectOption({ label: choice[1] });
    }
    await dialog.getByRole('button', { name: 'Create connection' }).click();
    await page.getByRole('heading', { name: 'Register at Keycloak by SAML' }).waitFor();
    const [connection] = (await api('GET', '/sso-connections')).data;
    assert.equal(connection.kind, 'saml');
    await dialog.getByText(connection.entity_id, { exact: true }).waitFor();
    await dialog.getByText(connection.acs_url, { exact: true }).waitFor();
    await keycloak.addSamlClient(REALM, await (await fetch(connection.entity_id)).text());

    const dee = await person();
    await dee.signIn('dee');
    await dee.says(/are signed in/);
    assert.equal(await dee.page.locator('#email').textContent(), `dee@${DOMAIN}`);
    assert.equal(await dee.page.locator('#role').textContent(), 'admin');
    const [team] = (await api('GET', '/teams')).data;
    const members = (await api('GET', `/teams/${team.id}/members`)).data;
    assert.equal(members.length, 1);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.goto(`${at}/console/members/${members[0].member_id}`);
    await page.getByRole('link', { name: 'Keycloak by SAML' }).waitFor();
    await page.goto(`${at}/console/sso`);

    // The owner sees what eve would get, and nobody is made.
    await page.getByRole('button', { name: 'Actions for Keycloak by SAML' }).click();
    await page.getByRole('menuitem', { name: 'Test sign-in' }).click();
    await page.waitForURL((url) => !url.href.startsWith(at));
    await owner.atProvider('eve');
    assert.match((await page.textContent('h1')) ?? '', /new member would be made/);
    assert.match((await page.textContent('main')) ?? '', /eve@acme-people[.]com.*viewer/s);
    const people = (await api('GET', '/members')).data;
    assert.equal(people.length, 2);
    // A page of a test may not call the API.
    await page.click('a.button');
    await page.waitForURL(`${at}/console/sso`);
  });

  it('SAML: no response begins a session twice, elsewhere, unasked or for another audience', async () => {
    const eve = await person();
    /** @type {string | null} */
    let taken = null;
    eve.page.on('request', (request) => {
      if (request.url() === `${at}/sso/acs`) taken = request.postData();
    });
    await eve.signIn('eve');
    await eve.says(/are signed in/);
    const posted = (/** @type {import('playwright-core').Page} */ page, /** @type {string} */ form) =>
      page.evaluate(async (body) => {
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
        return (await fetch('/sso/acs', { method: 'POST', headers, body })).status;
      }, form);
    assert.equal(await posted(eve.page, String(taken)), 403, 'again');
    // In another browser, which has begun a sign-in of its own.
    const thief = await person();
    await thief.leave('eve');
    await thief.page.goto(`${at}/sign-in`);
    assert.equal(await posted(thief.page, String(taken)), 403, 'with the RelayState of another browser');
    await thief.leave('eve');
    const relay = new URL(thief.page.url()).searchParams.get('RelayState');
    const swapped = new URLSearchParams(String(taken));
    assert.ok(relay, 'Keycloak has the RelayState in its address');
    swapped.set('RelayState', relay);
    await thief.page.goto(`${at}/sign-in`);
    assert.equal(await posted(thief.page, String(swapped)), 403, 'in answer to another request');
    assert.match((await reasons())[0], /answers another request/);

    // Keycloak begins: nobody has asked.
    const unasked = await person();
    await unasked.page.goto(`${keycloak.issuer(REALM)}/protocol/saml/clients/vault`);
    await unasked.atProvider('eve');
    assert.match((await unasked.page.textContent('h1')) ?? '', /not signed in/);

    // Another service of this realm, whose responses Keycloak sends here.
    const client = { clientId: OTHER, protocol: 'saml', enabled: true, redirectUris: [`${at}/*`] };
    await keycloak.admin('POST', `/${REALM}/clients`, {
      ...client,
      attributes: {
        saml_assertion_consumer_url_post: `${at}/sso/acs`,
        'saml.client.signature': 'false',
        'saml.assertion.signature': 'true',
        'saml.authnstatement': 'true',
        saml_name_id_format: 'persistent',
      },
    });
    const audience = await person();
    await audience.leave('eve');
    const url = new URL(audience.page.url());
    const [{ entity_id }] = (await api('GET', '/sso-connections')).data;
    const request = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64'));
    const altered = request.toString().replace(entity_id, OTHER);
    url.searchParams.set('SAMLRequest', deflateRawSync(altered).toString('base64'));
    await audience.page.goto(url.href);
    await audience.atProvider('eve');
    assert.match((await audience.page.textContent('h1')) ?? '', /not signed in/);
    assert.match((await reasons())[0], /its signature or its conditions do not hold|another audience/);
  });

  it('OpenID Connect: suspension, logout at the provider and enforce end what they should', async () => {
    const [saml] = (await api('GET', '/sso-connections')).data;
    const connection = await api(
      'POST',
      '/sso-connections',
      {
        kind: 'oidc',
        name: 'Keycloak',
        issuer: keycloak.issuer(REALM),
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        domains: [],
        jit: true,
        role_mappings: [{ group: 'ops', role: 'developer' }],
      },
      await owner.token(),
    );
    const change = async (/** @type {string} */ id, /** @type {unknown} */ body) =>
      api('PATCH', `/sso-connections/${id}`, body, await owner.token());
    await change(saml.id, { domains: [] });
    await change(connection.id, { domains: [domain] });
    await keycloak.sendLogouts(REALM, `${at.replace('localhost', '127.0.0.1')}/sso/${connection.id}/logout`);

    const pat = await person();
    await pat.signIn('pat');
    await pat.says(/are signed in/);
    assert.equal(await pat.page.locator('#role').textContent(), 'developer');
    const { data } = await api('GET', '/members');
    const { id } = data.find((/** @type {{ email: string }} */ { email }) => email === `pat@${DOMAIN}`);

    // Suspended while a session reads in a loop: no read after the reply is answered.
    const first = await pat.token();
    const loop = readUntilRefused(first);
    await api('POST', `/members/${id}/suspend`);
    assert.equal(await statusOf(first), 401);
    assert.equal(await loop, 401);
    await pat.comeBack('pat');
    assert.match((await pat.page.textContent('h1')) ?? '', /not signed in/);
    assert.equal((await reasons())[0], 'the member is suspended');
    await api('POST', `/members/${id}/resume`);
    assert.equal(await statusOf(first), 401, 'a session that ended comes back');

    // Signed out by an administrator of Keycloak, which sends a logout token.
    await pat.comeBack('pat');
    await pat.says(/are signed in/);
    const second = await pat.token();
    const reading = readUntilRefused(second);
    await keycloak.signOut(REALM, 'pat');
    assert.equal(await reading, 401);

    // The owner has a way back while Keycloak is away.
    await change(connection.id, { enforce: true });
    await keycloak.stop();
    await owner.page.goto(`${at}/sign-in`);
    await owner.page.click('#out');
    await owner.says(/signed out/);
    await owner.page.click('#act');
    await owner.says(/are signed in/);
    await change(connection.id, { enforce: false });
  });
});
