// The keyboard alone: what Tab reaches on a page, and what Escape gives back. Each function returns what is
// wrong, in words.
import type { Page } from 'playwright-core';

/** What the init script keeps in the page. */
interface Kept {
  clickable: WeakSet<EventTarget>;
  reached: Set<Element>;
  wrong: string[];
}
declare global {
  interface Window {
    keyboard: Kept;
    named: (element: Element) => string;
  }
}

/** Pointer-only parts, each with what does the same by keyboard. */
const EXEMPT = [
  // Dragging over the chart selects a time range, as the fields above it do.
  '.u-wrap',
];

/**
 * Records the elements that respond to a click, and each that gets the focus, with whether that can be seen.
 */
export async function watchKeyboard(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const kept: Kept = { clickable: new WeakSet(), reached: new Set(), wrong: [] };
    window.keyboard = kept;
    window.named = (element) => {
      const text = element.getAttribute('aria-label') ?? element.textContent ?? '';
      return `${element.tagName.toLowerCase()}.${element.className} “${text.trim().slice(0, 40)}”`;
    };
    const { addEventListener } = EventTarget.prototype;
    EventTarget.prototype.addEventListener = function (this: EventTarget, type: string, ...rest: unknown[]) {
      if (type === 'click' && this instanceof Element) kept.clickable.add(this);
      return Reflect.apply(addEventListener, this, [type, ...rest]);
    } as typeof addEventListener;
    document.addEventListener('focusin', ({ target }) => {
      if (!(target instanceof HTMLElement)) return;
      kept.reached.add(target);
      if (!target.matches(':focus-visible') || target.matches('h1, main, .shell, [role="menu"]')) return;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(target);
      if ((outlineStyle === 'none' || outlineWidth === '0px') && boxShadow === 'none')
        kept.wrong.push(`${window.named(target)} has the focus, but nothing shows it`);
      const { top, bottom, left, right } = target.getBoundingClientRect();
      if (bottom <= 0 || right <= 0 || top >= innerHeight || left >= innerWidth)
        kept.wrong.push(`${window.named(target)} has the focus outside of the screen`);
    });
  });
}

/**
 * Walks with Tab from the start of an element to its end.
 * @param within `#main`, the content of the page, or `.shell`, with the frame around it
 * @returns what a click reaches and Tab does not, what gets the focus invisibly, and where the focus is lost
 */
export async function walk(page: Page, within: '#main' | '.shell'): Promise<string[]> {
  const count = await page.evaluate((root) => {
    window.keyboard.reached.clear();
    window.keyboard.wrong = [];
    const start = document.querySelector<HTMLElement>(root);
    start?.setAttribute('tabindex', '-1');
    start?.focus();
    return (
      start?.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]').length ?? 0
    );
  }, within);
  // Scrolling regions are stops too.
  for (let stop = 0; stop < count + 20; stop += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((root) => !document.activeElement?.closest(root), within)) break;
  }
  return page.evaluate(
    ([root, exempt]) => {
      const { reached, clickable, wrong } = window.keyboard;
      const controls = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
      const isReached = (element: Element): boolean => {
        if (reached.has(element)) return true;
        // Arrow keys move within a group of radio buttons or tabs.
        const group = element.matches('[type="radio"]')
          ? 'fieldset'
          : element.matches('[role="tab"]')
            ? '[role="tablist"]'
            : null;
        return [
          ...(group ? (element.closest(group)?.querySelectorAll('input, [role="tab"]') ?? []) : []),
        ].some((each) => reached.has(each));
      };
      const shown = [...document.querySelectorAll<HTMLElement>(`${root} *`)].filter(
        (each) =>
          each.checkVisibility({ visibilityProperty: true }) &&
          !each.matches(`:disabled, ${exempt}, :is(${exempt}) *`),
      );
      const missed = shown.filter((each) => each.matches(controls) && !isReached(each));
      const deaf = shown.filter(
        (each) =>
          clickable.has(each) &&
          !each.closest(controls) &&
          !each.querySelector(controls) &&
          !each.closest('label'),
      );
      return [
        ...wrong,
        ...missed.map((each) => `Tab does not reach ${window.named(each)}`),
        ...deaf.map((each) => `${window.named(each)} responds to a click alone`),
      ];
    },
    [within, EXEMPT.join()] as const,
  );
}

const BUTTON = '#main button:not(:disabled, [role="tab"])';
/** Two frames, in which everything that follows a key at once is drawn. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    while (document.querySelector('[data-busy]')) await new Promise(requestAnimationFrame);
  });

/** What a key has opened. */
const opened = (page: Page): Promise<'dialog' | 'menu' | null> =>
  page.evaluate(() => {
    if (document.querySelector('dialog[open]')) return 'dialog';
    return document.querySelector('[role="menu"][data-state="open"]') ? 'menu' : null;
  });

/** Closes with Escape what a button has opened. @returns what is wrong */
async function closed(page: Page, name: string, kind: 'dialog' | 'menu'): Promise<string[]> {
  const isInside = await page.evaluate(
    () => !!document.activeElement?.closest('dialog[open], [role="menu"]'),
  );
  await page.keyboard.press('Escape');
  await drawn(page);
  const wrong = isInside ? [] : [`${name}: the focus is not in the ${kind} that it opens`];
  if (await opened(page)) return [...wrong, `${name}: Escape does not close its ${kind}`];
  const now = await page.evaluate(() =>
    document.activeElement === document.body ? 'nothing' : window.named(document.activeElement as Element),
  );
  return now === name ? wrong : [...wrong, `${name}: after its ${kind}, the focus is on ${now}`];
}

/** Chooses an item of a menu, and closes the dialog that it opens. */
async function chooses(page: Page, name: string, item: number): Promise<string[]> {
  await page.keyboard.press('Enter');
  await drawn(page);
  for (let step = 0; step < item; step += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await drawn(page);
  const kind = await opened(page);
  return kind ? (await closed(page, name, kind)).map((what) => `item ${item + 1} of ${what}`) : [];
}

/**
 * Presses every button of a page with Enter, and every item of its menus, and closes what opens. Requests
 * that change something must be blocked.
 * @param reopen opens the page again, after a button that leads away from it
 */
export async function doors(page: Page, reopen: () => Promise<void>): Promise<string[]> {
  const wrong: string[] = [];
  const address = page.url();
  const names: string[] = await page.evaluate(
    (selector) =>
      [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility()).map(window.named),
    BUTTON,
  );
  /** Gives a button the focus. @returns whether it is still there */
  const reach = async (name: string): Promise<boolean> => {
    if (page.url() !== address) await reopen();
    return page.evaluate(
      ([selector, wanted]) => {
        const found = [...document.querySelectorAll<HTMLElement>(selector)].find(
          (each) => window.named(each) === wanted,
        );
        found?.focus();
        return document.activeElement === found;
      },
      [BUTTON, name] as const,
    );
  };
  for (const name of new Set(names)) {
    if (!(await reach(name))) continue;
    await page.keyboard.press('Enter');
    await drawn(page);
    const kind = await opened(page);
    if (!kind) continue;
    const items = await page.locator('[role="menuitem"]').count();
    wrong.push(...(await closed(page, name, kind)));
    for (let item = 0; item < (kind === 'menu' ? items : 0); item += 1)
      if (await reach(name)) wrong.push(...(await chooses(page, name, item)));
  }
  return wrong;
}
