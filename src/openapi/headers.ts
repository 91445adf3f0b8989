// Headers of responses.
import { exampleId } from '../db/ids';
import type { Components, Header, Ref } from './document';

const headers: Record<string, Header> = {
  'Request-Id': {
    description: 'Id of this request. Include it when you report a problem.',
    schema: { type: 'string' },
    example: exampleId('request'),
  },
  'RateLimit-Policy': {
    description: 'The rate limit of the credential: q requests in w seconds.',
    schema: { type: 'string' },
    example: '"credential";q=600;w=60',
  },
  RateLimit: {
    description:
      'The remaining rate limit: r requests in the next t seconds. X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset contain the same information.',
    schema: { type: 'string' },
    example: '"credential";r=598;t=41',
  },
  ETag: {
    description: 'Identifies this state of the resource. Send it in If-Match or If-None-Match.',
    schema: { type: 'string' },
    example: '"v1"',
  },
  'Idempotency-Replayed': {
    description: 'true if this is the stored response to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
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
