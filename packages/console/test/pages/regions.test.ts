// The regions of an organisation in its settings.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: regions', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });
  afterEach(() => expectQuiet(ann));

  const regions = async () => (await ann.api('GET', '')).regions;
  const section = () => ann.page.getByRole('region', { name: 'Regions' });
  const choose = (label: string) => section().getByLabel('Replicas').selectOption({ label });
  const save = () => section().getByRole('button', { name: 'Save regions' });

  it('are chosen from a list, kept, and taken away', async () => {
    const { page, go } = ann;
    await go('/settings', 'Settings');
    expect(await section().getByLabel('Replicas').inputValue()).toBe('none');
    expect(await save().isDisabled()).toBe(true);

    await choose('In chosen regions');
    // A list without a region would be none.
    expect(await save().isDisabled()).toBe(true);
    await section().getByLabel('Western Europe').check();
    await section().getByLabel('Oceania').check();
    await save().click();
    await page.getByText('Regions saved').waitFor();
    expect(await regions()).toEqual(['weur', 'oc']);

    await go('/settings', 'Settings');
    expect(await section().getByLabel('Western Europe').isChecked()).toBe(true);
    expect(await section().getByLabel('Eastern Europe').isChecked()).toBe(false);
    await section().getByLabel('Western Europe').uncheck();
    await save().click();
    await expect.poll(regions).toEqual(['oc']);

    await choose('Wherever secrets are read often');
    await save().click();
    await expect.poll(regions).toBe('auto');
    await choose('Nowhere');
    await save().click();
    await expect.poll(regions).toEqual([]);
  });

  it('show how the replicas do, at any width', async () => {
    const { page, go, api } = ann;
    await api('PATCH', '', { regions: ['weur', 'apac-ne'] });
    await go('/settings', 'Settings');
    const status = page.getByRole('region', { name: 'Status' });
    for (const name of ['Western Europe', 'North-East Asia']) {
      const row = status.locator('dl > div').filter({ has: page.getByRole('term').getByText(name) });
      await row.getByText('Starting').waitFor();
      expect(await row.innerText()).toMatch(/0 reads a minute$/);
    }
    await page.setViewportSize({ width: 320, height: 700 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await page.setViewportSize({ width: 1440, height: 900 });
    await api('PATCH', '', { regions: ['weur'] });
    await status.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(() => status.innerText()).not.toContain('North-East Asia');
    await api('PATCH', '', { regions: [] });
  });

  slow('says what the service refuses', async () => {
    const { go } = ann;
    await go('/settings', 'Settings');
    await choose('In chosen regions');
    for (const box of await section().getByRole('checkbox').all()) await box.check();
    await save().click();
    await section().getByText('must be auto, or a list of at most 9').waitFor();
    expect(await regions()).toEqual([]);
    ann.said.length = 0;
  });
});
