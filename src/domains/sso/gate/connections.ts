// Operations on connections to identity providers in the gate. Invariants: the client secret arrives
// encrypted and is never returned; a connection gives nobody the role of an owner; whoever makes or changes
// what it gives is tied to those who belong to it.

import { givenAnew } from '../../../auth/connections';
import { idStart } from '../../../db/ids';
import type { CredentialRow, RoleMapping, SsoConnectionRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { bringers, keeperOf, keptOfConnection, withTies } from '../../../gate/approvals/ties';
import { isAlive } from '../../../gate/identity/lifetime';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found, wants } from '../../../gate/request/outcome';
import { environmentOf, namedId, slugOf } from '../../../gate/request/target';
import { insertion, portion, revision } from '../../../gate/request/writes';
import { leftPlaces } from '../../sso-signin/gate/given';
import type { Provider } from '../discovery';
import { connectionOut, type OidcConfig, type SamlConfig } from '../wire';
import { lapsing } from './lapse';

const find = ({ core, ask }: Call<unknown>): SsoConnectionRow | null =>
  core.rows.get('sso_connection', namedId(ask, 'sso_connection'));

const shown = ({ core }: Call<unknown>, row: SsoConnectionRow) =>
  connectionOut(row, (id) => slugOf(core, id));

const list: Operation<ListInput> = {
  read: (call) =>
    listed(call.core, 'sso_connection', idStart('sso_connection'), call.input, (row) => shown(call, row)),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call, row)),
};

/** What a connection is for, as given; environments by id or slug. */
export interface Gives {
  name: string;
  domains: string[];
  jit: boolean;
  enforce: boolean;
  default_role: SsoConnectionRow['default_role'];
  default_environments: string[] | null;
  role_mappings: RoleMapping[];
  team_mappings: SsoConnectionRow['team_mappings'];
}

/** What the Worker discovered and encrypted, or why there is nothing; by the revision that it saw. */
export type Made = { revision: number } & (
  | { config: OidcConfig | SamlConfig; client_secret_sealed: string | null }
  | { refusal: Refusal }
);
export type { Provider };

type Columns = Partial<
  Pick<
    SsoConnectionRow,
    | 'name'
    | 'domains'
    | 'jit'
    | 'enforce'
    | 'default_role'
    | 'default_environments'
    | 'role_mappings'
    | 'team_mappings'
  >
>;

/** Ids of environments, or 400 at the first that does not exist. */
function idsAt({ core }: Call<unknown>, path: string, refs: readonly string[]): string[] | Refusal {
  const ids = refs.map((ref) => environmentOf(core, ref)?.id);
  const unknown = ids.indexOf(undefined);
  return unknown < 0
    ? [...new Set(ids as string[])].sort()
    : invalid(`${path}.${unknown}`, 'must be an environment of this organisation');
}

/** Of a list, the first refusal or all values. */
function each<T, R extends object>(
  list: readonly T[],
  to: (one: T, at: number) => R | Refusal,
): R[] | Refusal {
  const made: R[] = [];
  for (const [at, one] of list.entries()) {
    const result = to(one, at);
    if (isRefusal(result)) return result;
    made.push(result as R);
  }
  return made;
}

/** The columns of what is given, or 400 for what is not of this organisation. */
function columnsOf(call: Call<unknown>, given: Partial<Gives>): Columns | Refusal {
  const { rows } = call.core;
  const { jit, enforce, domains, default_environments, role_mappings, team_mappings, ...rest } = given;
  const foreign = domains?.findIndex((id) => !rows.get('domain', id)) ?? -1;
  // safety: domains-of-this-organisation
  if (foreign >= 0) return invalid(`domains.${foreign}`, 'must be a domain of this organisation');
  const team = team_mappings?.findIndex(({ team_id }) => !rows.get('team', team_id)) ?? -1;
  if (team >= 0) return invalid(`team_mappings.${team}.team_id`, 'must be a team of this organisation');
  const bounds = default_environments && idsAt(call, 'default_environments', default_environments);
  if (bounds && isRefusal(bounds)) return bounds;
  const mappings = role_mappings && each(role_mappings, (one, at) => mappingOf(call, one, at));
  if (mappings && isRefusal(mappings)) return mappings;
  return {
    ...rest,
    ...(domains && { domains }),
    ...(jit !== undefined && { jit: jit ? 1 : 0 }),
    ...(enforce !== undefined && { enforce: enforce ? 1 : 0 }),
    ...(bounds !== undefined && { default_environments: bounds }),
    ...(mappings && { role_mappings: mappings }),
    ...(team_mappings && { team_mappings }),
  };
}

function mappingOf(call: Call<unknown>, { group, role, environments }: RoleMapping, at: number) {
  if (!environments) return { group, role };
  const ids = idsAt(call, `role_mappings.${at}.environments`, environments);
  return isRefusal(ids) ? ids : { group, role, environments: ids };
}

/** What a connection gives, for those who decide it. */
function inWords({ core }: Call<unknown>, before: SsoConnectionRow | null, after: SsoConnectionRow): string {
  const { roles, teams } = givenAnew(before, after);
  const names = teams.map((id) => core.rows.get('team', id)?.name ?? id);
  const gives = [
    ...(roles.length ? [`the roles ${roles.join(', ')}`] : []),
    ...(names.length ? [`places in the teams ${names.join(', ')}`] : []),
  ];
  const { issuer } = after.config as unknown as OidcConfig;
  return `let people sign in with ${after.name} (${issuer}), which can give ${gives.join(' and ')}`;
}

