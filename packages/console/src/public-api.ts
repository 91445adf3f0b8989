// The few calls that no credential is needed for, or that carry the session's cookie: signing in, renewing, signing out. Everything else
// goes through the client (src/api.ts).
import type { components } from '@secrets-vault/client';

type Refusal = components['schemas']['Error']['error'];

/** A code of the service, or what only the console says. */
interface Said {
  code: Refusal['code'] | 'SESSION_ENDED';
  message: string;
}

/** What the service refused, in its own words. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    { code, message }: Said = {
      code: 'INTERNAL',
      message: 'The service sent an unexpected response. Try again.',
    },
  ) {
    super(message);
    this.code = code;
  }
  readonly code: string;
}

/** @returns the parsed answer, or null where there is none */
export async function callPublic(path: string, body: object, bearer?: string): Promise<unknown> {
  const response = await fetch(`/api/v1${path}`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json', ...(bearer && { Authorization: `Bearer ${bearer}` }) },
    body: JSON.stringify(body),
  });
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new RefusedError(response.status, answer.error);
  return answer;
}
