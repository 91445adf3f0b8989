// Requests without a credential, or with one that is not stored yet. Invariant: redirects are not followed,
// so a code or a token is sent only to the vault.
import { CliError, exitOfStatus } from '../errors.ts';
import type { Host } from '../host.ts';
import { clean } from '../text.ts';
import { VERSION } from '../version.ts';
import { isAnswerOf } from './answers.ts';
import { jsonIn } from './bounded.ts';

interface Init {
  body?: object;
  token?: string;
  idempotencyKey?: string;
}

/** Sends a request to the API. @param path below /api/v1 */
export async function call<Result>(host: Host, url: string, path: string, init: Init = {}): Promise<Result> {
  const headers: Record<string, string> = { 'User-Agent': `svc/${VERSION}` };
  if (init.body) headers['Content-Type'] = 'application/json';
  if (init.token) headers.Authorization = `Bearer ${init.token}`;
  if (init.idempotencyKey) headers['Idempotency-Key'] = init.idempotencyKey;
  const method = init.body ? 'POST' : 'GET';
  let response: Response;
  try {
    response = await (host.fetch ?? fetch)(`${url}/api/v1${path}`, {
      method,
      headers,
      body: init.body && JSON.stringify(init.body),
      redirect: 'error',
      signal: AbortSignal.timeout(30_000),
    });
  } catch {
    throw new CliError(`${url} cannot be reached.`, {
      exit: 'unreachable',
      code: 'UNREACHABLE',
      next: 'Check the address and the network: svc doctor',
    });
  }
  const answer = await jsonIn(response);
  if (response.ok && isAnswerOf(answer, `${method} ${path.split('?')[0]}`, response.status))
    return answer as Result;
  const { code, message, docs, retry_after } = refusalIn(answer);
  throw new CliError(
    message === undefined
      ? `${url} responded with status ${response.status}. It may not be a vault.`
      : clean(message),
    {
      exit: exitOfStatus(response.status),
      code: code ?? 'UNEXPECTED_RESPONSE',
      status: response.status,
      docs,
      retryAfter: retry_after,
      requestId: response.headers.get('Request-Id') ?? undefined,
    },
  );
}

/** The fields of a refusal that have their types: what is no vault may answer anything. */
function refusalIn(answer: unknown) {
  const { code, message, docs, retry_after } =
    (answer as { error?: Record<string, unknown> | null } | null)?.error ?? {};
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const seconds = typeof retry_after === 'number' ? retry_after : undefined;
  return { code: text(code), message: text(message), docs: text(docs), retry_after: seconds };
}
