// What is said to a SAML provider, and what its responses assert, by the SAML Worker. Invariants: a request
// has the state as its id, and only the response to that request counts, so an assertion serves once, as the
// state does; reasons quote nothing of a document.
import type { Env, SamlAssertion } from '../../env';
import { ApiError, refuse } from '../../errors';
import { NO_SAML } from '../sso/saml';
import { entityIdOf, type SamlConfig, SSO_ACS } from '../sso/wire';

type Where = { env: Env; base: string };

function workerOf({ env }: Where) {
  if (!env.SAML) throw new ApiError(refuse('MISCONFIGURED', { message: NO_SAML }));
  return env.SAML;
}

const unavailable = (): never => {
  throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
};

/** The id of a request: an XML name. */
const requestIdOf = (state: string) => `_${state}`;

/** Where a browser signs in. */
export async function samlUrl(
  where: Where,
  connection: string,
  { provider, subject_attribute }: SamlConfig,
  { state, confirms }: { state: string; confirms: boolean },
): Promise<string> {
  const read = await workerOf(where)
    .request({
      provider,
      id: requestIdOf(state),
      issuer: entityIdOf(where.base, connection),
      recipient: where.base + SSO_ACS,
      relayState: state,
      force: confirms,
      persistent: subject_attribute === null,
    })
    .catch(unavailable);
  return read.ok ? read.value : unavailable();
}

/** What a response asserts, or why it does not count. */
export async function assertionOf(
  where: Where,
  connection: string,
  { provider }: SamlConfig,
  form: URLSearchParams,
  state: string,
): Promise<SamlAssertion | { problem: string }> {
  const [relay, ...others] = form.getAll('RelayState');
  const [encoded, ...more] = form.getAll('SAMLResponse');
  // safety: saml-relay-state
  if (relay !== state || others.length || encoded === undefined || more.length)
    return { problem: 'the response of the provider is not that of this sign-in' };
  const read = await workerOf(where)
    .response(encoded, {
      provider,
      audience: entityIdOf(where.base, connection),
      recipient: where.base + SSO_ACS,
      requestId: requestIdOf(state),
    })
    .catch(unavailable);
  return read.ok ? read.value : { problem: `the SAML response was not accepted: ${read.reason}` };
}
