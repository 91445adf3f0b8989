// Keyboard shortcuts: `n` creates an item of the page, `j` and `k` move through the rows of a table, `?` shows all. Invariant: shortcuts are
// inactive in a field, a dialog or a menu, and together with Ctrl, Alt or ⌘.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { BASE } from './router';
import { Dialog } from './ui/dialog';

const isHelpOpen = signal(false);
/** The actions of `n` on this page, the newest last. */
const makers = signal<(() => void)[]>([]);

/** Whether the next page opens its create dialog immediately. */
let isAwaited = false;

/** Opens a page and its create dialog. */
export function makeAt(path: string, go: (to: string) => void): void {
  const make = location.pathname === `${BASE}${path}` ? makers.value.at(-1) : undefined;
  isAwaited = !make;
  if (make) make();
  else go(path);
}

/** Registers the create action of this page for `n` and the command palette. */
export function useMaker(make: () => void, isAllowed = true): void {
  const latest = useRef(make);
  latest.current = make;
  useEffect(() => {
    if (!isAllowed) return;
    if (isAwaited) latest.current();
    isAwaited = false;
    const entry = () => latest.current();
    makers.value = [...makers.value, entry];
    return () => {
      makers.value = makers.value.filter((each) => each !== entry);
    };
  }, [isAllowed]);
}

const elsewhere = 'input, textarea, select, [contenteditable], dialog, [role="menu"], [role="tablist"]';

/** The rows of the focused table, or of the first one, in order. */
function rowsAround(from: Element | null): HTMLElement[] {
  const table = from?.closest('.table') ?? document.querySelector('#main .table');
  const rows = [...(table?.querySelectorAll<HTMLElement>('.table-row') ?? [])];
  return rows.sort((one, other) => Number(one.ariaRowIndex) - Number(other.ariaRowIndex));
}

/** Moves the focus by one row. @returns whether there was such a row */
function move(step: 1 | -1): boolean {
  const from = document.activeElement;
  const rows = rowsAround(from);
  const at = rows.findIndex((row) => row.contains(from));
  const target = rows[at < 0 ? 0 : at + step]?.querySelector<HTMLElement>('a, button');
  target?.focus();
  target?.scrollIntoView({ block: 'nearest' });
  return Boolean(target);
}

const steps: Record<string, 1 | -1> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

function onKey(event: KeyboardEvent): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector('dialog[open]') || (target instanceof Element && target.closest(elsewhere))) return;
  const step = steps[key];
  if (step) {
    // Arrows scroll the page, unless the focus is in a table.
    if (key.startsWith('Arrow') && !(target instanceof Element && target.closest('.table-row'))) return;
    if (move(step)) event.preventDefault();
    return;
  }
  if (key === '?') isHelpOpen.value = true;
  else if (key === 'n' && makers.value.length) makers.value.at(-1)?.();
  else return;
  event.preventDefault();
}

const all: [string[], string][] = [
  [['Ctrl', 'K'], 'Search, or go to a page'],
  [['/'], 'Same as Ctrl K'],
  [['n'], 'Create a new item, such as a secret'],
  [['j'], 'Next row of a list; also ↓ once a row has the focus'],
  [['k'], 'Previous row'],
  [['Enter'], 'Open the row'],
  [['Esc'], 'Close a dialog'],
  [['?'], 'Show these shortcuts'],
];

/** Listens while a member is signed in, and shows the list of shortcuts. */
export function Shortcuts() {
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const close = () => {
    isHelpOpen.value = false;
  };
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <dl class="facts">
        {all.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

export const showShortcuts = (): void => {
  isHelpOpen.value = true;
};
