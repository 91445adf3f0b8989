// The survey of organisations for the health check, a step with each scheduled run: do their keys open, does
// their gate answer, and does it agree with D1? Keys are walked a page at a time and gates a few at a time,
// so the whole is seen slowly; what failed is looked at again in each run. Invariants: only the schedule
// starts it, so no caller causes a call to a gate; ids go to the log and to the gate of the health check,
// never to a response.

import type { Env, MasterKey } from '../env';
import type { Pulse, Vitals } from '../gate/request/call';
import { opens, type WrappedKey } from '../keys/keyring';
import { lookForKnown, remembered } from './known-orgs';
import { noWalk, ROWS_A_RUN, type RowWalk, unequal, walkRows } from './row-walk';

/** Organisations of which one run opens the key, asks the gate, and looks at again. */
const KEYS_A_RUN = 100;
const GATES_A_RUN = 5;
const AGAIN_A_RUN = 10;
/** From when on the clocks of the service and of the schedule differ: a scheduled run can be late. */
const APART = 15 * 60_000;
/** How long a gate may take to answer. */
const ANSWERS_WITHIN = 10_000;

/** What is wrong with an organisation. */
export const troubles = [
  'key',
  'row',
  'lost',
  'gate',
  'behind',
  'another',
  'adoption',
  'clock',
  'ahead',
] as const;
export type Trouble = (typeof troubles)[number];
/** Those that a gate tells when it is asked. */
const ofGates = ['gate', 'behind', 'another', 'adoption', 'clock', 'ahead'] as const;

/** How far D1 follows the gate of an organisation. */
export interface OrgPosition {
  org: string;
  term: string;
  position: number;
}

export interface Survey {
  at: number;
  /** How far the clock was ahead of that of the schedule, in milliseconds; 0 for what a late run explains. */
  apart: number;
  /**
   * The last organisation of each walk; empty before the first, and once a walk has seen all. `orgRows` walks
   * the keys of organisations.
   */
  keys: string;
  orgRows: string;
  gates: string;
  /** The position of the first organisation in D1; a survey of an earlier release lacks it. */
  position?: OrgPosition | null;
  /** The walk through the rows of organisations; a survey of an earlier release lacks it. */
  rows?: RowWalk;
  /** Whether there are connections by SAML and no SAML Worker; a survey of an earlier release lacks it. */
  lacksSaml?: boolean;
  /** Whether D1 ever had an organisation: an empty one is then a lost one. */
  hadOrgs: boolean;
  /** Organisations that D1 had, the next to look at first; a survey of an earlier release lacks them. */
  known: string[];
  /** The mark of the vault's deployment key, once it has organisations. */
  mark: string | null;
  /** Whether all organisations that the last run looked at had a trouble. */
  all: Record<'key' | 'lost' | 'gate', boolean>;
  /** The organisations known to have a trouble. */
  found: Record<Trouble, string[]>;
}

const none: Survey = {
  at: 0,
  apart: 0,
  keys: '',
  orgRows: '',
  gates: '',
  hadOrgs: false,
  known: [],
  mark: null,
  all: { key: false, lost: false, gate: false },
  found: {
    key: [],
    row: [],
    lost: [],
    gate: [],
    behind: [],
    another: [],
    adoption: [],
    clock: [],
    ahead: [],
  },
};

/**
 * The last survey; one of an earlier release lacks later fields. A database that was adopted since is the
 * right one: organisations that it does not have are given up.
 */
export function readSurvey(pulse: Pick<Pulse, 'survey' | 'adopted'> | null, clock = Date.now()): Survey {
  const kept = pulse?.survey ? (JSON.parse(pulse.survey) as Survey) : none;
  const read = {
    ...none,
    ...kept,
    all: { ...none.all, ...kept.all },
    found: { ...none.found, ...kept.found },
  };
  const adopted = pulse?.adopted ?? 0;
  // safety: adopted-since-and-not-later
  if (adopted < read.at || adopted > clock) return read;
  return {
    ...read,
    known: [],
    mark: null,
    all: { ...read.all, lost: false },
    found: { ...read.found, lost: [] },
  };
}

/** What a gate's answer says is wrong. */
const TROUBLE: Record<Vitals, Trouble | null> = {
  well: null,
  newer: 'gate',
  diverged: 'adoption',
  behind: 'behind',
  another: 'another',
  clock: 'clock',
  ahead: 'ahead',
};
const troubleOf = (vitals: Vitals | null): Trouble | null => (vitals === null ? 'gate' : TROUBLE[vitals]);

/**
 * What a survey found, with what was seen since of organisations that their operator has mended. A time that
 * is still to come, as after the clock went back, is not since.
 */
