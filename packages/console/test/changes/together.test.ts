// “Keep my change” in every form: what the member changed is saved, and what a colleague changed stays, also
// within a field.
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { edit, expectRefusals, keepAndSave } from '../support/beside.ts';
import { executablePath, newPerson, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: changes together with others', () => {
  useBrowser();

  slow('a rotation policy: the days of a colleague stay when I tick automatic rotation', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const policy = await api('POST', '/policies', {
      name: 'Quarterly',
      kind: 'rotation',
      config: { max_age_days: 90 },
      applies_to: { environments: ['production'], names: ['app/*'] },
    });
    await go(`/policies/${policy.id}`, 'Quarterly');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Rotate automatically').check();
    await page.getByRole('dialog').getByLabel('Staging').check();
    await api('PATCH', `/policies/${policy.id}`, {
      config: { max_age_days: 7, auto_rotate: false },
      applies_to: { environments: ['production'], names: ['app/*', 'db/*'] },
    });
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Days: 90 → 7').waitFor();
    await page.getByText('Applies to › Names: app/* → app/*, db/*').waitFor();
    await page.getByRole('button', { name: 'Keep my change' }).click();
    // The form shows what will be saved.
    expect(await page.getByLabel('Days', { exact: true }).inputValue()).toBe('7');
    expect(await page.getByLabel('Names', { exact: false }).first().inputValue()).toBe('app/*\ndb/*');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const stored = await api('GET', `/policies/${policy.id}`);
    expect(stored.config).toMatchObject({ max_age_days: 7, auto_rotate: true });
    expect(stored.applies_to).toMatchObject({
      environments: ['production', 'staging'],
      names: ['app/*', 'db/*'],
    });
    expectRefusals(ann);
  });

  slow(
    'an approval policy: an operation that a colleague removed does not come back when I add another',
    async () => {
      const ann = await newPerson();
      const { page, go, api } = ann;
      const config = {
        operations: ['secret.read', 'secret.delete'],
        required: 1,
        approvers: { role: 'owner' },
      };
      const policy = await api('POST', '/policies', {
        name: 'Held',
        kind: 'approval',
        enabled: false,
        config,
      });
      await go(`/policies/${policy.id}`, 'Held');
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('dialog').getByLabel('Share a secret').check();
      await api('PATCH', `/policies/${policy.id}`, {
        config: { ...config, operations: ['secret.read'], allow_break_glass: true },
      });
      await keepAndSave(ann, 'Requires approval: secret.read, secret.delete → secret.read');
      const stored = await api('GET', `/policies/${policy.id}`);
      expect(stored.config).toMatchObject({
        operations: ['secret.read', 'secret.share'],
        allow_break_glass: true,
      });
      expectRefusals(ann);
    },
  );

  slow('names of an agent: what a colleague removed does not come back when I add another', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const agent = await api('POST', '/agent-credentials', {
      name: 'assistant',
      scopes: ['secrets:read'],
      environments: ['development'],
      secrets: ['app/*', 'billing/*'],
    });
    await go(`/credentials/${agent.id}`, 'assistant');
    await edit(ann);
    await page.getByLabel('Secret names').fill('app/*\nbilling/*\nmail/*');
    await api('PATCH', `/agent-credentials/${agent.id}`, { secrets: ['app/*'], rate_limit: 7 });
    await keepAndSave(ann, 'Secret names: app/*, billing/* → app/*');
    expect(await api('GET', `/agent-credentials/${agent.id}`)).toMatchObject({
      secrets: ['app/*', 'mail/*'],
      rate_limit: 7,
    });
    expectRefusals(ann);
  });

  slow('tags: those of a colleague stay beside mine', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const { id } = await api('POST', '/secrets', {
      name: 'TAGGED',
      type: 'generic',
      value: 'x',
      tags: { a: '1', b: '2' },
    });
    await go(`/secrets/${id}`, 'TAGGED');
    await page.getByRole('button', { name: 'Edit details' }).click();
    await page.getByLabel('Tags').fill('a: 9');
    await api('PATCH', `/secrets/${id}`, { tags: { a: '1', b: '2', c: '3' } });
    await keepAndSave(ann, 'Tags › c: not set → 3');
    expect((await api('GET', `/secrets/${id}`)).tags).toEqual({ a: '9', c: '3' });
    expectRefusals(ann);
  });

  it('settings: an address that a colleague added stays when I add mine', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    await api('PATCH', '', { allowed_addresses: ['127.0.0.1', '::1'] });
    await go('/settings', 'Settings');
    const field = page.getByLabel('IP addresses and ranges');
    await field.fill('127.0.0.1\n::1\n192.0.2.1');
    await api('PATCH', '', { allowed_addresses: ['127.0.0.1', '::1', '203.0.113.0/24'] });
    await page.getByRole('button', { name: 'Save addresses' }).click();
    await page.getByText('Allowed IP addresses: 127.0.0.1, ::1 → 127.0.0.1, ::1, 203.0.113.0/24').waitFor();
    await page.getByRole('button', { name: 'Keep my change' }).click();
    await page.getByRole('button', { name: 'Save addresses' }).click();
    await expect
      .poll(async () => (await api('GET', '')).allowed_addresses)
      .toEqual(['127.0.0.1', '::1', '203.0.113.0/24', '192.0.2.1']);
    expectRefusals(ann);
  });

  slow(
    'environments of a member, events of a webhook and restrictions of a trust: both changes are kept',
    async () => {
      const ann = await newPerson();
      const { page, go, api } = ann;
      const dialog = page.getByRole('dialog');
      const member = await api('POST', '/members', {
        name: 'Cat',
        email: 'cat@example.com',
        role: 'developer',
        environments: ['development', 'staging'],
      });
      await go(`/members/${member.id}`, 'Cat');
      await page.getByRole('button', { name: 'Edit' }).click();
      await dialog.getByLabel('Production').check();
      await api('PATCH', `/members/${member.id}`, { environments: ['development'] });
      await keepAndSave(ann, 'Environments: development, staging → development');
      expect((await api('GET', `/members/${member.id}`)).environments).toEqual(['development', 'production']);

      const webhook = await api('POST', '/webhooks', {
        url: 'https://hooks.example.com/a',
        events: ['SECRET_ROTATED', 'SECRET_DELETED'],
      });
      await go(`/webhooks/${webhook.id}`);
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Edit' }).click();
      await dialog.getByText('Secret created', { exact: true }).click();
      await api('PATCH', `/webhooks/${webhook.id}`, { events: ['SECRET_DELETED'], description: 'theirs' });
      await keepAndSave(ann, 'Description: not set → theirs');
      expect(await api('GET', `/webhooks/${webhook.id}`)).toMatchObject({
        events: ['SECRET_DELETED', 'SECRET_CREATED'],
        description: 'theirs',
      });

      const claims = { repository: 'acme/app', repository_owner_id: '65', ref: 'refs/heads/main' };
      const trust = await api('POST', '/trusts', {
        name: 'deploy',
        issuer: 'https://token.actions.githubusercontent.com',
        claims,
        audiences: ['https://a.example.com'],
        scopes: ['secrets:read'],
        environments: ['development'],
        secrets: ['app/*', 'db/*'],
      });
      await go(`/credentials/${trust.id}`, 'deploy');
      await edit(ann);
      await page
        .getByLabel('Claims')
        .fill('repository: acme/app\nrepository_owner_id: 65\nref: refs/heads/main\nevent_name: push');
      await page.getByLabel('Audiences').fill('https://a.example.com\nhttps://b.example.com');
      await page.getByLabel('Secret names').fill('app/*\ndb/*\nmail/*');
      await api('PATCH', `/trusts/${trust.id}`, {
        claims: { ...claims, ref: 'refs/heads/release' },
        audiences: ['https://c.example.com'],
        secrets: ['app/*'],
      });
      await keepAndSave(ann, 'Claims › ref: refs/heads/main → refs/heads/release');
      expect(await api('GET', `/trusts/${trust.id}`)).toMatchObject({
        claims: { ...claims, ref: 'refs/heads/release', event_name: 'push' },
        audiences: ['https://c.example.com', 'https://b.example.com'],
        secrets: ['app/*', 'mail/*'],
      });
      expectRefusals(ann);
    },
  );

  slow('on a phone, what says why nothing was saved is above the buttons', async () => {
    const ann = await newPerson({ look: { width: 390, scheme: 'light' } });
    const { page, go, api } = ann;
    const policy = await api('POST', '/policies', {
      name: 'Monthly',
      kind: 'rotation',
      config: { cron: '0 6 1 * *' },
    });
    const isClear = (shown: Locator) =>
      expect
        .poll(async () => {
          const note = await shown.boundingBox();
          const foot = await page.locator('.dialog-foot').boundingBox();
          return note && foot ? foot.y - (note.y + note.height) : 'not shown';
        })
        .toBeGreaterThanOrEqual(0);
    await go(`/policies/${policy.id}`, 'Monthly');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.route(`**/policies/${policy.id}`, (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({
            status: 503,
            json: {
              error: {
                code: 'UNAVAILABLE',
                message: 'Not now.',
                docs: 'http://localhost/docs',
                request_id: 'req_1',
              },
            },
          })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Save changes' }).click();
    await isClear(page.locator('.note').filter({ hasText: 'Not now.' }));
    await page.unroute(`**/policies/${policy.id}`);
    await api('PATCH', `/policies/${policy.id}`, { enabled: false });
    await page.getByRole('button', { name: 'Save changes' }).click();
    await isClear(page.locator('.note').filter({ hasText: 'Someone else changed this in the meantime' }));
    // A refused field gets the focus, above the buttons too.
    await page.getByRole('button', { name: 'Keep my change' }).click();
    await page.getByLabel('Cron expression').fill('not a schedule');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await isClear(page.locator('.field-error'));
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard' }).click();
    ann.said.length = 0;
  });
});
