// Every operation of the vault, typed by its OpenAPI document. Invariants: a call reaches the operation that
// it names, and resolves with its response or throws; a response that cannot be parsed is not quoted in the
// error.
import createClient, {
  type Client,
  type ClientPathsWithMethod,
  type FetchResponse,
  type MaybeOptionalInit,
} from 'openapi-fetch';
import { bodyOf } from './body.js';
import { notDocumented } from './documented.js';
import { InvalidRequestError } from './errors.js';
import type { paths } from './openapi.js';

type Methods = 'get' | 'put' | 'post' | 'delete' | 'patch';
type Arguments<Init> = Record<never, never> extends Init ? [init?: Init] : [init: Init];
type Answered<Answer> = Answer extends { data: infer Data; error?: never }
  ? { data: Data; response: Response }
  : never;

/**
 * One method of {@link Api}: a path of the document, then `params`, `body`, `headers` and `signal`.
 *
 * @example
 * const { data, response } = await vault.api.POST('/orgs/{org_id}/webhooks', {
 *   params: { path: { org_id: vault.org } },
 *   body: { url: 'https://example.com/hook', events: ['SECRET_ROTATED'] },
 * });
 */
export type Call<Method extends Methods> = <
  Path extends ClientPathsWithMethod<Client<paths>, Method>,
  Init extends MaybeOptionalInit<paths[Path], Method>,
>(
  path: Path,
  ...init: Arguments<Init>
) => Promise<
  // biome-ignore lint/suspicious/noExplicitAny: the path's operation, which the generic parameter above has already checked.
  paths[Path][Method] extends Record<string | number, any>
    ? Answered<FetchResponse<paths[Path][Method], Init, `${string}/${string}`>>
    : never
>;

/**
 * Every operation of the vault. Paths, parameters, bodies and responses are typed. A call throws a
 * {@link VaultError} if the vault refuses it.
 *
 * @example
 * const { data } = await vault.api.GET('/orgs/{org_id}/members', { params: { path: { org_id: vault.org } } });
 * for (const member of data.data) console.log(member.email);
 */
export interface Api {
  /** Sends a GET request, to read. */
  GET: Call<'get'>;
  /** Sends a PUT request, to create or replace by name. */
  PUT: Call<'put'>;
  /** Sends a POST request, to create or to run an action. The client adds an `Idempotency-Key`. */
  POST: Call<'post'>;
  /** Sends a PATCH request, to change fields. */
  PATCH: Call<'patch'>;
  /** Sends a DELETE request, to remove. */
  DELETE: Call<'delete'>;
}

/**
 * The operations of the vault at `url`.
 * @param send sends a request; `mayStream` says that the caller reads the body as it arrives
 */
export function apiOf(
  url: string,
  send: (request: Request, limits: { mayStream: boolean }) => Promise<Response>,
): Api {
  const client = createClient<paths>({ baseUrl: `${url}/api/v1`, bodySerializer: bodyOf });
  const throwing =
    (method: Uppercase<Methods>) =>
    async (path: string, init?: object): Promise<unknown> => {
      checkSegments(init);
      try {
        const fetch = (request: Request) => send(request, { mayStream: parseAs(init) === 'stream' });
        const { data, response } = await (
          client.request as (...args: unknown[]) => Promise<{ data?: unknown; response: Response }>
        )(method.toLowerCase(), path, { ...init, fetch });
        if (data === null || (data !== undefined && typeof data !== 'object' && parseAs(init) === 'json'))
          throw notDocumented(response.status);
        return { data, response };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw notDocumented(0);
      }
    };
  const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const;
  return Object.fromEntries(methods.map((method) => [method, throwing(method)])) as unknown as Api;
}

/** What the caller asked the body to be parsed as. */
const parseAs = (init: { parseAs?: string } = {}): string => init.parseAs ?? 'json';

/**
 * Refuses a parameter that URLs resolve instead of sending: with `..` as an id, a call would reach another
 * operation.
 */
function checkSegments(init: { params?: { path?: object } } = {}): void {
  for (const [name, value] of Object.entries(init.params?.path ?? {}))
    if (/^\.{1,2}$/.test(String(value)))
      throw new InvalidRequestError(`${name} cannot be ${value}.`, {
        code: 'INVALID_PATH_PARAMETER',
        status: 0,
      });
}
