// Refusals of the API as Vault's. Invariants: a token that is missing or has ended is 403, as in Vault; no
// answer is 401, 412 or 415 for a missing type, which clients retry or misread; a 403 names nothing but an
// approval to wait for.
import type { Code, Detail } from '../../errors';
import { bare, errors } from './answers';

/** What a path is for: refusals of a login and of a client's look at a mount are worded in their own way. */
export type Purpose = 'login' | 'preflight' | 'other';

interface Refused {
  code: Code;
  message: string;
  details?: Detail[];
  approval?: { id: string };
}

export const CAS = 'check-and-set parameter did not match the current version';
export const DENIED = 'permission denied';
export const noHandler = (path: string) => `no handler for route "${path}". route entry not found.`;
export const preflight = (path: string) =>
  `preflight capability check returned 403, please ensure client's policies grant access to path "${path}/"`;

/** Refusals of a read that look like nothing there. */
const GONE: ReadonlySet<Code> = new Set(['SECRET_EXPIRED', 'SECRET_REVOKED']);

function texts({ code, message, details = [], approval }: Refused): string[] {
  if (code === 'VERSION_CONFLICT') return [CAS];
  if (approval) return [`${message} The approval is ${approval.id}.`];
  return details.length ? details.map(({ path, message }) => worded(path, message)) : [message];
}

/** A detail whose path is empty is a sentence of its own. */
const worded = (path: string, message: string) => (path === '' ? message : `${path}: ${message}`);

/** The status and texts of a refusal. */
function translated(
  status: number,
  refused: Refused,
  at: { path: string; isRead: boolean; purpose: Purpose },
) {
  const { code, details } = refused;
  if (at.purpose === 'login' && [401, 403, 404].includes(status))
    return { status: 400, texts: ['invalid role or secret ID'] };
  if (status === 401) return { status: 403, texts: [DENIED] };
  if (at.purpose === 'preflight' && (status === 403 || status === 404))
    return { status: 403, texts: [preflight(at.path)] };
  if (code === 'APPROVAL_REQUIRED') return { status: 403, texts: texts(refused) };
  if (status === 403) return { status, texts: [DENIED] };
  if (status === 404)
    return { status, texts: details?.[0]?.path === 'environment' ? [noHandler(at.path)] : [] };
  if (GONE.has(code) && at.isRead) return { status: 404, texts: [] };
  // 409, 410, 412 and 422 included: clients retry 412, and know no others.
  if (status < 500 && status !== 413 && status !== 415 && status !== 429)
    return { status: 400, texts: texts(refused) };
  return { status, texts: [refused.message] };
}

/** Headers of a refusal that its translation keeps. */
const KEPT = /^(retry-after|ratelimit|ratelimit-policy|x-ratelimit-.*)$/;

/** The translation of a response: only refusals of the API differ. */
export async function asVault(
  response: Response,
  at: { path: string; isRead: boolean; purpose: Purpose },
): Promise<Response> {
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json'))
    return response;
  const body = (await response.clone().json()) as { error?: Refused };
  if (!body.error) return response;
  const { status, texts: shown } = translated(response.status, body.error, at);
  const answer = shown.length ? errors(status, ...shown) : bare({ errors: [] }, status);
  for (const [name, value] of response.headers) if (KEPT.test(name)) answer.headers.set(name, value);
  return answer;
}
