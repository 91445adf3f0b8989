// Organisations that D1 once had and that the survey remembers: whether D1 has lost them, or is that of
// another vault. Invariants: one that was deleted is not taken for lost; while some are lost, no others are
// learnt, so that those of another vault are not taken for our own.
import type { Env, MasterKey } from '../env';
import { markOf, type WrappedKey } from '../keys/keyring';
import { compared } from './row-walk';

/** How many are remembered, of how many one run looks whether D1 has them, and how many gates it asks. */
const REMEMBERED = 1000;
const A_RUN = 100;
const ASKED_A_RUN = 5;

export interface KnownOrgs {
  /** The next to look at first. */
  known: string[];
  lost: string[];
  /** Whether D1 has none of those that were looked at. */
  isAll: boolean;
  /** The mark of the deployment key in D1, if it opens. */
  mark: string | null;
}

/** Which of these D1 has. One with a key and without a row is told as such. */
const KEPT = `select value id, coalesce((select deleted_at is null from orgs where id = value),
  exists (select 1 from org_keys where org_id = value)) is_kept from json_each(?)`;

/** One step. The gate of one that is lost still has it, which that of a deleted one has not. */
export async function lookForKnown(
  env: Env,
  masters: MasterKey[],
  known: string[],
  before: string[],
): Promise<KnownOrgs> {
  const due = known.slice(0, A_RUN);
  const looked = [...new Set([...due, ...before])];
  const [found, keys] = await env.DB.batch<Record<string, unknown>>([
    env.DB.prepare(KEPT).bind(JSON.stringify(looked)),
    env.DB.prepare("select master_id, key_sealed from deployment_keys where id = 'deployment'"),
  ]);
  const key = keys?.results[0] as WrappedKey | undefined;
  const results = (found?.results ?? []) as { id: string; is_kept: number }[];
  const gone = results.filter(({ is_kept }) => !is_kept).map(({ id }) => id);
  const asked = due.filter((id) => gone.includes(id) && !before.includes(id)).slice(0, ASKED_A_RUN);
  const pages = await Promise.all(asked.map((id) => compared(env, { org: id, from: null })));
  // safety: lost-orgs-told
  const lost = asked.filter((_, at) => pages[at]?.differ.length);
  const deleted = asked.filter((_, at) => pages[at]?.differ.length === 0);
  const all = [...before.filter((id) => gone.includes(id)), ...lost];
  return {
    known: [...known.slice(A_RUN), ...due.filter((id) => !deleted.includes(id))],
    lost: all,
    isAll: all.length > 0 && gone.length === looked.length,
    mark: key ? markOf(masters, key) : null,
  };
}

/** With the organisations that D1 has now. */
export const remembered = ({ known, lost }: KnownOrgs, now: { id: string }[]): string[] =>
  lost.length ? known : [...new Set([...known, ...now.map(({ id }) => id)])].slice(0, REMEMBERED);
