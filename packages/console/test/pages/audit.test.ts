// The audit log in the console.
import fs from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { call } from '../../../../test/packages/vault.mjs';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: audit log', () => {
  useBrowser();
  let ann: Person;
  let secret: { id: string };
  const HOSTILE = '<img src=x onerror=alert(1)>';
  beforeAll(async () => {
    ann = await newPerson();
    secret = await ann.api('POST', '/secrets', { name: 'AUDITED', type: 'generic', value: 'v' });
    await ann.api('GET', `/secrets/${secret.id}`);
    const { token } = await ann.api('POST', '/api-keys', { name: HOSTILE, scopes: ['secrets:list'] });
    await call(ann.url, token, 'GET', `/orgs/${ann.org}/secrets/${secret.id}`).catch(() => {});
  });

  slow('filters are in the address, and all fields of an entry are shown', async () => {
    const { page, go } = ann;
    await go('/audit', 'Audit log');
    await page.getByLabel('Action', { exact: true }).selectOption('secret.read');
    await page.getByLabel('Outcome', { exact: true }).selectOption('denied');
    await page.waitForFunction(() => document.querySelectorAll('.table-row').length === 1);
    expect(new URL(page.url()).search).toBe('?action=secret.read&outcome=denied');
    await page.getByRole('button', { name: /^secret\.read/ }).click();
    const entry = page.getByRole('dialog', { name: 'secret.read' });
    await entry.getByText(`${HOSTILE} (api key)`).waitFor();
    await entry.getByText('AUDITED', { exact: true }).waitFor();
    await entry.getByRole('button', { name: 'Only this resource' }).click();
    await page.waitForURL(new RegExp(`resource=${secret.id}`));
    await page.reload();
    await page.getByLabel('Resource', { exact: true }).waitFor();
    expect(await page.getByLabel('Resource', { exact: true }).inputValue()).toBe(secret.id);
    expectQuiet(ann);
  });

  it('quick filters show changes, reads of values or refusals, without reads of metadata', async () => {
    const { page, go, api } = ann;
    await api('GET', '/members');
    await go('/audit', 'Audit log');
    const entry = (action: string) =>
      page.getByRole('button', { name: new RegExp(`^${action.replace('.', '\\.')}`) }).first();
    await entry('secret.create').waitFor();
    await entry('secret.read').waitFor();
    expect(await entry('member.list').count()).toBe(0);
    await page.getByRole('button', { name: 'Changes' }).click();
    await page.waitForURL(/show=changes/);
    await entry('secret.create').waitFor();
    expect(await entry('secret.read').count()).toBe(0);
    await page.getByRole('button', { name: 'Refusals' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.table-row').length === 1);
    await page.getByRole('button', { name: 'Everything' }).click();
    await entry('member.list').waitFor();
    expectQuiet(ann);
  });

  it('the log is read page by page, and only visible rows are in the document', async () => {
    const { page, go, api } = ann;
    for (let read = 0; read < 120; read++) await api('GET', `/secrets/${secret.id}`);
    await go('/audit?action=secret.read', 'Audit log');
    const table = page.getByRole('table', { name: 'Entries' });
    await table.waitFor();
    expect(await table.getAttribute('aria-rowcount')).toBe('101');
    expect(await page.locator('.table-row').count()).toBeLessThan(60);
    await page.locator('.table-body').evaluate((body) => body.scrollTo(0, body.scrollHeight));
    await page.waitForFunction(
      () => Number(document.querySelector('.table')?.getAttribute('aria-rowcount')) > 101,
    );
    expectQuiet(ann);
  });

  slow('a link opens any entry of the log, and one to no entry says so', async () => {
    const { page, go, api } = ann;
    const [oldest] = (await api('GET', '/audit-log?action=secret.create')).data;
    // The filters of the address do not match it.
    await go(`/audit?action=secret.read&entry=${oldest.id}`, 'Audit log');
    const entry = page.getByRole('dialog', { name: 'secret.create' });
    await entry.getByText('AUDITED', { exact: true }).waitFor();
    await entry.getByRole('button', { name: 'Copy link' }).click();
    await page.getByText('Link copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      `${ann.url}/console/audit?entry=${oldest.id}`,
    );
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.search.includes('entry'));
    for (const none of [oldest.id.replace(/.{4}$/, '0000'), encodeURIComponent(HOSTILE)]) {
      await go(`/audit?entry=${none}`, 'Audit log');
      await page.getByText('No such entry').waitFor();
    }
    expectQuiet(ann);
  });

  it('dragging over the chart, which the service has counted, selects a time range', async () => {
    const { page, go } = ann;
    const streamed: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('format=ndjson')) streamed.push(request.url());
    });
    await go('/audit?range=1h', 'Audit log');
    const chart = page.getByRole('img', { name: /requests?, \d+ refused or failed/ });
    await chart.waitFor();
    page.removeAllListeners('request');
    expect(streamed).toEqual([]);
    const box = await chart.boundingBox();
    if (!box) throw new Error('there is no chart');
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 1, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=.*to=/);
    await page.getByRole('button', { name: 'Clear this time range' }).click();
    await page.waitForFunction(() => !location.search.includes('from='));
    expectQuiet(ann);
  });

  slow('in follow mode entries of others appear, without the member’s own reads', async () => {
    const { page, go, api } = ann;
    await go('/audit?show=all', 'Audit log');
    await page.getByRole('button', { name: 'Follow live' }).click();
    await page.getByText('without your own reads of this log').waitFor();
    await api('GET', '/members');
    await page.getByRole('row', { name: /member\.list.*first key/ }).waitFor();
    expect(await page.getByRole('button', { name: /^audit\.read/ }).count()).toBe(0);
    expectQuiet(ann);
  });

  slow('a verification reports that the log is intact, and how many entries were checked', async () => {
    const { page, go } = ann;
    await go('/audit?tab=integrity', 'Audit log');
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('The log is intact').waitFor();
    await page.getByText(/\d+ entries verified/).waitFor();
    await page.getByRole('button', { name: 'Download entries past retention' }).click();
    await page.getByText('No entries are past retention').waitFor();
    expectQuiet(ann);
  });

  slow('an export contains the entries that match the filters', async () => {
    const { page, go } = ann;
    await go('/audit?action=secret.create', 'Audit log');
    await page.getByRole('button', { name: 'Export' }).click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Filtered entries' }).click(),
    ]);
    const lines = fs
      .readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line).action)).toEqual(['secret.create']);
    expectQuiet(ann);
  });

  slow('an actor and a resource are found by name', async () => {
    const { page, go, api } = ann;
    const [{ id }] = (await api('GET', '/api-keys')).data.filter(
      ({ name }: { name: string }) => name === 'first key',
    );
    await go('/audit?show=everything', 'Audit log');
    const filter = async (label: string, text: string, parameter: string) => {
      await page.getByLabel(label, { exact: true }).fill(text);
      await page.keyboard.press('Tab');
      await page.waitForURL(
        (url) => url.searchParams.get(parameter.split('=')[0] ?? '') === parameter.split('=')[1],
      );
    };
    await filter('Actor', 'First key', `actor=${id}`);
    expect(await page.getByLabel('Actor', { exact: true }).inputValue()).toBe('first key');
    await filter('Resource', 'AUDITED', `resource=${secret.id}`);
    // The entry of its creation may be out of view.
    await page
      .getByRole('button', { name: /^secret\./ })
      .first()
      .waitFor();
    await api('POST', '/secrets', { name: 'AUDITED', environment: 'staging', type: 'generic', value: 'v' });
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.waitForURL((url) => !url.searchParams.has('resource'));
    await page.getByLabel('Resource', { exact: true }).fill('AUDITED');
    await page.keyboard.press('Tab');
    await page.getByText('AUDITED is in production, staging').waitFor();
    expectQuiet(ann);
  });
});
