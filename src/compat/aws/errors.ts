// Refusals of the API as AWS's. Invariants: clients act by the type; a refusal of access names nothing but an
// approval to wait for; only what may be tried again is a 5xx or a ThrottlingException.
import type { Code, Detail, Refusal } from '../../errors';
import { statusOf } from '../../errors';
import { failed } from './answers';

export interface Refused {
  code: Code;
  message?: string;
  details?: Detail[];
  approval?: { id: string };
}

export const NOT_FOUND = "Secrets Manager can't find the specified secret.";
export const UNKNOWN_TOKEN = 'The security token included in the request is invalid.';

/** A refusal whose message is AWS's own. */
const isOfAws = (message: string) => message.startsWith('Secrets Manager ');

const BY_CODE: Partial<Record<Code, string>> = {
  NOT_FOUND: 'ResourceNotFoundException',
  SECRET_EXPIRED: 'ResourceNotFoundException',
  SECRET_REVOKED: 'ResourceNotFoundException',
  SECRET_NAME_TAKEN: 'ResourceExistsException',
  MALFORMED_JSON: 'SerializationException',
  VALIDATION_FAILED: 'InvalidParameterException',
  INVALID_CURSOR: 'InvalidNextTokenException',
  LIMIT_REACHED: 'LimitExceededException',
  TOKEN_EXPIRED: 'ExpiredTokenException',
  RATE_LIMITED: 'ThrottlingException',
  IDEMPOTENCY_IN_PROGRESS: 'ThrottlingException',
};

function typeOf(code: Code, status: number): string {
  const named = BY_CODE[code];
  if (named) return named;
  if (status === 401) return 'UnrecognizedClientException';
  if (status === 403) return 'AccessDeniedException';
  if (status === 413) return 'RequestEntityTooLargeException';
  return status >= 500 ? 'InternalServiceError' : 'InvalidRequestException';
}

/** A detail whose path is empty is a sentence of its own. */
const worded = ({ path, message }: Detail) => (path === '' ? message : `${path}: ${message}`);

function messageOf({ code, message = '', details = [], approval }: Refused, type: string): string {
  if (type === 'ResourceNotFoundException') return isOfAws(message) ? message : NOT_FOUND;
  if (type === 'UnrecognizedClientException') return UNKNOWN_TOKEN;
  if (type === 'ThrottlingException') return 'Rate exceeded';
  if (approval) return `${message} The approval is ${approval.id}.`;
  return code === 'VALIDATION_FAILED' && details.length ? details.map(worded).join('; ') : message;
}

/** The type and the message of a refusal. */
export function translated(status: number, refused: Refused): { type: string; message: string } {
  const type = typeOf(refused.code, status);
  return { type, message: messageOf(refused, type) };
}

/** The same for an answer within another. */
export const errorOf = (refusal: Refusal) => translated(statusOf(refusal), refusal as Refused);

/** Headers of a refusal that its translation keeps. */
const KEPT = /^(retry-after|ratelimit|ratelimit-policy|x-ratelimit-.*|svc-region.*)$/;

/** The translation of a response: only refusals of the API differ. */
export async function asAws(response: Response): Promise<Response> {
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json'))
    return response;
  const body = (await response.json()) as { error: Refused };
  const { type, message } = translated(response.status, body.error);
  const status = response.status >= 500 || response.status === 413 ? response.status : 400;
  const answer = failed(type, message, status);
  for (const [name, value] of response.headers) if (KEPT.test(name)) answer.headers.set(name, value);
  return answer;
}
