// Operations on grants in the gate. A grant adds to the role of a member, directly or through a team.
// Invariants: no one grants more than they hold, or for longer; a grant created by a session token or an
// agent is revoked together with it.

import type { Wanted } from '../../../auth/delegation';
import { idStart } from '../../../db/ids';
import { type CredentialRow, type Grantee, type GrantRow, parentColumn } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { accountableFor } from '../../../gate/identity/accountable';
import { grantScopes, takesGrants } from '../../../gate/identity/caller';
import { isAlive, isGrantAlive } from '../../../gate/identity/lifetime';
import { limitsShown } from '../../../gate/identity/limits-shown';
import { providerWarning } from '../../../gate/identity/sso';
import type { Call, Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found } from '../../../gate/request/outcome';
import type { Put } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { insertion } from '../../../gate/request/writes';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { parentOf, unknownEnvironment, wanted, within } from '../../credentials/gate/create';
import { grantOut } from '../wire';

/** Every request of a member evaluates all of them. */
const MOST_GRANTS = 100;

function shown(call: Call<unknown>, row: GrantRow) {
  const { environments, secrets, upstreams } = limitsShown(call, row);
  return grantOut({ ...row, secrets, upstreams }, environments);
}

function find({ core, ask }: Call<unknown>): GrantRow | null {
  const row = core.rows.get('grant', namedId(ask, 'grant'));
  return row && isGrantAlive(core, row) ? row : null;
}

const list: Operation<ListInput & { grantee: string | null }> = {
  read(call) {
    const { core, input } = call;
    return listed(core, 'grant', idStart('grant'), input, (row) =>
      (input.grantee === null || row.grantee_id === input.grantee) && isGrantAlive(core, row)
        ? shown(call, row)
        : null,
    );
  },
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call, row)),
};

export interface NewInput {
  id: string;
  grantee: { type: Grantee; id: string };
  permission: GrantRow['permission'];
  environments: string[] | null;
  secrets: string[] | null;
  upstreams?: string[] | null;
  expires_at: number | null;
}

type Granted = Wanted & Pick<GrantRow, 'environments' | 'secrets' | 'upstreams'>;

/** What the grant would give, from any address: the address limits of the grantor do not bind the grantee. */
export const permissionsToGrant = (
  call: Call<unknown>,
  asked: Omit<NewInput, 'id' | 'grantee'>,
): Granted => ({
  ...wanted(call, { ...asked, scopes: grantScopes[asked.permission], allowed_addresses: null }),
  // safety: grant-checked-for-any-address
  allowed_addresses: null,
  // safety: grant-bound-to-no-device
  device_id: null,
});

const create: Operation<NewInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  // safety: grant-within-permissions
  authorize: (call) => within(call, permissionsToGrant(call, call.input)),
  change: {
    plan(call, now, { judged }) {
      const put = granting(call, call.input, judged as Granted, now);
      if ('code' in put) return put;
      const data = { ...shown(call, put.row as GrantRow), ...warningFor(call, call.input.grantee) };
      return { status: 201, data, writes: [put] };
    },
  },
};

/** What whoever gives a grant to a team is told of it. */
export const warningFor = ({ core }: Call<unknown>, { type, id }: NewInput['grantee']) =>
  providerWarning(core, type === 'team' ? id : null);

/** The row of a new grant with the checked permissions. */
export function granting(
  call: Call<unknown>,
  input: NewInput,
  { environments, secrets, upstreams, expires_at }: Granted,
  now: number,
): Put | Refusal {
  const { core, ask, caller } = call;
  const { id, grantee, permission } = input;
  const unknown = unknownEnvironment(input.environments, environments);
  if (unknown) return unknown;
  const agent = grantee.type === 'agent' ? grantableAgent(core, grantee.id) : null;
  if (!(grantee.type === 'agent' ? agent : core.rows.get(grantee.type, grantee.id)))
    return refuse('NOT_FOUND', { message: `The ${grantee.type} in grantee.id does not exist.` });
  if (core.rows.within('grant', grantee.id).filter((row) => isGrantAlive(core, row)).length >= MOST_GRANTS)
    return refuse('LIMIT_REACHED', {
      message:
        'A member or team can have at most 100 grants. Combine some of them, or delete some that you no longer need.',
    });
  return insertion(call, 'grant', {
    org_id: ask.org,
    id,
    grantee_type: grantee.type,
    grantee_id: grantee.id,
    permission,
    environments,
    secrets,
    upstreams,
    created_by: caller.id,
    accountable: accountableFor(core, caller),
    // safety: grant-ends-with-creator
    ...parentColumn(parentOf(caller)),
    created_at: now,
    // A grant to an agent expires no later than the agent.
    expires_at:
      agent?.expires_at == null
        ? expires_at
        : Math.min(agent.expires_at, expires_at ?? Number.POSITIVE_INFINITY),
  });
}

/** A live agent that can be given a grant: an agent below another cannot hold more than the other. */
function grantableAgent(core: Core, id: string): CredentialRow | null {
  const row = core.rows.get('credential', id);
  // safety: grant-to-agent-at-the-top
  return row && isAlive(core, row) && takesGrants(lineageOf(core, row)) ? row : null;
}

const remove: Operation<Record<string, never>> = {
  change: {
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return { status: 204, data: null, deletes: [{ kind: 'grant', id: row.id }] };
    },
  },
};

export const grantOperations = {
  'grant.list': list,
  'grant.read': read,
  'grant.create': create,
  'grant.delete': remove,
};
