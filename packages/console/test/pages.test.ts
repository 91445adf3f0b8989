// Checks for every page: hostile text stays text, nothing is wider than the screen, axe finds nothing, and
// the keyboard does what the mouse does. SLOW=1 checks every page in every look, and presses every button;
// otherwise a page is measured on a dark phone and a light wide screen, and axe looks at it on one of them.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../test/packages/slow.ts';
import { fill } from './support/everything.ts';
import { doors, walk, watchKeyboard } from './support/keyboard.ts';
import { type Look, looks, nameOf, tooWide } from './support/look.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from './support/person.ts';

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const desktop: Look = { width: 1440, scheme: 'light' };
const phone: Look = { width: 390, scheme: 'dark' };
const visited = process.env.SLOW ? looks : [phone, desktop];

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Anything that hostile text could have created. */
const madeByText = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { hacked } = window as { hacked?: string };
    const elements = document.querySelectorAll(
      'img, iframe, object, embed, base, [onerror], [onclick], body script',
    );
    const links = [...document.querySelectorAll<HTMLAnchorElement>('a[href]')].filter(
      ({ protocol }) => !/^(https?|blob):$/.test(protocol),
    );
    return [
      ...(hacked ? [`ran: ${hacked}`] : []),
      ...[...elements, ...links].map((each) => each.outerHTML.slice(0, 120)),
    ];
  });

/** The violations that axe finds. Toasts are excluded because they are temporary. */
const violations = async (page: Page): Promise<string[]> => {
  const found: Violation[] = await page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is put there by the test.
    const { violations } = await (window as any).axe.run(
      { exclude: ['.toasts'] },
      { resultTypes: ['violations'] },
    );
    return violations;
  });
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`)[0]}`,
  );
};

describe.skipIf(!executablePath)('console: every page', () => {
  useBrowser();
  let ann: Person;
  let addresses: string[] = [];
  const found = {
    visited: 0,
    made: [] as string[],
    wide: [] as string[],
    inaccessible: [] as string[],
    stuck: [] as string[],
  };

  const visit = async (address: string, look: Look) => {
    const { page } = ann;
    const where = `${address} at ${nameOf(look)}`;
    await page.setViewportSize({ width: look.width, height: 900 });
    await page.emulateMedia({ colorScheme: look.scheme, reducedMotion: 'reduce' });
    const over = await tooWide(page);
    if (over) found.wide.push(`${where} is too wide by ${over}`);
    if (!process.env.SLOW && look !== visited[found.visited % visited.length]) return;
    found.inaccessible.push(...(await violations(page)).map((what) => `${where}: ${what}`));
  };

  beforeAll(async () => {
    ann = await newPerson({ look: desktop });
    const { page, go } = ann;
    addresses = await fill(ann);
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) =>
        console.error(`refused: ${event.violatedDirective} ${event.blockedURI}`),
      );
    });
    await watchKeyboard(page);
    for (const address of addresses) {
      await go(address);
      await page.waitForFunction(() => !document.querySelector('.skeleton, .boot'));
      found.made.push(...(await madeByText(page)).map((what) => `${address}: ${what}`));
      await page.evaluate(axeSource);
      for (const each of visited) await visit(address, each);
      for (const width of process.env.SLOW ? [390, 1440] : [1440]) {
        await page.setViewportSize({ width, height: 900 });
        const wrong = await walk(page, found.visited ? '#main' : '.shell');
        found.stuck.push(...wrong.map((what) => `${address} at ${width}: ${what}`));
      }
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

  slow('gives the focus back when Escape closes what a button has opened', { timeout: 900_000 }, async () => {
    const { page, go } = ann;
    await page.route('**/api/v1/orgs/**', (route) =>
      route.request().method() === 'GET' ? route.continue() : route.abort(),
    );
    const wrong: string[] = [];
    const tried = process.env.SLOW
      ? addresses
      : addresses.filter((address) => ['/devices', '/policies'].includes(address));
    for (const address of tried) {
      const open = async () => {
        await go(address);
        await page.waitForFunction(() => !document.querySelector('.skeleton'));
      };
      await open();
      wrong.push(...(await doors(page, open)).map((what) => `${address}: ${what}`));
    }
    expect(wrong).toEqual([]);
  });

  it('gives everything that a click does to the keyboard, and shows where the focus is', () => {
    expect(found.stuck).toEqual([]);
  });
});
