// The console on bad networks: slow, broken, or in front of a service that refuses for a while. Invariant:
// whatever happens, the member sees it, keeps their input, and nothing is done twice. SLOW=1 loads every page
// on slow 3G, and uses up the requests of a session.
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { startProxy } from '../../../../test/packages/proxy.mjs';
import { slow } from '../../../../test/packages/slow.ts';
import { paths } from '../support/everything.ts';
import { executablePath, newPerson, openNavigation, type Person, useBrowser } from '../support/person.ts';

/** As in Chromium's tools for developers, in bytes per second. */
const SLOW_3G = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const FAST = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
const plain = paths.filter((path) => !path.includes(':'));

/** What is observed in a page while it loads. */
interface Observed {
  /** Whether there was a frame of the page without a heading or a skeleton. */
  isBlank: boolean;
  /** The sum of the layout shifts that the member did not cause. */
  shift: number;
}

describe.skipIf(!executablePath)('console: bad networks', () => {
  useBrowser();
  let ann: Person;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeAll(async () => {
    proxy = await startProxy(inject('vaultUrl'));
    ann = await newPerson({ proxy: proxy.url });
    await ann.api('POST', '/secrets', { name: 'STORED', type: 'generic', value: 'x' });
  });
  beforeEach(async () => {
    proxy.reset();
    await ann.devtools.send('Network.emulateNetworkConditions', FAST);
  });
  afterAll(() => proxy.close());

  const is =
    (method: string, part: string) =>
    ({ method: asked, url = '' }: { method?: string; url?: string }) =>
      method === asked && url.includes(part);
  const refused = (code: string, message: string) => ({
    error: { code, message, docs: `${ann.url}/docs/errors/${code}` },
  });

  slow(
    'on slow 3G, every page shows its frame and a skeleton first, and its layout is stable',
    { timeout: 900_000 },
    async () => {
      const { page, go, devtools, url } = ann;
      await page.addInitScript(() => {
        const observed = { isBlank: false, shift: 0 };
        Object.assign(window, { observed });
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean }[])
            if (!entry.hadRecentInput) observed.shift += entry.value;
        }).observe({ type: 'layout-shift', buffered: true });
        const look = () => {
          const isParsed = document.readyState !== 'loading';
          if (isParsed && !document.querySelector('.shell :is(.skeleton, .skeleton-head, h1)'))
            observed.isBlank = true;
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
      // Its files are cached, as on every visit but the first.
      if (!process.env.SLOW) await go('/secrets', 'Secrets');
      await devtools.send('Network.enable');
      await devtools.send('Network.emulateNetworkConditions', SLOW_3G);
      for (const path of process.env.SLOW ? plain : ['/secrets']) {
        await page.goto(`${url}/console${path}`);
        await page.waitForSelector('#main h1');
        await page.waitForFunction(() => !document.querySelector('.skeleton'));
        const observed: Observed = await page.evaluate(
          () => (window as unknown as { observed: Observed }).observed,
        );
        expect(observed.isBlank, path).toBe(false);
        expect(observed.shift, path).toBeLessThan(0.1);
      }
    },
  );

  it('a click has its effect before the service answers', async () => {
    const { page, go } = ann;
    await go('/secrets', 'Secrets');
    await page.getByRole('link', { name: 'STORED' }).waitFor();
    let release = () => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    await page.route('**/api/v1/orgs/**', async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    /** The state two frames after a click: nothing that takes longer counts. */
    const after = (name: string) =>
      page.evaluate(async (label) => {
        const link = [...document.querySelectorAll<HTMLElement>('.side a')].find(({ textContent }) =>
          textContent?.startsWith(label),
        );
        link?.click();
        for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
        const isMarked = link?.getAttribute('aria-current') === 'page';
        return (
          isMarked &&
          (document.querySelector('#main h1')?.textContent?.startsWith(label) ||
            !!document.querySelector('#main .skeleton'))
        );
      }, name);
    await openNavigation(page);
    const labels = await page.locator('.side a .grow').allTextContents();
    expect(labels.length).toBeGreaterThan(15);
    for (const label of labels) expect([label, await after(label)]).toEqual([label, true]);
    release();
    await page.unroute('**/api/v1/orgs/**');
  });

  /** Fills the dialog of a new secret. */
  const fill = async (name: string) => {
    const { page, go } = ann;
    await go('/secrets', 'Secrets');
    await page.getByRole('button', { name: 'New secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'New secret' });
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByLabel('Value', { exact: true }).fill('typed-once');
    return { dialog, store: dialog.getByRole('button', { name: 'Store secret' }) };
  };

  slow(
    'a busy service is asked again; then the dialog says so, keeps its input, and can be sent again',
    async () => {
      const { page, api } = ann;
      const { dialog, store } = await fill('AFTER_503');
      const body = refused('UNAVAILABLE', 'The service cannot process this request right now.');
      proxy.fail({ kind: 'refuse', status: 503, body, when: is('POST', '/secrets'), times: 4 });
      await store.click();
      await page.locator('[data-busy]').waitFor();
      // Pressing again changes nothing.
      await store.click({ force: true });
      await dialog.getByText('The service cannot process this request right now.').waitFor();
      expect(proxy.count('POST', '/secrets')).toBe(4);
      expect(await dialog.getByLabel('Value', { exact: true }).inputValue()).toBe('typed-once');
      await store.click();
      await page.waitForSelector('h1:text-is("AFTER_503")');
      expect((await api('GET', '/secrets?prefix=AFTER_503')).data).toHaveLength(1);
    },
  );

  slow(
    'a refusal for too many requests says when to try again, and is not repeated before that',
    async () => {
      const { page, go } = ann;
      const body = refused('RATE_LIMITED', 'Too many requests in the last minute.');
      const { dialog, store } = await fill('AFTER_429');
      const limited = { kind: 'refuse', status: 429, headers: { 'Retry-After': '40' }, body } as const;
      proxy.fail({ ...limited, when: is('POST', '/secrets') });
      await store.click();
      await dialog.getByText('Too many requests in the last minute.').waitFor();
      await dialog.getByText('Try again in 40 seconds.').waitFor();
      expect(proxy.count('POST', '/secrets')).toBe(1);
      await store.click();
      await page.waitForSelector('h1:text-is("AFTER_429")');
      // A page says so too.
      // More than once: the event stream makes a page read again when it opens.
      proxy.fail({ ...limited, when: is('GET', '/teams?'), times: 9 });
      await go('/teams', 'Teams');
      await page.getByText('Try again in 40 seconds.').waitFor();
      proxy.reset();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('No teams yet').waitFor();
    },
  );

  it.skipIf(!process.env.SLOW)(
    'a member whose session has used up its requests is told when to try again',
    async () => {
      const { page, go, context, url, org } = await newPerson();
      const request = page.waitForRequest((sent) => sent.url().includes(`/orgs/${org}/`));
      await go('/teams', 'Teams');
      const { authorization = '' } = (await request).headers();
      await page.getByRole('button', { name: 'New team' }).click();
      const dialog = page.getByRole('dialog', { name: 'New team' });
      await dialog.getByLabel('Name').fill('Platform');
      // More than the 600 requests that a browser session has in a minute.
      const read = async () =>
        (await fetch(`${url}/api/v1/orgs/${org}/teams`, { headers: { authorization } })).status;
      let status = 200;
      for (let sent = 0; sent < 1000 && status !== 429; sent += 50)
        status = Math.max(...(await Promise.all(Array.from({ length: 50 }, read))));
      await dialog.getByRole('button', { name: 'Create team' }).click();
      await dialog.getByText('Too many requests in the last minute.').waitFor();
      await dialog.getByText(/Try again in \d+ seconds?\./).waitFor();
      expect(await dialog.getByLabel('Name').inputValue()).toBe('Platform');
      await context.close();
    },
  );

  slow('a key whose creation was cut off is created once, however often its member tries', async () => {
    const { page, go, api } = ann;
    await go('/credentials', 'Credentials');
    await page.getByRole('button', { name: 'New API key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('cut off');
    // The service creates it, and each response is lost on the way, or half of it.
    proxy.fail(
      { kind: 'lose', when: is('POST', '/api-keys'), times: 3 },
      { kind: 'break', when: is('POST', '/api-keys') },
    );
    await dialog.getByRole('button', { name: 'Create API key' }).click();
    await dialog.getByText('Cannot reach the service').waitFor();
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('cut off');
    await dialog.getByRole('button', { name: 'Create API key' }).click();
    await page.getByRole('heading', { name: 'API key created' }).waitFor();
    expect(await page.locator('.copyable code').textContent()).toMatch(/^svc_live_/);
    const keys = (await api('GET', '/api-keys?limit=100')).data.filter(
      ({ name }: { name: string }) => name === 'cut off',
    );
    expect(keys).toHaveLength(1);
    const sent = proxy.seen.filter(({ method, path }) => method === 'POST' && path.includes('/api-keys'));
    expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    await page.getByRole('button', { name: 'I have saved it' }).click();
  });
});
