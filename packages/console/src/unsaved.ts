// Whether somebody has typed something that is not sent yet: then the page is kept while they sign in again. Invariant: it is known which
// fields were touched, never what stands in them.

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const touched = new Set<Field>();

globalThis.addEventListener?.('input', ({ target }) => {
  if (target instanceof Element && target.matches('form :is(input, textarea, select)')) touched.add(target as Field);
});

/** Whether a form that is shown has input. */
export function hasUnsaved(): boolean {
  for (const field of touched) if (!field.isConnected) touched.delete(field);
  return [...touched].some(({ value }) => value !== '');
}
