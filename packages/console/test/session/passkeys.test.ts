// A passkey that is not given: at sign-in, and where a change needs to be confirmed. Invariant: nothing is
// lost, and trying again works.
import { beforeAll, describe, expect, it } from 'vitest';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from '../support/person.ts';

describe.skipIf(!executablePath)('console: cancelled passkeys', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  it('a cancelled confirmation is reported in the dialog, which keeps its input', async () => {
    const { page, go, api, confirms, said } = ann;
    await go('/members', 'Members');
    await page.getByRole('button', { name: 'Invite member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Bo');
    await dialog.getByLabel('E-mail address').fill('bo@example.com');
    // The last confirmation was too long ago.
    const error = {
      code: 'REAUTHENTICATION_REQUIRED',
      message: 'This request needs a recent confirmation.',
      docs: 'http://localhost/docs',
    };
    await page.route('**/members', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 403, json: { error } })
        : route.continue(),
    );
    await confirms(false);
    await dialog.getByRole('button', { name: 'Create invitation' }).click();
    await dialog.getByText('The passkey was not used').waitFor();
    expect(await dialog.getByLabel('E-mail address').inputValue()).toBe('bo@example.com');
    await page.unroute('**/members');
    await confirms(true);
    await dialog.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByRole('heading', { name: 'Enrolment link for Bo' }).waitFor();
    expect(
      (await api('GET', '/members')).data.filter(({ name }: { name: string }) => name === 'Bo'),
    ).toHaveLength(1);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    said.length = 0;
  });

  it('a cancelled sign-in is reported, and can be repeated', async () => {
    const { page, go, confirms } = ann;
    await go('/secrets', 'Secrets');
    await page.getByTitle('Your account').click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    const button = page.getByRole('button', { name: 'Sign in with a passkey' });
    await button.waitFor();
    await confirms(false);
    await button.click();
    await page.getByText('The passkey was not used').waitFor();
    await confirms(true);
    await button.click();
    await page.waitForSelector('h1:text-is("Secrets")');
    expectQuiet(ann);
  });
});
