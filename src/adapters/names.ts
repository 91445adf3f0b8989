// Names of secrets in other programs and platforms. Pure. Invariant: if several names map to the same key,
// all of them are reported and none is used.
import type { Detail } from '../errors';

/**
 * How names are mapped, and what is wrong with a mapped name, worded to follow the name; null if nothing is.
 */
export interface NameRule {
  map(name: string): string;
  problem(key: string): string | null;
}

/** The result of mapping names. Without details, each name has a unique key. */
export interface Mapped {
  keys: Map<string, string>;
  refused: Detail[];
  collisions: Detail[];
}

/** Environment variable style: letters, digits and _, not starting with a digit. */
export const environmentStyle: NameRule = {
  map: (name) => name.replace(/[^A-Za-z0-9_]/g, '_'),
  problem: (key) => (/^[A-Za-z_]/.test(key) ? null : 'begins with a digit'),
};

/** The longest key of a Kubernetes Secret. */
const MOST_KEY = 253;

/** Keys of a Kubernetes Secret: letters, digits, -, _ and dots. */
export const kubernetesStyle: NameRule = {
  map: (name) => name.replaceAll('/', '_'),
  problem: (key) => (key.length <= MOST_KEY ? null : `is longer than ${MOST_KEY} characters`),
};

/** Names unchanged. */
export const verbatim: NameRule = { map: (name) => name, problem: () => null };

/** A rule that refuses further names. */
export const without = (rule: NameRule, refused: (key: string) => string | null): NameRule => ({
  ...rule,
  problem: (key) => rule.problem(key) ?? refused(key),
});

/** Maps names. `fold` normalises keys that the target treats as the same; by default only equal ones. */
export function mapNames(
  names: readonly string[],
  rule: NameRule,
  fold: (key: string) => string = (key) => key,
): Mapped {
  const keys = new Map(names.map((name) => [name, rule.map(name)]));
  const refused: Detail[] = [];
  const byKey = new Map<string, string[]>();
  for (const [name, key] of keys) {
    const problem = rule.problem(key);
    if (problem !== null) refused.push({ path: name, message: problem });
    byKey.set(fold(key), [...(byKey.get(fold(key)) ?? []), name]);
  }
  const collisions = [...byKey].flatMap(([key, same]) =>
    same.length > 1
      ? same.map((name) => ({ path: name, message: `becomes ${key}, the same as another name` }))
      : [],
  );
  return { keys, refused, collisions };
}
