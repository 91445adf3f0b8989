// A Vault-compatible API: `/v1/*`, and `/compat/vault/:org_id/v1/*` for clients that keep a base path. It is
// thin: the path picks a call (kv.ts, tokens.ts, system.ts), the call says which operation of ours it
// becomes, and the pipeline of the API handles that as any other request. Here are only the translation of
// what was sent and of the answer. Invariant: no call reaches anything but through that pipeline.
import { forms } from '../../db/names';
import { actions } from '../../domains';
import { ApiError, type Refusal, refuse } from '../../errors';
import type { Incoming } from '../../http/context';
import { refusalOfFault } from '../../http/faults';
import { handle } from '../../http/handle';
import { handlePublic } from '../../http/public';
import { errorResponse } from '../../http/responses';
import type { Route } from '../../http/route';
import { errors } from './answers';
import { readSent, type Sent, sentence } from './body';
import { asVault, noHandler } from './errors';
import { subscribe } from './events';
import { folders } from './folders';
import { kv } from './kv';
import { cut, mountNamed, type VaultPath } from './path';
import { becomes, type Taken, type VaultCall } from './route';
import { mountOf, open, system } from './system';
import { forbidden, loginOf, token } from './tokens';

/** The call that a path and a method stand for, with what the path names. */
interface Found {
  call: VaultCall;
  /** As a log line names it. */
  route: string;
  params: Record<string, string>;
}

/** Prefixes that no mount can have. An environment of this slug is reached by its id. */
const SYSTEM = new Set(['sys', 'auth', 'identity', 'cubbyhole']);

/** Calls about tokens that are not the caller's, or that would outlive it. */
const OTHERS_TOKENS =
  /^(roles|accessors|create-orphan|create\/.+|(lookup|renew|revoke)-accessor|revoke-orphan)\b/;

/** A login with a password, which nobody has here. */
const isPasswordLogin = ([first, , login, user]: string[]): boolean =>
  first === 'auth' && login === 'login' && user !== undefined;

type Calls = Record<string, VaultCall>;

/** A call of a table; 405 where the path takes other methods; null where there is no such path. */
function pick(calls: Calls, method: string, path: string): VaultCall | 405 | null {
  const call = Object.hasOwn(calls, `${method} ${path}`) ? calls[`${method} ${path}`] : undefined;
  return call ?? (Object.keys(calls).some((key) => key.endsWith(` ${path}`)) ? 405 : null);
}

/** A path below a mount that is none of KV version 2: 404, to those who may use the mount. */
const elsewhere = becomes({
  method: 'get',
  action: 'environment.mounts',
  named: ({ params }) => ({ environment: params.mount as string }),
  prepare: () => {
    throw new ApiError(
      refuse('NOT_FOUND', { details: [{ path: 'environment', message: 'has no such path' }] }),
    );
  },
});

const LISTS = new Set(['true', '1']);

function findInMount({ segments, query, isFolder }: VaultPath, verb: string): Found | 405 {
  const [mount = '', kind = '', ...rest] = segments;
  const path = rest.join('/');
  const { environment, isFolders } = mountNamed(mount);
  const params = { mount: environment, path };
  const isList =
    kind === 'metadata' && (verb === 'LIST' || (verb === 'GET' && LISTS.has(query.get('list') ?? '')));
  const method = isList ? 'LIST' : verb;
  const calls: Calls = isFolders ? folders : kv;
  const call = pick(calls, method, kind) ?? (isFolders && pick(kv, method, kind) !== null ? 405 : null);
  // The root is a folder, too.
  const isWhole = kind === 'config' || isList || isFolders || path !== '';
  if (call === 405 || (call && (!isWhole || query.get('scan') === 'true'))) return 405;
  if (call && isFolder && method !== 'GET' && method !== 'LIST')
    throw sentence("cannot write to a path ending in '/'");
  return { call: call ?? elsewhere, route: `/v1/{mount}/${call ? kind : '*'}`, params };
}

