// Names of secrets as other programs and platforms spell them. Pure. Invariant: a mapping is not undone by chance: names that become one after
// mapping are told, all of them, and none is used.
import type { Detail } from '../errors';

/** How names are mapped, and what is wrong with a name after it: a sentence that goes on from the name, or null. */
export interface NameRule {
  map(name: string): string;
  problem(key: string): string | null;
}

/** What a mapping comes to. Without details of either kind each name has a key of its own. */
export interface Mapped {
  keys: Map<string, string>;
  refused: Detail[];
  collisions: Detail[];
}

/** Environment style: letters, digits and _, and no digit first. */
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

/** Names as they are. */
export const verbatim: NameRule = { map: (name) => name, problem: () => null };

/** A rule with further names that it refuses. */
export const without = (rule: NameRule, refused: (key: string) => string | null): NameRule => ({
  ...rule,
  problem: (key) => rule.problem(key) ?? refused(key),
});

/** Maps names. `fold` says which keys are the same to whoever reads them: by default those that are equal. */
export function mapNames(names: readonly string[], rule: NameRule, fold: (key: string) => string = (key) => key): Mapped {
  const keys = new Map(names.map((name) => [name, rule.map(name)]));
  const refused: Detail[] = [];
  const byKey = new Map<string, string[]>();
  for (const [name, key] of keys) {
    const problem = rule.problem(key);
    if (problem !== null) refused.push({ path: name, message: problem });
    byKey.set(fold(key), [...(byKey.get(fold(key)) ?? []), name]);
  }
  const collisions = [...byKey].flatMap(([key, same]) =>
    same.length > 1 ? same.map((name) => ({ path: name, message: `becomes ${key}, as another name does` })) : [],
  );
  return { keys, refused, collisions };
}
