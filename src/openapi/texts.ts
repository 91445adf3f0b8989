// Texts about the whole service in the OpenAPI document: its introduction and its kinds of credentials.

import type { Components } from './document';
import { usualCallers } from './permissions';

export const introduction = `Stores the secrets of organisations in encrypted form and controls who can read them.

Send a credential with each request: \`Authorization: Bearer TOKEN\`. Bodies are JSON objects of at most 1 MiB. Unknown fields are refused.
Unless an operation says otherwise, it accepts ${usualCallers}.
Lists are paginated: pass \`next_cursor\` as \`cursor\` while \`has_more\` is true. A POST with an \`Idempotency-Key\` is safe to repeat.
Every response has the header \`Request-Id\`; \`RateLimit\` and \`RateLimit-Policy\` say how many requests the credential has left.
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
      'A token that is bound to a device (device_id), with a proof in the DPoP header (RFC 9449). The token is also accepted with the scheme Bearer, but still needs the proof.',
  },
  bootstrap: {
    type: 'http',
    scheme: 'bearer',
    description: 'The bootstrap token of the deployment. It creates and recovers organisations.',
  },
};
