// Checks for every page: hostile text stays text, nothing is wider than the screen, and axe finds nothing. SLOW=1 checks every page in
// both colour schemes at 390, 768 and 1440 px; otherwise only a dark phone and a light wide screen.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fill } from './everything.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from './person.ts';

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const widths = [390, 768, 1440];
const all = widths.flatMap((width) => [[width, 'light'] as const, [width, 'dark'] as const]);
const looks = process.env.SLOW ? all : ([[390, 'dark'] as const, [1440, 'light'] as const] as const);

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Anything that hostile text could have created. */
const madeByText = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { hacked } = window as { hacked?: string };
    const elements = document.querySelectorAll('img, iframe, object, embed, base, [onerror], [onclick], body script');
    const links = [...document.querySelectorAll<HTMLAnchorElement>('a[href]')].filter(({ protocol }) => !/^(https?|blob):$/.test(protocol));
    return [...(hacked ? [`ran: ${hacked}`] : []), ...[...elements, ...links].map((each) => each.outerHTML.slice(0, 120))];
  });

/** The element that is wider than the page, or null. */
const tooWide = (page: Page): Promise<string | null> =>
  page.evaluate(() => {
    const main = document.querySelector('#main') as HTMLElement;
    const most = Math.max(document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth);
    if (most <= 0) return null;
    const edge = main.getBoundingClientRect().right;
    const widest = [...main.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > edge);
    const names = widest.map(({ tagName, className }) => `${tagName}.${className}`);
    return `${most}px: ${names.slice(0, 6).join(' ')}`;
  });

/** The violations that axe finds. Toasts are excluded because they are temporary. */
const violations = async (page: Page): Promise<string[]> => {
  const found: Violation[] = await page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is put there by the test.
    const { violations } = await (window as any).axe.run({ exclude: ['.toasts'] }, { resultTypes: ['violations'] });
    return violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`)[0]}`);
};

describe.skipIf(!executablePath)('console: every page', () => {
  useBrowser();
  let ann: Person;
  const found = { visited: 0, made: [] as string[], wide: [] as string[], inaccessible: [] as string[] };

  const look = async (address: string, [width, colorScheme]: (typeof looks)[number]) => {
    const { page } = ann;
    const where = `${address} at ${width} ${colorScheme}`;
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const over = await tooWide(page);
    if (over) found.wide.push(`${where} is too wide by ${over}`);
    found.inaccessible.push(...(await violations(page)).map((what) => `${where}: ${what}`));
  };

  beforeAll(async () => {
    ann = await newPerson();
    const { page, go } = ann;
    const addresses = await fill(ann);
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => console.error(`refused: ${event.violatedDirective} ${event.blockedURI}`));
    });
    for (const address of addresses) {
      await go(address);
      await page.waitForFunction(() => !document.querySelector('.skeleton, .boot'));
      found.made.push(...(await madeByText(page)).map((what) => `${address}: ${what}`));
      await page.evaluate(axeSource);
      for (const each of looks) await look(address, each);
      await page.setViewportSize({ width: 1440, height: 900 });
      found.visited += 1;
    }
  }, 900_000);

  it('shows hostile texts unchanged, and runs none of them', () => {
    expect(found.visited).toBeGreaterThan(30);
    expect(found.made).toEqual([]);
    expectQuiet(ann);
  });

  it('fits the screen', () => {
    expect(found.wide).toEqual([]);
  });

  it('has no axe violations', () => {
    expect(found.inaccessible).toEqual([]);
  });
});
