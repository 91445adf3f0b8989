// Approvals, policies, devices and the compliance report.
import { beforeAll, describe, expect, it } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { slow } from '../../../../test/packages/slow.ts';
import {
  executablePath,
  expectQuiet,
  newPerson,
  type Person,
  settleWithout,
  useBrowser,
} from '../support/person.ts';

describe.skipIf(!executablePath)('console: governance', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  it('a policy shows the affected secrets before it is saved, and its violations afterwards', async () => {
    const { page, go, api } = ann;
    await api('POST', '/secrets', { name: 'lower_case', type: 'generic', value: 'x' });
    await api('POST', '/secrets', { name: 'UPPER_CASE', type: 'generic', value: 'x' });
    await go('/policies', 'Policies');
    await page.getByRole('button', { name: 'New policy' }).click();
    await page.getByRole('radio', { name: /^Naming/ }).check();
    await page.getByLabel('Name', { exact: true }).fill('Upper case');
    const preview = page.getByRole('status', { name: 'Affected secrets' });
    await preview.getByText('1 secret', { exact: true }).waitFor();
    expect(await preview.textContent()).toContain('lower_case (production)');
    await page.getByRole('button', { name: 'Create policy' }).click();
    await page.waitForSelector('h1:text-is("Upper case")');
    await page.getByRole('link', { name: 'lower_case' }).waitFor();
    expect((await api('GET', '/policies')).data[0]).toMatchObject({
      kind: 'naming',
      config: { pattern: '^[A-Z][A-Z0-9_]*$' },
    });
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable policy' }).click();
    await page.getByText('disabled', { exact: true }).waitFor();
    expectQuiet(ann);
  });

  it('a disabled policy, a disabled log stream and a closed incident come back from their message', async () => {
    const { page, go, api } = ann;
    const policy = await api('POST', '/policies', {
      name: 'Undone policy',
      kind: 'naming',
      config: { pattern: '^.+$' },
    });
    const stream = await api('POST', '/log-streams', {
      name: 'Undone stream',
      kind: 'https',
      config: { url: 'https://siem.example.com/audit' },
    });
    const key = await api('POST', '/api-keys', { name: 'undone', scopes: ['secrets:read'] });
    const { incident_id } = await api('POST', `/credentials/${key.id}/contain`, {});
    const cases: [string, string, string, string, string, unknown][] = [
      [`/policies/${policy.id}`, 'Disable', 'Disable policy', 'Undone policy disabled', 'enabled', true],
      [`/log-streams/${stream.id}`, 'Disable', 'Disable log stream', 'Log stream disabled', 'enabled', true],
      [
        `/incident/report/${incident_id}`,
        'Close incident…',
        'Close incident',
        'Incident closed',
        'status',
        'open',
      ],
    ];
    for (const [at, begin, confirm, message, field, before] of cases) {
      const state = async () => (await api('GET', at.replace('incident/report', 'incidents')))[field];
      await go(at);
      const button = page.getByRole('button', { name: begin, exact: true });
      const menu = page.getByRole('button', { name: 'More actions' });
      await button.or(menu).first().waitFor();
      if (await button.isVisible()) await button.click();
      else {
        await menu.click();
        await page.getByRole('menuitem', { name: begin }).click();
      }
      await page.getByRole('dialog').getByRole('button', { name: confirm }).click();
      const toast = page.locator('.toast').filter({ hasText: message });
      await toast.getByRole('button', { name: 'Undo' }).waitFor();
      expect(await state()).not.toBe(before);
      await toast.getByRole('button', { name: 'Undo' }).click();
      await expect.poll(state).toBe(before);
    }
    // Nothing is left that needs somebody, or that holds for other tests.
    await api('PATCH', `/incidents/${incident_id}`, { status: 'closed' });
    await api('DELETE', `/policies/${policy.id}`);
    await api('DELETE', `/log-streams/${stream.id}`);
    expectQuiet(ann);
  });

  it('an error about a pattern is shown at its field, and no input is lost', async () => {
    const { page, go } = ann;
    await go('/policies', 'Policies');
    await page.getByRole('button', { name: 'New policy' }).click();
    await page.getByRole('radio', { name: /^Naming/ }).check();
    await page.getByLabel('Name', { exact: true }).fill('Broken');
    await page.getByRole('textbox', { name: 'Pattern' }).fill('(((');
    await page.getByRole('button', { name: 'Create policy' }).click();
    await page.locator('.field-error').waitFor();
    expect(await page.getByRole('textbox', { name: 'Pattern' }).inputValue()).toBe('(((');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Broken');
    ann.said.length = 0;
  });

  it('an approval policy lists its approvers before it is saved', async () => {
    const { page, go, api } = ann;
    await go('/policies', 'Policies');
    await page.getByRole('button', { name: 'New policy' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Deletes');
    await page.getByLabel('Read a value, by any means').uncheck();
    await page.getByLabel('Delete a secret').check();
    await page.getByLabel('Approvers').selectOption('role:owner');
    await page.getByText('Approvers: Ann.').waitFor();
    await page.getByText('Ann is the only approver, so nobody can approve their requests').waitFor();
    await page.getByText('Secrets it applies to').click();
    await page.getByLabel('staging').check();
    await page.getByRole('button', { name: 'Create policy' }).click();
    await page.waitForSelector('h1:text-is("Deletes")');
    expect(
      (await api('GET', '/policies')).data.find(({ name }: { name: string }) => name === 'Deletes'),
    ).toMatchObject({
      applies_to: { environments: ['staging'], types: null, names: null },
      config: { operations: ['secret.delete'], required: 1, approvers: { role: 'owner' } },
    });
    expectQuiet(ann);
  });

  it('a held request is approved by another member, completed once by repeating it, and then rejected', async () => {
    const { page, go, api, org, key } = ann;
    const { enrolment_url } = await api('POST', '/members', {
      name: 'Bo',
      email: 'bo@example.com',
      role: 'developer',
    });
    const bo = await newPerson({ invited: { org, key, enrolmentUrl: enrolment_url } });
    await settleWithout(org, ann, bo);
    const secret = await api('POST', '/secrets', { name: 'HELD', type: 'generic', value: 'held-value' });
    await api('POST', '/policies', {
      name: 'Reads',
      kind: 'approval',
      applies_to: { names: ['HELD'], environments: ['production'] },
      config: { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } },
    });
    await go('/approvals', 'Approvals');
    await page.getByText('Nothing is waiting for you').waitFor();
    await bo.go(`/secrets/${secret.id}`, 'HELD');
    await bo.page.getByLabel('Reason, recorded in the audit log').fill('the import fails');
    await bo.page.getByRole('button', { name: 'Reveal' }).click();
    await bo.page.getByRole('main').getByRole('link', { name: 'View request' }).waitFor();
    expect(await bo.page.content()).not.toContain('held-value');
    const badge = page.locator('.count.attention').filter({ visible: true });
    await badge.waitFor();
    await page.locator('.row-link').click();
    await page.getByText('the import fails').waitFor();
    let decided = 0;
    page.on('request', (request) => request.url().endsWith('/approve') && decided++);
    // Another site can bring the page to the front between the two clicks of a double click.
    const approve = page.getByRole('button', { name: 'Approve' });
    await approve.click({ trial: true });
    await approve.evaluate((button: HTMLElement) => {
      dispatchEvent(new Event('focus'));
      button.click();
    });
    await expect.poll(() => approve.getAttribute('aria-disabled')).toBe('true');
    await approve.click();
    await expect.poll(() => decided).toBe(1);
    await page.getByText('approved', { exact: true }).first().waitFor();
    await badge.waitFor({ state: 'hidden' });
    // The button is gone: the keyboard goes on from the heading.
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    await bo.page.getByText('Do this again now to complete it.').waitFor();
    await bo.page.getByRole('button', { name: 'Reveal' }).click();
    await bo.page.locator('.value-shown').waitFor();
    expect(await bo.page.locator('.value-shown').textContent()).toBe('held-value');
    expect((await api('GET', '/approvals')).data[0].status).toBe('used');
    await bo.page.reload();
    await bo.page.getByRole('button', { name: 'Reveal' }).click();
    await bo.page.getByRole('main').getByRole('link', { name: 'View request' }).waitFor();
    await badge.waitFor();
    // The home page decides in place, below the text of the request.
    await go('/overview', 'Overview');
    await page.getByRole('button', { name: 'Decide: HELD' }).click();
    // With who asks, of which kind, and for what, as on the page of the request.
    await page.locator('dialog dd:has(.badge:text-is("Member"))').getByText('Bo').waitFor();
    await page.getByRole('dialog').getByText('Read a value, by any means').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
    await page.getByText('All clear').waitFor();
    await bo.page.getByText('This request is rejected.').waitFor();
    await bo.context.close();
    expectQuiet(ann);
  });

  it('a member cannot approve their own request, but can cancel it', async () => {
    const { page, go, api } = ann;
    const [secret] = (await api('GET', '/secrets?prefix=HELD')).data;
    await go(`/secrets/${secret.id}`, 'HELD');
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByRole('main').getByRole('link', { name: 'View request' }).click();
    await page.getByText('You made this request').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Cancel request' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel request' }).click();
    await page.getByText('cancelled', { exact: true }).waitFor();
    ann.said.length = 0;
  });

  it('a confirmation that is held says so in its dialog, with a link to the request', async () => {
    const { page, go, api } = ann;
    const { id } = (await api('GET', '/policies')).data.find(
      ({ name }: { name: string }) => name === 'Reads',
    );
    await go(`/policies/${id}`, 'Reads');
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable policy' }).click();
    await page.getByRole('dialog').getByText('This request needs approval').waitFor();
    await page.getByRole('dialog').getByRole('link', { name: 'View request' }).click();
    await page.getByText('You made this request').waitFor();
    expect((await api('GET', `/policies/${id}`)).enabled).toBe(true);
    ann.said.length = 0;
  });

  it('a value that a policy withholds is not counted as missing in a comparison', async () => {
    const { page, go, api } = ann;
    for (const name of ['HELD', 'STAGED'])
      await api('POST', '/secrets', { name, environment: 'staging', type: 'generic', value: 'x' });
    await go('/secrets/compare?left=staging&right=production', 'Compare environments');
    await page.getByRole('row', { name: /STAGED.*missing/i }).waitFor();
    await page.getByRole('row', { name: /UPPER_CASE.*only here/i }).waitFor();
    await page.getByRole('row', { name: /HELD.*not compared/i }).waitFor();
    expectQuiet(ann);
    // Out of production its value is held.
    await go('/secrets/compare?left=production&right=staging', 'Compare environments');
    await page.getByLabel('Select HELD').check();
    await page.getByRole('button', { name: 'Promote to staging' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Promote 1 secret' }).click();
    await dialog.getByText('This request needs approval').waitFor();
    await dialog.getByRole('link', { name: 'View request' }).click();
    await page.getByText('promote 1 secret from production to staging').first().waitFor();
    ann.said.length = 0;
  });

  slow('a device is registered, assigned and blocked', async () => {
    const { page, go, api } = ann;
    await go('/devices', 'Devices');
    await page.getByRole('button', { name: 'Register device' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('ann-laptop');
    await dialog.getByLabel('Platform').fill('Linux');
    await dialog.getByRole('button', { name: 'Register device' }).click();
    const act = async (name: string) => {
      await page.getByRole('button', { name: 'Actions for ann-laptop' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await act('Assign');
    const [ann_] = (await api('GET', '/members')).data;
    await page.getByLabel('Member', { exact: true }).selectOption(ann_.id);
    await page.getByRole('button', { name: 'Assign device' }).click();
    await page.getByText('ann-laptop assigned').waitFor();
    await act('Block');
    await page.getByRole('dialog').getByRole('button', { name: 'Block device' }).click();
    await page.getByText('blocked', { exact: true }).waitFor();
    expect((await api('GET', '/devices')).data[0]).toMatchObject({ member_id: ann_.id, status: 'blocked' });
    expectQuiet(ann);
  });

  it('the compliance report shows findings with evidence, controls, and downloads', async () => {
    const { page, go } = ann;
    await go('/compliance', 'Compliance');
    await page.locator('.tile').first().waitFor();
    await page.getByText('Over-scoped credentials').click();
    await page.getByRole('link', { name: 'first key' }).first().waitFor();
    await page.getByRole('tab', { name: /Controls/ }).click();
    await page.getByText('CC6.1', { exact: true }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/^compliance-.*\.csv$/);
    expectQuiet(ann);
  });

  slow('the call of a program is shown whole, as code that wraps, and nothing of it is markup', async () => {
    const { page, go, api, org, url } = ann;
    const { enrolment_url } = await api('POST', '/members', {
      name: 'Cy',
      email: 'cy@example.com',
      role: 'developer',
    });
    const { session } = await signedInTerminal(url, enrolment_url);
    await settleWithout(org, ann);
    const secret = await api('POST', '/secrets', { name: 'CALLED', type: 'generic', value: 'called-value' });
    await api('POST', '/upstreams', {
      name: 'called',
      base_url: 'https://api.example.com',
      environment: 'production',
      auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{CALLED}}' }],
      allow: [{ methods: ['POST'], paths: ['/*'] }],
    });
    const rule = { operations: ['secret.read', 'secret.use'], required: 1, approvers: { role: 'owner' } };
    await api('POST', '/policies', {
      name: 'Calls',
      kind: 'approval',
      applies_to: { names: ['CALLED'] },
      config: rule,
    });
    const call = `run_command {"command":["sh","-c","<b>x</b>  two spaces"]} ${'x'.repeat(8000)}`.slice(
      0,
      8000,
    );
    const headers = { Authorization: `Bearer ${session.token}`, 'X-Access-Call': call };
    const held = await fetch(`${url}/api/v1/orgs/${org}/secrets/${secret.id}`, { headers });
    const { error } = (await held.json()) as { error: { approval: { id: string } } };
    await go(`/approvals/${error.approval.id}`);
    const shown = page.locator('dd pre.call');
    await shown.waitFor();
    expect(
      await shown.evaluate((element: HTMLElement) => [element.innerText, element.children.length]),
    ).toEqual([call, 0]);
    expect(await shown.evaluate((element) => getComputedStyle(element).fontFamily)).toContain('mono');
    expectQuiet(ann);

    // What an upstream would get: in its order, with each space, and a mark for what has no shape.
    const asked = await fetch(`${url}/api/v1/orgs/${org}/use/called/v1/pay`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${session.token}`,
        'X-Note': 'a  b',
        'X-Access-Reason': 'c\u00c2\u00a0d',
      },
      body: 'to: \u202eeve\u200b  \u05d0 12 \u05d1\r\n\n\nall\u00a0',
    });
    const { error: use } = (await asked.json()) as { error: typeof error };
    await go(`/approvals/${use.approval.id}`);
    const body = page.locator('dt:text-is("Body") + dd pre.call');
    await body.waitFor();
    expect(await body.evaluate((element: HTMLElement) => element.innerText)).toBe(
      'to: \\u{202e}eve\\u{200b}  \u05d0 12 \u05d1\r\n\n\nallU+00A0',
    );
    expect(await body.evaluate((element) => getComputedStyle(element).unicodeBidi)).toBe('bidi-override');
    const note = page.locator('dt:text-is("Header x-note") + dd pre.call');
    expect(await note.evaluate((element: HTMLElement) => element.innerText)).toBe('a  b');
    await page.locator('dt:text-is("Request") + dd pre.call').getByText('/v1/pay').waitFor();
    await page.locator('dt:text-is("Reason") + dd').getByText('cU+00A0d').waitFor();
    expectQuiet(ann);
  });
});
