// Panic: revokes every credential except the caller's own in one turn, regardless of their number. Their rows
// do not change: the organisation counts its panics, and credentials created before the last one are refused.
// Invariants: credentials created from the next turn on carry the new count, as does an API key created by
// the panic itself; of a calling browser session, only the JWT of the request stays valid, so a stolen cookie
// or another JWT does not.
import type { CredentialRow, OrgRow } from '../../../db/schema';
import type { Call, Operation } from '../../../gate/request/call';
import type { Plan, Put } from '../../../gate/request/plan';
import { revision } from '../../../gate/request/writes';
import { iso } from '../../../http/wire';
import { firstKey } from '../../credentials/gate/create';
import { shown, type TokenInput } from '../../credentials/gate/credential';
import { recentOf } from './recent';
import { opened, recordedIn } from './record';

interface PanicInput {
  reason: string;
  /** The new first key, if API keys are revoked too. */
  token: TokenInput | null;
  /** Whether single sign-on stops, too. */
  sso: boolean;
}

/** Connections that admit nobody until an owner changes them: see `configAfter` in domains/sso. */
const stoppedConnections = (call: Call<unknown>, now: number): Put[] =>
  call.core.rows
    .within('sso_connection', '')
    .map((row) => revision(call, 'sso_connection', row, { config: { ...row.config, stopped_at: now } }));

/** The calling browser session, with every refresh cookie and JWT refused except the JWT of this request. */
function onlyThisJwt(call: Call<unknown>): Put[] {
  const { bearer } = call.ask;
  const row = call.core.rows.get('credential', call.caller.credential);
  if (call.caller.kind !== 'member' || !row?.refresh || typeof bearer === 'string' || !('kind' in bearer))
    return [];
  const jwt = bearer.jwt ?? 0;
  // safety: panic-ends-other-jwts
  return [
    revision(call, 'credential', row, { refresh: { ...row.refresh, live: [], used: [], jwts: [jwt, jwt] } }),
  ];
}

interface Ending {
  reason: string;
  /** The API key that replaces all others; null if API keys stay. */
  key: Put | null;
  /** The credential that stays alive; null for none. */
  spared: string | null;
}

/** What a plan adds to revoke every other credential, with the incident that records it. */
export function ending(call: Call<unknown>, { reason, key, spared }: Ending, now: number) {
  const before = call.core.rows.get('org', call.ask.org) as OrgRow;
  const generation = nextGeneration(call);
  const org = revision(call, 'org', before, {
    generation,
    ...(key && { keys_generation: generation }),
    spared,
    // Links and decisions made before end by this time, also if the clock has been set back since.
    // safety: panic-after-everything
    panicked_at: Math.max(now, call.core.auditLog.time()),
  });
  const { incident, ...record } = opened(
    call,
    { kind: 'panic', credential: null, since: null, spared: [], reason },
    now,
  );
  const ended: Plan['events'] = [
    { type: 'CREDENTIAL_REVOKED', data: { all: true, api_keys: key !== null, by: call.caller.id } },
  ];
  return {
    incident,
    plan: { ...record, writes: [org, ...record.writes], events: [...ended, ...record.events] },
  };
}

/** The generation of credentials after the ending that is planned. */
export const nextGeneration = ({ core, ask }: Call<unknown>): number =>
  (core.rows.get('org', ask.org)?.generation ?? 0) + 1;

export const panic: Operation<PanicInput> = {
  readsLog: true,
  subject: ({ ask, input }) => ({ resource: ask.org, reason: input.reason }),
  change: {
    plan(call, now) {
      const { ask, caller, input } = call;
      const created_in = caller.kind === 'member' ? caller.credential : null;
      // safety: panic-key-of-new-generation
      const key =
        input.token &&
        firstKey(call, input.token, 'panic', caller.id, now, {
          generation: nextGeneration(call),
          created_in,
        });
      // An API key that revokes all API keys is itself revoked; it receives the new one.
      // safety: panic-ends-calling-key
      const spared = key && caller.kind === 'api_key' ? null : caller.credential;
      const { incident, plan } = ending(call, { reason: input.reason, key, spared }, now);
      const row = key?.row as CredentialRow | undefined;
      return {
        status: 200,
        data: {
          ended_at: iso(now),
          incident_id: incident?.id ?? null,
          ...(row && { api_key: shown(call, row) }),
          recent: recentOf(call, now),
        },
        ...plan,
        writes: [
          ...plan.writes,
          ...(key ? [key] : []),
          ...onlyThisJwt(call),
          ...(input.sso ? stoppedConnections(call, now) : []),
        ],
        resource: row?.id ?? ask.org,
        audit: { ...(row && { successor: row.id }), ...recordedIn(incident) },
      };
    },
  },
};
