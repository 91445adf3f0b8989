// Changes beside other people: a dialog that shows an outdated state changes nothing, says what is different,
// and applies the member's own change only after they have said so.
import { describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { edit, expectRefusals, keepAndSave } from '../support/beside.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: changes beside others', () => {
  useBrowser();

  it('an environment that a colleague took from an agent does not come back with a stale form', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const agent = await api('POST', '/agent-credentials', {
      name: 'assistant',
      scopes: ['secrets:read'],
      environments: ['development', 'staging'],
    });
    await go(`/credentials/${agent.id}`, 'assistant');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByLabel('Production').check();
    await api('PATCH', `/agent-credentials/${agent.id}`, { environments: ['development'] });
    await page.getByRole('button', { name: 'Save changes' }).click();
    const note = page.getByRole('alert').filter({ hasText: 'Someone else changed this in the meantime' });
    await note.waitFor();
    await note.getByText('Environments: development, staging → development').waitFor();
    expect((await api('GET', `/agent-credentials/${agent.id}`)).environments).toEqual(['development']);
    // Without a word of the member, it stays refused.
    await page.getByRole('button', { name: 'Save changes' }).click();
    await note.waitFor();
    expect((await api('GET', `/agent-credentials/${agent.id}`)).environments).toEqual(['development']);
    await page.getByRole('button', { name: 'Keep my change' }).click();
    // The button is gone: the keyboard goes on from what to do next.
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('status');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('assistant saved').waitFor();
    expect((await api('GET', `/agent-credentials/${agent.id}`)).environments.sort()).toEqual([
      'development',
      'production',
    ]);
    expectRefusals(ann);
  });

  it('a policy form does not undo what a colleague changed', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const policy = await api('POST', '/policies', {
      name: 'Upper case',
      kind: 'naming',
      config: { pattern: '^[A-Z]' },
    });
    await go(`/policies/${policy.id}`, 'Upper case');
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByRole('button', { name: 'Save changes' }).isDisabled()).toBe(true);
    await page.getByLabel('Name', { exact: true }).fill('Capitals');
    const theirs = {
      config: { pattern: '^[A-Z][A-Z_]*$' },
      enabled: false,
      applies_to: { environments: ['staging'], names: ['app/*'] },
    };
    const { applies_to } = await api('PATCH', `/policies/${policy.id}`, theirs);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Enabled: yes → no').waitFor();
    await page.getByText('Pattern: ^[A-Z] → ^[A-Z][A-Z_]*$').waitFor();
    await page.getByText('Applies to › Environments: not set → staging').waitFor();
    expect(await api('GET', `/policies/${policy.id}`)).toMatchObject({
      name: 'Upper case',
      enabled: false,
      revision: 2,
    });
    await keepAndSave(ann, 'Enabled: yes → no');
    expect(await api('GET', `/policies/${policy.id}`)).toMatchObject({
      ...theirs,
      name: 'Capitals',
      applies_to,
    });
    // What the member changes is sent as a whole, and nothing beside it.
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Pattern' }).fill('^[A-Z]+$');
    await api('PATCH', `/policies/${policy.id}`, { applies_to: { types: ['generic'] } });
    await keepAndSave(ann, 'Applies to › Types: not set → generic');
    const stored = await api('GET', `/policies/${policy.id}`);
    expect(stored).toMatchObject({
      name: 'Capitals',
      enabled: false,
      config: { pattern: '^[A-Z]+$' },
      applies_to: { types: ['generic'] },
    });
    expectRefusals(ann);
  });

  slow('a trust form does not undo what a colleague changed', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const claims = { repository: 'acme/app', repository_owner_id: '65' };
    const trust = await api('POST', '/trusts', {
      name: 'deploy',
      issuer: 'https://token.actions.githubusercontent.com',
      claims,
      scopes: ['secrets:read'],
      environments: ['development', 'production'],
    });
    await go(`/credentials/${trust.id}`, 'deploy');
    await edit(ann);
    expect(await page.getByRole('button', { name: 'Save changes' }).isDisabled()).toBe(true);
    await page.getByLabel('Name', { exact: true }).fill('ship');
    const theirs = {
      claims: { ...claims, ref: 'refs/heads/main' },
      environments: ['development'],
      secrets: ['app/*'],
      allowed_addresses: ['203.0.113.0/24'],
      ttlSeconds: 3600,
    };
    await api('PATCH', `/trusts/${trust.id}`, theirs);
    await keepAndSave(ann, 'Environments: development, production → development');
    expect(await api('GET', `/trusts/${trust.id}`)).toMatchObject({
      ...theirs,
      name: 'ship',
      scopes: ['secrets:read'],
    });
    expectRefusals(ann);
  });

  const cluster = {
    apiServer: 'http://127.0.0.1:9998',
    token: 'kube-token',
    namespace: 'demo',
    secretName: 'app',
  };
  const connect = ({ api }: Person) =>
    api('POST', '/integrations', { kind: 'sync', platform: 'kubernetes', name: 'Cluster', config: cluster });

  slow('a connection form does not undo what a colleague changed', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const { id } = await connect(ann);
    await go(`/syncs/connections/${id}`, 'Cluster');
    await edit(ann);
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    const theirs = { environments: ['staging'], auto: true, prune: true };
    await api('PATCH', `/integrations/${id}`, theirs);
    await keepAndSave(ann, 'Sync automatically: no → yes');
    expect(await api('GET', `/integrations/${id}`)).toMatchObject({ ...theirs, name: 'Mine' });
    await edit(ann);
    await page.getByLabel('Sync automatically').uncheck();
    await api('PATCH', `/integrations/${id}`, {
      config: { ...cluster, namespace: 'theirs' },
      environments: ['development'],
    });
    await keepAndSave(ann, 'Namespace: demo → theirs');
    const stored = await api('GET', `/integrations/${id}`);
    expect(stored).toMatchObject({ name: 'Mine', environments: ['development'], auto: false, prune: true });
    expect(stored.config).toMatchObject({ namespace: 'theirs', secretName: 'app' });
    expectRefusals(ann);
  });

  slow('a connection to all environments stays one while a colleague creates an environment', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const { id, environments } = await connect(ann);
    await go(`/syncs/connections/${id}`, 'Cluster');
    await edit(ann);
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await api('POST', '/environments', { slug: 'qa', name: 'Quality' });
    await page.getByRole('dialog').getByLabel('Quality').waitFor();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Mine saved').waitFor();
    expect(environments).toBeNull();
    expect(await api('GET', `/integrations/${id}`)).toMatchObject({ name: 'Mine', environments: null });
    expectQuiet(ann);
  });

  slow('a device form does not undo what a colleague changed', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const { id } = await api('POST', '/devices', { name: 'laptop', platform: 'linux', serial: 'A1' });
    await go('/devices', 'Devices');
    await page.getByRole('button', { name: 'Actions for laptop' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('mine');
    await api('PATCH', `/devices/${id}`, { platform: 'macos', serial: null });
    await keepAndSave(ann, 'Platform: linux → macos');
    expect(await api('GET', `/devices/${id}`)).toMatchObject({
      name: 'mine',
      platform: 'macos',
      serial: null,
    });
    expectRefusals(ann);
  });

  slow('the note of an incident does not open it again after a colleague closed it', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const key = await api('POST', '/api-keys', { name: 'leaked', scopes: ['secrets:read'] });
    const { incident_id } = await api('POST', `/credentials/${key.id}/contain`, {});
    await go(`/incident/report/${incident_id}`);
    await page.getByRole('button', { name: 'Edit note' }).click();
    expect(await page.getByRole('button', { name: 'Save note' }).isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Note' }).fill('mine');
    await api('PATCH', `/incidents/${incident_id}`, { status: 'closed' });
    await keepAndSave(ann, 'Status: open → closed', 'Save note');
    expect(await api('GET', `/incidents/${incident_id}`)).toMatchObject({ status: 'closed', note: 'mine' });
    expectRefusals(ann);
  });

  slow('a secret whose details a colleague changed, and one whose value', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const { id } = await api('POST', '/secrets', { name: 'DATABASE_URL', type: 'generic', value: 'one' });
    await go(`/secrets/${id}`, 'DATABASE_URL');
    await page.getByRole('button', { name: 'Edit details' }).click();
    await page.getByLabel('Description').fill('mine');
    await api('PATCH', `/secrets/${id}`, { description: 'theirs', tags: { team: 'core' } });
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Description: not set → theirs').waitFor();
    await page.getByText('Tags › team: not set → core').waitFor();
    expect(await api('GET', `/secrets/${id}`)).toMatchObject({ description: 'theirs', version: 1 });
    await page.getByRole('button', { name: 'Keep my change' }).click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('DATABASE_URL saved').waitFor();
    // The colleague's tags stay: only the member's own field is sent.
    expect(await api('GET', `/secrets/${id}`)).toMatchObject({ description: 'mine', tags: { team: 'core' } });
    await page.getByRole('button', { name: 'New value' }).first().click();
    await page.getByLabel('Value', { exact: true }).fill('mine');
    await api('PATCH', `/secrets/${id}`, { value: 'two of theirs' });
    await page.getByRole('button', { name: 'Store value' }).click();
    await page.getByText('Version: 1 → 2').waitFor();
    expect((await api('GET', `/secrets/${id}`)).value).toBe('two of theirs');
    // The difference tells no value.
    expect(await page.content()).not.toContain('two of theirs');
    expectRefusals(ann);
  });

  slow('settings can be saved twice: the second time names the state that the first made', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    await go('/settings', 'Settings');
    for (const name of ['First', 'Second']) {
      await page.getByLabel('Name', { exact: true }).fill(name);
      const save = page.getByRole('button', { name: 'Save changes' });
      await save.click();
      await expect.poll(async () => (await api('GET', '')).name).toBe(name);
      // A busy button is only aria-disabled: the form is new once it is disabled for want of a change.
      await expect.poll(() => save.getAttribute('disabled')).not.toBeNull();
    }
    expectQuiet(ann);
  });

  slow('a question that was asked before a colleague changed something destroys nothing', async () => {
    const ann = await newPerson();
    const { page, go, api } = ann;
    const secret = await api('POST', '/secrets', { name: 'ASKED', type: 'generic', value: 'one' });
    await api('PATCH', `/secrets/${secret.id}`, { value: 'two' });
    const webhook = await api('POST', '/webhooks', {
      url: 'https://hooks.example.com/a',
      events: '*',
      description: 'before',
    });
    const team = await api('POST', '/teams', { name: 'Core' });
    const refused = async (button: string, was: string) => {
      await page.getByText(was).first().waitFor();
      await page.getByRole('dialog').getByRole('button', { name: button }).click();
      await page.getByText('Someone else changed this in the meantime').waitFor();
    };
    const more = async (item: string) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await go(`/secrets/${secret.id}`, 'ASKED');
    await more('Delete');
    await api('PATCH', `/secrets/${secret.id}`, { value: 'three', description: 'of value now' });
    // The page behind shows the change; the question was about what was there before.
    await refused('Delete secret', 'of value now');
    expect(await api('GET', `/secrets/${secret.id}`)).toMatchObject({ status: 'active', value: 'three' });
    await go(`/secrets/${secret.id}?tab=history`, 'ASKED');
    await page.getByRole('button', { name: 'Roll back' }).first().click();
    await api('PATCH', `/secrets/${secret.id}`, { value: 'four' });
    await refused('Roll back', 'Version 4');
    expect(await api('GET', `/secrets/${secret.id}`)).toMatchObject({ value: 'four' });
    for (const [item, button] of [
      ['Disable', 'Disable webhook'],
      ['Delete', 'Delete webhook'],
    ] as const) {
      await go(`/webhooks/${webhook.id}`);
      await more(item);
      await api('PATCH', `/webhooks/${webhook.id}`, { url: `https://hooks.example.com/${item}` });
      await refused(button, `https://hooks.example.com/${item}`);
    }
    expect(await api('GET', `/webhooks/${webhook.id}`)).toMatchObject({ enabled: true });
    const [cat, dan] = await Promise.all(
      ['Cat', 'Dan'].map((name) =>
        api('POST', '/members', { name, email: `${name}@example.com`, role: 'viewer' }),
      ),
    );
    await api('POST', `/teams/${team.id}/members`, { member_id: cat.id });
    await go(`/teams/${team.id}`, 'Core');
    await page.getByRole('button', { name: 'Remove Cat from the team' }).click();
    await api('POST', `/teams/${team.id}/members`, { member_id: dan.id });
    await refused('Remove from team', 'Dan');
    await page.getByRole('button', { name: 'Keep my change' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove from team' }).click();
    await page.getByText('Cat removed from Core').waitFor();
    await page.getByRole('button', { name: 'Add member' }).click();
    await page.getByLabel('Member', { exact: true }).selectOption(cat.id);
    await api('PATCH', `/teams/${team.id}`, { name: 'Heart' });
    await refused('Add to team', 'Heart');
    await page.keyboard.press('Escape');
    await api('PATCH', `/teams/${team.id}`, { name: 'Core' });
    await go(`/teams/${team.id}`, 'Core');
    await more('Delete team');
    await api('PATCH', `/teams/${team.id}`, { name: 'Core and more' });
    await page.getByText('Core and more').first().waitFor();
    await page.getByRole('dialog').getByRole('textbox').fill('Core and more');
    await refused('Delete team', 'Core and more');
    expect(await api('GET', `/teams/${team.id}`)).toMatchObject({ name: 'Core and more' });
    expectRefusals(ann);
  });

  slow(
    'settings keep what is typed while a colleague saves theirs, and follow it where nothing is typed',
    async () => {
      const ann = await newPerson();
      const { page, go, api } = ann;
      await go('/settings', 'Settings');
      const name = page.getByLabel('Name', { exact: true });
      await name.fill('Mine');
      await api('PATCH', '', { default_environment: 'staging', allowed_addresses: ['127.0.0.1', '::1'] });
      await expect.poll(() => page.getByLabel('IP addresses and ranges').inputValue()).toBe('127.0.0.1\n::1');
      expect(await name.inputValue()).toBe('Mine');
      const save = page.getByRole('button', { name: 'Save changes' });
      await save.click();
      await page.getByText('Default environment: production → staging').waitFor();
      await page.getByRole('button', { name: 'Keep my change' }).click();
      await save.click();
      await expect.poll(async () => (await api('GET', '')).name).toBe('Mine');
      expect(await api('GET', '')).toMatchObject({
        default_environment: 'staging',
        allowed_addresses: ['127.0.0.1', '::1'],
      });
      expectRefusals(ann);
    },
  );
});
