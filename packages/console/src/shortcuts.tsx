// Keys that do something without the mouse: `n` makes what the page lists, `j` and `k` go through the rows of a table, `?` shows all.
// Invariant: no key is taken while somebody types into a field, in a dialog or in a menu, or together with Ctrl, Alt or ⌘.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Dialog } from './ui/dialog';

const isHelpOpen = signal(false);
/** What `n` does on this page, the newest last. */
const makers = signal<(() => void)[]>([]);

/** Lets `n` open what this page creates. */
export function useMaker(make: () => void, isAllowed = true): void {
  const latest = useRef(make);
  latest.current = make;
  useEffect(() => {
    if (!isAllowed) return;
    const entry = () => latest.current();
    makers.value = [...makers.value, entry];
    return () => {
      makers.value = makers.value.filter((each) => each !== entry);
    };
  }, [isAllowed]);
}

/** Whether the page creates something, and opening it. */
export const makes = (): boolean => makers.value.length > 0;
export const make = (): void => makers.value.at(-1)?.();

const elsewhere = 'input, textarea, select, [contenteditable], dialog, [role="menu"], [role="tablist"]';

/** The rows of the table that has the focus, or of the first one, in their order. */
function rowsAround(from: Element | null): HTMLElement[] {
  const table = from?.closest('.table') ?? document.querySelector('#main .table');
  const rows = [...(table?.querySelectorAll<HTMLElement>('.table-row') ?? [])];
  return rows.sort((one, other) => Number(one.ariaRowIndex) - Number(other.ariaRowIndex));
}

/** Moves the focus by one row. @returns whether there was one to move to */
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
  [['/'], 'The same'],
  [['n'], 'Create what the page lists, such as a secret'],
  [['j'], 'Next row of a list; ↓ too, once a row has the focus'],
  [['k'], 'Previous row'],
  [['Enter'], 'Open the row'],
  [['Esc'], 'Close a dialog'],
  [['?'], 'Show these shortcuts'],
];

/** Listens while somebody is signed in, and shows the list. */
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
