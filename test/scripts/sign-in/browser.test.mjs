// The pages /enrol and /sign-in in a real browser, with a virtual authenticator
// (https://www.w3.org/TR/webauthn-3/#sctn-automation), on the real service. Skipped, loudly, where there is
// no Chromium: CHROMIUM names one that lies elsewhere.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import { copyOfProject, freePort, project, startService } from '../service.mjs';
import { slow } from '../slow.mjs';

const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
];
const macOS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const executablePath = process.env.CHROMIUM ?? [...usual, ...macOS].find((file) => fs.existsSync(file));
if (!executablePath)
  process.stderr.write(
    '\nNo Chromium was found, so the pages were NOT tried in a browser: install it, or set CHROMIUM to its path.\n\n',
  );

const port = await freePort();
const at = `http://localhost:${port}`;
const service = executablePath
  ? await startService(copyOfProject(), { PORT: String(port), PUBLIC_URL: at })
  : undefined;
const browser = executablePath
  ? await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  : undefined;
after(() => browser?.close());

describe('browser', { skip: browser ? false : 'there is no Chromium' }, () => {
  const found = async () => {
    const answer = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
      name: 'Acme',
      owner: { email: 'ann@example.com', name: 'Ann' },
    });
    assert.equal(answer.status, 201);
    return {
      id: answer.json.org.id,
      key: answer.json.api_key.token,
      owner: answer.json.owner.id,
      url: answer.json.owner.enrolment_url,
    };
  };

  /** A person's browser with an authenticator; what its page says on the console, and what it is answered. */
  async function person() {
    const context = await browser.newContext();
    const page = await context.newPage();
    const said = /** @type {string[]} */ ([]);
    const answers = /** @type {import('playwright-core').Response[]} */ ([]);
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    page.on('response', (response) => answers.push(response));
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const cookie = async () => (await context.cookies(at)).find(({ name }) => name === '__Host-svc_refresh');
    const status = () => page.locator('#status').textContent();
    /** Waits for words in the status line. @param {RegExp} words */
    const says = async (words) => {
      await page.waitForFunction(
        (source) => new RegExp(source).test(document.getElementById('status')?.textContent ?? ''),
        words.source,
        {
          timeout: 15_000,
        },
      );
      return status();
    };
    const verified = (/** @type {boolean} */ isUserVerified) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    const passkeys = async () =>
      (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
    return { context, page, said, answers, cookie, says, verified, passkeys };
  }

  it('sign-in: a member enrols, is signed in, stays so, signs out and signs in again, with only the keyboard', async () => {
    const org = await found();
    const { context, page, said, answers, cookie, says, passkeys } = await person();
    await page.goto(org.url);
    assert.equal(page.url(), `${at}/enrol`, 'the token has left the address bar');
    assert.equal(await page.title(), 'Set up your passkey');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'act');
    await page.keyboard.press('Enter');
    await says(/set up/);
    assert.equal(await page.locator('#name').textContent(), 'Ann');
    assert.equal(await page.locator('#role').textContent(), 'owner');
    const [credential] = await passkeys();
    assert.equal(credential?.isResidentCredential, true);
    assert.equal(credential?.rpId, 'localhost');

    const first = await cookie();
    assert.deepEqual(
      [first?.httpOnly, first?.secure, first?.sameSite, first?.path, first?.domain],
      [true, true, 'Strict', '/', 'localhost'],
    );
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);

    // A page that opens later renews the session from the cookie.
    await page.goto(`${at}/sign-in`);
    await says(/are signed in/);
    const second = await cookie();
    assert.notEqual(second?.value, first?.value);

    await page.locator('#out').focus();
    await page.keyboard.press('Enter');
    await says(/signed out/);
    assert.equal(await cookie(), undefined);
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'act');
    await page.keyboard.press('Enter');
    await says(/are signed in/);
    assert.equal(await page.locator('#email').textContent(), 'ann@example.com');

    assert.deepEqual(
      said.filter((line) => /Content Security Policy|Error/.test(line)),
      [],
    );
    assert.deepEqual([...new Set(answers.map((answer) => new URL(answer.url()).origin))], [at]);
    const entries = (await service.call('GET', `/orgs/${org.id}/audit-log?actor=${org.owner}`, org.key)).json
      .data;
    assert.deepEqual(entries.map((/** @type {{ action: string }} */ { action }) => action).reverse(), [
      'auth.enrol',
      'auth.refresh',
      'auth.logout',
      'auth.login',
    ]);
    await context.close();
  });

  it('reauthentication: a signed-in browser confirms its session with the passkey', async () => {
    const org = await found();
    const { context, page, says, cookie } = await person();
    await page.goto(org.url);
    await page.click('#act');
    await says(/set up/);
    const before = await cookie();
    const statuses = await page.evaluate(async () => {
      const statuses = [];
      /** @param {string} path @param {string} [token] @param {object} [body] */
      const post = async (path, token, body) => {
        const headers = {
          'Content-Type': 'application/json',
          ...(token && { Authorization: `Bearer ${token}` }),
        };
        const answer = await fetch(`/api/v1/auth${path}`, {
          method: 'POST',
          headers,
          ...(body && { body: JSON.stringify(body) }),
        });
        statuses.push(answer.status);
        return answer.json();
      };
      const { token } = await post('/refresh');
      const optionsJSON = await post('/confirm/options', token, {});
      // @ts-expect-error: a script of the page defines it.
      const response = await window.SimpleWebAuthnBrowser.startAuthentication({ optionsJSON });
      const confirmed = await post('/confirm', token, { response });
      await post('/confirm', confirmed.token, { response });
      await post('/refresh');
      return statuses;
    });
    assert.deepEqual(statuses, [200, 200, 200, 401, 200]);
    assert.notEqual((await cookie())?.value, before?.value);
    await context.close();
  });

  it('replay: a captured enrolment, response and used cookie are refused', async () => {
    const org = await found();
    const { context, page, answers, cookie, says } = await person();
    await page.goto(org.url);
    await page.click('#act');
    await says(/set up/);
    const old = (await cookie())?.value;
    await page.click('#out');
    await page.waitForURL(`${at}/sign-in`);
    await page.click('#act');
    await says(/are signed in/);

    /** @param {string} where */
    const sent = (where) =>
      answers
        .map((answer) => answer.request())
        .find((request) => request.url() === `${at}/api/v1${where}`)
        ?.postDataJSON();
    /** @param {string} where @param {unknown} body @param {Record<string, string>} [headers] */
    const again = async (where, body, headers = {}) => {
      const answer = await fetch(`${at}/api/v1${where}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Origin: at, ...headers },
        body: JSON.stringify(body),
      });
      return [answer.status, (await answer.json()).error.code];
    };
    assert.deepEqual(await again('/auth/login', sent('/auth/login')), [401, 'UNAUTHENTICATED']);
    assert.deepEqual(await again('/auth/enrol', sent('/auth/enrol')), [410, 'ENROLMENT_GONE']);
    assert.deepEqual(await again('/auth/refresh', {}, { Cookie: `__Host-svc_refresh=${old}` }), [
      401,
      'TOKEN_REVOKED',
    ]);
    await page.goto(org.url);
    await page.click('#act');
    assert.match(await says(/link/), /was used/);
    await context.close();
  });

  it('sign-in: a page at another host name links to the origin where passkeys work', async () => {
    const org = await found();
    const { context, page, says } = await person();
    const { port, pathname, hash } = new URL(org.url);
    await page.goto(`http://127.0.0.1:${port}${pathname}${hash}`);
    assert.equal(
      await says(/another|address/),
      `Passkeys do not work at this address. Open this page at ${at}.`,
    );
    assert.equal(await page.locator('#act').isVisible(), false);
    await page.click('#status a');
    await page.click('#act');
    await says(/set up/);
    await context.close();
  });

  it(
    'sign-in: explains an authenticator that does not know its user, a cut link, and a missing passkey',
    slow(120_000),
    async () => {
      const org = await found();
      const { context, page, says, verified, cookie } = await person();
      await verified(false);
      await page.goto(org.url);
      await page.click('#act');
      assert.match((await says(/\.$/)) ?? '', /cancelled|cannot create a passkey/);
      assert.equal(await page.locator('#status').getAttribute('role'), 'status');
      assert.equal(await cookie(), undefined);
      await verified(true);
      await page.click('#act');
      await says(/set up/);
      await page.goto(`${at}/enrol`);
      assert.match((await says(/link/)) ?? '', /enrolment link is incomplete/);
      assert.equal(await page.locator('#act').isVisible(), false);
      await context.close();

      const stranger = await person();
      await stranger.page.goto(`${at}/sign-in`);
      await stranger.page.click('#act');
      assert.match((await stranger.says(/\.$/)) ?? '', /cancelled/);
      // No response is one fault, and a response that no page expects is another.
      const options = '**/auth/login/options';
      for (const [answer, words] of /** @type {const} */ ([
        [
          (/** @type {import('playwright-core').Route} */ route) => route.abort(),
          /^Cannot reach the service/,
        ],
        [
          (/** @type {import('playwright-core').Route} */ route) => route.fulfill({ json: {} }),
          /^Something went wrong/,
        ],
      ])) {
        await stranger.page.route(options, answer);
        await stranger.page.click('#act');
        await stranger.says(words);
        await stranger.page.unroute(options);
      }
      await stranger.context.close();
    },
  );

  /**
   * Enrols somebody, and answers a token of their session.
   * @param {Awaited<ReturnType<typeof person>>} who
   * @param {string} url
   */
  async function enrolled({ page, says }, url) {
    await page.goto(url);
    await page.click('#act');
    await says(/set up/);
    const { token } = await page.evaluate(async () =>
      (await fetch('/api/v1/auth/refresh', { method: 'POST' })).json(),
    );
    return /** @type {string} */ (token);
  }

  it('approval: a link to a request outside the console opens it in the console', async () => {
    const org = await found();
    const path = `/orgs/${org.id}`;
    const ann = await person();
    const token = await enrolled(ann, org.url);
    const { id } = (
      await service.call('POST', `${path}/secrets`, org.key, {
        name: 'app/key',
        type: 'generic',
        value: 'correct horse',
      })
    ).json;
    const config = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
    assert.equal(
      (await service.call('POST', `${path}/policies`, org.key, { name: 'reads', kind: 'approval', config }))
        .status,
      201,
    );
    const held = (await service.call('GET', `${path}/secrets/${id}`, token)).json.error.approval.id;
    await ann.page.goto(`${at}/approvals/${held}`);
    await ann.page.getByText('asks to read the secret app/key').first().waitFor();
    assert.equal(ann.page.url(), `${at}/console/approvals/${held}`);
    await ann.context.close();
  });

  for (const [screen, viewport] of Object.entries({
    desktop: { width: 1280, height: 900 },
    phone: { width: 390, height: 844 },
  }))
    it(
      `device login: a person signs in, compares the code and confirms it, by keyboard, on a ${screen}`,
      screen === 'desktop' ? {} : slow(120_000),
      async () => {
        const org = await found();
        const { context, page, said, answers, says } = await person();
        await page.setViewportSize(viewport);
        await page.goto(org.url);
        await page.click('#act');
        await says(/set up/);
        await page.click('#out');
        await page.waitForURL(`${at}/sign-in`);

        /** @param {string} path @param {unknown} body */
        const terminal = (path, body) => service.call('POST', `/auth/device${path}`, undefined, body);
        const { json: codes } = await terminal('', { client_name: '<img src=x onerror=alert(1)>' });
        const poll = async () => (await terminal('/token', { device_code: codes.device_code })).json;
        const shot = async (/** @type {string} */ what) => {
          if (process.env.SCREENSHOTS)
            await page.screenshot({ path: `${process.env.SCREENSHOTS}/device-${screen}-${what}.png` });
        };
        await page.clock.install();
        await page.goto(codes.verification_uri_complete);
        await page.locator('#act:not([disabled])').waitFor();
        await page.clock.pauseAt(Date.now() + 60_000);
        await shot('signed-out');
        assert.equal(page.url(), codes.verification_uri, 'the code has left the address bar');
        assert.equal(
          answers.filter((answer) => /device\/(lookup|confirm|deny)/.test(answer.url())).length,
          0,
          'nothing is asked before',
        );
        await page.locator('#act').focus();
        await page.keyboard.press('Enter');
        await page.locator('#one').waitFor();
        await shot('asks');
        assert.equal(await page.locator('#shown').textContent(), codes.user_code);
        assert.equal(await page.locator('#client').textContent(), '<img src=x onerror=alert(1)>');
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'one');
        assert.equal(
          await page.evaluate(() => document.documentElement.scrollWidth),
          viewport.width,
          'nothing is wider than the screen',
        );
        assert.equal(
          (await poll()).error.code,
          'AUTHORIZATION_PENDING',
          'a code that was opened is not confirmed',
        );
        assert.equal(await page.locator('#vault').textContent(), at);
        const isAsleep = async () => (await page.locator('[aria-disabled="true"]').count()) === 2;
        assert.ok(await isAsleep(), 'the buttons sleep after they are shown');
        await page.clock.runFor(1000);
        assert.ok(!(await isAsleep()));
        await page.keyboard.press('Tab');
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'confirm');
        await page.keyboard.press('Enter');
        assert.ok(await isAsleep(), 'a key right after the focus decides nothing');
        await page.clock.runFor(1000);
        await page.evaluate(() => window.dispatchEvent(new Event('focus')));
        await page.keyboard.press('Enter');
        assert.ok(await isAsleep(), 'nor does one right after the page has the focus again');
        assert.equal(
          answers.filter((answer) => /device\/confirm|auth\/confirm/.test(answer.url())).length,
          0,
        );
        await page.clock.runFor(1000);
        await page.keyboard.press('Enter');
        await page.locator('#over').waitFor();
        const asked = answers
          .map((answer) => new URL(answer.url()).pathname)
          .filter((path) => path.endsWith('/confirm'));
        assert.deepEqual(
          asked,
          ['/api/v1/auth/confirm', '/api/v1/auth/device/confirm'],
          'the passkey is asked for however recent the sign-in is',
        );
        await page.clock.resume();
        await shot('over');
        assert.match((await page.locator('#over').textContent()) ?? '', /The terminal is signed in/);
        const { token, refresh_token } = await poll();
        assert.equal((await service.call('GET', '/whoami', token)).json.id, org.owner);
        assert.equal((await service.call('POST', '/auth/refresh', undefined, { refresh_token })).status, 200);

        // A code that is typed, wrong and then right, is denied.
        const { json: second } = await terminal('', { client_name: 'svc' });
        await page.goto(`${at}/device`);
        await page.locator('#code').fill('BBBB-BBBB');
        await page.keyboard.press('Enter');
        await says(/is unknown/);
        await page.locator('#code').fill(second.user_code.toLowerCase());
        await page.keyboard.press('Enter');
        await page.locator('#one').waitFor();
        await page.click('#deny');
        await page.getByText('The login was denied').waitFor();
        assert.equal(
          (await terminal('/token', { device_code: second.device_code })).json.error.code,
          'ACCESS_DENIED',
        );
        assert.deepEqual(
          said.filter((line) => /Content Security Policy|Error/.test(line)),
          [],
        );
        assert.deepEqual([...new Set(answers.map((answer) => new URL(answer.url()).origin))], [at]);
        for (const answer of answers) assert.equal(answer.url().includes(codes.user_code), false);
        await context.close();
      },
    );

  for (const [screen, viewport] of Object.entries({
    desktop: { width: 1280, height: 900 },
    phone: { width: 390, height: 844 },
  }))
    it(
      `share link: shows the value after a click and the passphrase, by keyboard, on a ${screen}`,
      screen === 'desktop' ? {} : slow(120_000),
      async () => {
        const org = await found();
        const path = `/orgs/${org.id}/secrets`;
        const value = `-----BEGIN KEY-----\n${'<b>0123456789</b>'.repeat(12)}\n-----END KEY-----\n`;
        const { id } = (
          await service.call('POST', path, org.key, { name: 'payments/signing-key', type: 'generic', value })
        ).json;
        const link = { kind: 'link', expires_in: 600, max_views: 1, passphrase: 'blue horse' };
        const { url } = (await service.call('POST', `${path}/${id}/share`, org.key, link)).json;
        const context = await browser.newContext({ viewport, isMobile: screen === 'phone' });
        await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: at });
        const page = await context.newPage();
        const said = /** @type {string[]} */ ([]);
        const requests = /** @type {import('playwright-core').Request[]} */ ([]);
        page.on('console', (message) => said.push(message.text()));
        page.on('pageerror', (error) => said.push(String(error)));
        page.on('request', (request) => requests.push(request));
        const shot = async (/** @type {string} */ what) => {
          if (process.env.SCREENSHOTS)
            await page.screenshot({ path: `${process.env.SCREENSHOTS}/share-${screen}-${what}.png` });
        };
        await page.goto(url);
        await page.locator('#act:not([disabled])').waitFor();
        await shot('closed');
        assert.equal(
          requests.filter((request) => request.method() !== 'GET').length,
          0,
          'nothing is asked before the click',
        );
        await page.keyboard.press('Tab');
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'act');
        await page.keyboard.press('Enter');
        await page.locator('#passphrase').waitFor();
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'passphrase');
        await shot('passphrase');
        await page.keyboard.type('red horse');
        await page.keyboard.press('Enter');
        await page.getByText('The passphrase is wrong').waitFor();
        await page.keyboard.type(link.passphrase);
        await page.keyboard.press('Enter');
        await page.locator('#shown').waitFor();
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'shown');
        assert.equal(await page.locator('#value').textContent(), value);
        assert.equal(await page.locator('#name').textContent(), 'payments/signing-key');
        assert.equal(page.url(), url.split('#')[0], 'the key has left the address bar');
        await page.click('#copy');
        await page.getByText('Copied.').waitFor();
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), value);
        await shot('shown');
        assert.equal(
          await page.evaluate(() => document.documentElement.scrollWidth),
          viewport.width,
          'nothing is wider than the screen',
        );
        const key = url.split('#')[1];
        for (const request of requests) {
          assert.equal(new URL(request.url()).origin, at);
          assert.equal([request.url(), JSON.stringify(request.headers())].join().includes(key), false);
        }
        await page.goto('about:blank');
        await page.goto(url);
        await page.click('#act');
        await page.getByText('This link is no longer valid').waitFor();
        await shot('gone');
        assert.equal(await page.locator('#act').isVisible(), false);
        await page.goto(`${url.split('#')[0]}?`);
        await page.getByText('This link is incomplete').waitFor();
        assert.deepEqual(
          said.filter((line) => /Content Security Policy|TypeError/.test(line)),
          [],
        );
        await context.close();
      },
    );

  it(
    'pages: fit a phone and a wide screen, are accessible in both colour schemes, and break no policy',
    slow(120_000),
    async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      const said = /** @type {string[]} */ ([]);
      page.on('console', (message) => said.push(message.text()));
      page.on('pageerror', (error) => said.push(String(error)));
      for (const path of [
        '/',
        '/docs/errors',
        '/docs/errors/NOT_FOUND',
        '/sign-in',
        '/enrol',
        '/device',
        '/s/shr_x',
      ]) {
        await page.goto(`${at}${path}`);
        await page.evaluate(axe.source);
        for (const width of [390, 1440]) {
          await page.setViewportSize({ width, height: 844 });
          assert.equal(
            await page.evaluate(() => document.documentElement.scrollWidth),
            width,
            `${path} is wider than ${width} px`,
          );
        }
        for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
          await page.emulateMedia({ colorScheme });
          // @ts-expect-error: the script above defines it.
          const { violations } = await page.evaluate(() => window.axe.run());
          assert.deepEqual(
            violations.map((/** @type {{ id: string }} */ { id }) => `${path} ${colorScheme}: ${id}`),
            [],
          );
        }
      }
      assert.deepEqual(
        said.filter((line) => !/status of 40[14]/.test(line)),
        [],
      );
      await context.close();
    },
  );

  it('share link: says what to do without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${at}/s/shr_x#key`);
    assert.match((await page.textContent('main')) ?? '', /needs JavaScript/);
    assert.equal(await page.locator('#act').isDisabled(), true);
    await context.close();
  });

  it(
    'API reference: shows, filters and links operations under the strict policy, on a desktop and a phone',
    slow(120_000),
    async () => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000); // Swagger UI resolves an operation with seconds of CPU
      const devtools = await context.newCDPSession(page);
      const said = /** @type {string[]} */ ([]);
      const asked = /** @type {string[]} */ ([]);
      page.on('console', (message) => said.push(message.text()));
      page.on('pageerror', (error) => said.push(String(error)));
      page.on('request', (request) => asked.push(new URL(request.url()).origin));
      // One page becomes a phone's and a desktop's, because it takes seconds to make.
      const screens = {
        phone: { width: 390, height: 844, mobile: true },
        desktop: { width: 1280, height: 900, mobile: false },
      };
      const on = (/** @type {keyof typeof screens} */ screen) =>
        devtools.send('Emulation.setDeviceMetricsOverride', { ...screens[screen], deviceScaleFactor: 1 });
      const operations = page.locator('.opblock');
      const filter = async (/** @type {string} */ part) => {
        await page.fill('.operation-filter-input', part);
        await operations.filter({ hasText: part }).first().waitFor();
        assert.match((await operations.first().textContent()) ?? '', new RegExp(part));
      };
      await page.goto(`${at}/docs`);
      await operations.first().waitFor();
      // Of a long list, the page shows what is in view.
      await filter('by-name');
      await on('phone');
      await filter('whoami');

      // A page about an error leads to the operation.
      await page.goto(`${at}/docs/errors/SLUG_TAKEN`);
      await page.click('main a[href^="/docs#/"]');
      const open = page.locator('.opblock.is-open');
      await open.locator('.responses-wrapper').waitFor();
      const link = open.locator('a[href$="/docs/errors/SLUG_TAKEN"]');
      for (const screen of /** @type {const} */ (['phone', 'desktop'])) {
        await on(screen);
        await page.waitForFunction((width) => innerWidth === width, screens[screen].width);
        assert.equal(await link.isVisible(), true);
        assert.equal(
          await page.locator('input[type=password], .authorize, .try-out__btn').count(),
          0,
          'there is no field for a token',
        );
        assert.equal(
          await page.evaluate(() => document.documentElement.scrollWidth),
          screens[screen].width,
          'nothing is wider than the screen',
        );
      }
      assert.deepEqual(
        said.filter((line) => /Content Security Policy|Refused|TypeError/.test(line)),
        [],
      );
      assert.deepEqual([...new Set(asked)], [at]);
      await context.close();
    },
  );

  for (const [what, viewport] of /** @type {const} */ ([
    ['a screen', { width: 1200, height: 900 }],
    ['a phone', { width: 390, height: 844 }],
  ]))
    it(
      `compliance report: a page that runs nothing and prints, on ${what}`,
      what === 'a phone' ? slow(120_000) : {},
      async () => {
        const org = await found();
        const hostile = '<img src=x onerror=alert(1)><script>alert(1)</script>';
        await service.call('PATCH', `/orgs/${org.id}`, org.key, { name: hostile });
        for (let n = 0; n < 12; n++)
          await service.call('POST', `/orgs/${org.id}/api-keys`, org.key, {
            name: `${hostile} ${n}`,
            scopes: ['*'],
          });
        await service.call('POST', `/orgs/${org.id}/break-glass-tokens`, org.key, {
          reason: `=1+1 ${hostile}`,
        });
        const context = await browser.newContext({
          viewport,
          extraHTTPHeaders: { Authorization: `Bearer ${org.key}` },
        });
        const page = await context.newPage();
        const said = /** @type {string[]} */ ([]);
        const asked = /** @type {string[]} */ ([]);
        page.on('console', (message) => said.push(message.text()));
        page.on('dialog', (dialog) => said.push(`dialog: ${dialog.message()}`));
        page.on('request', (request) => asked.push(request.url()));
        const at_report = `${at}/api/v1/orgs/${org.id}/compliance/report?format=html`;
        const answer = await page.goto(at_report);
        assert.equal(answer?.status(), 200);
        assert.equal(await page.locator('h1').textContent(), hostile);
        assert.equal(await page.locator('.finding').count(), 17);
        assert.equal(await page.locator('script, img, iframe, [style]').count(), 0);
        assert.equal(await page.locator('svg[role=img]').count(), 4);
        assert.equal(
          await page.evaluate(() => document.documentElement.scrollWidth),
          viewport.width,
          'nothing is wider than the screen',
        );
        // Its own stylesheet holds, and nothing else is asked for.
        assert.notEqual(
          await page
            .locator('.tile')
            .first()
            .evaluate((tile) => getComputedStyle(tile).borderLeftWidth),
          '0px',
        );
        const pdf = await page.pdf({ preferCSSPageSize: true });
        assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
        assert.deepEqual(said, []);
        assert.deepEqual(asked, [at_report]);
        await context.close();
      },
    );

  it('command line: a person signs in by svc login, stores a secret and runs a program with it', {
    ...slow(120_000),
  }, async (t) => {
    const org = await found();
    const { context, page, says } = await person();
    await page.goto(org.url);
    await page.click('#act');
    await says(/set up/);
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-'));
    const file = path.join(project, 'packages', 'cli', 'bin', 'svc.js');
    /** @param {string[]} argv @param {string} [stdin] */
    const svc = (argv, stdin = '') => {
      const child = spawn(process.execPath, [file, ...argv], {
        env: { PATH: process.env.PATH, HOME: home, SVC_KEYCHAIN: 'off' },
        cwd: home,
      });
      t.after(() => child.kill('SIGKILL'));
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
      child.stdin.end(stdin);
      return { said: () => said, ended: once(child, 'close').then(([code]) => ({ code, said })) };
    };
    const login = svc(['login', '--url', at]);
    for (let waited = 0; !login.said().includes('confirm the code') && waited < 20_000; waited += 50)
      await new Promise((done) => setTimeout(done, 50));
    const [, code = ''] = /confirm the code (\S+)/.exec(login.said()) ?? [];
    await page.goto(`${at}/device#${code}`);
    await page.locator('#one').waitFor();
    assert.equal(await page.locator('#shown').textContent(), code);
    await page.click('#confirm');
    await page.locator('#over').waitFor();
    const signedIn = await login.ended;
    assert.equal(signedIn.code, 0, signedIn.said);
    assert.match(signedIn.said, /Signed in to .* as Ann \(member\)/);
    assert.equal((await svc(['set', 'DATABASE_URL'], 'postgres://one').ended).code, 0);
    const ran = await svc(['run', '--', process.execPath, '-p', 'process.env.DATABASE_URL']).ended;
    assert.deepEqual(ran, { code: 0, said: 'postgres://one\n' });
    fs.rmSync(home, { recursive: true });
    await context.close();
  });
});
