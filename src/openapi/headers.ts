// Headers of responses.
import type { Components, Header, Ref } from './document';

const headers: Record<string, Header> = {
  ETag: {
    description: 'Identifies this state of the resource. Send it in If-Match or If-None-Match.',
    schema: { type: 'string' },
    example: '"v1"',
  },
  'Retry-After': {
    description: 'How many seconds to wait before repeating the request.',
    schema: { type: 'integer', minimum: 0 },
    example: 12,
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme. DPoP if the proof of a device is missing or invalid.',
    schema: { type: 'string', enum: ['Bearer', 'DPoP algs="ES256 EdDSA"'] },
  },
};

/** References to headers, which become components. */
export function headersOf(names: string[], components: Components): Record<string, Ref> {
  for (const name of names) components.headers[name] = headers[name] as Header;
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
