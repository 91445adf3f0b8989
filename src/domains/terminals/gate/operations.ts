// Confirming a terminal login, in the gate. The Worker looks up the login by its user code after the gate has
// said whose attempt it is. Invariants: a login begins at most one session, under the id chosen when it
// started; until the terminal fetches it, the session can do nothing else, and it expires with the codes.
import type { Asking, Decision } from '../../../auth/authentication/terminal-login';
import { type Refusal, refuse } from '../../../errors';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok, wants } from '../../../gate/request/outcome';
import { beginTerminal, surplus } from '../../signin/gate/sessions';

/**
 * The login that the Worker found for a user code, and how many seconds the member must wait after too many
 * attempts.
 */
export interface Found {
  login: Asking | null;
  wait: number;
}

/** The member who entered a user code. */
export interface Attempt {
  member: string;
}

const attempt = ({ caller }: Call<unknown>) => wants('value', { member: caller.id } satisfies Attempt);

const subject = ({ input }: Call<Found>) => ({ resource: input.login?.session ?? null });

const expired = refuse('CODE_EXPIRED');

/**
 * The login that the member means, if it is undecided or already has this decision; otherwise the refusal.
 */
function meant({ input: { login, wait } }: Call<Found>, decision: Decision | null): Asking | Refusal {
  if (wait)
    return refuse('RATE_LIMITED', {
      message: 'Too many codes were entered. Wait before you try again.',
      retry_after: wait,
    });
  return login && (login.decided === null || login.decided === decision) ? login : expired;
}

/** Shows the login that a member means. Nothing changes here. */
const telling = (decision: Decision | null): Operation<Found> => ({
  subject,
  read(call): Outcome {
    if (!call.ask.again) return attempt(call);
    const login = meant(call, decision);
    return 'code' in login ? fail(login) : ok(login);
  },
});

const confirm: Operation<Found> = {
  subject,
  change: {
    before: async (call) => surplus(call).map(({ id }) => id),
    plan(call, now, { fetched: over }) {
      const { core, ask, caller } = call;
      if (!ask.again) return attempt(call);
      const login = meant(call, ask.org);
      if ('code' in login) return login;
      const { session } = login;
      const begun = core.rows.get('credential', session);
      // The response was lost, or the request was interrupted before the login was updated.
      if (begun && begun.member_id === caller.id && begun.revoked_at === null)
        return { status: 200, data: { session } };
      const own = core.rows.get('credential', caller.credential);
      // safety: device-login-begins-once
      if (begun || core.rows.isBuried('credential', session) || !own || login.ends_at <= now) return expired;
      return {
        status: 200,
        data: { session },
        writes: beginTerminal(call, login, own, over as string[], now),
      };
    },
  },
};

export const terminalOperations = {
  'auth.device_lookup': telling(null),
  'auth.device_confirm': confirm,
  'auth.device_deny': telling(false),
};
