// Creating SCIM tokens. They hold no scope: their kind is all that the actions of SCIM ask for. Invariant:
// who makes a token of a connection decides who gets what the connection gives, so policies hold it, and its
// maker is tied to those who belong to the connection.
import { invalid } from '../../../errors';
import { bringers, withTies } from '../../../gate/approvals/ties';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { revision } from '../../../gate/request/writes';
import { aboutToken, issue, RATES } from '../../credentials/gate/create';
import type { TokenInput } from '../../credentials/gate/credential';

interface NewInput {
  token: TokenInput;
  name: string;
  connection_id: string | null;
  end_credentials: boolean;
  expires_at: number | null;
}

/** A new token by the fields of its row. */
function issued(call: Call<NewInput>, now: number) {
  const { token, name, connection_id: connection, end_credentials, expires_at } = call.input;
  const scim = { connection, end_credentials };
  const made = { kind: 'scim', name, scopes: [], rate_limit: RATES.scim, scim } as const;
  const limits = {
    scopes: [],
    environments: null,
    secrets: null,
    upstreams: null,
    allowed_addresses: null,
    expires_at,
    device_id: null,
  };
  return issue(call, token, made, limits, limits, now);
}

export const createScimToken: Operation<NewInput> = {
  subject: aboutToken,
  change: {
    plan(call, now) {
      const { name, connection_id, expires_at } = call.input;
      if (expires_at !== null && expires_at <= now) return invalid('expires_at', 'must be in the future');
      const plan = issued(call, now);
      if (isRefusal(plan)) return plan;
      if (connection_id === null) return { ...plan, describes: `create the SCIM token "${name}"` };
      const connection = call.core.rows.get('sso_connection', connection_id);
      // safety: scim-token-of-known-connection
      if (!connection) return invalid('connection_id', 'must be a connection of this organisation');
      const tied = revision(call, 'sso_connection', connection, {
        // safety: scim-token-maker-tied
        changed_by: withTies(connection.changed_by, bringers(call), now),
      });
      return {
        ...plan,
        writes: [...(plan.writes ?? []), tied],
        describes: `let a provider manage the people of ${connection.name} with the SCIM token ${name}`,
      };
    },
  },
};
