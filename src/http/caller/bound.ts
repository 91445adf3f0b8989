// Requests of Workers that are bound to the service (`src/vault-binding.ts`): who sends them. Invariants:
// only the entrypoint says it, by the request object itself, which nobody outside can name; such a request
// brings no credential of its own.
import { UNKNOWN_BINDING } from '../../auth/authentication/bindings';
import { type Refusal, refuse } from '../../errors';
import type { Bound } from '../../gate/request/call';
import type { Keyring } from '../../keys/keyring';
import type { Authenticated } from '../context';

const callers = new WeakMap<Request, { caller: Bound; target?: string }>();

/** Notes the Worker that sends a request; `target`: the URL of an upstream that it asks for. */
export const bind = (request: Request, caller: Bound, target?: string): void =>
  void callers.set(request, { caller, ...(target !== undefined && { target }) });

/** The Worker that sends a request; undefined for any other request. */
export const boundOf = (request: Request): Bound | undefined => callers.get(request)?.caller;

/** The URL that a bound Worker asks an upstream for, if it does so by the whole URL. */
export const targetOf = (request: Request): string | undefined => callers.get(request)?.target;

/** The caller, for the gate to judge. Props may name an organisation that does not exist. */
export async function authenticateBound(caller: Bound, keyring: Keyring): Promise<Authenticated | Refusal> {
  // safety: binding-of-known-org
  if (!(await keyring.org(caller.org))) return refuse('UNAUTHENTICATED', { message: UNKNOWN_BINDING });
  return {
    bearer: null,
    genuine: caller,
    isExpired: false,
    deployment: await keyring.deployment(caller.org),
  };
}
