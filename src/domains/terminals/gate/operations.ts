// Confirming a terminal login, as the gate does it. The Worker finds the login by its user code, once the gate has said whose attempt it is.
// Invariants: a login begins one session at most, under the id that it was started with; until the terminal fetches it, the session is good
// for nothing but that, and it ends with the codes.
import type { Asking, Decision } from '../../../auth/device-login';
import { type Refusal, refuse } from '../../../errors';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import type { Call, Operation } from '../../../gate/types';
import { beginTerminal, surplus, turn } from '../../signin/gate/sessions';

/** The login under a user code, and the seconds that the member has to wait after too many attempts. */
export interface Found {
  login: Asking | null;
  wait: number;
}

/** Who enters a user code. */
export interface Attempt {
  member: string;
}

const attempt = ({ caller }: Call<unknown>): { more: Attempt } => ({ more: { member: caller.id } });

const subject = ({ input }: Call<Found>) => ({ resource: input.login?.session ?? null });

const expired = refuse('CODE_EXPIRED');

/** The login under the code, if it is undecided or was decided in the same way; otherwise the refusal. */
function meant({ input: { login, wait } }: Call<Found>, decision: Decision | null): Asking | Refusal {
  if (wait) return refuse('RATE_LIMITED', { message: 'Too many codes were entered. Wait before you try again.', retry_after: wait });
  return login && (login.decided === null || login.decided === decision) ? login : expired;
}

/** Answers with the login under a code. The gate changes nothing: the login's own Durable Object records a denial. */
const telling = (decision: Decision | null): Operation<Found> => ({
  subject,
  read(call): Outcome {
    if (!call.ask.again) return { kind: 'more', data: attempt(call).more };
    const login = meant(call, decision);
    return 'code' in login ? fail(login) : ok(login);
  },
});

const confirm: Operation<Found> = {
  subject,
  change: {
    before: async (call) => surplus(call).map(({ id }) => id),
    locks: (call) => {
      const { caller, input } = call;
      const session = input.login ? [input.login.session] : [];
      return [turn(caller.id), caller.id, caller.credential, ...session, ...surplus(call).map(({ id }) => id)];
    },
    plan(call, now, { fetched: over }) {
      const { core, ask, caller } = call;
      if (!ask.again) return attempt(call);
      const login = meant(call, ask.org);
      if ('code' in login) return login;
      const { session } = login;
      const begun = core.rows.get('credential', session);
      // Its reply was lost, or it was cut off before the login knew.
      if (begun && begun.member_id === caller.id && begun.revoked_at === null) return { status: 200, data: { session } };
      const own = core.rows.get('credential', caller.credential);
      // safety: device-login-begins-once
      if (begun || core.rows.isBuried('credential', session) || !own || login.ends_at <= now) return expired;
      return { status: 200, data: { session }, puts: beginTerminal(call, login, own.passkey_id, over as string[], now) };
    },
  },
};

export const terminalOperations = {
  'auth.device_lookup': telling(null),
  'auth.device_confirm': confirm,
  'auth.device_deny': telling(false),
};
