// The descendants of a credential: credentials that it created, those created by these, and those revoked together with any of them.
// Invariant: spared credentials (the caller and its lineage) have no descendants on their own.
import type { Descendants } from '../../gate/descendants';
import type { ChildrenPart, CredentialSummary } from './parts';

/** Ids per query for descendants. */
const AT_ONCE = 20;

/** The credential and those of its descendants that are live by their own rows and are not revoked together with another descendant. */
export function independentOf(descendants: Pick<Descendants, 'madeBy'>, root: string, spared: ReadonlySet<string>, now: number): string[] {
  const seen = new Set([root, ...spared]);
  // safety: containment-of-root
  const found: { id: string; parent_id: string | null }[] = [{ id: root, parent_id: null }];
  for (let makers = [root]; makers.length; ) {
    const next: string[] = [];
    for (const { id, parent_id, live } of descendants.madeBy(makers, now)) {
      // A credential revoked together with a descendant is ended with it, and so is everything it created.
      if (seen.has(id) || (parent_id !== null && seen.has(parent_id) && !spared.has(parent_id))) continue;
      seen.add(id);
      next.push(id);
      if (live) found.push({ id, parent_id });
    }
    makers = next;
  }
  return found.filter(({ parent_id }) => parent_id === null || spared.has(parent_id) || !seen.has(parent_id)).map(({ id }) => id);
}

/** All descendants, page by page, nearest first; `known` gets a summary of each and of its lineage. */
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
