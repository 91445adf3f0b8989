// Requests for a sign-in (AuthnRequest by HTTP-Redirect, SAML 2.0 Bindings, section 3.4). They are not
// signed: what decides is the response.
import { SAML as Library } from '@node-saml/node-saml';
import type { SamlRequest } from './calls';

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';

export function signInUrl(asked: SamlRequest): Promise<string> {
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
