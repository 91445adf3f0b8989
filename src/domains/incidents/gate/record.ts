// The record of an incident: who contained what, and when. Its report follows from the audit log. Invariants:
// a credential has one incident, written in the commit that revokes it; no containment is refused for the
// sake of its record, so where every incident is still open, a further one is not recorded; whoever repeats a
// containment never narrows what its report covers.

import type { Caller } from '../../../auth/authorize';
import { newId } from '../../../db/ids';
import type { Contained, IncidentRow, Requester } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import type { Call } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { insertion, revision } from '../../../gate/request/writes';
import { quotaRootOf } from '../../../gate/rows/quota-root';

/** The most incidents of an organisation, and of those that one root opened. */
export const incidentQuotas = { org: 1000, root: 250 };

/** What a plan adds for an incident; null where there is no room for one. */
export interface Recorded extends Required<Pick<Plan, 'writes' | 'deletes' | 'events'>> {
  incident: IncidentRow | null;
}

/** The incident in an audit entry. */
export const recordedIn = (incident: IncidentRow | null) =>
  incident ? { incident: { id: incident.id, status: incident.status } } : {};

/** The incident of a credential. */
export const incidentOf = ({ rows }: Core, credential: string): IncidentRow | null =>
  rows.within('incident', credential)[0] ?? null;

const requester = ({ kind, id, parent_id, name }: Caller): Requester => ({
  kind,
  id: id || null,
  parent_id,
  name,
});

const openedEvent = ({ id, kind, credential }: IncidentRow, by: Caller): Recorded['events'][number] => ({
  type: 'INCIDENT_OPENED',
  data: { incident_id: id, kind, credential_id: credential?.id ?? null, by: by.id },
});

/** The closed incident that leaves for a new one, if one must; null where all are open. */
function leaving({ rows }: Core, root: string): string[] | null {
  if (rows.count('incident') < incidentQuotas.root) return [];
  const all = rows.after('incident', '', incidentQuotas.org);
  const own = all.filter((row) => row.root === root);
  const full = own.length >= incidentQuotas.root ? own : all.length >= incidentQuotas.org ? all : [];
  if (full.length === 0) return [];
  const oldest = full.find(({ status }) => status === 'closed');
  return oldest ? [oldest.id] : null;
}

type Opening = Pick<IncidentRow, 'kind' | 'credential' | 'since' | 'spared' | 'reason'>;

/** Opens an incident. */
export function opened(call: Call<unknown>, fields: Opening, now: number): Recorded {
  const { core, ask, caller } = call;
  const root = quotaRootOf(core, caller);
  const gone = leaving(core, root);
  // safety: incidents-bounded
  if (gone === null) return { incident: null, writes: [], deletes: [], events: [] };
  const put = insertion(call, 'incident', {
    org_id: ask.org,
    id: newId('inc', now),
    status: 'open',
    ...fields,
    opened_by: requester(caller),
    root,
    created_at: now,
    updated_at: now,
  });
  const incident = put.row as IncidentRow;
  const deletes = gone.map((id) => ({ kind: 'incident', id }) as const);
  return { incident, writes: [put], deletes, events: [openedEvent(incident, caller)] };
}

export interface Containing {
  credential: Contained;
  /** What the containment does not follow. */
  own: ReadonlySet<string>;
  since: number | null;
  /** Whether this call ends something. */
  ends: boolean;
}

/**
 * Opens the incident of a contained credential, or widens the one that it has. A closed one is open again if
 * something more ended.
 */
export function contained(
  call: Call<unknown>,
  { credential, own, since, ends }: Containing,
  now: number,
): Recorded {
  const before = incidentOf(call.core, credential.id);
  const { id, kind, name, created_at, member_id } = credential;
  if (!before) {
    const kept = { id, kind, name, created_at, member_id };
    return opened(
      call,
      { kind: 'contain', credential: kept, since, spared: [...own], reason: call.ask.request.reason },
      now,
    );
  }
  // safety: incident-never-narrowed
  const widest = before.since === null || since === null ? null : Math.min(before.since, since);
  const spared = before.spared.filter((one) => own.has(one));
  const reopens = before.status === 'closed' && ends;
  const isSame = !reopens && widest === before.since && spared.length === before.spared.length;
  if (isSame) return { incident: before, writes: [], deletes: [], events: [] };
  const put = revision(call, 'incident', before, {
    since: widest,
    spared,
    updated_at: now,
    ...(reopens && { status: 'open', closed_at: null }),
  });
  const incident = put.row as IncidentRow;
  return {
    incident,
    writes: [put],
    deletes: [],
    events: reopens ? [openedEvent(incident, call.caller)] : [],
  };
}
