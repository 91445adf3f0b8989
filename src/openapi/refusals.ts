// The error responses of operations, by status. Each names its codes: their pages (`/docs/errors/CODE`) have
// examples.
import { type Code, catalogue, errorBody, refuse } from '../errors';
import type { Route } from '../http/route';
import type { Answer, Components } from './document';
import type { Schema } from './examples';
import { headersOf } from './headers';
import { isKept } from './responses';

export const errorSchema: Schema = {
  type: 'object',
  description: 'The body of every error response.',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'docs'],
      properties: {
        code: {
          type: 'string',
          description: 'Identifies the error. Codes never change: use them in programs.',
          enum: Object.keys(catalogue),
        },
        message: { type: 'string', description: 'Describes the error for people. Its wording may change.' },
        docs: { type: 'string', format: 'uri', description: 'Address of the page about this code.' },
        details: {
          type: 'array',
          description: 'What is wrong with the request, by field.',
          items: {
            type: 'object',
            required: ['path', 'message'],
            properties: {
              path: { type: 'string', description: 'Path of the field, such as owner.email or scopes.0.' },
              message: { type: 'string', description: 'What is expected of the field.' },
            },
          },
        },
        approval: {
          type: 'object',
          description: 'With APPROVAL_REQUIRED: the approval that the request waits for.',
          required: ['id', 'status', 'operation', 'required', 'approvals', 'expires_at'],
          properties: {
            id: { type: 'string' },
            status: { type: 'string', enum: ['pending', 'approved'] },
            operation: { type: 'string' },
            required: { type: 'integer' },
            approvals: { type: 'array', items: { type: 'object', additionalProperties: true } },
            expires_at: { type: 'string', format: 'date-time' },
          },
        },
        retry_after: {
          type: 'integer',
          minimum: 0,
          description: 'How many seconds to wait before repeating the request.',
        },
      },
    },
  },
};

const proving: Code[] = ['DEVICE_PROOF_REQUIRED', 'DEVICE_PROOF_INVALID'];
const everywhere: Code[] = [
  'VALIDATION_FAILED',
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'TOKEN_REVOKED',
  ...proving,
  'CREDENTIAL_KIND_NOT_ALLOWED',
  'ADDRESS_NOT_ALLOWED',
  'NOT_FOUND',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
  'OVERLOADED',
  'MISCONFIGURED',
];
const sending: Code[] = ['MALFORMED_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
/** Refusals that say the same of every route. */
const shared = new Set([...everywhere, ...sending]);
const waiting: Code[] = ['APPROVAL_REQUIRED', 'APPROVAL_MISMATCH'];
const creating: Code[] = ['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_KEY_REUSED'];

/** Whether a credential that is bound to a device can send a request to the route. */
export const takesProof = ({ public: isPublic, need }: Route): boolean =>
  !isPublic && !need.kinds.includes('system');

/** Every refusal that a route can give, in the order of the catalogue. */
export function refusalsOf(route: Route): Code[] {
  const codes = new Set<Code>([...everywhere, ...(route.refusals ?? [])]);
  if (route.public) codes.delete('CREDENTIAL_KIND_NOT_ALLOWED');
  const { scopes, kinds, owner, fresh, held, reveals } = route.need;
  if (!takesProof(route)) for (const code of proving) codes.delete(code);
  if (scopes.length > 0 || owner) codes.add('INSUFFICIENT_SCOPE');
  if (fresh) codes.add('REAUTHENTICATION_REQUIRED');
  if (held) for (const code of waiting) codes.add(code);
  if (reveals && kinds.includes('agent')) codes.add('SECRET_ACCESS_DENIED');
  if (route.method !== 'get') for (const code of sending) codes.add(code);
  if (route.revises) codes.add('REVISION_CONFLICT');
  if (isKept(route)) for (const code of creating) codes.add(code);
  return (Object.keys(catalogue) as Code[]).filter((code) => codes.has(code));
}

/** The example body for a code. */
export function errorExample(code: Code, base: string) {
  if (code === 'VALIDATION_FAILED')
    return errorBody(refuse(code, { details: [{ path: 'name', message: 'is not a known field' }] }), base);
  const waits: Code[] = ['RATE_LIMITED', 'IDEMPOTENCY_IN_PROGRESS', 'UNAVAILABLE', 'OVERLOADED'];
  return errorBody(
    refuse(code, waits.includes(code) ? { retry_after: code === 'RATE_LIMITED' ? 12 : 1 } : {}),
    base,
  );
}

/**
 * The error responses of a route: one for each status with a refusal of its own, and `default` for the
 * statuses with only refusals that every route shares.
 */
export function refusedOf(route: Route, components: Components): Record<string, Answer> {
  const statusFor = (code: Code) => route.statuses?.[code] ?? catalogue[code].status;
  const codes = refusalsOf(route);
  const own = new Set(codes.filter((code) => !shared.has(code)).map(statusFor));
  const byResponse = Map.groupBy(codes, (code) =>
    own.has(statusFor(code)) ? String(statusFor(code)) : 'default',
  );
  return Object.fromEntries([...byResponse].map(([key, some]) => [key, responseOf(some, components)]));
}

function responseOf(codes: Code[], components: Components): Answer {
  const has = (...some: Code[]) => some.some((code) => codes.includes(code));
  // The introduction describes the headers of every response.
  const names: string[] = [];
  if (has('UNAUTHENTICATED')) names.push('WWW-Authenticate');
  if (has('RATE_LIMITED', 'UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS')) names.push('Retry-After');
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    ...(names.length > 0 && { headers: headersOf(names, components) }),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
