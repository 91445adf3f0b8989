// References to secrets in text: `{{svc:NAME}}`. Invariant: a text is expanded only once, so a reference
// inside a secret's value is not expanded.
import { usage } from '../errors.ts';
import { clean } from '../text.ts';

/** Without overlapping repetitions: a text without an end must not take more than its length. */
const REFERENCE = /\{\{\s*svc:([^{}]*)\}\}/gi;
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/;

/** Whether a text contains a reference to a secret, even a malformed one. */
export const hasReference = (text: string): boolean => /\{\{\s*svc\s*:/i.test(text);

/**
 * The names in the references, without duplicates. A malformed reference is refused: it would be sent
 * unexpanded.
 */
export function referencesIn(texts: string[]): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    let rest = text;
    for (const [whole, inner = ''] of text.matchAll(REFERENCE)) {
      const name = inner.trim();
      if (!NAME.test(name))
        throw usage(`${clean(whole.slice(0, 80))} is not a valid reference to a secret. Write {{svc:NAME}}.`);
      names.add(name);
      rest = rest.replace(whole, '');
    }
    if (hasReference(rest)) throw usage('A reference to a secret is incomplete. Write {{svc:NAME}}.');
  }
  return [...names];
}

/** Replaces the references in a text with values. */
export const expand = (text: string, value: (name: string) => string): string =>
  // safety: mcp-expand-once
  text.replace(REFERENCE, (_, inner: string) => value(inner.trim()));
