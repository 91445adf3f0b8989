// Unsaved input: if there is any, the page is kept while the member signs in again. Invariants: this records
// which fields were touched, never their content; values of secrets are dropped from a kept page, those that
// were read at once and those that were typed soon.
import { useEffect, useRef } from 'preact/hooks';

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const touched = new Set<Field>();

globalThis.addEventListener?.('input', ({ target }) => {
  if (target instanceof Element && target.matches('form :is(input, textarea, select)'))
    touched.add(target as Field);
});

/** Whether a visible form has input. */
export function hasUnsaved(): boolean {
  for (const field of touched) if (!field.isConnected) touched.delete(field);
  return [...touched].some(({ value }) => value !== '');
}

const TEXT = 'textarea, input:not([type=checkbox], [type=radio])';

/** Whether a visible form has text that was typed and not saved. A choice is quick to make again. */
export const hasTyped = (): boolean =>
  hasUnsaved() && [...touched].some((field) => field.value !== '' && field.matches(TEXT));

/** The input of a form is saved. */
export function saved(form: HTMLFormElement | null): void {
  for (const field of touched) if (field.form === form) touched.delete(field);
}

/**
 * `read`: from the service or a file, so it can be read again. `typed`: would have to be typed again, or is
 * shown only once.
 */
export type Origin = 'read' | 'typed';
const drops = new Map<() => void, Origin>();

/** Drops values from the page. */
export function dropValues(origin: Origin): void {
  for (const [drop, one] of drops) if (one === origin) drop();
}

/** Registers how to drop a value that this component holds. */
export function useDrop(origin: Origin, drop: () => void): void {
  const latest = useRef(drop);
  latest.current = drop;
  useEffect(() => {
    const own = () => latest.current();
    drops.set(own, origin);
    return () => void drops.delete(own);
  }, [origin]);
}
