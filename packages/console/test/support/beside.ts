// Steps of a member whose colleague changes the same resource.
import { expectQuiet, type Person } from './person.ts';

/** The same as `expectQuiet`, but for the refusals themselves, which Chromium logs. */
export const expectRefusals = ({ said, ...ann }: Person) =>
  expectQuiet({ ...ann, said: said.filter((text) => !text.includes('412')) });

/** Saves against a colleague's change, then repeats the member's own change on the current state. */
export const keepAndSave = async ({ page }: Person, difference: string, action = 'Save changes') => {
  await page.getByRole('button', { name: action }).click();
  await page.getByText(difference).waitFor();
  await page.getByRole('button', { name: 'Keep my change' }).click();
  await page.getByRole('button', { name: action }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
};
export const edit = async ({ page }: Person) => {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  await page.getByLabel('Name', { exact: true }).waitFor();
};
