// The console during failures: of the network, the service, the session, or for lack of permission. SLOW=1
// visits every page as each role.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../test/packages/slow.ts';
import { paths } from './support/everything.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from './support/person.ts';

/** Ends the session in another tab. */
async function endElsewhere({ context, url }: Person): Promise<void> {
  const elsewhere = await context.newPage();
  await elsewhere.goto(`${url}/console/settings`);
  await elsewhere.waitForSelector('h1:text-is("Settings")');
  await elsewhere.evaluate(() =>
    fetch('/api/v1/auth/logout', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    }),
  );
  await elsewhere.close();
}

describe.skipIf(!executablePath)('console: resilience', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
    const data = Object.fromEntries(
      Array.from({ length: 250 }, (_, n) => [`many/KEY_${String(n).padStart(3, '0')}`, 'x']),
    );
    await ann.api('POST', '/integrations/import', {
      source: 'svc',
      onConflict: 'fail',
      environmentId: 'production',
      data,
    });
  });

  it('cached data stays visible while the service is unreachable, and is refreshed when it is back', async () => {
    const { page, go, api, context, said } = ann;
    await go('/secrets?path=many/', 'Secrets');
    await page.getByRole('link', { name: 'KEY_000' }).waitFor();
    await context.setOffline(true);
    await api('POST', '/secrets', { name: 'many/AWAY', type: 'generic', value: 'x' });
    await page.waitForTimeout(300);
    expect(await page.getByRole('link', { name: 'KEY_000' }).count()).toBe(1);
    await context.setOffline(false);
    await page.getByRole('link', { name: 'AWAY' }).waitFor();
    // The browser itself logs failed connections.
    said.length = 0;
  });

  it('a broken stream is resumed, and no change in between is missed', async () => {
    const { page, go, api, said } = ann;
    let cut = 0;
    await page.route('**/events/stream*', async (route) => {
      if (cut++ < 2) setTimeout(() => void route.abort('connectionreset'), 400);
      else await route.continue();
    });
    await go('/teams', 'Teams');
    await api('POST', '/teams', { name: 'While the stream was away' });
    await page.getByText('While the stream was away').waitFor();
    await page.unroute('**/events/stream*');
    said.length = 0;
  });

  slow('if a page of a list is refused, the rows before it stay, and it can be retried', async () => {
    const { page, go, said } = ann;
    const error = {
      code: 'UNAVAILABLE',
      message: 'The service is busy.',
      docs: 'http://localhost/docs',
      request_id: 'req_1',
    };
    await page.route('**/secrets?*cursor=*', (route) => route.fulfill({ status: 500, json: { error } }));
    await go('/secrets?path=many/', 'Secrets');
    const body = page.locator('.table-body');
    await body.waitFor();
    await body.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText('The service is busy.').waitFor();
    expect(await page.locator('.table-row').count()).toBeGreaterThan(5);
    await page.unroute('**/secrets?*cursor=*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.waitForFunction(
      () => Number(document.querySelector('.table')?.getAttribute('aria-rowcount')) > 101,
    );
    said.length = 0;
  });

  slow(
    'a change whose response was lost, and whose effect the page has shown since, can be made once more',
    async () => {
      const { page, go, api, said } = ann;
      const { id } = await api('POST', '/secrets', { name: 'LOST', type: 'password', generate: {} });
      await go(`/secrets/${id}`, 'LOST');
      const rotate = async () => {
        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        await page.getByRole('button', { name: 'Rotate secret' }).click();
      };
      await page.route('**/rotate', async (route) => {
        await route.fetch();
        await route.abort('connectionreset');
      });
      await rotate();
      await page.getByText('Cannot reach the service').first().waitFor();
      await page.unroute('**/rotate');
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.locator('.facts').getByText('2 by', { exact: false }).waitFor();
      await rotate();
      await page.getByRole('dialog', { name: 'LOST rotated' }).waitFor();
      expect(await api('GET', `/secrets/${id}`)).toMatchObject({ version: 3 });
      await page.keyboard.press('Escape');
      said.length = 0;
    },
  );

  slow('a form keeps its input when the session ends, and can be sent after signing in again', async () => {
    const { page, go, api, said } = ann;
    await go('/secrets?path=many/', 'Secrets');
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByLabel('Name', { exact: true }).fill('many/TYPED_BEFORE');
    await page.getByLabel('Value', { exact: true }).fill('kept-value');
    await endElsewhere(ann);
    await page.getByText('Your input is still there').waitFor();
    expect(await page.getByRole('heading', { name: 'Secrets', exact: true }).isVisible()).toBe(false);
    expect(await page.getByLabel('Value', { exact: true }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByLabel('Name', { exact: true }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('many/TYPED_BEFORE');
    await page.getByRole('button', { name: 'Store secret' }).click();
    await page.waitForSelector('h1:text-is("many/TYPED_BEFORE")');
    expect((await api('GET', '/secrets/by-name/many/TYPED_BEFORE')).value).toBe('kept-value');
    said.length = 0;
  });

  slow(
    'values that were typed are dropped two minutes after the session has ended, and other input is kept',
    async () => {
      const { page, go, said } = ann;
      await page.clock.install();
      await go('/secrets?path=many/', 'Secrets');
      await page.getByRole('button', { name: 'New secret' }).click();
      await page.getByLabel('Name', { exact: true }).fill('many/TYPED_AGAIN');
      await page.getByLabel('Value', { exact: true }).fill('dropped-value');
      await endElsewhere(ann);
      await page.getByText('Values of secrets are removed from it after 2 minutes').waitFor();
      const typed = () => page.locator('textarea').first().inputValue();
      await page.clock.fastForward(110_000);
      expect(await typed()).toBe('dropped-value');
      await page.clock.fastForward(20_000);
      await page.getByText('without values of secrets').waitFor();
      expect(await typed()).toBe('');
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByText('Removed because your session had ended').waitFor();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('many/TYPED_AGAIN');
      // An empty value is not stored in its place.
      await page.getByRole('button', { name: 'Store secret' }).click();
      expect(
        await page
          .locator('textarea')
          .first()
          .evaluate((field: HTMLTextAreaElement) => field.validity.valueMissing),
      ).toBe(true);
      await page.getByLabel('Value', { exact: true }).fill('typed-again');
      await page.getByRole('button', { name: 'Store secret' }).click();
      await page.waitForSelector('h1:text-is("many/TYPED_AGAIN")');
      said.length = 0;
    },
  );

  it('values that were read are dropped at once when the session ends', async () => {
    const { page, go, api, said } = ann;
    const secret = await api('POST', '/secrets', { name: 'SHOWN', type: 'generic', value: 'first-value' });
    await api('PATCH', `/secrets/${secret.id}`, { value: 'second-value' });
    await go(`/secrets/${secret.id}?tab=history`, 'SHOWN');
    // Unsaved input keeps the page.
    await page.evaluate(() => {
      const form = document.querySelector('#main')?.appendChild(document.createElement('form'));
      const field = form?.appendChild(document.createElement('input'));
      if (field) field.value = 'unsaved';
      field?.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.locator('.diff').waitFor();
    await endElsewhere(ann);
    await page.getByText('Your input is still there').waitFor();
    expect(await page.content()).not.toContain('first-value');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForSelector('h1:text-is("SHOWN")');
    said.length = 0;
  });

  slow('a fault while rendering is said on the page, and the navigation keeps working', async () => {
    const { page, go, navigate, api, said } = ann;
    await api('POST', '/teams', { name: 'After the fault' });
    await page.route('**/teams?*', (route) =>
      route.fulfill({ json: { data: [null], has_more: false, next_cursor: null } }),
    );
    await page.goto(`${ann.url}/console/teams`);
    await page.waitForSelector('h1:text-is("This page has a fault")');
    expect(await page.getByText('Cannot reach the service').count()).toBe(0);
    await navigate('Members');
    await page.waitForSelector('h1:text-is("Members")');
    await page.goBack();
    await page.waitForSelector('h1:text-is("This page has a fault")');
    await page.unroute('**/teams?*');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('link', { name: 'After the fault' }).waitFor();
    await go('/secrets', 'Secrets');
    said.length = 0;
  });

  slow(
    'a folder, a search and a row have their own addresses: back, forward and reload show them again',
    async () => {
      const { page, go } = ann;
      await go('/secrets', 'Secrets');
      await page.getByRole('link', { name: 'many/' }).click();
      await page.getByRole('link', { name: 'KEY_000' }).click();
      await page.waitForSelector('h1:text-is("many/KEY_000")');
      await page.goBack();
      await page.getByRole('link', { name: 'KEY_001' }).waitFor();
      await page.reload();
      await page.getByRole('link', { name: 'KEY_001' }).waitFor();
      await page.goBack();
      await page.getByRole('link', { name: 'many/' }).waitFor();
      await page.goForward();
      await page.getByRole('searchbox').fill('KEY_24');
      await page
        .getByText('many/KEY_249')
        .or(page.getByText('KEY_249', { exact: true }))
        .first()
        .waitFor();
      await page.reload();
      expect(await page.getByRole('searchbox').inputValue()).toBe('KEY_24');
      expectQuiet(ann);
    },
  );

  it.each(process.env.SLOW ? ['viewer', 'auditor', 'developer'] : ['viewer'])(
    'the role %s sees the pages it can open, and no request is refused',
    { tags: 'slow', timeout: 120_000 },
    async (role) => {
      const invited = await ann.api('POST', '/members', { name: 'Mia', email: `${role}@example.com`, role });
      const mia = await newPerson({
        invited: { org: ann.org, key: ann.key, enrolmentUrl: invited.enrolment_url },
      });
      const refused: string[] = [];
      mia.page.on('response', (answer) => {
        if (answer.status() >= 400 && answer.url().includes('/api/'))
          refused.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
      });
      for (const path of paths.filter((one) => !one.includes(':'))) {
        await mia.go(path);
        await mia.page.waitForTimeout(150);
        await mia.page.waitForFunction(() => !document.querySelector('.skeleton'));
        expect(await mia.page.locator('[role=alert]').allInnerTexts(), path).toEqual([]);
      }
      expect(refused).toEqual([]);
      expectQuiet(mia);
      await mia.context.close();
    },
  );
});
