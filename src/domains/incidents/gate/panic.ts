// Panic: every credential but the caller's own ends in one turn, however many there are. Nothing is done to their rows: the
// organisation counts its panics, and what was made before the last one is refused.
// Invariants: what is made from the turn after bears the new count, an API key made by the panic itself included; of a browser session that
// calls it, only the JWT of the call goes on, so that no copy of its cookie or of another JWT does.
import type { CredentialRow, OrgRow } from '../../../db/schema';
import { revision } from '../../../gate/commit';
import type { Put } from '../../../gate/plan';
import type { Call, Operation } from '../../../gate/types';
import { iso } from '../../../http/wire';
import { firstKey } from '../../credentials/gate/create';
import { shown, type TokenInput } from '../../credentials/gate/credential';
import { recentOf } from './recent';

interface PanicInput {
  reason: string;
  /** The new first key, where API keys are to end too. */
  token: TokenInput | null;
}

/** The browser session that calls, with every refresh cookie and every JWT refused but the one that it calls with. */
function onlyThisJwt(call: Call<unknown>): Put[] {
  const { bearer } = call.ask;
  const row = call.core.rows.get('credential', call.caller.credential);
  if (call.caller.kind !== 'member' || !row?.refresh || typeof bearer === 'string' || 'member' in bearer) return [];
  const jwt = bearer.jwt ?? 0;
  // safety: panic-ends-other-jwts
  return [revision(call, 'credential', row, { refresh: { ...row.refresh, live: [], used: [], jwts: [jwt, jwt] } })];
}

export const panic: Operation<PanicInput> = {
  subject: ({ ask, input }) => ({ resource: ask.org, reason: input.reason }),
  change: {
    locks: ({ ask, caller, input }) => [ask.org, caller.credential, ...(input.token ? [input.token.id] : [])],
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const before = core.rows.get('org', ask.org) as OrgRow;
      const generation = (before.generation ?? 0) + 1;
      const created_in = caller.kind === 'member' ? caller.credential : null;
      // safety: panic-key-of-new-generation
      const key = input.token && firstKey(call, input.token, 'panic', caller.id, now, { generation, created_in });
      const org = revision(call, 'org', before, {
        generation,
        ...(key && { keys_generation: generation }),
        // An API key that ends the API keys ends with them: it is given the new one.
        // safety: panic-ends-calling-key
        spared: key && caller.kind === 'api_key' ? null : caller.credential,
        panicked_at: now,
      });
      const row = key?.row as CredentialRow | undefined;
      return {
        status: 200,
        data: { ended_at: iso(now), ...(row && { api_key: shown(core, row) }), recent: recentOf(call, now) },
        puts: [org, ...(key ? [key] : []), ...onlyThisJwt(call)],
        resource: row?.id ?? ask.org,
        ...(row && { about: { successor: row.id } }),
        events: [{ type: 'CREDENTIAL_REVOKED', data: { all: true, api_keys: key !== null, by: caller.id } }],
      };
    },
  },
};
