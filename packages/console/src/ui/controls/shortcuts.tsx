// Keyboard shortcuts: `n` creates an item of the page, `j` and `k` move through the rows of a table, `?`
// shows all. Invariant: shortcuts are inactive in a field, a dialog or a menu, and together with Ctrl, Alt or
// ⌘.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { BASE } from '../../navigation/router';
import { Dialog } from '../dialogs/dialog';
import { type Mover, movers } from '../lists/movers';

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

/** The keys that move the focus through a table, and the row that they move it to. */
const moves: Record<string, (mover: Mover, from: number) => number> = {
  j: (_, from) => from + 1,
  ArrowDown: (_, from) => from + 1,
  k: (_, from) => from - 1,
  ArrowUp: (_, from) => from - 1,
  PageDown: (mover, from) => from + mover.page(),
  PageUp: (mover, from) => from - mover.page(),
  Home: () => 0,
  End: (mover) => mover.count() - 1,
};

/** Selects the row that has the focus, or no longer. */
const select = (): void =>
  document.activeElement
    ?.closest('.table-row')
    ?.querySelector<HTMLInputElement>('.row-choice input')
    ?.click();

/**
 * Moves the focus in its table, or to the first row in view of the first table.
 * @returns whether the focus moved
 */
function move(key: string): boolean {
  const table = document.activeElement?.closest('.table') ?? document.querySelector('#main .table');
  const mover = table && movers.get(table);
  if (!mover?.count()) return false;
  const from = mover.current();
  const to = from === undefined ? mover.first() : (moves[key]?.(mover, from) ?? from);
  const target = Math.max(0, Math.min(to, mover.count() - 1));
  if (target === from) return false;
  mover.focus(target);
  return true;
}

function onKey(event: KeyboardEvent): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector('dialog[open]') || (target instanceof Element && target.closest(elsewhere)))
    return;
  if (moves[key]) {
    // Arrows, Home and End scroll the page, unless the focus is in a table.
    if (key.length > 1 && !(target instanceof Element && target.closest('.table-row'))) return;
    if (move(key)) event.preventDefault();
    return;
  }
  if (key === '?') isHelpOpen.value = true;
  else if (key === 'x') select();
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
  [['Home', 'End'], 'First or last loaded row; at the end of a list, the next rows are loaded'],
  [['Enter'], 'Open the row'],
  [['x'], 'Select the row, if rows can be selected'],
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