export function sinceMended(seen: Survey, mended: Pulse['mended'] = [], clock = Date.now()): Survey {
  // safety: mended-since-and-not-later
  const since = mended.filter(({ at }) => at >= seen.at && at <= clock);
  const others = (orgs: string[]) => orgs.filter((id) => !since.some(({ org }) => org === id));
  const now = (trouble: Trouble) => since.filter(({ vitals }) => troubleOf(vitals) === trouble);
  const state = new Map(since.map(({ org, isWhole }) => [org, isWhole]));
  const walk = seen.rows ?? noWalk;
  const spots = walk.spots.filter(({ org }) => state.get(org) !== true);
  const apart = since.filter(({ isWhole }) => isWhole === false).map(({ org }) => ({ org, from: null }));
  return {
    ...seen,
    rows: { ...walk, spots: [...spots, ...apart] },
    found: {
      ...seen.found,
      row: seen.found.row.filter((org) => state.get(org) !== true),
      ...Object.fromEntries(
        ofGates.map((trouble) => [
          trouble,
          [...others(seen.found[trouble]), ...now(trouble).map(({ org }) => org)],
        ]),
      ),
    },
  };
}

/** An organisation and its wrapped key; without a `master_id` the key is missing. */
export type Keyed = { id: string } & (WrappedKey | { master_id: null; key_sealed: null });

const KEYED =
  'select o.id, k.master_id, k.key_sealed from orgs o left join org_keys k on k.org_id = o.id where o.deleted_at is null and o.id';

/** The organisations after an id, with their keys. */
export const keyedAfter = (db: D1Database, after: string, limit: number): D1PreparedStatement =>
  db.prepare(`${KEYED} > ? order by o.id limit ?`).bind(after, limit);

/** These organisations, as far as they still exist. */
const keyedOf = (db: D1Database, ids: string[]): D1PreparedStatement =>
  db.prepare(`${KEYED} in (select value from json_each(?))`).bind(JSON.stringify(ids));

/**
 * Organisations that have a key, and whether they have a row: the key is deleted with the organisation, so
 * one without a row has lost it.
 */
const ROWS =
  'select org_id id, exists (select 1 from orgs where id = org_id) has_row from org_keys where org_id';
interface Listed {
  id: string;
  has_row: number;
}
const rowsAfter = (db: D1Database, after: string): D1PreparedStatement =>
  db.prepare(`${ROWS} > ? order by org_id limit ${KEYS_A_RUN}`).bind(after);
const rowsOf = (db: D1Database, ids: string[]): D1PreparedStatement =>
  db.prepare(`${ROWS} in (select value from json_each(?))`).bind(JSON.stringify(ids));

/** How a term begins that npm run restore gives to each organisation. */
const RESTORED = 'restored:';
export const firstPosition = (db: D1Database): D1PreparedStatement =>
  db.prepare('select org_id org, term, position from journal_positions order by org_id limit 1');

/** Whether D1 was restored since a survey, so what that survey knows is of another database. */
export const isRestored = ({ position: known }: Survey, now: OrgPosition | null): boolean =>
  known?.org === now?.org &&
  Boolean(known && now) &&
  // Nothing else lowers a position within a term.
  (known?.term === now?.term
    ? (now?.position ?? 0) < (known?.position ?? 0)
    : (now?.term.startsWith(RESTORED) ?? false));

/** Whether the key of an organisation opens. */
export const opensOrg = (masters: MasterKey[], keyed: Keyed): boolean =>
  keyed.master_id !== null && opens(masters, 'org key', keyed.id, keyed);

/** The organisations that need a second look. Where rows differ, a restored database may be why. */
const troubled = ({ found }: Survey, walk: RowWalk): string[] => [
  ...new Set([
    ...found.gate,
    ...found.behind,
    ...found.another,
    ...found.adoption,
    ...found.clock,
    ...found.ahead,
    ...unequal(walk),
  ]),
];

