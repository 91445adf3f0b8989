// References to secrets in texts: `{{svc:NAME}}`. Invariant: a text is expanded once, so a reference in a secret's own value stays a text.
import { usage } from '../errors.ts';
import { clean } from '../text.ts';

const REFERENCE = /\{\{\s*svc:\s*([^{}]*?)\s*\}\}/gi;
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/;

/** Whether a text refers to a secret, or tries to. */
export const hasReference = (text: string): boolean => /\{\{\s*svc:/i.test(text);

/** The names that texts refer to, each once. A reference that cannot be read is refused: it would be sent as it is. */
export function referencesIn(texts: string[]): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    let rest = text;
    for (const [whole, name = ''] of text.matchAll(REFERENCE)) {
      if (!NAME.test(name)) throw usage(`${clean(whole.slice(0, 80))} is no reference to a secret. Write {{svc:NAME}}.`);
      names.add(name);
      rest = rest.replace(whole, '');
    }
    if (hasReference(rest)) throw usage('A reference to a secret is not complete. Write {{svc:NAME}}.');
  }
  return [...names];
}

/** A text with values in place of its references. */
export const expand = (text: string, value: (name: string) => string): string =>
  // safety: mcp-expand-once
  text.replace(REFERENCE, (_, name: string) => value(name));
