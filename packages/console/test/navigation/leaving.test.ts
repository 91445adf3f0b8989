// Leaving a page with something unsaved, and what stays in the clipboard.
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import {
  addAuthenticator,
  executablePath,
  expectQuiet,
  newPerson,
  type Person,
  useBrowser,
} from '../support/person.ts';

describe.skipIf(!executablePath)('console: leaving a page', () => {
  useBrowser();
  let ann: Person;
  beforeAll(async () => {
    ann = await newPerson();
  });

  slow(
    'Back and links ask before a token that is shown once or typed input is lost, and leave if the member agrees',
    async () => {
      const { page, go, navigate, api } = ann;
      const question = page.getByRole('dialog', { name: 'Leave this page?' });
      await go('/members', 'Members');
      await navigate('Credentials');
      await page.getByRole('button', { name: 'New API key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name', { exact: true }).fill('ci');
      await page.goBack();
      await question.getByText('What you typed is not saved.').waitFor();
      expect(new URL(page.url()).pathname).toBe('/console/credentials');
      await question.getByRole('button', { name: 'Stay' }).click();
      expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('ci');
      await dialog.getByRole('button', { name: 'Create API key' }).click();
      const token = page.locator('.copyable code');
      await token.waitFor();
      const shown = await token.textContent();
      await page.goBack();
      await question.getByText('it is shown only once').waitFor();
      await page.keyboard.press('Enter');
      await question.waitFor({ state: 'detached' });
      expect(await token.textContent()).toBe(shown);
      expect(new URL(page.url()).pathname).toBe('/console/credentials');
      await page.goBack();
      await question.getByRole('button', { name: 'Leave' }).click();
      await page.waitForSelector('h1:text-is("Members")');
      expect((await api('GET', '/api-keys')).data).toHaveLength(2);

      // On a page, a link asks too; what is saved is not asked about.
      await navigate('Settings');
      const name = page.getByLabel('Name', { exact: true });
      await name.fill('Ann and friends');
      await navigate('Teams');
      await question.getByText('What you typed is not saved.').waitFor();
      await question.getByRole('button', { name: 'Stay' }).click();
      expect(await name.inputValue()).toBe('Ann and friends');
      if (await page.getByRole('button', { name: 'Close navigation' }).first().isVisible())
        await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('Organisation saved').waitFor();
      await navigate('Teams');
      await page.waitForSelector('h1:text-is("Teams")');
      expectQuiet(ann);
    },
  );

  it('a copied value is cleared from the clipboard, without the focus as soon as the page has it again', async () => {
    const { page, go, api, context, url } = ann;
    const secret = await api('POST', '/secrets', { name: 'COPIED', type: 'generic', value: 'copied-value' });
    await page.clock.install();
    await go(`/secrets/${secret.id}`, 'COPIED');
    const held = () => page.evaluate(() => navigator.clipboard.readText());
    const copy = async () => {
      await page.getByRole('button', { name: 'Copy', exact: true }).click();
      await page.getByText('COPIED copied').first().waitFor();
      // The message of an earlier copy may still be there.
      await expect.poll(held).toBe('copied-value');
    };
    await copy();
    await page.clock.fastForward(31_000);
    await expect.poll(held).toBe('');
    // Another window has the focus.
    await copy();
    await page.evaluate(() => Object.assign(document, { hasFocus: () => false }));
    await page.clock.fastForward(31_000);
    expect(await held()).toBe('copied-value');
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.getByText('The copied value is cleared from the clipboard').waitFor();
    await expect.poll(held).toBe('');
    // A browser that would ask the member whether the console may read the clipboard: nobody answers.
    await copy();
    await context.clearPermissions();
    await page.evaluate(() => {
      const readText = () => new Promise<string>(() => {});
      Reflect.deleteProperty(document, 'hasFocus');
      Object.defineProperty(navigator.clipboard, 'readText', { value: readText, configurable: true });
    });
    await page.clock.fastForward(31_000);
    await page.clock.fastForward(11_000);
    await page.evaluate(() => Reflect.deleteProperty(navigator.clipboard, 'readText'));
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
    await expect.poll(held).toBe('');
    expectQuiet(ann);
  });

  it('whoever signs in in another tab finds nothing of the previous member in this one', async () => {
    const { page, go, api, context } = await newPerson();
    await api('POST', '/secrets', { name: 'OF_ANN', type: 'generic', value: 'x', environment: 'production' });
    const invited = { name: 'Bob', email: 'bob@example.com', role: 'viewer', environments: ['development'] };
    const { enrolment_url } = await api('POST', '/members', invited);
    await go('/secrets?environment=production', 'Secrets');
    const row = page.getByText('OF_ANN', { exact: true });
    await row.waitFor();
    const other = await context.newPage();
    await addAuthenticator(await context.newCDPSession(other));
    await other.goto(enrolment_url);
    await other.click('#act');
    await other.waitForSelector('#who:not([hidden])');
    // The list is not read again.
    await page.route('**/api/v1/orgs/*/secrets**', () => {});
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 120_000;
      document.dispatchEvent(new Event('visibilitychange'));
    });
    // On a narrow screen, the name is in the closed navigation.
    await page.getByText('Bob', { exact: true }).waitFor({ state: 'attached' });
    // A page that has data shows it with its heading, or right after.
    await page.getByRole('heading', { name: 'Secrets' }).waitFor();
    await page.waitForTimeout(500);
    expect(await row.count()).toBe(0);
  });
});
