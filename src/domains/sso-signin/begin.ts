// Beginning a sign-in at a connection's provider: where the browser goes, and the cookie that binds what
// comes back to it.
import { generateRandomCodeVerifier, generateRandomNonce } from 'oauth4webapi';
import type { BaseContext } from '../../http/context';
import { SSO_CALLBACK } from '../sso/wire';
import { FLOW_LIVES, type Flow, flowCookie, newState } from './flow';
import type { Found } from './lookup';
import { authorizationUrl } from './provider';
import { samlUrl } from './saml';

/** Where a browser goes that named no page. */
const HOME = '/console';

/** What a sign-in is for, besides a session of its own. */
interface Purpose extends Pick<Flow, 'confirms' | 'tests'> {
  return_to?: string;
  hint?: string | null;
}

export async function begin(
  context: Pick<BaseContext, 'env' | 'base' | 'deployment'>,
  found: Found,
  { return_to = HOME, hint = null, confirms, tests }: Purpose,
) {
  const { base, deployment } = context;
  const { org, row } = found;
  const flow: Flow = {
    org,
    connection: row.id,
    kind: found.kind,
    issuer: found.config.issuer,
    state: newState(deployment, { org, connection: row.id, tests }),
    nonce: generateRandomNonce(),
    verifier: generateRandomCodeVerifier(),
    return_to,
    until: Date.now() + FLOW_LIVES,
    ...(confirms !== undefined && { confirms }),
    ...(tests !== undefined && { tests }),
  };
  const { state, nonce, verifier } = flow;
  const isAnew = confirms !== undefined;
  const url =
    found.kind === 'saml'
      ? await samlUrl(context, row.id, found.config, { state, confirms: isAnew })
      : await authorizationUrl(found.config, {
          redirect_uri: base + SSO_CALLBACK,
          state,
          nonce,
          verifier,
          hint,
          confirms: isAnew,
        });
  return { status: 200, json: { url }, headers: { 'Set-Cookie': flowCookie(deployment, flow) } };
}
