// Leaving a page that would lose something: Back, Forward, links, tabs and the palette all come through here,
// and ask first. Invariants: while the question is open, the address and the page stay what they were; a
// navigation that follows a saved form is never asked about.
import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { hasTyped } from '../changes/unsaved';

/** What would be lost, by the dialog that shows it. */
const held = new Map<object, string>();
export const TYPED = 'What you typed is not saved.';

/** The open question: what would be lost, and how to leave. */
export const question = signal<{ lost: string; leave: () => void } | null>(null);

/** Asks before this page is left, as long as `lost` says what would be lost. */
export function useGuard(lost: string | false | undefined): void {
  useLayoutEffect(() => {
    if (!lost) return;
    const key = {};
    held.set(key, lost);
    return () => void held.delete(key);
  }, [lost]);
}

/** What would be lost now, if anything. */
const lostNow = (): string | undefined => [...held.values()].at(-1) ?? (hasTyped() ? TYPED : undefined);

/** Whether the member has agreed to leave: then nothing is asked until they have. */
let isAgreed = false;

/** Leaves at once if nothing would be lost, otherwise after the member agrees. */
export function leaving(go: () => void): void {
  const lost = isAgreed ? undefined : lostNow();
  if (lost === undefined) go();
  else question.value = { lost, leave: go };
}

/** A step that happens later; it may leave the console. */
const back = (): void => history.back();

/** Leaves as the member has agreed. */
export function leave(): void {
  const go = question.value?.leave;
  question.value = null;
  isAgreed = true;
  go?.();
  if (go !== back) isAgreed = false;
}

/** The shown address. */
let shown = { href: '', state: null as unknown };
const onShown = (): void => {
  shown = { href: location.href, state: history.state };
};

function onBack(event: PopStateEvent): void {
  const lost = isAgreed ? undefined : lostNow();
  isAgreed = false;
  if (lost === undefined) {
    onShown();
    return;
  }
  // Before the router sees it: the page and its address stay. What was left is then the entry before.
  event.stopImmediatePropagation();
  history.pushState(shown.state, '', shown.href);
  question.value = { lost, leave: back };
}

function onClick(event: MouseEvent): void {
  const { target, button } = event;
  const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href]') : null;
  const isElsewhere =
    !link ||
    link.target ||
    link.download ||
    button !== 0 ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey;
  if (isElsewhere || isAgreed || lostNow() === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  leaving(() => link.click());
}

/** Starts to guard. Before the router listens, so that it never sees a step back that was not agreed to. */
export function startGuard(): void {
  onShown();
  for (const type of ['pushState', 'replaceState']) addEventListener(type, onShown);
  addEventListener('popstate', onBack, true);
  document.addEventListener('click', onClick, true);
  addEventListener('beforeunload', (event) => {
    if (!isAgreed && lostNow() !== undefined) event.preventDefault();
  });
}
