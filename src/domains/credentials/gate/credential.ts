// Finding and showing credentials in the gate. The Worker creates tokens; the gate has only their hashes.

import type { CredentialKind } from '../../../db/credential-kinds';
import type { CredentialRow } from '../../../db/schema';
import { limitsShown } from '../../../gate/identity/limits-shown';
import { lastUsed } from '../../../gate/limits/last-used';
import type { Call } from '../../../gate/request/call';
import { namedId } from '../../../gate/request/target';
import { scimTokenOut } from '../../scim/wire';
import { trustOut } from '../../trusts/wire';
import { accessTokenOut, agentOut, apiKeyOut, breakGlassOut, providerTokenOut, type Shown } from '../wire';

/** A token created by the Worker. */
export interface TokenInput {
  id: string;
  hash: string;
  hint: string;
  /** The mark of its access key for clients of AWS, if it has one. */
  aws?: string | null;
}

const outs: Record<Exclude<CredentialKind, 'browser'>, (shown: Shown) => object> = {
  api_key: apiKeyOut,
  session: accessTokenOut,
  agent: agentOut,
  provider: providerTokenOut,
  break_glass: breakGlassOut,
  trust: trustOut,
  scim: scimTokenOut,
};

/** A credential as shown to the caller: its row, environment slugs and last use. */
export function shown(call: Call<unknown>, row: CredentialRow): object {
  const { environments, secrets, upstreams } = limitsShown(call, row);
  return outs[row.kind as keyof typeof outs]({
    row: { ...row, secrets, upstreams },
    environments,
    used: lastUsed(call.core).of(row.id),
  });
}

export const target = (call: Call<unknown>) => namedId(call.ask, 'credential');

export function find(call: Call<unknown>, kind: CredentialKind): CredentialRow | null {
  const row = call.core.rows.get('credential', target(call));
  return row?.kind === kind ? row : null;
}

/** When a requested lifetime would end; null without one. */
export const endIn = (ttlSeconds: number | null, now: number) =>
  ttlSeconds === null ? null : now + ttlSeconds * 1000;
