// The first day of two people: one stores, shares, rotates and audits a secret and invites a colleague, whose
// request they approve.
import { describe, expect, it } from 'vitest';
import { executablePath, expectQuiet, newPerson, settleWithout, useBrowser } from './support/person.ts';

describe.skipIf(!executablePath)('console: the first day', () => {
  useBrowser();

  it('a secret is stored, shared, rotated and audited, and a colleague is invited, who asks for approval and gets it', async () => {
    const ann = await newPerson();
    const { page, go, navigate, org, key } = ann;
    const dialog = page.getByRole('dialog');

    // Store.
    await go('', 'Get started');
    await navigate('Secrets');
    await page.getByRole('button', { name: 'New secret' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('billing/STRIPE_KEY');
    await dialog.getByLabel('Value', { exact: true }).fill('sk_live_1');
    await dialog.getByRole('button', { name: 'Store secret' }).click();
    await page.waitForSelector('h1:text-is("billing/STRIPE_KEY")');
    const secretAt = new URL(page.url()).pathname.replace('/console', '');

    // Invite.
    await navigate('Members');
    await page.getByRole('button', { name: 'Invite member' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('Bo');
    await dialog.getByLabel('E-mail address').fill('bo@example.com');
    await dialog.getByRole('radio', { name: /^Developer/ }).check();
    await dialog.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByRole('heading', { name: 'Enrolment link for Bo' }).waitFor();
    const enrolmentUrl = (await page.locator('.copyable code').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForSelector('h1:text-is("Bo")');
    const bo = await newPerson({ invited: { org, key, enrolmentUrl } });
    await bo.page.locator('#console').click();
    await bo.page.waitForSelector('h1:text-is("Overview")');
    await settleWithout(org, ann, bo);

    // Share with somebody else: who gave a grant decides nothing for the grantee.
    await ann.api('POST', '/members', { name: 'Cy', email: 'cy@example.com', role: 'viewer' });
    await navigate('Secrets');
    await page.getByRole('link', { name: 'billing/' }).click();
    await page.getByRole('link', { name: 'STRIPE_KEY' }).click();
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('menuitem', { name: 'With people, teams or agents' }).click();
    await dialog.getByLabel('Share with', { exact: true }).selectOption({ label: 'Cy (cy@example.com)' });
    await dialog.getByRole('button', { name: 'Share secret' }).click();
    await dialog.waitFor({ state: 'detached' });

    // A policy holds reads of it.
    await navigate('Policies');
    await page.getByRole('button', { name: 'New policy' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('Billing needs two people');
    await dialog.getByLabel('Approvers').selectOption('role:owner');
    await dialog.getByText('Secrets it applies to').click();
    await dialog.getByRole('textbox', { name: /^Names/ }).fill('billing/*');
    await dialog.getByRole('button', { name: 'Create policy' }).click();
    await page.waitForSelector('h1:text-is("Billing needs two people")');

    // Rotate.
    await go(secretAt, 'billing/STRIPE_KEY');
    await page.getByRole('button', { name: 'Rotate' }).click();
    await dialog.getByLabel('Value', { exact: true }).fill('sk_live_2');
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    await dialog.waitFor({ state: 'detached' });

    // Ask.
    await bo.go('/secrets?path=billing/', 'Secrets');
    await bo.page.getByRole('link', { name: 'STRIPE_KEY' }).click();
    await bo.page.getByLabel('Reason, recorded in the audit log').fill('a payment failed');
    await bo.page.getByRole('button', { name: 'Reveal' }).click();
    await bo.page.getByRole('main').getByRole('link', { name: 'View request' }).waitFor();

    // Approve.
    await navigate('Approvals');
    await page.locator('.row-link').click();
    await page.getByText('a payment failed').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('approved', { exact: true }).first().waitFor();
    await bo.page.getByRole('button', { name: 'Reveal' }).click();
    expect(await bo.page.locator('.value-shown').textContent()).toBe('sk_live_2');

    // Audit.
    await go(`${secretAt}?tab=readers`, 'billing/STRIPE_KEY');
    await page.getByRole('table', { name: 'Readers' }).getByText('Bo', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'View in audit log' }).click();
    await page
      .getByRole('button', { name: /^secret\.read/ })
      .first()
      .click();
    await dialog.getByText('a payment failed').first().waitFor();
    await bo.context.close();
    expectQuiet(ann);
  });
});