function findInSystem([first, ...rest]: string[], verb: string, sent: Sent): Found | 405 | null {
  const path = rest.join('/');
  const route = `/v1/${first}/${path}`;
  if (first === 'sys') {
    const preflight = /^internal\/ui\/mounts\/(([^/]+).*)$/.exec(path);
    if (preflight && verb === 'GET')
      return {
        call: mountOf,
        route: '/v1/sys/internal/ui/mounts',
        params: { mount: mountNamed(preflight[2] as string).environment, shown: preflight[2] as string },
      };
    const events = /^events\/subscribe\/(.+)$/.exec(path);
    if (events && verb === 'GET')
      return {
        call: subscribe,
        route: '/v1/sys/events/subscribe/{type}',
        params: { pattern: events[1] as string },
      };
    const call = pick(system, verb, path);
    return call === null || call === 405 ? call : { call, route, params: {} };
  }
  if (first !== 'auth') return null;
  if (rest[0] === 'token') {
    const what = rest.slice(1).join('/');
    if (OTHERS_TOKENS.test(what))
      return { call: forbidden(verb === 'GET' ? 'get' : 'post'), route: '/v1/auth/token/*', params: {} };
    const call = pick(token, verb, what);
    return call === null || call === 405 ? call : { call, route, params: {} };
  }
  if (rest.at(-1) !== 'login' || rest.length < 2) return null;
  const call = loginOf(sent);
  if (verb !== 'POST') return 405;
  return call && { call, route: '/v1/auth/{mount}/login', params: {} };
}

/** PUT and POST are the same everywhere, as in Vault. */
const verbOf = (method: string) => ({ HEAD: 'GET', PUT: 'POST' })[method] ?? method;

/** The most characters of a namespace: ours are ids of organisations. */
const MOST_NAMESPACE = 100;

/** The organisation that a request names: in its path or in its namespace; '' if they differ. */
function orgOf({ org }: VaultPath, { headers }: Request): string | null {
  const named = headers.get('x-vault-namespace') ?? '';
  // Nobody is known yet, and trimming it takes quadratic time.
  // safety: vault-namespace-bounded
  if (named.length > MOST_NAMESPACE) return '';
  const namespace = named.replace(/^\/+|\/+$/g, '') || null;
  return org !== null && namespace !== null && org !== namespace ? '' : (org ?? namespace);
}

/** 400 for what would be misunderstood if it were ignored; 415 for a patch that is none. */
function misread(request: Request, verb: string): Refusal | null {
  const type = request.headers.get('content-type')?.trim() ?? '';
  // safety: wrapping-refused
  if (request.headers.has('x-vault-wrap-ttl')) return sentence('response wrapping is not supported').refusal;
  return verb === 'PATCH' && !/^application\/merge-patch\+json\s*(;|$)/i.test(type)
    ? refuse('UNSUPPORTED_MEDIA_TYPE')
    : null;
}

const bearerOf = ({ headers }: Request): string | null => {
  const token = headers.get('x-vault-token');
  return token ? `Bearer ${token}` : headers.get('authorization');
};

/** What an operation takes of a request, or what is wrong with it. */
function taken(
  call: VaultCall,
  sent: Sent,
  query: URLSearchParams,
  org: string | null,
): { taken: Taken; finding: Refusal | null } {
  try {
    return { taken: call.takes?.(sent, query, org) ?? {}, finding: null };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { taken: {}, finding: error.refusal };
  }
}

/**
 * The request as our own API takes it. Conditions, keys and approvals are not taken here. Its path says which
 * call it is, so that an approval of one is not one of another.
 */
function ours(
  incoming: Incoming,
  { segments }: VaultPath,
  { call, params }: Found,
  { query, body, bearer, org }: Taken,
  named: string | null,
  finding: Refusal | null,
): Incoming {
  const method = call.route.method.toUpperCase();
  const url = new URL(`${incoming.base}/v1/${segments.map(encodeURIComponent).join('/')}`);
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined) url.searchParams.set(name, value);
  const upgrade = call.route.streams ? incoming.request.headers.get('upgrade') : null;
  const json = method !== 'GET' && call.route.body && JSON.stringify(body ?? {});
  const org_id = org !== undefined && (named === null || named === org) ? org : (named ?? undefined);
  return {
    ...incoming,
    request: new Request(url, {
      method,
      ...(json && { body: json, headers: { 'Content-Type': 'application/json' } }),
      ...(upgrade !== null && { headers: { Upgrade: upgrade } }),
    }),
    headers: {
      ...incoming.headers,
      authorization: bearer === undefined ? bearerOf(incoming.request) : `Bearer ${bearer}`,
      dpop: null,
      idempotency_key: null,
      if_match: null,
      if_none_match: null,
      approval_id: null,
      finding: incoming.headers.finding ?? finding,
    },
    approvalIsFound: true,
    params: { ...params, ...(org_id !== undefined && { org_id }) },
  };
}

