// What descends from a credential: what it made, what that made, and what ends with any of them. Invariant: nobody descends from what is
// spared alone, which is the caller and what the caller itself ends with.
import type { Descendants } from '../../gate/descendants';
import type { ChildrenPart, CredentialSummary } from './parts';

/** Ids whose descendants one question asks for. */
const AT_ONCE = 20;

/** The credential and those of its descendants that are alive by their own rows and do not end with another of them. */
export function independentOf(descendants: Pick<Descendants, 'madeBy'>, root: string, spared: ReadonlySet<string>, now: number): string[] {
  const seen = new Set([root, ...spared]);
  // safety: containment-of-root
  const found: { id: string; parent_id: string | null }[] = [{ id: root, parent_id: null }];
  for (let makers = [root]; makers.length; ) {
    const next: string[] = [];
    for (const { id, parent_id, live } of descendants.madeBy(makers, now)) {
      // What ends with a descendant is dead with it, and so is all that it made.
      if (seen.has(id) || (parent_id !== null && seen.has(parent_id) && !spared.has(parent_id))) continue;
      seen.add(id);
      next.push(id);
      if (live) found.push({ id, parent_id });
    }
    makers = next;
  }
  return found.filter(({ parent_id }) => parent_id === null || spared.has(parent_id) || !seen.has(parent_id)).map(({ id }) => id);
}

/** All descendants, page by page, nearest first; `known` gets a summary of each and of those that it ends with. */
export async function descendantsOf(
  ask: (of: string[], after: string) => Promise<ChildrenPart>,
  root: string,
  spared: readonly string[],
  known: Map<string, CredentialSummary>,
): Promise<string[]> {
  const seen = new Set([root, ...spared]);
  const found = [root];
  for (let at = 0; at < found.length; at += AT_ONCE) {
    const of = found.slice(at, at + AT_ONCE);
    for (let after: string | null = ''; after !== null; ) {
      const part: ChildrenPart = await ask(of, after);
      for (const one of part.credentials) known.set(one.id, one);
      for (const id of part.children) {
        if (seen.has(id)) continue;
        seen.add(id);
        found.push(id);
      }
      after = part.next;
    }
  }
  return found.slice(1);
}
