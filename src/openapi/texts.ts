// Texts about the whole service in the OpenAPI document: its introduction and its kinds of credentials.

import type { Components } from './document';
import { usualCallers } from './permissions';

export const introduction = `Stores the secrets of organisations in encrypted form and controls who can read them.

Send a credential with each request: \`Authorization: Bearer TOKEN\`. Bodies are JSON objects of at most 1 MiB. Unknown fields are refused.
Unless an operation says otherwise, it accepts ${usualCallers}.
Lists are paginated: pass \`next_cursor\` as \`cursor\` while \`has_more\` is true. A POST with an \`Idempotency-Key\` is safe to repeat.
Every request can have \`X-Access-Reason\`: the reason for it, which its audit log entry keeps (1 to 256 printable characters in UTF-8). It can have \`X-Access-Call\`: what a program needs the secret for, such as the whole command that it runs (1 to 8,000 printable ASCII characters). If a policy holds the request, the members who may decide it are shown that text, and the approval is only for requests with the same text.
Every response has the header \`Request-Id\`; \`RateLimit\` and \`RateLimit-Policy\` say how many requests the credential has left. A stored response to a repeated POST has \`Idempotency-Replayed: true\`.
All error responses have the same form. The [pages about errors](/docs/errors) explain each code and what to do about it.`;

export const securitySchemes: Components['securitySchemes'] = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token of any kind: API key (svc_live_…), session token (svcsess_…), agent credential (svcag_…), provider token (svcprov_…), break-glass token (svcbg_…), SCIM token (svcscim_…, on /scim/v2 alone) or the JWT of a browser session.',
  },
  dpop: {
    type: 'http',
    scheme: 'dpop',
    description:
      'A token that is bound to a device (device_id), with a proof in the DPoP header (RFC 9449): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and the claims htm, htu, iat, jti and ath. Each request needs a new proof. The token is also accepted with the scheme Bearer, but still needs the proof.',
  },
  bootstrap: {
    type: 'http',
    scheme: 'bearer',
    description: 'The bootstrap token of the deployment. It creates and recovers organisations.',
  },
};
