// SCIM 2.0 for identity providers: /scim/v2/:org_id. It is thin: the path and method pick a call, the call
// says which operation of the domain scim it becomes, and the pipeline of the API handles that as any other
// request. Here are only what was sent and what is answered. Invariant: no call reaches anything but through
// that pipeline.

import type { Action } from '../../auth/actions';
import { fromUtf8 } from '../../crypto/bytes';
import { newId } from '../../db/ids';
import { actions } from '../../domains';
import type { GroupFacts } from '../../domains/scim/gate/groups';
import type { UserFacts } from '../../domains/scim/gate/users';
import { badRequest } from '../../domains/scim/problems';
import { readFilter, readGroup, readGroupPatch, readUser, readUserPatch } from '../../domains/scim/reading';
import { type Refusal, refuse } from '../../errors';
import type { Incoming } from '../../http/context';
import { refusalOfFault } from '../../http/faults';
import { handle } from '../../http/handle';
import { readBytes } from '../../http/input/body';
import { errorResponse } from '../../http/responses';
import type { Method, Route } from '../../http/route';
import { isObject } from '../json-text';
import { answered, asScim, failed, groupOut, listOut, type Shape, userOut } from './answers';
import { resourceTypes, schemas, serviceProviderConfig } from './discovery';

const isRefusal = (value: unknown): value is Refusal => isObject(value) && 'code' in value;

/** A request: where it goes, and what it asks for. */
interface Sent {
  collection: 'Users' | 'Groups';
  id: string | null;
  method: Method;
  query: URLSearchParams;
  body: unknown;
}

/** The operation that a request becomes, and how its data are shown. */
interface Call {
  action: Action;
  named?: { member?: string; team?: string };
  input: unknown | Refusal;
  shows(data: never, shape: Shape): Response;
}

const MOST_COUNT = 200;

/** A page: `startIndex` counts from 1, and a value below counts as 1. */
function pageOf(query: URLSearchParams): { start: number; count: number } | Refusal {
  const read = (name: string, usual: number) => {
    const text = query.get(name);
    if (text === null || text === '') return usual;
    return /^-?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  };
  const start = read('startIndex', 1);
  const count = read('count', 100);
  return Number.isNaN(start) || Number.isNaN(count)
    ? badRequest('invalidValue', 'startIndex and count must be whole numbers.')
    : { start: Math.max(1, start), count: Math.min(MOST_COUNT, Math.max(0, count)) };
}

function listInput(query: URLSearchParams, more: object = {}): object | Refusal {
  const page = pageOf(query);
  if (isRefusal(page)) return page;
  const filter = query.get('filter');
  const terms = filter === null || filter === '' ? [] : readFilter(filter);
  return isRefusal(terms) ? terms : { terms, ...page, ...more };
}

const names = (text: string | null): string[] =>
  (text ?? '')
    .split(',')
    .map((one) =>
      one
        .trim()
        .toLowerCase()
        .replace(/^urn:.*:/, ''),
    )
    .filter(Boolean)
    .slice(0, 50);

/** Whether a request wants the members of groups. */
const wantsMembers = (query: URLSearchParams): boolean => {
  const attributes = names(query.get('attributes'));
  return attributes.length
    ? attributes.some((one) => one.startsWith('members'))
    : !names(query.get('excludedAttributes')).includes('members');
};

const wrapped = <T extends object>(change: T | Refusal, more: object = {}): object | Refusal =>
  isRefusal(change) ? change : { change, ...more };

const created = (data: { id: string }, out: object, { base }: Shape, collection: string) =>
  answered(out, 201, { Location: `${base}/${collection}/${data.id}` });

function userCall({ id, method, query, body }: Sent): Call | null {
  const one = (data: UserFacts, shape: Shape) => answered(userOut(data, shape));
  const end_credentials = query.get('svc_end_credentials') === 'true';
  if (id === null) {
    if (method === 'get')
      return {
        action: 'scim.user_list',
        input: listInput(query),
        shows: (
          { total, start, resources }: { total: number; start: number; resources: UserFacts[] },
          shape,
        ) =>
          answered(
            listOut(
              total,
              start,
              resources.map((each) => userOut(each, shape)),
            ),
          ),
      };
    if (method !== 'post') return null;
    return {
      action: 'scim.user_create',
      input: wrapped(readUser(body), { id: newId('mem') }),
      shows: (data: UserFacts, shape) => created(data, userOut(data, shape), shape, 'Users'),
    };
  }
  const named = { member: id };
  if (method === 'get') return { action: 'scim.user_read', named, input: {}, shows: one };
  if (method === 'delete')
    return {
      action: 'scim.user_delete',
      named,
      input: { end_credentials },
      shows: () => new Response(null, { status: 204 }),
    };
  if (method !== 'put' && method !== 'patch') return null;
  const change = method === 'put' ? readUser(body) : readUserPatch(body);
  return { action: 'scim.user_update', named, input: wrapped(change, { end_credentials }), shows: one };
}

function groupCall({ id, method, query, body }: Sent): Call | null {
  const one = (data: GroupFacts, shape: Shape) => answered(groupOut(data, shape));
  const members = wantsMembers(query);
  if (id === null) {
    if (method === 'get')
      return {
        action: 'scim.group_list',
        input: listInput(query, { members }),
        shows: (
          { total, start, resources }: { total: number; start: number; resources: GroupFacts[] },
          shape,
        ) =>
          answered(
            listOut(
              total,
              start,
              resources.map((each) => groupOut(each, shape)),
            ),
          ),
      };
    if (method !== 'post') return null;
    return {
      action: 'scim.group_create',
      input: wrapped(readGroup(body), { id: newId('team') }),
      shows: (data: GroupFacts, shape) => created(data, groupOut(data, shape), shape, 'Groups'),
    };
  }
  const named = { team: id };
  if (method === 'get') return { action: 'scim.group_read', named, input: { members }, shows: one };
  if (method === 'delete')
    return {
      action: 'scim.group_delete',
      named,
      input: {},
      shows: () => new Response(null, { status: 204 }),
    };
  if (method !== 'put' && method !== 'patch') return null;
  const change = method === 'put' ? readGroup(body) : readGroupPatch(body);
  return { action: 'scim.group_update', named, input: wrapped(change), shows: one };
}

