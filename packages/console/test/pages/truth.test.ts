// What pages of secrets say: what makes a value due, what is deleted, what is found, and what a member may do
// where.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: what pages of secrets say', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  const store = (name: string, more: object = {}): Promise<{ id: string }> =>
    ann.api('POST', '/secrets', { name, type: 'generic', value: 'x', ...more });

  slow(
    'a secret says which policy or period asks for a new value, and offers to rotate what is due',
    async () => {
      const { page, go, api } = ann;
      await api('POST', '/policies', { name: 'Monthly', kind: 'rotation', config: { max_age_days: 30 } });
      const { id } = await store('app/COVERED');
      await go(`/secrets/${id}`, 'app/COVERED');
      await page.getByText('Every 30 days by the policy Monthly').waitFor();
      expect(await page.locator('.facts').textContent()).toContain('New value due');
      await api('PATCH', `/secrets/${id}`, { rotate_every_seconds: 1 });
      await page.getByText('Rotation due').waitFor();
      await page.getByText('Every second as set for this secret').waitFor();
      expect(await page.getByText('active', { exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Rotate now' }).click();
      await page.getByRole('dialog', { name: 'Rotate app/COVERED' }).waitFor();
      await page.keyboard.press('Escape');
      expectQuiet(ann);
    },
  );

  slow('a period that is no number ends no rotation, and a part of a day is a period', async () => {
    const { page, go, api } = ann;
    const { id } = await store('app/PERIOD', { rotate_every_seconds: 86_400 * 90 });
    const period = async () => (await api('GET', `/secrets?id=${id}`)).data[0].rotate_every_seconds;
    await go(`/secrets/${id}`, 'app/PERIOD');
    await page.getByRole('button', { name: 'Edit details' }).click();
    const field = page.getByLabel('Rotate every (days)');
    await field.fill('');
    await field.pressSequentially('30e');
    await page.getByRole('button', { name: 'Save changes' }).click();
    expect(await field.evaluate((one: HTMLInputElement) => one.validity.badInput)).toBe(true);
    expect(await period()).toBe(86_400 * 90);
    await field.fill('0.5');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await period()).toBe(43_200);
    await page.getByText('Every 12 hours as set for this secret').waitFor();
    await go('/secrets', 'Secrets');
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByLabel('Name', { exact: true }).fill('app/HALF');
    await page.getByLabel('Value', { exact: true }).fill('x');
    await page.getByLabel('Expires after (days)').fill('0.5');
    await page.getByRole('button', { name: 'Store secret' }).click();
    await page.waitForSelector('h1:text-is("app/HALF")');
    expectQuiet(ann);
  });

  slow(
    'a deleted secret is opened from the list and restored on its page, and all versions are listed',
    async () => {
      const { page, go, api } = ann;
      const { id } = await store('app/MANY');
      for (let n = 0; n < 11; n += 1)
        await Promise.all(
          Array.from({ length: 10 }, (_, m) => api('PATCH', `/secrets/${id}`, { value: `${n}.${m}` })),
        );
      await api('DELETE', `/secrets/${id}`);
      await go('/secrets?status=deleted', 'Secrets');
      await page.getByRole('link', { name: /^app\/MANY/ }).click();
      await page.getByRole('button', { name: 'Restore' }).click();
      await page.getByText('app/MANY restored').waitFor();
      await page.getByRole('tab', { name: 'History' }).click();
      await page.getByRole('button', { name: 'Show older versions' }).click();
      await page.getByText('Version 1', { exact: true }).waitFor();
      expect(await page.locator('.timeline li').count()).toBe(111);
      expectQuiet(ann);
    },
  );

  slow(
    'a search finds a part of a name in any case, folders keep the filters, and forced colours show what is current',
    async () => {
      const { page, go } = ann;
      await store('app/STRIPE_KEY', { type: 'api_key' });
      await go('/secrets', 'Secrets');
      await page.getByRole('searchbox', { name: 'Name contains' }).fill('ripe_k');
      await page.getByRole('link', { name: /STRIPE_KEY/ }).waitFor();
      await page.getByRole('searchbox').fill('');
      await page.getByRole('combobox', { name: 'Type' }).selectOption('api_key');
      await page.getByRole('link', { name: 'app/' }).click();
      await page.waitForURL(/path=app/);
      await page.getByRole('link', { name: /^STRIPE_KEY/ }).waitFor();
      expect(await page.getByRole('combobox', { name: 'Type' }).inputValue()).toBe('api_key');
      expect(await page.getByRole('link', { name: /^MANY/ }).count()).toBe(0);
      const line = () =>
        page.locator('.segments [aria-pressed="true"]').evaluate((one) => getComputedStyle(one).outlineStyle);
      expect(await line()).toBe('none');
      await page.emulateMedia({ forcedColors: 'active' });
      expect(await line()).toBe('solid');
      await page.emulateMedia({ forcedColors: 'none' });
      expectQuiet(ann);
    },
  );

  it('without a connection a page says so, and goes on when it is back', async () => {
    const { page, go, context, said } = ann;
    await store('app/ONLINE');
    await go('/secrets', 'Secrets');
    await page.getByRole('link', { name: 'app/' }).waitFor();
    await context.setOffline(true);
    await page.getByRole('button', { name: 'Staging' }).click();
    await page.getByText('You are offline').waitFor();
    await context.setOffline(false);
    await page.getByText('No secrets in staging yet').waitFor();
    said.length = 0;
  });

  slow(
    'a refusal is in view and names the policy, and a grant for staging offers nothing in production',
    async () => {
      const { api, org, key } = ann;
      await store('app/SEEN');
      const invited = await api('POST', '/members', { name: 'Vi', email: 'vi@example.com', role: 'viewer' });
      const grant = { permission: 'write', environments: ['staging'] };
      await api('POST', '/grants', { grantee: { type: 'member', id: invited.id }, ...grant });
      await api('POST', '/policies', {
        name: 'In capitals',
        kind: 'naming',
        config: { pattern: '^[A-Z/_]+$' },
      });
      const vi = await newPerson({ invited: { org, key, enrolmentUrl: invited.enrolment_url } });
      const { page, go } = vi;
      await go('/secrets?environment=staging', 'Secrets');
      await page.getByRole('button', { name: 'New secret' }).click();
      const dialog = page.getByRole('dialog', { name: 'New secret' });
      expect(await dialog.getByLabel('Environment').locator('option').allTextContents()).toEqual(['staging']);
      await dialog.getByLabel('Name', { exact: true }).fill('small');
      await dialog.getByLabel('Value', { exact: true }).fill('x');
      await dialog.getByRole('button', { name: 'Store secret' }).click();
      const refusal = dialog.getByRole('alert');
      await refusal.waitFor();
      expect(await refusal.textContent()).toContain('In capitals');
      expect(await refusal.textContent()).not.toContain('pol_');
      const box = await refusal.boundingBox();
      expect(
        (box?.y ?? -1) >= 0 && (box?.y ?? 0) + (box?.height ?? 0) <= (page.viewportSize()?.height ?? 0),
      ).toBe(true);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Production' }).click();
      await page.waitForURL(/environment=production/);
      await page.getByRole('link', { name: 'app/' }).waitFor();
      expect(await page.getByRole('button', { name: 'New secret' }).count()).toBe(0);
      // Its steps include a key, which a grant does not allow to make.
      expect(await page.locator('a[href="/console/start"]').count()).toBe(0);
      await vi.context.close();
    },
  );
});
