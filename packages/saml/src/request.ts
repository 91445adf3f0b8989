// Requests for a sign-in (AuthnRequest by HTTP-Redirect, SAML 2.0 Bindings, section 3.4). They are not
// signed: what decides is the response.
import { SAML as Library } from '@node-saml/node-saml';
import type { Provider } from './metadata';

export interface Request {
  provider: Provider;
  /** The id of the request: an XML name, such as `_` and hex digits. */
  id: string;
  /** Our entity id. */
  issuer: string;
  /** Where the response goes (HTTP-POST). */
  recipient: string;
  relayState: string;
  /** Whether the person has to authenticate anew. */
  force: boolean;
  /** Whether the NameID has to be persistent. */
  persistent: boolean;
}

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';

export function signInUrl(asked: Request): Promise<string> {
  const { provider, id, issuer, recipient, relayState, force, persistent } = asked;
  const library = new Library({
    idpCert: provider.certificates,
    entryPoint: provider.signInUrl,
    issuer,
    callbackUrl: recipient,
    generateUniqueId: () => id,
    identifierFormat: persistent ? PERSISTENT : null,
    disableRequestedAuthnContext: true,
    forceAuthn: force,
  });
  return library.getAuthorizeUrlAsync(relayState, undefined, {});
}
