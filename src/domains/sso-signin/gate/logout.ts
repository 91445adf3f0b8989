// Back-channel logout: a provider ends a session of it, or all of a person. The Worker has verified the
// token. Invariants: a token serves once; only sessions that this connection began end.
import type { CredentialRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import { linkOf } from '../../../gate/identity/sso';
import type { Call, Operation } from '../../../gate/request/call';
import type { Proposal } from '../../../gate/request/plan';
import { ending, sessionsOf } from '../../signin/gate/sessions';
import { exchanged, type Spent } from '../../trusts/gate/exchanged';

export interface LogoutInput {
  connection: string;
  subject: { issuer: string; subject: string } | null;
  sid: string | null;
  /** The token, by its `jti`. */
  spent: Spent;
}

/** The members whose sessions may end: the one of the subject, or all of the connection. */
function membersOf(call: Call<LogoutInput>): string[] {
  const { core, input } = call;
  const { connection, subject } = input;
  if (subject) return [linkOf(core, { connection, subject, email: null })?.member_id ?? ''];
  return core.rows
    .within('member', '')
    .filter(({ id }) => core.rows.within('sso_link', id).some((link) => link.connection_id === connection))
    .map(({ id }) => id);
}

const endedOf = (call: Call<LogoutInput>): CredentialRow[] => {
  const { connection, sid } = call.input;
  return (
    membersOf(call)
      .flatMap((id) => sessionsOf(call, id))
      // safety: sso-logout-of-its-sessions
      .filter(({ sso }) => sso?.connection === connection && (sid === null || sso.sid === sid))
  );
};

export const logout: Operation<LogoutInput> = {
  subject: ({ input }) => ({ resource: input.connection }),
  change: {
    plan(call, now): Proposal {
      const { core, ask, input } = call;
      const { spent } = input;
      // safety: sso-logout-once
      if (exchanged(core).times(spent.digest, ask.request.id) > 0) return refuse('UNAUTHENTICATED');
      exchanged(core).note(spent, ask.request.id, now);
      return { status: 200, data: null, writes: endedOf(call).map((row) => ending(call, row, now)) };
    },
  },
};
