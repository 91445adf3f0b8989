// Names that have no value yet: with tags that came before it, or a secret that a client of AWS created
// without one. Invariant: a name has one such row, which counts as a secret.

import { newId } from '../../../db/ids';
import type { EnvironmentRow, ReservedSecretRow } from '../../../db/schema';
import type { Refusal } from '../../../errors';
import type { Call } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { insertion } from '../../../gate/request/writes';
import { limits } from './state';

type Fields = Pick<ReservedSecretRow, 'tags'> &
  Partial<Pick<ReservedSecretRow, 'description' | 'request_token' | 'stays'>>;

/** The plan for the name of a request. It takes the place of tags whose time has passed. */
export function reserve(
  call: Call<unknown>,
  environment: EnvironmentRow,
  fields: Fields,
  now: number,
): (Pick<Plan, 'writes' | 'deletes'> & { row: ReservedSecretRow }) | Refusal {
  const { core, ask, caller } = call;
  const limit = limits(core, 0, 1);
  if (limit) return limit;
  const name = namedId(ask, 'name');
  const old = core.rows.find('reserved_secret', environment.id, name);
  const put = insertion(call, 'reserved_secret', {
    org_id: ask.org,
    id: newId('rsv'),
    environment_id: environment.id,
    name,
    ...fields,
    created_by: caller.id,
    created_at: now,
  });
  return {
    row: put.row as ReservedSecretRow,
    writes: [put],
    ...(old && { deletes: [{ kind: 'reserved_secret', id: old.id }] }),
  };
}
