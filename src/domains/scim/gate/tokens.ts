// Creating SCIM tokens. They hold no scope: their kind is all that the actions of SCIM ask for.
import { invalid } from '../../../errors';
import type { Operation } from '../../../gate/request/call';
import { aboutToken, issue, RATES } from '../../credentials/gate/create';
import type { TokenInput } from '../../credentials/gate/credential';

interface NewInput {
  token: TokenInput;
  name: string;
  end_credentials: boolean;
  expires_at: number | null;
}

export const createScimToken: Operation<NewInput> = {
  subject: aboutToken,
  change: {
    plan(call, now) {
      const { token, name, end_credentials, expires_at } = call.input;
      if (expires_at !== null && expires_at <= now) return invalid('expires_at', 'must be in the future');
      const scim = { connection: null, end_credentials };
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
    },
  },
};
