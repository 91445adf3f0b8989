// The overview as home: the verdict, rows by urgency that lead to where one acts, activity, and few calls.
import { beforeAll, describe, expect, it } from 'vitest';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from './person.ts';

describe.skipIf(!executablePath)('overview', () => {
  useBrowser();
  let ann: Person;

  beforeAll(async () => {
    if (!executablePath) return;
    ann = await newPerson();
    await ann.api('POST', '/secrets', { name: 'KEPT', type: 'generic', value: 'x' });
  });

  it('is home, and says that all is clear', async () => {
    const { page, go } = ann;
    await go('', 'Overview');
    await page.getByText('All clear').waitFor();
    await page.getByRole('img', { name: /requests? in seven days/ }).waitFor();
    expectQuiet(ann);
  });

  it('says what needs somebody, by urgency, and leads there by keyboard alone', async () => {
    const { page, go, api } = ann;
    await api('POST', '/secrets', { name: 'ENDS_SOON', type: 'generic', value: 'x', ttlSeconds: 86_400 });
    await api('POST', '/break-glass-tokens', { reason: 'the database is down' });
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/')) asked.push(new URL(request.url()).pathname);
    });
    await go('/overview', 'Overview');
    await page.getByText('2 things need you').waitFor();
    page.removeAllListeners('request');
    // Events of what was done before may have some of them repeated.
    const calls = new Set(asked.filter((path) => !path.endsWith('/events/stream')));
    expect(calls.size, [...calls].join(' ')).toBeLessThanOrEqual(6);
    expect(await page.locator('main h2').allTextContents()).toEqual([
      'Live break-glass tokens 1',
      'Secrets near their end 1',
      'Activity',
    ]);
    await page.getByRole('link', { name: 'Replace: ENDS_SOON' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:text-is("ENDS_SOON")');
    expectQuiet(ann);
  });

  it('follows what others do: a row goes once it needs nobody', async () => {
    const { page, go, api } = ann;
    await go('/overview', 'Overview');
    const row = page.getByText('the database is down');
    await row.waitFor();
    const { data } = await api('GET', '/break-glass-tokens');
    await api('DELETE', `/break-glass-tokens/${data[0].id}`);
    await row.waitFor({ state: 'detached' });
    await page.getByText('One thing needs you').waitFor();
    expectQuiet(ann);
  });

  it('the palette finds people and credentials, too', async () => {
    const { page, go, api } = ann;
    await api('POST', '/teams', { name: 'Payments' });
    await api('POST', '/api-keys', { name: 'payments worker', scopes: ['secrets:read'] });
    await go('/overview', 'Overview');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).waitFor();
    await page.keyboard.insertText('paym');
    await page.getByRole('option', { name: /^payments worker\s*Credential$/ }).waitFor();
    await page.getByRole('option', { name: /^Payments\s*Team$/ }).click();
    await page.waitForSelector('h1:text-is("Payments")');
    expectQuiet(ann);
  });
});
