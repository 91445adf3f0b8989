// Whether there is unsaved input: if so, the page is kept while the member signs in again. Invariant: this records which
// fields were touched, never their content.

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const touched = new Set<Field>();

globalThis.addEventListener?.('input', ({ target }) => {
  if (target instanceof Element && target.matches('form :is(input, textarea, select)')) touched.add(target as Field);
});

/** Whether a visible form has input. */
export function hasUnsaved(): boolean {
  for (const field of touched) if (!field.isConnected) touched.delete(field);
  return [...touched].some(({ value }) => value !== '');
}
