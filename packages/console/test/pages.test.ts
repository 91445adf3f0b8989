// What holds for every page: hostile text stays text, nothing is wider than the screen, and axe finds nothing. SLOW=1 looks at every page in
// both colour schemes at 390, 768 and 1440 px; without it, on a phone in the dark and on a wide screen in the light.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import { fill } from './everything.ts';
import { executablePath, expectQuiet, newPerson, type Person, useBrowser } from './person.ts';

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const looks = (process.env.SLOW
  ? [390, 768, 1440].flatMap((width) => [[width, 'light'] as const, [width, 'dark'] as const])
  : undefined) ?? [[390, 'dark'] as const, [1440, 'light'] as const];

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

describe.skipIf(!executablePath)('console: every page', () => {
  useBrowser();
  let ann: Person;
  let addresses: string[];
  beforeAll(async () => {
    ann = await newPerson();
    addresses = await fill(ann);
    await ann.page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => console.error(`refused: ${event.violatedDirective} ${event.blockedURI}`));
    });
  });

  /** Goes to a page and waits until it has what it shows. */
  const visit = async (address: string) => {
    await ann.go(address);
    await ann.page.waitForFunction(() => !document.querySelector('.skeleton, .boot'));
  };

  it('shows hostile texts as they are, and nothing of them runs', async () => {
    const { page } = ann;
    for (const address of addresses) {
      await visit(address);
      const found = await page.evaluate(() => ({
        hacked: (window as { hacked?: string }).hacked,
        images: document.querySelectorAll('img, iframe, object, embed, base, [onerror], [onclick], body script').length,
        links: [...document.querySelectorAll('a[href]')]
          .map((a) => (a as HTMLAnchorElement).protocol)
          .filter((at) => !/^https?:$|^blob:$/.test(at)),
      }));
      expect(found, address).toEqual({ hacked: undefined, images: 0, links: [] });
    }
    expectQuiet(ann);
  }, 240_000);

  it('fits the screen, and axe finds nothing', async () => {
    const { page } = ann;
    const wrong: string[] = [];
    for (const address of addresses) {
      await visit(address);
      await page.evaluate(axeSource);
      for (const [width, colorScheme] of looks) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.evaluate(() => Promise.all(document.getAnimations().map((each) => each.finished.catch(() => {}))));
        const over = await page.evaluate(() => {
          const main = document.querySelector('#main') as HTMLElement;
          const most = Math.max(document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth);
          if (most <= 0) return null;
          const edge = main.getBoundingClientRect().right;
          const widest = [...main.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > edge);
          return `${most}px: ${widest
            .map(({ tagName, className }) => `${tagName}.${className}`)
            .slice(0, 6)
            .join(' ')}`;
        });
        if (over) wrong.push(`${address} at ${width} is too wide by ${over}`);
        const violations: Violation[] = await page.evaluate(async () => {
          // biome-ignore lint/suspicious/noExplicitAny: axe is put there by the test.
          const { violations } = await (window as any).axe.run({ exclude: ['.toasts'] }, { resultTypes: ['violations'] });
          return violations;
        });
        for (const { id, nodes } of violations)
          wrong.push(
            `${address} at ${width} ${colorScheme}: ${id} ${nodes
              .map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`)
              .slice(0, 2)
              .join(' | ')}`,
          );
      }
      await page.setViewportSize({ width: 1440, height: 900 });
    }
    expect(wrong).toEqual([]);
    expectQuiet(ann);
  }, 600_000);
});
