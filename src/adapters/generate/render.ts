// Renders a file of secrets. Invariant: the result is the complete file or a refusal that names every
// affected secret, never a value.
import { type Refusal, refuse } from '../../errors';
import { mapNames } from '../names';
import type { Entry, Format } from './format';

/** A stored secret. */
export type Source = Pick<Entry, 'name' | 'value'>;

/** The most characters of one file. Escapes lengthen values, and an isolate has 128 MB. */
const MOST_CONTENT = 24 * 1024 ** 2;

export function generate(
  format: Format,
  secrets: readonly Source[],
  options: never,
  prefixes: readonly string[] = [],
): { content: string } | Refusal {
  const sorted = [...secrets].sort((a, b) => (a.name < b.name ? -1 : 1));
  const names = sorted.map(({ name }) => name);
  const map = (name: string) => format.names.map(withoutPrefix(name, prefixes));
  const rule = {
    map,
    problem: (key: string) => format.names.problem(key) ?? format.refusesName?.(key, options) ?? null,
  };
  const { keys, refused, collisions } = mapNames(names, rule);
  if (refused.length) return refuse('NAME_NOT_REPRESENTABLE', { details: refused });
  // safety: generated-names-distinct
  if (collisions.length) return refuse('NAME_COLLISION', { details: collisions });
  const entries = sorted.map((secret): Entry => ({ ...secret, key: keys.get(secret.name) as string }));
  const details = format.valueless ? [] : unrepresentable(format, entries, options);
  // safety: generated-values-exact
  if (details.length) return refuse('VALUE_NOT_REPRESENTABLE', { details });
  return joined(format.render(entries, options));
}

/** A name without the last of the prefixes that it begins with. A name that is only the prefix stays. */
const withoutPrefix = (name: string, prefixes: readonly string[]): string =>
  name.slice(prefixes.findLast((prefix) => name.startsWith(prefix))?.length ?? 0) || name;

function unrepresentable(format: Format, entries: readonly Entry[], options: never) {
  const details = entries.flatMap(({ name, key, value }) => {
    const message = format.refuses?.(value, key, options) ?? null;
    return message === null ? [] : [{ path: name, message }];
  });
  return details.length ? details : (format.refusesAll?.(entries) ?? []);
}

function joined(pieces: Iterable<string>): { content: string } | Refusal {
  let content = '';
  for (const piece of pieces) {
    content += piece;
    // safety: generated-content-bounded
    if (content.length > MOST_CONTENT)
      return refuse('RESULT_TOO_LARGE', { message: 'The file would be larger than 24 MiB.' });
  }
  return { content };
}
