// `@secrets-vault/client/outbound`: the outbound handler of a sandbox, container or dynamic Worker. What runs
// in there calls APIs as if it had their keys. Invariants: a request goes to an upstream or nowhere; no
// credential of what runs inside is sent on, and none of the handler's own comes back.
import type { Credential } from './credentials/sources.js';
import { staysBelow } from './paths.js';
import { createVault } from './vault.js';

/** Options of {@link outbound}. */
export interface OutboundOptions {
  /** The deployment's origin. Any origin where `fetch` is a service binding. */
  url: string;
  /** The organisation's id, `org_…`. */
  org: string;
  /** A credential with `secrets:use`. Absent where `fetch` is a service binding, which brings its own. */
  credential?: Credential;
  /** The upstream of each host, or of each host and path: `{ 'api.stripe.com': 'stripe' }`. */
  hosts: Record<string, string>;
  /** Sends requests to the vault, such as `env.VAULT.fetch`. Default: the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Those that the vault reads itself, and those that may bring a credential. */
const NOT_SENT =
  /^(authorization|x-api-key|api-key|x-goog-api-key|cookie2?|approval-id|x-access-.*|dpop|proxy-.*|origin|referer|via|forwarded|x-forwarded-.*|cf-.*)$/;

/**
 * A handler for requests that leave a sandbox, a container or a dynamic Worker.
 *
 * @example
 * const send = outbound({ url, org, credential: env.AGENT_TOKEN, hosts: { 'api.stripe.com': 'stripe' } });
 * export class Outbound extends WorkerEntrypoint { fetch(request) { return send(request); } }
 */
export function outbound(options: OutboundOptions): (request: Request) => Promise<Response> {
  const { url, org, credential, hosts, fetch: send = (request) => fetch(request) } = options;
  const vault = credential === undefined ? null : createVault({ url, org, credential });
  const bases = Object.entries(hosts)
    .map(([base, upstream]) => ({ base: inOneForm(base), upstream }))
    .sort((one, other) => other.base.length - one.base.length);
  return async (request) => {
    // The platform keeps `..` in it, which `new URL` would resolve.
    const [, authority = '', path = '/'] = /^[a-z]+:\/\/([^/?#]*)([^#]*)/i.exec(request.url) ?? [];
    const host = authority.toLowerCase().replace(/:443$/, '');
    const whole = host + (path.startsWith('/') ? path : `/${path}`);
    const found = bases.find(({ base }) => whole.startsWith(base) && /^[/?]/.test(whole.slice(base.length)));
    if (!found) return refusal('This host is no upstream of this sandbox.');
    const rest = whole.slice(found.base.length).replace(/^\?/, '/?');
    if (!staysBelow(rest)) return refusal('This path may be read as another one, and is not sent.');
    const headers = new Headers(request.headers);
    for (const name of [...headers.keys()]) if (NOT_SENT.test(name)) headers.delete(name);
    if (vault) headers.set('Authorization', `Bearer ${await vault.token()}`);
    const way = `/api/v1/orgs/${org}/use/${found.upstream}`;
    const target = new Request(new URL(way + rest, url), request);
    const answer = await send(new Request(target, { headers, redirect: 'manual' }));
    return back(answer, way, `https://${host}${found.base.slice(host.length)}`);
  };
}

/** A host in lower case, and its path without a slash at the end. */
const inOneForm = (base: string): string =>
  base.replace(/\/$/, '').replace(/^[^/]*/, (host) => host.toLowerCase());

const refusal = (message: string): Response =>
  Response.json(
    { error: { code: 'USE_NOT_ALLOWED', message } },
    { status: 403, headers: { 'Svc-Error': 'USE_NOT_ALLOWED' } },
  );

/** The answer, with references to the vault's route as references to the host. */
function back(answer: Response, way: string, own: string): Response {
  const names = ['Location', 'Content-Location', 'Link'].filter((name) => answer.headers.has(name));
  if (names.length === 0 || answer.status === 101) return answer;
  const route = new RegExp(`https?://[^/\\s<>"]+${way}(?=[/?#>]|$)`, 'g');
  const changed = new Response(answer.body, answer);
  for (const name of names)
    changed.headers.set(name, (answer.headers.get(name) as string).replace(route, own));
  return changed;
}