/** Answers a request of a client of Vault. */
export async function answerVault(incoming: Incoming): Promise<Response> {
  const { request, base, trace, facts } = incoming;
  const path = cut(request.url);
  if (path === 'invalid') return errors(400, 'the path has a segment that is not allowed');
  if (path === null) return errors(404, noHandler(new URL(request.url).pathname.slice(1)));
  const { segments } = path;
  const shown = segments.join('/');
  const at = { path: shown, isRead: verbOf(request.method) === 'GET', purpose: 'other' as const };
  try {
    return await answer(incoming, path, at);
  } catch (error) {
    return asVault(errorResponse(refusalOfFault(error, facts.id), base, trace), at);
  }
}

async function answer(
  incoming: Incoming,
  path: VaultPath,
  at: Parameters<typeof asVault>[1],
): Promise<Response> {
  const { request, trace, facts } = incoming;
  const { segments, query } = path;
  const verb = verbOf(request.method);
  const [first = '', second = ''] = segments;
  if (first === 'sys' && segments.length === 2 && Object.hasOwn(open, second)) {
    trace.route = `/v1/sys/${second}`;
    return verb === 'GET' ? (open[second] as () => Response)() : errors(405, 'unsupported operation');
  }
  if (isPasswordLogin(segments)) {
    trace.route = '/v1/auth/{mount}/login/{user}';
    return errors(400, 'logins with a password are not supported');
  }
  const read = verb === 'GET' || verb === 'LIST' ? null : await readSent(request).catch(asFinding);
  const sent: Sent = read && 'fields' in read ? read : { fields: {}, texts: new Map() };
  const found = SYSTEM.has(first) ? findInSystem(segments, verb, sent) : findInMount(path, verb);
  if (found === 405) return errors(405, 'unsupported operation');
  if (found === null) return errors(404, noHandler(at.path));
  trace.route = found.route;
  const { call, params } = found;
  const wrong = misread(request, verb) ?? (read && 'code' in read ? read : null);
  const named = orgOf(path, request);
  const { taken: take, finding } = wrong ? { taken: {}, finding: wrong } : taken(call, sent, query, named);
  // A login without what it needs presents no credential, so there is nobody to ask for.
  if (finding && call.purpose === 'login') return asVault(errorResponse(finding, incoming.base, trace), at);
  const route = { ...call.route, need: actions[call.route.action] } as Route;
  const asked = ours(incoming, path, found, take, named, finding);
  const response = await (route.public ? handlePublic : handle)(route, asked);
  const isMount = params.mount === undefined || forms.environment(params.mount);
  if (call.purpose !== 'login' && response.status === 404 && trace.code === 'NOT_FOUND') {
    const { org_id } = asked.params;
    // safety: vault-other-org
    if (org_id !== undefined && trace.org !== null && org_id !== trace.org)
      return errors(403, 'permission denied');
    if (!isMount && call !== mountOf) return errors(404, noHandler(at.path));
  }
  if (call.shows && response.status < 300) return call.shows(await response.json(), take, facts);
  return asVault(response, { ...at, path: preflightPath(call, at.path), purpose: call.purpose ?? 'other' });
}

const asFinding = (error: unknown): Refusal => {
  if (error instanceof ApiError) return error.refusal;
  throw error;
};

/** The path that a client asked about. */
const preflightPath = (call: VaultCall, path: string): string =>
  call === mountOf ? path.replace(/^sys\/internal\/ui\/mounts\//, '') : path;
