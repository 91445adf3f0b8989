// The protection of the console: headers, the places where tokens and values may be, and sessions that end
// elsewhere.
import { ConnectionError } from '@secrets-vault/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { tokenIn } from '../src/navigation/router.ts';
import { explain } from '../src/requests/errors.ts';
import { RefusedError, reach } from '../src/session/public-api.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from './support/person.ts';

it('errors: only a failure of the network is one, and a fault of the console is said to be its own', async () => {
  const title = (error: unknown) => explain(error).title;
  const offline = await reach('http://127.0.0.1:9/nothing').catch((error) => error);
  expect(title(offline)).toBe('Cannot reach the service');
  expect(title(new ConnectionError('x', { code: 'UNREACHABLE', status: 0 }))).toBe(
    'Cannot reach the service',
  );
  for (const fault of [
    new TypeError("Cannot read properties of undefined (reading 'map')"),
    new RangeError('x'),
    new Error('x'),
  ])
    expect(title(fault)).toBe('Something went wrong in the console');
});

it('console: a refused sign-in has one message for every reason, and other refusals have the message of the service', () => {
  const refused = explain(new RefusedError(401, { code: 'UNAUTHENTICATED', message: 'whatever the reason' }));
  expect([refused.title, refused.help]).toEqual([
    'This passkey was not accepted',
    expect.stringContaining('new enrolment link'),
  ]);
  expect(explain(new RefusedError(429, { code: 'RATE_LIMITED', message: 'Wait a minute.' })).title).toBe(
    'Wait a minute.',
  );
});

it('tokens: one is found in a header, an address and a line of a log, and a name is none', () => {
  const body = '07fzoHqB5dkLuMcQR3W8JD9rU9IoF563wRM4C64WhXeQuonE5j2CMh7R7f1d8g2W2t';
  for (const prefix of ['svc_live_', 'svc_agent_', 'svcsess_', 'svcscim_', 'svcenrol_', 'eyJ'])
    for (const before of [
      '',
      'Authorization: Bearer ',
      'Bearer%20',
      'token="',
      'https://vault.example.com/enrol#',
    ])
      expect(tokenIn(`${before}${prefix}${body}"`), before + prefix).toBe(prefix + body);
  expect(tokenIn(`KEY_svc_live_${body}`)).toBe(`svc_live_${body}`);
  for (const name of [
    'svc_payments_database_password_primary',
    'keyJwtOfThePaymentsServiceInProduction',
    'key_0356',
  ])
    expect(tokenIn(name), name).toBeUndefined();
});

describe.skipIf(!executablePath)('console: security', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  it('no other page can frame it, and its policy allows only its own files', async () => {
    const answer = await fetch(`${ann.url}/console/secrets`);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe-|https?:|\*/);
    const html = await answer.text();
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc="\/console\/)/);
  });

  it('the browser refuses a script that turns text into markup', async () => {
    const { page, go, said } = ann;
    await go('/secrets', 'Secrets');
    const refused = await page.evaluate(() => {
      const tries = [
        () => {
          document.body.innerHTML = '<p>x</p>';
        },
        () => document.createElement('script').setAttribute('src', 'data:,1'),
        () => document.createElement('iframe').setAttribute('srcdoc', '<p>x</p>'),
      ];
      return tries.map((one) => {
        try {
          one();
          return 'allowed';
        } catch (error) {
          return (error as Error).name;
        }
      });
    });
    expect(refused).toEqual(['TypeError', 'TypeError', 'TypeError']);
    await expect.poll(() => said.length).toBe(3);
    said.length = 0;
  });

  it('tokens are only in the memory of the page', async () => {
    const { page, go, context } = ann;
    const bearers = new Set<string>();
    page.on('request', (request) => {
      const header = request.headers().authorization;
      if (header) bearers.add(header.slice('Bearer '.length));
    });
    for (const at of ['/secrets', '/settings?tab=sign-in', '/incident']) await go(at);
    await page.waitForSelector('.table-row');
    expect(bearers.size).toBeGreaterThan(0);
    const kept = await page.evaluate(async () => {
      const databases = await indexedDB.databases();
      const workers = await navigator.serviceWorker.getRegistrations();
      return JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        databases,
        await caches.keys(),
        workers.length,
        history.state,
      ]);
    });
    const html = await page.content();
    for (const token of bearers) {
      expect(kept).not.toContain(token);
      expect(html).not.toContain(token);
      expect(page.url()).not.toContain(token);
    }
    expect(kept).toBe('[{},{},"",[],[],0,null]');
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Strict' });
    expectQuiet(ann);
  });

  it('a value is in the document only while it is revealed, and never in an address', async () => {
    const { page, go, api, navigate } = ann;
    const value = 'in-sight-only-when-asked-for';
    const secret = await api('POST', '/secrets', { name: 'SEEN', type: 'generic', value });
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await go(`/secrets/${secret.id}`, 'SEEN');
    expect(await page.content()).not.toContain(value);
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByText(value).waitFor();
    await page.clock.install();
    await page.getByRole('button', { name: 'Hide' }).click();
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByText(value).waitFor();
    await page.clock.fastForward(30_500);
    await page.getByText('The value is hidden').waitFor();
    expect(await page.content()).not.toContain(value);
    // Leaving the page removes it too.
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByText(value).waitFor();
    await navigate('Settings');
    await page.waitForSelector('h1:text-is("Settings")');
    expect(await page.content()).not.toContain(value);
    expect(addresses.filter((at) => at.includes(value))).toEqual([]);
    expectQuiet(ann);
  });

  it('a token that is pasted into a search field is in no address', async () => {
    const { page, go, api } = ann;
    const { token } = await api('POST', '/api-keys', { name: 'pasted', scopes: ['secrets:read'] });
    const [{ id }] = (await api('GET', '/members')).data;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    for (const [at, label] of [
      ['/secrets', 'Name contains'],
      ['/secrets/compare', 'Name begins with'],
      ['/credentials', 'Name, hint or ID'],
      ['/audit', 'Actor'],
      ['/audit', 'Resource'],
      [`/members/${id}`, 'Secret optional'],
    ] as const) {
      await go(at);
      const field = page.getByLabel(label, { exact: label !== 'Secret optional' });
      await field.fill(`Authorization: Bearer ${token}`);
      await field.press('Tab');
      // What is typed afterwards is in the address, so the token would be there by now.
      if (label === 'Secret optional') await field.fill('other');
      else await page.getByText('A token is not searched for').waitFor();
      expect(page.url(), at).not.toContain(token);
    }
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('combobox', { name: 'Search or jump to' });
    await palette.fill(token);
    const answered = page.waitForResponse((response) => response.url().includes('/search?'));
    await page.waitForTimeout(200);
    await palette.fill('pasted');
    await answered;
    expect(asked.filter((url) => url.includes(token))).toEqual([]);
    await page.keyboard.press('Escape');
    expectQuiet(ann);
  });

  it('a session that is ended elsewhere ends here automatically', async () => {
    const bo = await newPerson();
    await bo.go('/secrets', 'Secrets');
    const elsewhere = await bo.context.newPage();
    await elsewhere.goto(`${bo.url}/console/settings?tab=sign-in`);
    await elsewhere.getByRole('button', { name: 'End all sessions' }).click();
    await elsewhere.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click();
    await elsewhere.getByRole('heading', { name: 'Sign in' }).waitFor();
    // Nothing is clicked here.
    await bo.page.getByRole('heading', { name: 'Sign in' }).waitFor({ timeout: 15_000 });
    expect(await bo.page.content()).not.toContain('Store a secret');
  });
});
