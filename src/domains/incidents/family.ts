// What descends from a credential: what it made, what that made, and what ends with any of them. Pure.
import type { Link } from '../../gate/rows';

/** The ids of all that descend from a credential, nearest first. Neither what is `spared` is among them nor what descends from that alone. */
export function familyOf(links: Link[], root: string, spared: ReadonlySet<string>): string[] {
  const children = new Map<string, string[]>();
  for (const { id, created_by, created_in, dies_with } of links)
    for (const parent of new Set([created_by, created_in, dies_with]))
      if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), id]);
  const seen = new Set([root, ...spared]);
  const family = [root];
  for (const id of family)
    for (const child of children.get(id) ?? [])
      if (!seen.has(child)) {
        seen.add(child);
        family.push(child);
      }
  return family.slice(1);
}
