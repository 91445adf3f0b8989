// Incident response, settings, and the first steps.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { call, freePort } from '../../../../test/packages/vault.mjs';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: incidents, settings and the first run', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  it('an empty organisation is guided to its first secret, key and program', async () => {
    const { page, url, org, go } = ann;
    await go('', 'Get started');
    await page.getByRole('button', { name: 'Store a secret' }).click();
    await page.getByLabel('Name', { exact: true }).fill('FIRST');
    await page.getByLabel('Value', { exact: true }).fill('one');
    await page.getByRole('button', { name: 'Store secret' }).click();
    await page.getByRole('heading', { name: 'Store a secret (done)' }).waitFor();
    await page.getByRole('button', { name: 'Create a key for production' }).click();
    const token = (await page.locator('dialog .copyable code').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('heading', { name: 'Create a key for a program (done)' }).waitFor();
    expect(await page.content()).not.toContain(token);
    await page.getByText(`svc login --url ${url} --key-stdin`).waitFor();
    await page.getByText('svc run --env production -- node app.js').waitFor();
    const { values } = await call(url, token, 'GET', `/orgs/${org}/environments/production/values`);
    expect(values).toEqual({ FIRST: 'one' });
    await go('/start', 'Get started');
    await page.getByRole('heading', { name: 'Run a program with it (done)' }).waitFor();
    expectQuiet(ann);
  });

  it('containing a key shows first what ends and what it read, and leads to an incident that survives a reload', async () => {
    const { page, url, org, api, go } = ann;
    const made = await api('POST', '/secrets', { name: 'MADE', type: 'password', generate: {} });
    const key = await api('POST', '/api-keys', {
      name: 'leaked key',
      scopes: ['secrets:read', 'tokens:write'],
    });
    const session = await call(url, key.token, 'POST', `/orgs/${org}/access-tokens`, { ttlSeconds: 900 });
    await call(url, session.token, 'GET', `/orgs/${org}/environments/production/values`);
    await go('/incident', 'Incident response');
    // The token itself finds its credential, and is not in the address.
    await page.getByLabel('Name, ID or leaked token').fill(`Authorization: "Bearer ${key.token}"`);
    await page.waitForSelector('h1:text-is("Contain leaked key")');
    expect(page.url()).not.toContain(key.token);
    await page.getByText('tokens:write').waitFor();
    // Before anything is confirmed: the session that would end, and what it read.
    await page
      .locator('section', { hasText: 'Credentials below it' })
      .getByText('ends', { exact: true })
      .waitFor();
    await page
      .locator('.parts section', { hasText: 'Read' })
      .first()
      .getByRole('link', { name: 'FIRST' })
      .waitFor();
    await page
      .locator('section', { hasText: 'To rotate yourself' })
      .getByRole('link', { name: 'FIRST' })
      .first()
      .waitFor();
    expect((await api('GET', `/secrets/${made.id}`)).version).toBe(1);
    // A time that is half filled in is not taken for none.
    const since = page.getByLabel('Report activity since');
    await since.focus();
    await page.keyboard.press('1');
    await page.getByRole('button', { name: 'Contain this credential…' }).click();
    expect(await since.evaluate((field: HTMLInputElement) => field.validity.badInput)).toBe(true);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await since.fill('');
    await since.evaluate((field: HTMLInputElement) => {
      field.value = '';
    });
    await page.getByRole('button', { name: 'Contain this credential…' }).click();
    await page.getByText('1 credential that it created').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Contain credential' }).click();
    await page.waitForSelector('h1:text-is("leaked key contained")');
    const address = page.url();
    expect(address).toMatch(/\/incident\/report\/inc_\w+$/);
    // The incident is still there after a reload, and the remaining steps are taken in it.
    await page.reload();
    await page.waitForSelector('h1:text-is("leaked key contained")');
    const due = page.locator('section', { hasText: 'Rotate these yourself' });
    await due.getByText('production').waitFor();
    await page.getByText('1 of 2 secrets have a new value').waitFor();
    await due.getByRole('link', { name: 'FIRST' }).click();
    await page.waitForSelector('h1:text-is("FIRST")');
    await page.goBack();
    await due.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('dialog').getByLabel('Value', { exact: true }).fill('two');
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('2 of 2 secrets have a new value').waitFor();
    expect(await page.locator('section', { hasText: 'Rotated' }).last().textContent()).toContain('MADE');
    await page.getByRole('button', { name: 'Close incident…' }).click();
    await page.getByLabel('Note').fill('The repository is deleted.');
    await page.getByRole('button', { name: 'Close incident', exact: true }).click();
    await page.getByText('The repository is deleted.').waitFor();
    await page.getByRole('button', { name: 'Open again' }).waitFor();
    // What was contained is not offered again, but leads to its incident.
    await go(`/incident/${key.id}`, 'Contain leaked key');
    await page.getByRole('heading', { name: 'Already contained' }).waitFor();
    expect(await page.getByRole('button', { name: 'Contain this credential…' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Show the incident' }).click();
    await page.waitForURL(address);
    await go('/incident', 'Incident response');
    await page.getByRole('link', { name: 'leaked key contained' }).waitFor();
    await expect(call(url, session.token, 'GET', '/whoami')).rejects.toThrow(/401/);
    expect((await api('GET', `/secrets/${made.id}`)).version).toBe(2);
    expectQuiet(ann);
  });

  it('an incident shows upstreams that the key changed, and what they sent for anybody', async () => {
    const { page, url, org, api, go } = ann;
    const { name } = await api('POST', '/secrets', { name: 'SENT', type: 'generic', value: 'sent-value' });
    const { id } = await api('POST', '/upstreams', {
      name: 'billing-api',
      base_url: 'https://api.example.com',
      environment: 'production',
      auth: [{ type: 'header', name: 'Authorization', value: `Bearer {{${name}}}`, guessable: true }],
      allow: [{ methods: ['GET'], paths: ['/*'] }],
    });
    const scopes = ['secrets:read', 'upstreams:write'];
    const key = await api('POST', '/api-keys', { name: 'rerouted', scopes });
    const base_url = `http://127.0.0.1:${await freePort()}`;
    await call(url, key.token, 'PATCH', `/orgs/${org}/upstreams/${id}`, { base_url });
    await expect(api('GET', '/use/billing-api/x')).rejects.toThrow(/50[24]/);
    await go(`/incident/${key.id}`, 'Contain rerouted');
    const part = (title: string) => page.locator('.parts section', { hasText: title });
    await part('Used through upstreams').getByRole('link', { name }).waitFor();
    await part('To rotate yourself').getByRole('link', { name }).waitFor();
    await part('Upstreams it created or changed').getByText('billing-api').waitFor();
    // A region that did not reply has entries that the report lacks.
    await page.route(/\/contain$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), regions_missing: ['weur'] } });
    });
    await page.reload();
    await page.getByText('No reply from the region weur').waitFor();
    expectQuiet(ann);
  });

  it('containing a credential that is no longer valid does not promise to revoke it', async () => {
    const { page, api, go } = ann;
    const { id } = await api('POST', '/api-keys', { name: 'ended key', scopes: ['secrets:read'] });
    await api('DELETE', `/api-keys/${id}`);
    await go(`/incident/${id}`, 'Contain ended key');
    await page.getByRole('button', { name: 'Contain this credential…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('is no longer valid, so nothing changes for it').waitFor();
    await dialog.getByText('No credential that it created is still valid.').waitFor();
    expect(await dialog.textContent()).not.toMatch(/revoked immediately|Programs that use it/);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expectQuiet(ann);
  });

  slow('an environment is created, renamed and deleted, and the organisation is renamed', async () => {
    const { page, go, api } = ann;
    await go('/settings?tab=environments', 'Settings');
    await page.getByRole('button', { name: 'New environment' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Pull Requests');
    expect(await page.getByLabel('Slug').inputValue()).toBe('pull-requests');
    await page.getByRole('button', { name: 'Create environment' }).click();
    const row = page.getByRole('row', { name: /pull-requests/ });
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Previews');
    await page.getByRole('button', { name: 'Rename environment' }).click();
    await row.getByText('Previews').waitFor();
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete environment' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Organisation' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Acme Ltd');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expect.poll(async () => (await api('GET', '')).name).toBe('Acme Ltd');
    expectQuiet(ann);
  });

  slow(
    'a secret is shared with a team, and everything in a list is reachable with the keyboard',
    async () => {
      const { page, go, api } = ann;
      const secret = await api('POST', '/secrets', { name: 'SHARED', type: 'generic', value: 'x' });
      await api('POST', '/teams', { name: 'Platform' });
      await go(`/secrets/${secret.id}?tab=shares`, 'SHARED');
      await page.getByRole('button', { name: 'Share with people' }).click();
      await page.getByLabel('Share with', { exact: true }).selectOption({ label: 'Team Platform' });
      await page.getByRole('button', { name: 'Share secret' }).click();
      await page.getByRole('link', { name: 'Platform' }).waitFor();
      await go('/secrets?environment=production', 'Secrets');
      await page.getByRole('link', { name: 'SHARED' }).waitFor();
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      expect(
        await page.evaluate(() =>
          document.activeElement?.closest('.table-row')?.getAttribute('aria-rowindex'),
        ),
      ).toBe('3');
      await page.keyboard.press('n');
      await page.getByRole('dialog', { name: 'New secret' }).waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await page.keyboard.press('Escape');
      expectQuiet(ann);
    },
  );

  slow(
    'panic requires a typed phrase, revokes all keys, shows the new one once, and keeps this member signed in',
    async () => {
      const { page, url, api, go } = ann;
      const { token } = await api('POST', '/api-keys', { name: 'ended', scopes: ['secrets:read'] });
      await go('/incident', 'Incident response');
      await page.getByRole('button', { name: 'Revoke all credentials…' }).click();
      const dialog = page.getByRole('dialog');
      const act = dialog.getByRole('button', { name: 'Revoke all credentials' });
      await dialog.getByLabel('Reason').fill('a laptop was stolen');
      await dialog.getByLabel('Also revoke API keys and trusts').check();
      await dialog.getByText('All API keys and trusts are revoked').waitFor();
      expect(await act.isDisabled()).toBe(true);
      await dialog.getByLabel('Type “revoke everything” to confirm').fill('revoke everything');
      const confirmed = page.waitForResponse((answer) => answer.url().endsWith('/auth/confirm'));
      await act.click();
      await page.getByRole('heading', { name: 'Your new API key' }).waitFor();
      expect((await confirmed).status()).toBe(200);
      const fresh = (await page.locator('dialog .copyable code').textContent()) ?? '';
      await page.getByRole('button', { name: 'I have saved it' }).click();
      expect(await page.content()).not.toContain(fresh);
      await expect(call(url, token, 'GET', '/whoami')).rejects.toThrow(/401/);
      expect((await call(url, fresh, 'GET', '/whoami')).kind).toBe('api_key');
      await page.getByText('All credentials were revoked').waitFor();
      await page.getByRole('link', { name: 'Follow the incident' }).click();
      await page.waitForSelector('h1:text-is("All credentials revoked")');
      await page.getByText('Review items from the seven days before').waitFor();
      await go('/secrets', 'Secrets');
      // The event stream was closed with everything else, and reports it.
      expect(ann.said.filter((line) => !/401/.test(line))).toEqual([]);
      ann.said.length = 0;
    },
  );

  it('a second passkey is added, renamed and removed', async () => {
    const { page, go, context } = ann;
    await go('/settings?tab=sign-in', 'Settings');
    await page.getByText('You have one passkey.').waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Key in the safe');
    // The authenticator of this page already has one, so a second device responds.
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'usb',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click();
    const row = page
      .getByRole('table', { name: 'Your passkeys' })
      .getByRole('row', { name: /Key in the safe/ });
    await row.waitFor();
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove passkey' }).click();
    await row.waitFor({ state: 'detached' });
    expectQuiet(ann);
  });
});