const DISCOVERY: Record<string, (base: string) => object | object[]> = {
  ServiceProviderConfig: serviceProviderConfig,
  ResourceTypes: resourceTypes,
  Schemas: schemas,
};

/** What a discovery endpoint shows: all, or the one of an id. */
function discovered(name: string, id: string | null, base: string): Response {
  const found = DISCOVERY[name]?.(base) as object | { id: string }[];
  if (!Array.isArray(found)) return id === null ? answered(found) : failed(404, 'There is no such resource.');
  if (id === null) return answered(listOut(found.length, 1, found));
  const one = found.find((each) => each.id === id);
  return one ? answered(one) : failed(404, 'There is no such resource.');
}

const PATH = /^\/scim\/v2\/([^/]+)\/([A-Za-z]+)(?:\/([^/]+))?\/?$/;
const METHODS = {
  GET: 'get',
  HEAD: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
} as const;
const MEDIA = /^application\/(scim\+)?json\s*(;|$)/i;

/** The body of a request, or what is wrong with it. */
function jsonOf(request: Request, bytes: Uint8Array | null): { body: unknown; finding: Refusal | null } {
  if (bytes === null) return { body: undefined, finding: refuse('PAYLOAD_TOO_LARGE') };
  if (!['POST', 'PUT', 'PATCH'].includes(request.method)) return { body: undefined, finding: null };
  if (!MEDIA.test(request.headers.get('content-type') ?? ''))
    return { body: undefined, finding: refuse('UNSUPPORTED_MEDIA_TYPE') };
  try {
    return { body: JSON.parse(fromUtf8(bytes) ?? ''), finding: null };
  } catch {
    return { body: undefined, finding: refuse('MALFORMED_JSON') };
  }
}

/** Answers a request of an identity provider. */
export async function answerScim(incoming: Incoming): Promise<Response> {
  const { base, facts, trace } = incoming;
  return answer(incoming).catch((error) =>
    asScim(errorResponse(refusalOfFault(error, facts.id), base, trace)),
  );
}

async function answer(incoming: Incoming): Promise<Response> {
  const { request, trace } = incoming;
  const url = new URL(request.url);
  const bytes = await readBytes(request);
  const [, org = '', name = '', id = null] = PATH.exec(url.pathname) ?? [];
  const isDiscovery = Object.hasOwn(DISCOVERY, name);
  const isKnown = isDiscovery || name === 'Users' || name === 'Groups';
  trace.route = `/scim/v2/{org_id}${name && isKnown ? `/${name}` : ''}${id === null ? '' : '/{id}'}`;
  if (!isKnown) {
    trace.code = 'NOT_FOUND';
    return failed(
      404,
      'This path is not part of SCIM 2.0 here: Users, Groups, Schemas, ResourceTypes, ServiceProviderConfig.',
    );
  }
  const method = Object.hasOwn(METHODS, request.method)
    ? METHODS[request.method as keyof typeof METHODS]
    : null;
  const { body, finding } = jsonOf(request, bytes);
  const shape: Shape = {
    base: `${incoming.base}/scim/v2/${org}`,
    attributes: url.searchParams.has('attributes') ? names(url.searchParams.get('attributes')) : null,
    excluded: names(url.searchParams.get('excludedAttributes')),
  };
  const sent = method && {
    collection: name as Sent['collection'],
    id,
    method,
    query: url.searchParams,
    body,
  };
  const call: Call | null = isDiscovery
    ? method === 'get'
      ? { action: 'scim.describe', input: {}, shows: () => discovered(name, id, shape.base) }
      : null
    : sent && (name === 'Users' ? userCall(sent) : groupCall(sent));
  if (!call) {
    trace.code = 'METHOD_NOT_ALLOWED';
    return failed(405, 'This method is not allowed here.');
  }
  return asScim(await handle(routeOf(call, method ?? 'get', shape), ours(incoming, org, call, finding)));
}

/** The route of a call, as the pipeline takes it. */
const routeOf = ({ action, named, input, shows }: Call, method: Method, shape: Shape): Route =>
  ({
    method,
    path: '',
    tag: 'SCIM',
    summary: '',
    answers: {},
    action,
    need: actions[action],
    ...(named && { named: () => named }),
    prepare: () => ({ input }),
    render: (data: never) => shows(data, shape),
  }) as unknown as Route;

/** The request as the pipeline takes it: what the body says is in the input. */
function ours(
  incoming: Incoming,
  org_id: string,
  { action, input }: Call,
  finding: Refusal | null,
): Incoming {
  const { request } = incoming;
  return {
    ...incoming,
    request: new Request(`${incoming.base}/scim/v2/${org_id}/${action}`, {
      method: request.method === 'GET' || request.method === 'HEAD' ? 'GET' : request.method,
    }),
    headers: {
      ...incoming.headers,
      idempotency_key: null,
      approval_id: null,
      if_match: null,
      if_none_match: null,
      finding: finding ?? (isRefusal(input) ? input : null),
    },
    params: { org_id },
  };
}
