// Operations on incidents in the gate: list, show and change. Invariant: names of members and passkeys are
// shown only to callers who may list members.

import { covers } from '../../../auth/scopes';
import { idPrefixes } from '../../../db/ids';
import type { IncidentRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Call, Operation } from '../../../gate/request/call';
import type { ListInput } from '../../../gate/request/listing';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { incidentOut } from '../wire';
import { recentOf } from './recent';

/** An incident, as the Worker renders it. */
export interface ShownIncident {
  row: IncidentRow;
  revision: number;
  /** Of a panic: what is left to look through. */
  recent?: ReturnType<typeof recentOf>;
}

const find = ({ core, ask }: Call<unknown>): IncidentRow | null =>
  core.rows.get('incident', namedId(ask, 'incident'));

/** Newest first. */
const list: Operation<ListInput & { status: IncidentRow['status'] | null; credential: string | null }> = {
  read({ core, input: { limit, after, status, credential } }): Outcome {
    const all = core.rows.newest('incident', idPrefixes.incident, core.rows.count('incident'), after);
    const rows = all.filter(
      (row) =>
        (status === null || row.status === status) &&
        (credential === null || row.credential?.id === credential),
    );
    const page = rows.slice(0, limit);
    return ok({ items: page.map(incidentOut), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null });
  },
};

const read: Operation<Record<string, never>> = {
  // Its report is made from the log.
  readsLog: true,
  read(call): Outcome {
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    // safety: incident-people-for-those-who-list-them
    const mayList = call.caller.permissions.some(({ scopes }) => covers(scopes, 'members:read'));
    const isPanic = row.kind === 'panic' && mayList;
    return ok({
      row,
      revision: row.revision,
      ...(isPanic && { recent: recentOf(call, row.created_at) }),
    } satisfies ShownIncident);
  },
};

interface UpdateInput {
  status?: IncidentRow['status'];
  note?: string | null;
}

const update: Operation<UpdateInput> = {
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const { status = row.status, note = row.note } = call.input;
      const about = { incident: { id: row.id, status } };
      const closed_at = status === 'open' ? null : (row.closed_at ?? now);
      const put = revision(call, 'incident', row, { status, note, closed_at, updated_at: now });
      return { status: 200, data: incidentOut(put.row as IncidentRow), writes: [put], audit: about };
    },
  },
};

export const recordOperations = { 'incident.list': list, 'incident.read': read, 'incident.update': update };
