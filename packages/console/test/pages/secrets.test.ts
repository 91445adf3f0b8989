// Secrets in the console.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { call } from '../../../../test/packages/vault.mjs';
import { expectRefusals } from '../support/beside.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: secrets', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  it('a stored value is hidden until it is revealed', async () => {
    const { page, go, api } = ann;
    await go('/secrets', 'Secrets');
    await page.getByRole('button', { name: 'Store a secret' }).click();
    await page.getByLabel('Name', { exact: true }).fill('app/DATABASE_URL');
    await page.getByLabel('Value', { exact: true }).fill('postgres://app:s3cret@db/app');
    await page.getByRole('button', { name: 'Store secret' }).click();
    await page.waitForSelector('h1:text-is("app/DATABASE_URL")');
    expect(await page.content()).not.toContain('s3cret');
    await page.getByLabel('Reason, recorded in the audit log').fill('checking the host');
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.waitForSelector('.value-shown');
    expect(await page.locator('.value-shown').textContent()).toBe('postgres://app:s3cret@db/app');
    await page.getByRole('button', { name: 'Hide' }).click();
    expect(await page.content()).not.toContain('s3cret');
    const log = await api('GET', '/audit-log?action=secret.read&limit=5');
    expect(log.data[0].reason).toBe('checking the host');
    expectQuiet(ann);
  });

  slow('what a form cannot send as it is typed is refused at its field', async () => {
    const { page, go, api } = ann;
    await go('/secrets', 'Secrets');
    await page.getByRole('button', { name: 'New secret' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('TYPED');
    const store = dialog.getByRole('button', { name: 'Store secret' });
    const invalid = () => page.evaluate(() => document.querySelector('form :invalid')?.tagName);
    // An empty value is hardly ever meant.
    await store.click();
    expect(await invalid()).toBe('TEXTAREA');
    await dialog.getByLabel('Value', { exact: true }).fill('x');
    // Its seconds are no number of JSON, and null would be no expiry.
    await dialog.getByLabel(/Expires after/).fill('1e308');
    await store.click();
    expect(await invalid()).toBe('INPUT');
    await dialog.getByLabel(/Expires after/).fill('');
    await store.click();
    await page.waitForSelector('h1:text-is("TYPED")');
    const { id } = (await api('GET', '/secrets?prefix=TYPED')).data[0];
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    for (const [tags, error] of [
      ['team: a\nteam: b', 'Team has two values'],
      ['core', 'Core has no value: write it as key: value'],
    ] as const) {
      await dialog.getByLabel(/Tags/).fill(tags);
      await dialog.getByRole('button', { name: 'Save changes' }).click();
      await dialog.getByText(error).waitFor();
    }
    await dialog.getByLabel(/Tags/).fill('team: a\nurl: http://x');
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('TYPED saved').first().waitFor();
    expect((await api('GET', `/secrets/${id}`)).tags).toEqual({ team: 'a', url: 'http://x' });
    expectQuiet(ann);
  });

  slow('a new value creates a version, and an earlier one can be restored', async () => {
    const { page, go, api } = ann;
    const secret = await api('POST', '/secrets', { name: 'ROLLED', type: 'generic', value: 'one' });
    await go(`/secrets/${secret.id}`, 'ROLLED');
    await page.getByRole('button', { name: 'New value' }).click();
    await page.getByLabel('Value', { exact: true }).fill('two');
    await page.getByRole('button', { name: 'Store value' }).click();
    await page.getByRole('tab', { name: /History/ }).click();
    await page.getByText('Version 2', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Compare' }).click();
    expect(await page.locator('.diff .removed').textContent()).toContain('one');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await page.getByText('Version 3', { exact: true }).waitFor();
    expect((await api('GET', `/secrets/${secret.id}`)).value).toBe('one');
    expectQuiet(ann);
  });

  slow('secrets are imported from pasted text after a preview', async () => {
    const { page, go, api } = ann;
    await go('/secrets/import?environment=staging', 'Import secrets');
    await page.getByText('Paste text instead').click();
    await page.getByLabel('Text', { exact: true }).fill('PASTED=one two\n');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('Would be created').waitFor();
    expect((await api('GET', '/secrets?environment=staging&prefix=PASTED')).data).toEqual([]);
    await page.getByRole('button', { name: 'Import 1 secret', exact: true }).click();
    await page.getByText('1 secret imported').waitFor();
    expect((await api('GET', '/secrets/by-name/PASTED?environment=staging')).value).toBe('one two');
    expectQuiet(ann);
  });

  it('chosen secrets are promoted as the dry run shows them, and not if one has changed since', async () => {
    const { page, go, api } = ann;
    for (const name of ['UP_A', 'UP_B', 'UP_C'])
      await api('POST', '/secrets', { name, environment: 'staging', type: 'generic', value: `new ${name}` });
    for (const name of ['UP_A', 'UP_C'])
      await api('POST', '/secrets', {
        name,
        environment: 'production',
        type: 'generic',
        value: `new ${name}`,
      });
    await api('PUT', '/secrets/by-name/UP_A?environment=production', { value: 'old' });
    await go('/secrets/compare?left=staging&right=production&prefix=UP_', 'Compare environments');
    await page.getByRole('row', { name: /UP_B.*missing/i }).waitFor();
    await page.getByLabel('Select UP_A').check();
    await page.getByLabel('Select UP_B').check();
    expect(await page.getByLabel('Select UP_C').count()).toBe(0);
    await page.getByRole('button', { name: 'Promote to production' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('UP_B').waitFor();
    await api('PUT', '/secrets/by-name/UP_B?environment=staging', { value: 'newer' });
    const promote = dialog.getByRole('button', { name: 'Promote 2 secrets' });
    await promote.click();
    await dialog.getByText('The secrets have changed since the dry run').waitFor();
    expect((await api('GET', '/secrets?environment=production&prefix=UP_B')).data).toEqual([]);
    await promote.click();
    await page.getByText('2 secrets promoted to production').waitFor();
    await page.getByRole('row', { name: /UP_B.*same/i }).waitFor();
    expect((await api('GET', '/secrets/by-name/UP_B?environment=production')).value).toBe('newer');
    expect((await api('GET', '/secrets/by-name/UP_A?environment=production')).version).toBe(3);
    expectRefusals(ann);
    ann.said.length = 0;
  });

  it('a promotion deletes what the source does not have only if the member chooses that', async () => {
    const { page, go, api } = ann;
    const at = (environment: string, name: string) =>
      api('POST', '/secrets', { name, environment, type: 'generic', value: 'x' });
    await at('staging', 'PRUNE_NEW');
    await at('production', 'PRUNE_OLD');
    await at('production', 'PRUNE_KEPT');
    // Proxies that compress mark tags as weak.
    await page.route('**/promote', async (route) => {
      const response = await route.fetch();
      const { etag, ...headers } = response.headers();
      await route.fulfill({ response, headers: { ...headers, ...(etag && { ETag: `W/${etag}` }) } });
    });
    await go('/secrets/compare?left=staging&right=production&prefix=PRUNE_', 'Compare environments');
    await page.getByLabel('Select PRUNE_NEW').check();
    await page.getByLabel('Select PRUNE_OLD').check();
    await page.getByRole('button', { name: 'Promote to production' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Promote 1 secret', exact: true }).waitFor();
    await dialog.getByRole('checkbox', { name: 'Delete what staging does not have' }).focus();
    await page.keyboard.press('Space');
    await dialog.getByRole('button', { name: 'Promote 1 secret, delete 1 secret' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('1 secret promoted to production').waitFor();
    const { data } = await api('GET', '/secrets?environment=production&prefix=PRUNE_');
    expect(data.map(({ name }: { name: string }) => name).sort()).toEqual(['PRUNE_KEPT', 'PRUNE_NEW']);
    await page.unroute('**/promote');
    expectQuiet(ann);
  });

  it('a promotion is not offered if a proxy dropped the ETag of its dry run', async () => {
    const { page, go, api } = ann;
    await api('POST', '/secrets', { name: 'UNTAGGED', environment: 'staging', type: 'generic', value: 'x' });
    await page.route('**/promote', async (route) => {
      const response = await route.fetch();
      const { etag: _, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });
    await go('/secrets/compare?left=staging&right=production&prefix=UNTAGGED', 'Compare environments');
    await page.getByLabel('Select UNTAGGED').check();
    await page.getByRole('button', { name: 'Promote to production' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The dry run came without its ETag').waitFor();
    expect(await dialog.getByRole('button', { name: /^Promote/ }).isDisabled()).toBe(true);
    await page.unroute('**/promote');
    expectQuiet(ann);
  });

  it('what was done can be undone from its message, and not over a change by somebody else', async () => {
    const { page, go, api } = ann;
    const { id } = await api('POST', '/secrets', { name: 'UNDONE', type: 'generic', value: 'x' });
    await go(`/secrets/${id}`, 'UNDONE');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete secret' }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.focus();
    await page.keyboard.press('Enter');
    await page.getByText('UNDONE restored').waitFor();
    expect((await api('GET', `/secrets?id=${id}`)).data[0].status).toBe('active');
    const hook = await api('POST', '/webhooks', { url: 'https://hooks.example.com/a', events: '*' });
    await go(`/webhooks/${hook.id}`, hook.url);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Disable webhook' }).click();
    await undo.waitFor();
    await api('PATCH', `/webhooks/${hook.id}`, { description: 'by somebody else' });
    await undo.click();
    await page.locator('.toast').filter({ hasText: 'changed' }).waitFor();
    expect((await api('GET', `/webhooks/${hook.id}`)).enabled).toBe(false);
    ann.said.length = 0;
  });

  it('a deletion and a rotation say who read it in the last day, and whom to ask', async () => {
    const { page, go, api, url, org } = ann;
    const { id } = await api('POST', '/secrets', { name: 'NEEDED', type: 'generic', value: 'x' });
    const begin = async (verb: 'Delete' | 'Rotate') => {
      await go(`/secrets/${id}`, 'NEEDED');
      if (verb === 'Rotate') return page.getByRole('button', { name: verb, exact: true }).click();
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: verb }).click();
    };
    await begin('Delete');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Nobody has read it in the last 24 hours.').waitFor();
    expect(await dialog.locator('.note.good').count()).toBe(1);
    const readers = /\/readers\?/;
    await page.route(readers, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), regions_missing: ['weur'] } });
    });
    await begin('Delete');
    await dialog.getByText('No reply from the region weur').waitFor();
    expect(await dialog.locator('.note.good').count()).toBe(0);
    await page.unroute(readers);
    await api('POST', '/upstreams', {
      name: 'needing',
      base_url: 'https://api.example.com',
      environment: 'production',
      allow: [{ methods: ['GET'], paths: ['/**'] }],
      auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{NEEDED}}' }],
    });
    // Calls of an upstream are not reads.
    await begin('Delete');
    await dialog.getByText('Placed by the upstream needing. Its calls will fail.').waitFor();
    const { token } = await api('POST', '/api-keys', { name: 'billing worker', scopes: ['secrets:read'] });
    await call(url, token, 'GET', `/orgs/${org}/secrets/${id}`);
    for (const verb of ['Delete', 'Rotate'] as const) {
      await begin(verb);
      const affected = dialog.getByRole('region', { name: 'Affected' });
      await affected.getByText('One reader').waitFor();
      await affected.getByRole('link', { name: 'billing worker' }).waitFor();
      await affected.getByText('Made by Ann (ann@example.com)').waitFor();
      // The service counts reads of all time.
      expect(await affected.textContent()).not.toMatch(/one read|\d reads/);
    }
    await go(`/secrets/${id}`, 'NEEDED');
    await page.getByRole('img', { name: '1 read in 30 days' }).waitFor();
    expectQuiet(ann);
  });

  slow('a change by another client appears without a reload', async () => {
    const { page, go, api } = ann;
    await go('/secrets', 'Secrets');
    await page.waitForSelector('.table-row');
    await api('POST', '/secrets', { name: 'FROM_ELSEWHERE', type: 'generic', value: 'x' });
    await page.getByText('FROM_ELSEWHERE').waitFor();
    expectQuiet(ann);
  });

  slow('thousands of secrets scroll with few rows in the document', async () => {
    const { page, go, api } = ann;
    const lines = (start: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${start}${String(index).padStart(5, '0')}=x`);
    await api('POST', '/integrations/import', {
      source: 'dotenv',
      onConflict: 'fail',
      environmentId: 'staging',
      data: lines('MANY_', 3000).join('\n'),
    });
    await go('/secrets?environment=staging', 'Secrets');
    await page.getByRole('link', { name: 'MANY_00000' }).waitFor();
    const body = page.locator('.table-body');
    // Each turn loads the next hundred.
    for (let turn = 0; turn < 6; turn += 1) {
      const height = await body.evaluate((element) => {
        const before = element.scrollHeight;
        element.scrollTo(0, before);
        return before;
      });
      await page.waitForFunction(
        (before) => (document.querySelector('.table-body')?.scrollHeight ?? 0) > before,
        height,
      );
    }
    expect(await page.locator('.table').getAttribute('aria-rowcount')).toMatch(/^[6-9]\d\d$/);
    expect(await page.locator('.table-row').count()).toBeLessThan(80);
    expect(await page.getByText(/^[6-9]\d\d loaded/).count()).toBe(1);
    expectQuiet(ann);
  });

  slow(
    'Back shows a long list where it was left, with the focus on its row and without reading it again',
    async () => {
      const { page } = ann;
      const visible = () =>
        page.evaluate(() => {
          const top = document.querySelector('.table-body')?.getBoundingClientRect().top ?? 0;
          const rows = [...document.querySelectorAll('.table-row')].filter(
            (row) => row.getBoundingClientRect().top >= top - 20,
          ); // not at the edge of a row
          return rows.slice(0, 5).map((row) => row.querySelector('.mono')?.textContent);
        });
      const body = page.locator('.table-body');
      await body.evaluate((element) => element.scrollTo(0, 15_000));
      await page.getByRole('link', { name: 'MANY_00320' }).waitFor();
      const before = await visible();
      const asked: string[] = [];
      page.on('request', (request) => request.url().includes('/secrets?') && asked.push(request.url()));
      await page.getByRole('link', { name: 'MANY_00320' }).click();
      await page.waitForSelector('h1:text-is("MANY_00320")');
      await ann.api('POST', '/secrets', {
        name: 'A_NEW_ONE',
        type: 'generic',
        value: 'x',
        environment: 'staging',
      });
      await page.goBack();
      await page.getByRole('link', { name: 'MANY_00320' }).waitFor();
      expect(await visible()).toEqual(before);
      expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('MANY_00320');
      expect(asked.filter((url) => url.includes('environment=staging'))).toEqual([]);
      await page.getByRole('button', { name: 'Show changes' }).click();
      await page.getByRole('link', { name: 'A_NEW_ONE' }).waitFor();
      page.removeAllListeners('request');
      expectQuiet(ann);
    },
  );

  slow('Home, End and the arrow keys move through a long list, and End loads more of it', async () => {
    const { page } = ann;
    const focused = () =>
      page.evaluate(() => document.activeElement?.closest('.table-row')?.getAttribute('aria-rowindex'));
    await page.locator('h1').focus();
    await page.keyboard.press('j');
    expect(await focused()).toBe('2');
    await page.keyboard.press('End');
    const end = Number(await focused());
    expect(end).toBeGreaterThan(100);
    await page.waitForFunction(
      (last) => Number(document.querySelector('.table')?.getAttribute('aria-rowcount')) > last,
      end,
    );
    await page.keyboard.press('ArrowDown');
    expect(Number(await focused())).toBe(end + 1);
    // A row that is out of view keeps the focus.
    await page.locator('.table-body').evaluate((element) => element.scrollTo(0, 0));
    await page.getByRole('link', { name: 'A_NEW_ONE' }).waitFor();
    await page.keyboard.press('ArrowUp');
    expect(Number(await focused())).toBe(end);
    await page.keyboard.press('Home');
    expect(await focused()).toBe('2');
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:text-is("A_NEW_ONE")');
    expectQuiet(ann);
  });

  slow('several secrets are deleted and restored together, after their names were shown', async () => {
    const { page, go, api } = ann;
    const data = Object.fromEntries(['A', 'B', 'C', 'D'].map((name) => [`bulk/${name}`, 'x']));
    await api('POST', '/integrations/import', {
      source: 'svc',
      onConflict: 'fail',
      environmentId: 'production',
      data,
    });
    const rule = { operations: ['secret.delete'], required: 1, approvers: { role: 'owner' } };
    await api('POST', '/policies', {
      name: 'Keep D',
      kind: 'approval',
      applies_to: { names: ['bulk/D'] },
      config: rule,
    });
    await go('/secrets?path=bulk/', 'Secrets');
    await page.getByRole('checkbox', { name: 'Select bulk/B' }).click();
    await page.getByRole('checkbox', { name: 'Select bulk/D' }).click({ modifiers: ['Shift'] });
    const bar = page.getByRole('region', { name: 'Selection' });
    await bar.getByText('3 secrets selected').waitFor();
    await bar.getByRole('button', { name: 'Delete' }).click();
    const asked = page.getByRole('dialog', { name: 'Delete 3 secrets in production?' });
    await asked.getByText('bulk/C', { exact: true }).waitFor();
    expect(await asked.getByText('bulk/A', { exact: true }).count()).toBe(0);
    expect(await asked.getByRole('button', { name: 'Delete 3 secrets' }).isDisabled()).toBe(true);
    await asked.getByRole('textbox').fill('production');
    await asked.getByRole('button', { name: 'Delete 3 secrets' }).click();
    // A policy holds one of them: it stays selected.
    await bar.getByText('1 secret selected').waitFor();
    expect(
      (await api('GET', '/secrets?prefix=bulk/&sort=name')).data
        .map(({ name }: { name: string }) => name)
        .sort(),
    ).toEqual(['bulk/A', 'bulk/D']);
    await go('/secrets?status=deleted&search=bulk/', 'Secrets');
    for (const name of ['B', 'C']) await page.getByRole('checkbox', { name: `Select bulk/${name}` }).click();
    await bar.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('2 secrets restored').waitFor();
    expect((await api('GET', '/secrets?prefix=bulk/&sort=name')).data).toHaveLength(4);
    // The browser itself logs the refusal.
    ann.said.length = 0;
  });

  it('several secrets are edited, each with its result, and not over a change by somebody else', async () => {
    const { page, go, api } = ann;
    for (const name of ['A', 'B', 'C'])
      await api('POST', '/secrets', {
        name: `edit/${name}`,
        type: 'generic',
        value: 'x',
        tags: { kept: '1' },
      });
    await go('/secrets?path=edit/', 'Secrets');
    await page.getByRole('checkbox', { name: 'Select edit/A' }).click();
    await page.getByRole('checkbox', { name: 'Select edit/C' }).click({ modifiers: ['Shift'] });
    const bar = page.getByRole('region', { name: 'Selection' });
    await bar.getByRole('button', { name: 'Edit' }).click();
    const { data } = await api('GET', '/secrets?environment=production&prefix=edit/B&sort=name');
    await api('PATCH', `/secrets/${data[0].id}`, { description: 'by somebody else' });
    const dialog = page.getByRole('dialog', { name: 'Edit 3 secrets in production' });
    await dialog.getByLabel('Add or replace tags').fill('team: core');
    await dialog.getByLabel('Rotation').selectOption('days');
    await dialog.getByLabel('Rotate every (days)').fill('30');
    await dialog.getByRole('button', { name: 'Edit 3 secrets' }).click();
    await dialog.getByText('2 secrets changed').waitFor();
    await dialog.getByText('not changed', { exact: true }).waitFor();
    await dialog.getByText('Description: not set → by somebody else').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await bar.getByText('1 secret selected').waitFor();
    const after = (await api('GET', '/secrets?environment=production&prefix=edit/&sort=name')).data;
    const done = { tags: { kept: '1', team: 'core' }, rotate_every_seconds: 2_592_000 };
    expect(after).toMatchObject([done, { tags: { kept: '1' }, rotate_every_seconds: null }, done]);
    // The difference was shown, so a further edit is made to that state.
    await bar.getByRole('button', { name: 'Edit' }).click();
    const again = page.getByRole('dialog', { name: 'Edit 1 secret in production' });
    await again.getByLabel('Add or replace tags').fill('team: core');
    await again.getByRole('button', { name: 'Edit 1 secret' }).click();
    await again.getByText('1 secret changed').waitFor();
    await again.getByRole('button', { name: 'Done' }).click();
    // The same for a deletion.
    await page.getByRole('checkbox', { name: 'Select edit/B' }).click();
    await bar.getByRole('button', { name: 'Delete' }).click();
    await api('PATCH', `/secrets/${data[0].id}`, { value: 'new' });
    for (const said of ['Version: 1 → 2', '1 secret deleted']) {
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 secret' }).click();
      await page.getByText(said).waitFor();
      if (said.startsWith('Version')) await bar.getByRole('button', { name: 'Delete' }).click();
    }
    // The browser itself logs the refusal.
    ann.said.length = 0;
  });

  it('a second edit of several secrets keeps what the first one set, also while the list is not read again', async () => {
    const { page, go, api } = ann;
    for (const name of ['A', 'B'])
      await api('POST', '/secrets', { name: `twice/${name}`, type: 'generic', value: 'x' });
    await go('/secrets?path=twice/', 'Secrets');
    const bar = page.getByRole('region', { name: 'Selection' });
    const dialog = page.getByRole('dialog', { name: 'Edit 2 secrets in production' });
    await page.route(/\/secrets\?/, (route) => route.abort());
    for (const tag of ['team: core', 'tier: gold']) {
      for (const name of ['A', 'B'])
        await page.getByRole('checkbox', { name: `Select twice/${name}` }).click();
      await bar.getByRole('button', { name: 'Edit' }).click();
      // What is about to be changed is named first.
      await dialog.getByText('twice/B', { exact: true }).waitFor();
      await dialog.getByLabel('Add or replace tags').fill(tag);
      await dialog.getByRole('button', { name: 'Edit 2 secrets' }).click();
      await dialog.getByText('2 secrets changed').waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
    }
    await page.unroute(/\/secrets\?/);
    const tags = { team: 'core', tier: 'gold' };
    expect((await api('GET', '/secrets?environment=production&prefix=twice/&sort=name')).data).toMatchObject([
      { tags },
      { tags },
    ]);
    // The browser itself logs that the list could not be read.
    ann.said.length = 0;
  });

  it('changes of several secrets stop when their dialog is left', async () => {
    const { page, go, api } = ann;
    for (const name of ['A', 'B', 'C'])
      await api('POST', '/secrets', { name: `stop/${name}`, type: 'generic', value: 'x' });
    const bar = page.getByRole('region', { name: 'Selection' });
    const begin = async (verb: string) => {
      await go('/secrets?path=stop/', 'Secrets');
      await page.getByRole('checkbox', { name: 'Select stop/A' }).click();
      await page.getByRole('checkbox', { name: 'Select stop/C' }).click({ modifiers: ['Shift'] });
      await bar.getByRole('button', { name: verb }).click();
    };
    /** Holds the first change until the dialog has been left. */
    const leaveWhile = async (method: string, start: () => Promise<void>) => {
      const asked = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      await page.route(/\/secrets\/sec_/, async (route) => {
        if (route.request().method() !== method) return route.fallback();
        asked.resolve();
        await left.promise;
        await route.continue();
      });
      await start();
      await asked.promise;
      await page.keyboard.press('Escape');
      left.resolve();
    };
    await begin('Edit');
    const dialog = page.getByRole('dialog');
    await leaveWhile('PATCH', async () => {
      await dialog.getByLabel('Add or replace tags').fill('team: core');
      await dialog.getByRole('button', { name: 'Edit 3 secrets' }).click();
    });
    await dialog.getByText('Stopped. 1 secret changed').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await bar.getByText('2 secrets selected').waitFor();
    await page.unroute(/\/secrets\/sec_/);
    const tags = (await api('GET', '/secrets?environment=production&prefix=stop/&sort=name')).data.map(
      (each: { tags: object }) => each.tags,
    );
    expect(tags).toEqual([{ team: 'core' }, {}, {}]);
    await begin('Delete');
    await leaveWhile('DELETE', async () => {
      await dialog.getByRole('textbox').fill('production');
      await dialog.getByRole('button', { name: 'Delete 3 secrets' }).click();
    });
    await page.getByText('1 secret deleted').waitFor();
    await bar.getByText('2 secrets selected').waitFor();
    await page.unroute(/\/secrets\/sec_/);
    expect((await api('GET', '/secrets?environment=production&prefix=stop/&sort=name')).data).toHaveLength(2);
    // The browser itself logs that the form is gone.
    ann.said.length = 0;
  });

  it('a view is saved in the browser, opened and removed', async () => {
    const { page, go } = ann;
    await go('/secrets?environment=staging&type=password', 'Secrets');
    const choose = async (menu: string, item: string) => {
      await page.getByRole('button', { name: menu, exact: true }).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await choose('Views', 'Save this view');
    await page.getByRole('dialog').getByLabel('Name').fill('Staging passwords');
    await page.getByRole('dialog').getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('button', { name: 'Staging passwords' }).waitFor();
    await go('/secrets', 'Secrets');
    await choose('Views', 'Staging passwords');
    await page.waitForURL(/environment=staging&type=password/);
    await choose('Staging passwords', 'Remove Staging passwords');
    await page.getByRole('button', { name: 'Views', exact: true }).waitFor();
    expectQuiet(ann);
  });

  it('a selection is exported, and the keyboard selects', async () => {
    const { page, go, api } = ann;
    for (const name of ['picked/A', 'picked/B'])
      await api('POST', '/secrets', { name, type: 'generic', value: 'x' });
    await go('/secrets?path=picked/', 'Secrets');
    await page.locator('.row-link').first().focus();
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Export' }).click();
    await page.waitForSelector('h1:text-is("Export secrets")');
    expect(await page.getByLabel('Names').inputValue()).toBe('picked/A\npicked/B');
    expect(page.url()).not.toContain('picked');
    expectQuiet(ann);
  });
});
