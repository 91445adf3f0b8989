// The walk of the survey through the rows of organisations: each gate compares its own with D1, a page in
// each scheduled run. Invariants: a run causes at most ten calls of gates; where rows differed is looked at
// again in each run; ids go to the log, never to a response.
import type { Env } from '../env';
import type { Agreement, Place } from '../objects/row-comparison';

/** Organisations of which one run compares rows, and places that it looks at again. */
export const ROWS_A_RUN = 5;
const AGAIN_A_RUN = 5;
/** How long a gate may take. */
const ANSWERS_WITHIN = 10_000;
/** How many places are remembered, and how many organisations one run names. */
const REMEMBERED = 1000;
const NAMED = 10;

/** Where rows differ. */
interface Spot {
  org: string;
  from: Place | null;
}

export interface RowWalk {
  /** The last organisation whose rows were all compared; empty before the first. */
  after: string;
  /** The organisation under way, and where it goes on. */
  under: Spot | null;
  spots: Spot[];
}

export const noWalk: RowWalk = { after: '', under: null, spots: [] };

/** The organisations where rows are known to differ. */
export const unequal = ({ spots }: RowWalk): string[] => [...new Set(spots.map(({ org }) => org))];

/**
 * One step. `orgs`: those after `walk.after`, at most `ROWS_A_RUN`; `exist`: whether an organisation with a
 * known difference still does.
 */
export async function walkRows(
  env: Env,
  walk: RowWalk,
  orgs: string[],
  exist: (org: string) => boolean,
): Promise<RowWalk> {
  const due = walk.spots.filter(({ org }) => exist(org));
  const spots = due.slice(AGAIN_A_RUN);
  const found: (Spot & { differ: Agreement['differ'] })[] = [];
  const note = (spot: Spot, page: Agreement | null) => {
    // What cannot be looked at stays as it was known.
    if (page?.differ.length) found.push({ ...spot, differ: page.differ });
    else if (!page && due.includes(spot)) spots.push(spot);
  };
  const again = due.slice(0, AGAIN_A_RUN);
  const pages = await Promise.all(again.map((spot) => compared(env, spot)));
  for (const [at, spot] of again.entries()) note(spot, pages[at] ?? null);

  const result = { ...walk };
  const left = [...orgs];
  for (let calls = 0; calls < ROWS_A_RUN && left[0]; calls++) {
    const spot: Spot = walkedTo(result, left[0]);
    const page = await compared(env, spot);
    if (page && !again.some((one) => isSame(one, spot))) note(spot, page);
    result.under = page?.next ? { org: spot.org, from: page.next } : null;
    // A gate that does not answer is told by the walk of gates.
    if (!result.under) result.after = left.shift() as string;
    if (!page) break;
  }
  if (left.length === 0 && orgs.length < ROWS_A_RUN) result.after = '';
  tell(found);
  result.spots = [...spots, ...found.map(({ org, from }) => ({ org, from }))]
    .filter((spot, at, all) => all.findIndex((one) => isSame(one, spot)) === at)
    .slice(0, REMEMBERED);
  return result;
}

const walkedTo = ({ under }: RowWalk, org: string): Spot =>
  under?.org === org ? under : { org, from: null };
const isSame = (a: Spot, b: Spot) =>
  a.org === b.org && a.from?.kind === b.from?.kind && a.from?.after === b.from?.after;

/** What a gate says; null if it does not answer. */
export async function compared(env: Env, { org, from }: Spot): Promise<Agreement | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((done) => {
    timer = setTimeout(() => done(null), ANSWERS_WITHIN);
  });
  const answer = (env.GATE.getByName(org).agreement(from) as unknown as Promise<Agreement>).catch(() => null);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

function tell(found: (Spot & { differ: Agreement['differ'] })[]): void {
  for (const { org, differ } of found.slice(0, NAMED))
    console.error(
      JSON.stringify({
        level: 'error',
        event: 'rows_differ',
        org,
        rows: differ.map(({ table, id }) => `${table} ${id}`),
      }),
    );
}
