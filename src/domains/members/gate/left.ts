// The credentials that a member leaves who is removed or suspended: they stay valid unless the caller asks
// for their end.
import { covers } from '../../../auth/scopes';
import { utf8 } from '../../../crypto/bytes';
import type { CredentialRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { descendants } from '../../../gate/identity/descendants';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Call } from '../../../gate/request/call';
import type { Put } from '../../../gate/request/plan';
import { portion, revision } from '../../../gate/request/writes';

/** Live credentials that a member created, without session tokens and browser sessions. */
export function madeBy(core: Core, member: string): CredentialRow[] {
  return descendants(core)
    .madeBy([member], core.now())
    .flatMap(({ id, live }) => {
      const row = live ? core.rows.get('credential', id) : null;
      return row && row.kind !== 'browser' && isAlive(core, row) ? [row] : [];
    });
}

/** 403 for a caller who may not end credentials. */
export function mayRevoke({ caller, input }: Call<{ revoke: boolean }>): Refusal | null {
  // safety: revocation-needs-scope
  if (!input.revoke || caller.permissions.some(({ scopes }) => covers(scopes, 'tokens:write'))) return null;
  return refuse('INSUFFICIENT_SCOPE', {
    message: 'With revoke_credentials=true, this request needs the scope tokens:write.',
  });
}

const named = ({ kind, id, name }: CredentialRow) => ({ kind, id, name });

/** What a request answers of such credentials, and what it writes to end them. */
export function leaving(
  call: Call<{ revoke: boolean }>,
  made: CredentialRow[],
  now: number,
): { data: { credentials: object[]; remaining?: number }; writes: Put[] } {
  const listed = portion(made);
  const remaining = made.length - listed.length;
  const ended = call.input.revoke ? listed : [];
  return {
    data: { credentials: listed.map(named), ...(remaining && { remaining }) },
    writes: ended.map((credential) => revision(call, 'credential', credential, { revoked_at: now })),
  };
}

/** The most bytes of credentials in an event. */
const MOST_BYTES = 8000;

/** The same in an event, which is smaller. */
export function leftInEvent(core: Core, member: string): { credentials: object[]; remaining?: number } {
  const made = madeBy(core, member).map(named);
  let bytes = 0;
  const past = made.findIndex((one) => {
    bytes += utf8(JSON.stringify(one)).length;
    return bytes > MOST_BYTES;
  });
  const credentials = made.slice(0, past < 0 ? made.length : past);
  const remaining = made.length - credentials.length;
  return { credentials, ...(remaining && { remaining }) };
}
