// The caller's own credential, by its token: what it is, and its end. Invariant: of another's token, nothing
// is told.
import { type CredentialRow, parentIdOf } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { fail, ok } from '../../../gate/request/outcome';
import type { Proposal } from '../../../gate/request/plan';
import { revision } from '../../../gate/request/writes';
import { isoOrNull } from '../../../http/wire';

/** `hash`: of the token that the request names; null for the caller's own. */
export interface TokenNamed {
  hash: string | null;
}

const own = ({ core, caller }: Call<unknown>): CredentialRow | null =>
  core.rows.get('credential', caller.credential);

/** The caller's own token, or that of a session token of its own; 403 for any other, known or not. */
function named(call: Call<TokenNamed>): CredentialRow | Refusal {
  const self = own(call);
  const { hash } = call.input;
  const row = hash === null || hash === self?.token_hash ? self : null;
  const child = row || hash === null ? null : call.core.rows.find('credential', 'session', hash);
  // safety: only-own-tokens
  if (child && parentIdOf(child) === call.caller.id) return child;
  return row ?? refuse('INSUFFICIENT_SCOPE', { message: 'This credential may use only its own token.' });
}

/** A credential as its holder sees it. */
export interface OwnToken {
  id: string;
  kind: string;
  name: string | null;
  parent_id: string | null;
  created_at: string;
  expires_at: string | null;
}

export const lookup: Operation<TokenNamed> = {
  read(call) {
    const row = named(call);
    if (isRefusal(row)) return fail(row);
    const { caller } = call;
    const expires = row.id === caller.id ? caller.expires_at : row.expires_at;
    return ok({
      id: row.id,
      kind: row.kind,
      name: row.name,
      parent_id: parentIdOf(row),
      created_at: new Date(row.created_at).toISOString(),
      expires_at: isoOrNull(expires),
    } satisfies OwnToken);
  },
};

export const revokeToken: Operation<TokenNamed> = {
  exempt: (call) => call.input !== null && !isRefusal(named(call)),
  subject(call) {
    const row = named(call);
    return isRefusal(row) ? {} : { resource: row.id };
  },
  change: {
    plan(call, now): Proposal {
      const row = named(call);
      if (isRefusal(row)) return row;
      // Clients end their token after each use of it. That is right for a token that they got by a login.
      // safety: clients-end-sessions-alone
      if (row.kind !== 'session')
        return refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
          status: 400,
          message:
            'Only a session token can be revoked here. Revoke an API key or an agent credential by its id.',
        });
      if (row.revoked_at !== null) return { status: 204, data: null };
      return { status: 204, data: null, writes: [revision(call, 'credential', row, { revoked_at: now })] };
    },
  },
};
