// Which credentials a containment ends: everything below a credential, through those that created each other,
// in which browser session, and those revoked together. The preview, the graph and the report all walk here.
// Invariants: what the caller's own lineage created is reached only on another way; a walk yields between its
// steps, and says so if it is incomplete.

import { idStart } from '../../../db/ids';
import type { Core } from '../../../gate/core';
import { descendants } from '../../../gate/identity/descendants';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Call } from '../../../gate/request/call';
import { namedId } from '../../../gate/request/target';
import { pause } from '../../../gate/request/yielding';
import { lineageOf } from '../../../gate/rows/ends-with-parent';

/** A credential below another one. */
export interface Descendant {
  /** The credential that led to it, on the shortest way. */
  via: string;
  depth: number;
  /** Whether its own row has neither ended nor been revoked. */
  live: boolean;
}

export interface Descent {
  /** By id, nearest first. */
  found: Map<string, Descendant>;
  /** Whether there are more. */
  isCut: boolean;
}

/**
 * The most session tokens, of which each key can have 1,000; and the most other credentials, ended ones
 * included.
 */
const MOST_SESSIONS = 20_000;
const MOST_OTHERS = 100_000;
/** Credentials whose children one step looks for. */
const AT_ONCE = 20;

/** The credential that is to be contained. */
export const target = (call: Call<unknown>): string => namedId(call.ask, 'credential');

/** The caller's credential and its lineage: a containment spares them. */
export const ownOf = ({ core, caller }: Call<unknown>): Set<string> => {
  const own = core.rows.get('credential', caller.credential);
  return new Set(own ? lineageOf(core, own).map(({ id }) => id) : []);
};

/** Everything below a credential, except what only the spared ones lead to. */
export async function descentOf(core: Core, root: string, spared: ReadonlySet<string>): Promise<Descent> {
  const found = new Map<string, Descendant>();
  const left = { session: MOST_SESSIONS, other: MOST_OTHERS };
  let isCut = false;
  let level = [root];
  for (let depth = 1; level.length; depth++) {
    const next: string[] = [];
    for (let at = 0; at < level.length; at += AT_ONCE) {
      if (at > 0) await pause();
      for (const { id, via, live } of descendants(core).below(level.slice(at, at + AT_ONCE), core.now())) {
        if (id === root || spared.has(id) || found.has(id)) continue;
        // safety: descent-bounded
        if (left[id.startsWith(idStart('session')) ? 'session' : 'other']-- <= 0) {
          isCut = true;
          continue;
        }
        found.set(id, { via, depth, live: live === 1 });
        next.push(id);
      }
    }
    level = next;
  }
  return { found, isCut };
}

/** Everything below a credential, and what of it a containment by this caller would end. */
export async function endingOf(
  call: Call<unknown>,
): Promise<{ all: Descent; ending: Pick<Descent['found'], 'has'> }> {
  const { core } = call;
  const own = ownOf(call);
  const all = await descentOf(core, target(call), new Set());
  // safety: preview-spares-caller
  if (own.has(target(call))) return { all, ending: new Set() };
  const isApart = ![...own].some((id) => all.found.has(id));
  return { all, ending: isApart ? all.found : (await descentOf(core, target(call), own)).found };
}

/**
 * The fewest credentials whose revocation ends the whole descent: the credential and those of its descendants
 * that are live by their own rows and are not revoked together with another descendant. Session tokens are
 * never among them, so it finishes in one turn.
 */
export function independentOf(core: Core, root: string, spared: ReadonlySet<string>): string[] {
  const seen = new Set([root, ...spared]);
  // safety: containment-of-root
  const found: { id: string; parent_id: string | null }[] = [{ id: root, parent_id: null }];
  for (let makers = [root]; makers.length; ) {
    const next: string[] = [];
    for (const { id, parent_id, live } of descendants(core).madeBy(makers, core.now())) {
      // A credential revoked together with a descendant is ended with it, and so is everything it created.
      if (seen.has(id) || (parent_id !== null && seen.has(parent_id) && !spared.has(parent_id))) continue;
      seen.add(id);
      next.push(id);
      if (live) found.push({ id, parent_id });
    }
    makers = next;
  }
  return found
    .filter(({ parent_id }) => parent_id === null || spared.has(parent_id) || !seen.has(parent_id))
    .map(({ id }) => id);
}

/** Whether a credential can be used now. */
export function isLiving({ core }: Call<unknown>, id: string): boolean {
  const row = core.rows.get('credential', id);
  return row !== null && isAlive(core, row);
}