const create: Operation<Gives & { id: string; kind: SsoConnectionRow['kind']; made?: Made }> = {
  subject: ({ input }) => ({ resource: input.id }),
  change: {
    plan(call, now) {
      const { ask, caller } = call;
      const { id, kind, made, ...given } = call.input;
      const columns = columnsOf(call, given);
      if (isRefusal(columns)) return columns;
      if (!made) return wants('value', { id });
      if ('refusal' in made) return made.refusal;
      const put = insertion(call, 'sso_connection', {
        org_id: ask.org,
        id,
        kind,
        ...(columns as Required<Columns>),
        config: made.config as unknown as SsoConnectionRow['config'],
        client_secret_sealed: made.client_secret_sealed,
        changed_by: withTies(null, bringers(call), now),
        created_by: caller.id,
        created_at: now,
        updated_at: now,
      });
      const row = put.row as SsoConnectionRow;
      return { status: 201, data: shown(call, row), writes: [put], describes: inWords(call, null, row) };
    },
  },
};

/**
 * A configuration with the time until which `enforce` has ended sessions of passkeys, which stay ended: also
 * those of domains that came while it was on; and the time at which sessions of another issuer ended.
 */
const configAfter = (
  { enforce, config: before }: SsoConnectionRow,
  after: Columns,
  config: SsoConnectionRow['config'],
  now: number,
): SsoConnectionRow['config'] => {
  // safety: enforce-ends-for-good
  const enforced_at = after.enforce !== undefined && after.enforce !== enforce ? now : before.enforced_at;
  // safety: issuer-ends-sessions
  const issuer_at = config.issuer === before.issuer ? before.issuer_at : now;
  // A change lets people sign in again whom a panic stopped.
  const { stopped_at: _, ...kept } = config;
  return {
    ...kept,
    ...(enforced_at !== undefined && { enforced_at }),
    ...(issuer_at !== undefined && { issuer_at }),
  };
};

/** The most memberships that end with mappings in one request: those of the largest team and some. */
const MOST_LEFT = 2500;
const tooManyLeave = refuse('LIMIT_REACHED', {
  message: 'The removed mappings end too many memberships for one request. Remove fewer of them at a time.',
});

const update: Operation<Partial<Gives> & { configures: boolean; made?: Made }> = {
  change: {
    revises: find,
    plan(call, now) {
      const { configures, made, ...given } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const columns = columnsOf(call, given);
      if (isRefusal(columns)) return columns;
      // safety: sso-connection-unchanged-meanwhile
      if (configures && made?.revision !== row.revision) return wants('value', row);
      if (made && 'refusal' in made) return made.refusal;
      const fields = {
        ...columns,
        ...(made && { client_secret_sealed: made.client_secret_sealed }),
        config: configAfter(row, columns, (made?.config ?? row.config) as SsoConnectionRow['config'], now),
      };
      const { roles, teams } = givenAnew(row, { ...row, ...fields });
      const gives = roles.length > 0 || teams.length > 0;
      const put = revision(call, 'sso_connection', row, {
        ...fields,
        // safety: connection-changed-by-tied
        changed_by: withTies(row.changed_by, gives ? bringers(call) : [], now),
        updated_at: now,
      });
      const after = put.row as SsoConnectionRow;
      const left = row.domains.filter((id) => !after.domains.includes(id));
      const places = leftPlaces(call, row, after);
      if (places.writes.length + places.deletes.length > MOST_LEFT) return tooManyLeave;
      const what = gives ? inWords(call, row, after) : `change the connection ${row.name}`;
      const ending = places.deletes.length;
      return {
        status: 200,
        data: shown(call, after),
        writes: [put, ...lapsing(call, [row], left, now), ...places.writes],
        deletes: places.deletes,
        describes: ending ? `${what}, and end ${ending} of the memberships that it gave` : what,
      };
    },
  },
};

/** The live SCIM tokens of a connection. */
const tokensOf = ({ core }: Call<unknown>, connection: string): CredentialRow[] =>
  core.rows
    .within('credential', 'scim')
    .filter((row) => row.scim?.connection === connection && isAlive(core, row));

const remove: Operation<Record<string, never>> = {
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const keeper = keeperOf(call.core, null);
      const connections = keeper && keptOfConnection(call.core, keeper, row, now);
      // Any that do not fit end with the connection all the same: see gate/identity/lifetime.ts.
      const tokens = portion(tokensOf(call, row.id));
      return {
        status: 204,
        data: null,
        writes: [
          ...(connections ? [revision(call, 'member', keeper, { connections })] : []),
          ...tokens.map((one) => revision(call, 'credential', one, { revoked_at: now })),
          ...lapsing(call, [row], row.domains, now),
        ],
        deletes: [{ kind: 'sso_connection', id: row.id }],
      };
    },
  },
};

export const connectionOperations = {
  'sso_connection.list': list,
  'sso_connection.read': read,
  'sso_connection.create': create,
  'sso_connection.update': update,
  'sso_connection.delete': remove,
};
