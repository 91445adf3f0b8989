// The looks of the console: three widths, each in both colour schemes. A test file runs in one of them, which
// its place among the test files decides, so that together the files have all looks. `npm run test:looks`
// runs each file in all of them. Invariant: at every width the same tests pass; where a step depends on the
// width, a helper of person.ts takes it.
import fs from 'node:fs';
import path from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';

export interface Look {
  width: number;
  scheme: 'light' | 'dark';
}

/** Neighbours differ in both. */
export const looks: Look[] = [
  { width: 390, scheme: 'light' },
  { width: 1440, scheme: 'dark' },
  { width: 768, scheme: 'light' },
  { width: 390, scheme: 'dark' },
  { width: 1440, scheme: 'light' },
  { width: 768, scheme: 'dark' },
];
const HEIGHTS: Record<number, number> = { 390: 844, 768: 1024, 1440: 900 };

/** As in the variable LOOK. */
export const nameOf = ({ width, scheme }: Look): string => `${width}-${scheme}`;

/** The look for a test file: that of the variable LOOK, or its own. */
export function lookOf(file: string): Look {
  const tests = path.dirname(import.meta.dirname);
  const names = fs
    .readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => path.basename(name));
  const own = looks[names.sort().indexOf(path.basename(file)) % looks.length];
  const { LOOK } = process.env;
  const look = LOOK ? looks.find((each) => nameOf(each) === LOOK) : own;
  if (!look) throw new Error(`${LOOK ?? file} has no look. LOOK is one of ${looks.map(nameOf).join(', ')}.`);
  return look;
}

/** Phones and tablets have a touch screen. */
export const onContext = ({ width, scheme }: Look): BrowserContextOptions => ({
  viewport: { width, height: HEIGHTS[width] ?? 900 },
  colorScheme: scheme,
  hasTouch: width < 1440,
  isMobile: width < 768,
});

/** What is wider than its page, its dialog or the screen, or null. */
export const tooWide = (page: Page): Promise<string | null> =>
  page.evaluate(() => {
    const boxes = [
      document.documentElement,
      ...document.querySelectorAll<HTMLElement>('#main, dialog[open]'),
    ];
    const over = boxes
      .map((box) => ({ box, by: box.scrollWidth - Math.min(box.clientWidth, screen.width) }))
      .find(({ by }) => by > 0);
    if (!over) return null;
    const edge = Math.min(over.box.getBoundingClientRect().right, screen.width);
    const widest = [...over.box.querySelectorAll('*')].filter(
      (each) => each.getBoundingClientRect().right > edge,
    );
    const names = widest.map(({ tagName, className }) => `${tagName}.${className}`);
    return `${over.by}px: ${names.slice(0, 6).join(' ')}`;
  });
