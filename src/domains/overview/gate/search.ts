// Finding things by part of their name, case folded: up to 20 of a kind, of those that the kind's list
// shows to the caller. Invariant: the text is used here alone, and kept nowhere.
import type { Need } from '../../../auth/actions';
import { namesHeld, reachesEnvironment } from '../../../auth/authorize';
import { widthOf } from '../../../auth/globs';
import type { CredentialKind } from '../../../db/credential-kinds';
import { idStart } from '../../../db/ids';
import type { EnvironmentRow, SecretRow } from '../../../db/schema';
import type { Call, Operation } from '../../../gate/request/call';
import type { Walk } from '../../../gate/request/progress';
import { MOST_ENVIRONMENTS } from '../../../gate/request/target';
import { actions as credentialActions } from '../../credentials/actions';
import { listedIn } from '../../credentials/gate/operations';
import { actions as integrationActions } from '../../integrations/actions';
import { integrationOperations } from '../../integrations/gate/operations';
import { actions as memberActions } from '../../members/actions';
import { memberOperations } from '../../members/gate/operations';
import { actions as policyActions } from '../../policies/actions';
import { policyOperations } from '../../policies/gate/operations';
import { actions as scimActions } from '../../scim/actions';
import { actions as secretActions } from '../../secrets/actions';
import { matcherOf, UNFILTERED } from '../../secrets/gate/lists';
import { actions as teamActions } from '../../teams/actions';
import { teamOperations } from '../../teams/gate/operations';
import { actions as trustActions } from '../../trusts/actions';
import type { Hit, Hits } from '../wire';
import { itemsOf, within } from './lists';

export interface SearchInput {
  /** In the form of `folded`. */
  text: string;
}

/** How many of a kind the answer has. */
export const MOST = 20;
/** How many names one step compares with the text, and what they cost in matching steps. */
const NAMES = 5000;
const COST = 500_000;
/** The cost of looking at a row whose name matches. */
const ROW = 2000;

/** A text for comparison: without case, and in one form of Unicode. */
export const folded = (text: string): string => text.normalize('NFKC').toLowerCase();

const none = { kind: null, environment: null, detail: null };
const has = (call: Call<SearchInput>, name: string | null) =>
  name !== null && folded(name).includes(call.input.text);

/** The first of these, and whether there are more. */
const firstOf = (hits: readonly Hit[]): Hits => ({ data: hits.slice(0, MOST), has_more: hits.length > MOST });

const placeOf = ({ name, id }: Hit) => `${folded(name)} ${id}`;
const compared = (one: string, other: string) => (one === other ? 0 : one < other ? -1 : 1);

/** By name, and by id where the names are the same. */
const sorted = (hits: readonly Hit[]): Hit[] => hits.toSorted((a, b) => compared(placeOf(a), placeOf(b)));

/** The secrets of an environment, in the order of names: one more than the answer has. */
function* secretsIn(
  call: Call<SearchInput>,
  environment: EnvironmentRow,
  isListed: (row: SecretRow) => boolean,
): Walk<Hit[]> {
  const { rows } = call.core;
  const held = namesHeld(call.caller, secretActions['secret.list'].scopes, environment.id);
  const width = held ? widthOf(held) : 0;
  const hits: Hit[] = [];
  for (let after = ''; ; ) {
    const { found, last } = rows.containing(environment.id, call.input.text, after, NAMES);
    yield COST;
    for (const { id, name } of found) {
      const row = rows.get('secret', id);
      if (row && isListed(row))
        hits.push({ id, name, kind: row.type, environment: environment.slug, detail: null });
      if (hits.length > MOST) return hits;
      yield ROW + width * name.length;
    }
    if (last === null) return hits;
    after = last;
  }
}

