// The frame of every page: the command palette, keyboard shortcuts, dialogs with unsaved input, and pages
// that cannot be shown.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: the frame of every page', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
    await ann.api('POST', '/secrets', { name: 'billing/STRIPE_KEY', type: 'generic', value: 'x' });
  });

  slow('the command palette loses no letter of fast typing, and finds names in capitals', async () => {
    const { page, go } = ann;
    await go('/members', 'Members');
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search or jump to' });
    await field.waitFor();
    await page.keyboard.type('billing/str');
    expect(await field.inputValue()).toBe('billing/str');
    await page.getByRole('option', { name: 'billing/STRIPE_KEY' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:text-is("billing/STRIPE_KEY")');
    expectQuiet(ann);
  });

  it('the command palette finds a secret in any of twelve environments, by a part of its name with one request', async () => {
    const { page, go, api } = ann;
    for (let n = 0; n < 9; n += 1)
      await api('POST', '/environments', { name: `Region ${n}`, slug: `region-${n}` });
    await api('POST', '/secrets', {
      name: 'REGIONAL_KEY',
      type: 'generic',
      value: 'x',
      environment: 'region-8',
    });
    await go('/members', 'Members');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/search?') && asked.push(request.url()));
    await page.keyboard.insertText('nal_k');
    await page.getByRole('option', { name: /^REGIONAL_KEY\s*region-8$/ }).waitFor();
    expect(asked).toHaveLength(1);
    page.removeAllListeners('request');
    await page.keyboard.press('Escape');
    expectQuiet(ann);
  });

  it('the command palette works with the arrow keys, closes with Escape, and runs create actions of pages', async () => {
    const { page, go } = ann;
    await go('/secrets', 'Secrets');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or jump to' }).waitFor();
    await page.keyboard.type('team');
    await page.getByRole('option', { name: 'New team' }).waitFor();
    expect(await page.locator('[aria-selected="true"]').textContent()).toContain('Teams');
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('[aria-selected="true"]').textContent()).toContain('New team');
    await page.keyboard.press('Escape');
    await page.locator('.palette').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).waitFor();
    await page.keyboard.type('new team');
    await page.getByRole('option', { name: 'New team' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New team' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/teams');
    expectQuiet(ann);
  });

  it('a dialog asks before input is lost', async () => {
    const { page, go } = ann;
    await go('/teams', 'Teams');
    const dialog = page.getByRole('dialog', { name: 'New team' });
    // The page takes the key once it has been painted, which its heading does not tell.
    const opened = () =>
      dialog.waitFor({ timeout: 500 }).then(
        () => true,
        () => false,
      );
    do await page.keyboard.press('n');
    while (!(await opened()));
    await dialog.getByLabel('Name').fill('Platform');
    await page.keyboard.press('Escape');
    await dialog.getByText('You have unsaved changes.').waitFor();
    await page.keyboard.press('Enter');
    const name = dialog.getByLabel('Name');
    await expect.poll(() => name.evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await name.inputValue()).toBe('Platform');
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    expectQuiet(ann);
  });

  slow('in a destructive dialog the focus is on Cancel', async () => {
    const { page, go, api } = ann;
    const [secret] = (await api('GET', '/secrets')).data;
    await go(`/secrets/${secret.id}`, 'billing/STRIPE_KEY');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await api('GET', '/secrets')).data[0].status).toBe('active');
    expectQuiet(ann);
  });

  it('the page of a missing item says so, and links to the list', async () => {
    const { page, go } = ann;
    await go('/approvals/apr_00000000000000000000000', 'Approval');
    await page.getByText('Approval not found').waitFor();
    await page.getByRole('link', { name: 'View all approvals' }).click();
    await page.waitForSelector('h1:text-is("Approvals")');
    ann.said.length = 0;
  });

  slow('a tab of an older version asks to be reloaded', async () => {
    const { page, go, context, navigate } = ann;
    await go('/secrets', 'Secrets');
    const gone = /assets\/scans-/;
    await context.route(gone, (route) => route.fulfill({ status: 404 }));
    await navigate('Leak scans');
    await page.waitForSelector('h1:text-is("Page could not be loaded")');
    await context.unroute(gone);
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.waitForSelector('h1:text-is("Leak scans")');
    ann.said.length = 0;
  });

  slow('a page is loaded if the network comes back while a failing Retry is still under way', async () => {
    const { page, go, context, navigate } = ann;
    await go('/settings', 'Settings');
    const broken = /assets\/list-.*\.js/;
    await context.route(broken, (route) => route.abort());
    await navigate('Devices');
    await page.waitForSelector('h1:text-is("Page could not be loaded")');
    await context.unroute(broken);
    // The request of Retry fails only after the event.
    let tries = 0;
    await context.route(broken, async (route) => {
      if (tries++ > 0) return route.continue();
      await page.evaluate(() => dispatchEvent(new Event('online')));
      return route.abort();
    });
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.waitForSelector('h1:text-is("Devices")');
    await context.unroute(broken);
    ann.said.length = 0;
  });

  slow(
    'a page whose code or styles could not be loaded is loaded by Retry, and once the network is back, without a reload',
    async () => {
      const { page, go, context, navigate } = ann;
      for (const [label, broken] of [
        ['Devices', /assets\/list-.*\.js/],
        ['Compliance', /assets\/report-.*\.css/],
      ] as const) {
        await go('/settings', 'Settings');
        await page.evaluate(() => Object.assign(window, { isSame: true }));
        await context.route(broken, (route) => route.abort());
        await navigate(label);
        await page.waitForSelector('h1:text-is("Page could not be loaded")');
        await page.getByRole('button', { name: 'Retry' }).click();
        await page.waitForSelector('h1:text-is("Page could not be loaded")');
        await context.unroute(broken);
        if (label === 'Devices') await page.getByRole('button', { name: 'Retry' }).click();
        else await page.evaluate(() => dispatchEvent(new Event('online')));
        await page.waitForSelector(`h1:text-is("${label}")`);
        expect(
          await page.evaluate(() =>
            [...document.querySelectorAll('link[rel=stylesheet]')].every(
              (link) => (link as HTMLLinkElement).sheet?.cssRules.length,
            ),
          ),
        ).toBe(true);
        expect(await page.evaluate(() => 'isSame' in window)).toBe(true);
      }
      ann.said.length = 0;
    },
  );

  it('a tablet has the navigation as icons with names, and lists as tables of the columns that fit', async () => {
    const { page, go, api } = ann;
    await api('POST', '/secrets', { name: 'ON_TABLET', type: 'password', value: 'x' });
    const before = page.viewportSize();
    await page.setViewportSize({ width: 768, height: 1024 });
    await go('/secrets', 'Secrets');
    const table = page.getByRole('table', { name: 'Secrets of production' });
    await table.getByRole('columnheader', { name: 'Changed' }).waitFor();
    await table.getByRole('cell', { name: 'active', exact: true }).first().waitFor();
    expect(await table.getByRole('columnheader', { name: 'Version' }).count()).toBe(0);
    const link = page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: /^Audit log/ });
    const box = await link.boundingBox();
    expect(box?.width).toBeLessThan(70);
    expect(box?.height).toBeGreaterThanOrEqual(44);
    await link.click();
    await page.waitForSelector('h1:text-is("Audit log")');
    if (before) await page.setViewportSize(before);
    expectQuiet(ann);
  });
});
