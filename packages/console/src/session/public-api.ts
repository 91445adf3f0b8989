// The few requests without a credential or with the session's cookie: sign-in, renewal, sign-out. Everything
// else goes through the client (src/requests/api.ts).
import type { components } from '@secrets-vault/client';

type Refusal = components['schemas']['Error']['error'];

/** An error code of the service or of the console. */
interface Said {
  code: Refusal['code'] | 'SESSION_ENDED';
  message: string;
}

/** A refusal, with the message of the service. */
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

/** A request did not reach the service, or its response was cut off. */
export class UnreachableError extends Error {}

/**
 * `fetch` for requests that the client does not send. Only a failure of the network is an `UnreachableError`.
 */
export const reach: typeof fetch = (input, init) =>
  fetch(input, init).catch((error: Error) => {
    throw error.name === 'AbortError' ? error : new UnreachableError();
  });

/** @returns the parsed response, or null if there is none */
export async function callPublic(path: string, body: object, bearer?: string): Promise<unknown> {
  const response = await reach(`/api/v1${path}`, {
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