function* secrets(call: Call<SearchInput>): Walk<Hits | undefined> {
  const listing = within(call, secretActions['secret.list'], UNFILTERED);
  if (!listing) return undefined;
  const isListed = matcherOf(listing, null);
  const hits: Hit[] = [];
  for (const environment of call.core.rows.after('environment', '', MOST_ENVIRONMENTS))
    if (reachesEnvironment(call.caller, listing.need.scopes, environment.id))
      hits.push(...(yield* secretsIn(call, environment, isListed)));
  // Those of the same name in several environments follow one another.
  return firstOf(hits.toSorted((a, b) => compared(a.name, b.name)));
}

/** Finds in a list whose items have all that the answer has. */
const inList = <T>(
  need: Need,
  operation: Operation<never>,
  hitOf: (call: Call<SearchInput>, item: T) => Hit | null,
  filters: object = {},
) =>
  function* (call: Call<SearchInput>): Walk<Hits | undefined> {
    const items = yield* itemsOf<T>(call, need, operation, filters);
    return items ? firstOf(sorted(items.flatMap((item) => hitOf(call, item) ?? []))) : undefined;
  };

interface Named {
  id: string;
  name: string;
}

const members = inList<Named & { email: string; role: string }>(
  memberActions['member.list'],
  memberOperations['member.list'],
  (call, { id, name, email, role }) =>
    has(call, name) || has(call, email) ? { ...none, id, name, kind: role, detail: email } : null,
  { status: null },
);

const teams = inList<Named>(teamActions['team.list'], teamOperations['team.list'], (call, { id, name }) =>
  has(call, name) ? { ...none, id, name } : null,
);

const policies = inList<Named & { kind: string }>(
  policyActions['policy.list'],
  policyOperations['policy.list'],
  (call, { id, name, kind }) => (has(call, name) ? { ...none, id, name, kind } : null),
);

const connections = inList<Named & { kind: string; platform: string }>(
  integrationActions['integration.list'],
  integrationOperations['integration.list'],
  (call, { id, name, kind, platform }) =>
    has(call, name) ? { ...none, id, name, kind, detail: platform } : null,
);

/** The lists of credentials by name. Session tokens have none. */
const CREDENTIALS: [CredentialKind, Need][] = [
  ['api_key', credentialActions['api_key.list']],
  ['agent', credentialActions['agent.list']],
  ['provider', credentialActions['provider_token.list']],
  ['trust', trustActions['trust.list']],
  ['scim', scimActions['scim_token.list']],
];

function* credentialsOf(call: Call<SearchInput>, kind: CredentialKind, need: Need): Walk<Hit[] | null> {
  const { rows } = call.core;
  const listing = within(call, need, null);
  if (!listing) return null;
  const hits: Hit[] = [];
  for (let after = idStart(kind); ; ) {
    const page = rows.credentialNames(kind, after, NAMES);
    yield COST;
    for (const { id, name } of page) {
      if (name === null || !has(call, name)) continue;
      const row = rows.get('credential', id);
      if (row && listedIn(listing, kind, row)) hits.push({ ...none, id, name, kind });
      yield ROW;
    }
    if (page.length < NAMES) return hits;
    after = page.at(-1)?.id ?? after;
  }
}

function* credentials(call: Call<SearchInput>): Walk<Hits | undefined> {
  const all: Hit[] = [];
  let isAllowed = false;
  for (const [kind, need] of CREDENTIALS) {
    const hits = yield* credentialsOf(call, kind, need);
    isAllowed ||= hits !== null;
    all.push(...(hits ?? []));
  }
  return isAllowed ? firstOf(sorted(all)) : undefined;
}

const KINDS = { secrets, members, teams, credentials, policies, connections } as const;

export type Found = { -readonly [Kind in keyof typeof KINDS]?: Hits };

/** What is found of each kind whose list the caller may see. */
export function* found(call: Call<SearchInput>): Walk<Found> {
  const all: Found = {};
  for (const [kind, find] of Object.entries(KINDS)) {
    const hits = yield* find(call);
    if (hits) all[kind as keyof Found] = hits;
  }
  return all;
}