/** One step of the survey. Returns what it knows afterwards. */
export async function survey(
  env: Env,
  masters: MasterKey[],
  before: Survey,
  now: number,
  scheduled = now,
): Promise<Survey> {
  const { found } = before;
  const position = await firstPosition(env.DB).first<OrgPosition>();
  // A restored database is looked at from the beginning.
  const gatesAfter = isRestored(before, position) ? '' : before.gates;
  const walk = before.rows ?? noWalk;
  const again = troubled(before, walk);
  const [keyed, gated, walked, known, listed, relisted] = (
    await env.DB.batch<Keyed>([
      keyedAfter(env.DB, before.keys, KEYS_A_RUN),
      keyedAfter(env.DB, gatesAfter, GATES_A_RUN),
      keyedAfter(env.DB, walk.after, ROWS_A_RUN),
      keyedOf(env.DB, [...new Set([...found.key, ...again])]),
      rowsAfter(env.DB, before.orgRows),
      rowsOf(env.DB, found.row),
    ])
  ).map(({ results }) => results as unknown[]) as [Keyed[], Keyed[], Keyed[], Keyed[], Listed[], Listed[]];
  const exist = new Set(known.map(({ id }) => id));
  const earlier = await lookForKnown(env, masters, before.known, found.lost);
  const opened = unique([...keyed, ...known.filter(({ id }) => found.key.includes(id))]);
  // Those not looked at in this run come first, so each gets its turn.
  const due = again.filter((id) => exist.has(id));
  const asked = unique([...gated, ...due.slice(0, AGAIN_A_RUN).map((id) => ({ id }))]).map(({ id }) => id);
  const lacksSaml = await hasUnservedSaml(env);
  const vitals = await Promise.all(asked.map((id) => vitalsOf(env, id)));
  const rows = await walkRows(
    env,
    walk,
    walked.map(({ id }) => id),
    (id) => exist.has(id),
  );
  const failed: Survey['found'] = {
    key: opened.filter((org) => !opensOrg(masters, org)).map(({ id }) => id),
    row: unique([...listed, ...relisted].filter(({ has_row }) => !has_row)).map(({ id }) => id),
    lost: earlier.lost,
    gate: asked.filter((_, at) => vitals[at] === 'silent' || vitals[at] === 'newer'),
    behind: asked.filter((_, at) => vitals[at] === 'behind'),
    another: asked.filter((_, at) => vitals[at] === 'another'),
    adoption: asked.filter((_, at) => vitals[at] === 'diverged'),
    clock: asked.filter((_, at) => vitals[at] === 'clock'),
    ahead: asked.filter((_, at) => vitals[at] === 'ahead'),
  };
  const kept = (trouble: Trouble) => [
    ...found[trouble].filter((id) => exist.has(id) && !asked.includes(id)),
    ...failed[trouble],
  ];
  const isAll = (trouble: Trouble, seen: unknown[]) =>
    seen.length > 0 && failed[trouble].length === seen.length;

  const result: Survey = {
    at: now,
    apart: Math.abs(now - scheduled) > APART ? now - scheduled : 0,
    keys: keyed.length < KEYS_A_RUN ? '' : (keyed.at(-1)?.id ?? ''),
    orgRows: listed.length < KEYS_A_RUN ? '' : (listed.at(-1)?.id ?? ''),
    gates: gated.length < GATES_A_RUN ? '' : (gated.at(-1)?.id ?? ''),
    rows,
    position,
    lacksSaml,
    hadOrgs: before.hadOrgs || keyed.length > 0,
    known: remembered(earlier, keyed),
    // safety: mark-of-own-key-kept
    mark: before.mark ?? (keyed.length ? earlier.mark : null),
    all: { key: isAll('key', opened), lost: earlier.isAll, gate: isAll('gate', asked) },
    found: { ...failed, ...Object.fromEntries(ofGates.map((trouble) => [trouble, kept(trouble)])) },
  };
  tell(result);
  return bounded(result);
}

const unique = <T extends { id: string }>(list: T[]): T[] => [
  ...new Map(list.map((one) => [one.id, one])).values(),
];

/** Whether members of connections by SAML cannot sign in. A table that is missing is told as such. */
async function hasUnservedSaml({ DB, SAML }: Env): Promise<boolean> {
  if (SAML) return false;
  const found = DB.prepare("select 1 from sso_connections where kind = 'saml' limit 1").first();
  return (await found.catch(() => null)) !== null;
}

/** What a gate says of itself; `silent` if it does not answer. */
async function vitalsOf(env: Env, org: string): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((done) => {
    timer = setTimeout(() => done('silent'), ANSWERS_WITHIN);
  });
  const answer = Promise.resolve(env.GATE.getByName(org).vitals()).catch(() => 'silent');
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

const EVENTS: Record<Trouble, string> = {
  key: 'org_key_does_not_open',
  row: 'org_row_missing',
  lost: 'org_row_missing',
  gate: 'gate_unreachable',
  behind: 'gate_behind',
  another: 'gate_of_another',
  adoption: 'adoption_awaited',
  clock: 'clock_behind',
  ahead: 'database_late',
};
/** The most organisations that the log names in one run, and that are remembered, for each trouble. */
const NAMED = 10;
const REMEMBERED = 1000;

function tell({ found, apart }: Survey): void {
  if (apart)
    console.error(
      JSON.stringify({ level: 'error', event: 'clock_apart', seconds: Math.round(apart / 1000) }),
    );
  for (const trouble of troubles)
    for (const org of found[trouble].slice(0, NAMED))
      console.error(
        JSON.stringify({ level: 'error', event: EVENTS[trouble], org, of: found[trouble].length }),
      );
}

const bounded = (survey: Survey): Survey => ({
  ...survey,
  found: Object.fromEntries(
    troubles.map((trouble) => [trouble, survey.found[trouble].slice(0, REMEMBERED)]),
  ) as Survey['found'],
});
