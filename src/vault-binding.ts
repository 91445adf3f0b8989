// The entrypoints `Vault` and `Upstream`: what other Workers of the account call through a service binding.
// They are thin: props say who calls, and the pipeline of the API does the rest. Invariants: a caller reaches
// its own organisation alone; nothing given is called; a method of these classes is reachable by RPC, so
// helpers are functions.
import { WorkerEntrypoint } from 'cloudflare:workers';
import { z } from '@hono/zod-openapi';
import { app } from './app';
import { isBindingName } from './auth/authentication/bindings';
import { forms, isSecretName } from './db/names';
import { CREDENTIAL_HEADERS } from './domains/upstreams/call/request-headers';
import type { DeployedEnv } from './env';
import { invalid, type Refusal, refuse } from './errors';
import type { Bound } from './gate/request/call';
import { bind } from './http/caller/bound';
import { errorResponse } from './http/responses';
import { API } from './http/route';
import { withMetrics } from './metrics/collect';
import { withStoredSecrets } from './stored-secrets';

/** The most bytes of props, as JSON. */
const MOST_PROPS = 4096;
/** What requests by RPC are sent to. Nothing reads it but the pipeline. */
const ORIGIN = 'http://vault';
/** Headers in which this service, or one that it is compatible with, reads a credential. */
const CREDENTIALS = [
  ...[...CREDENTIAL_HEADERS, 'dpop', 'cookie', 'x-vault-token', 'x-amz-security-token'],
  ...['proxy-authorization', 'cf-access-jwt-assertion', 'cf-access-client-id', 'cf-access-client-secret'],
];

const PLAIN: unknown[] = [Object.prototype, null];
/** Whether a value is an object of plain data; never a stub, which is a proxy of another prototype. */
const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && PLAIN.includes(Object.getPrototypeOf(value));

const isRefusal = (found: object): found is Refusal => 'code' in found;

type Fields = Record<string, { is(value: string): boolean; must: string }>;
const FIELDS: Fields = {
  org: { is: forms.org, must: 'must be the id of an organisation' },
  trust: { is: forms.trust, must: 'must be the id of a trust' },
  name: { is: isBindingName, must: 'must be 1 to 64 of the characters A-Z a-z 0-9 _ . -' },
};

const UPSTREAM: Fields = { ...FIELDS, upstream: { is: forms.use, must: 'must be the name of an upstream' } };

const listed = (names: readonly string[]) => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/** The fields of the props of a binding, each well formed, or what is wrong with them. */
function fieldsIn<Name extends string>(props: unknown, fields: Fields): Record<Name, string> | Refusal {
  if (!isPlain(props)) return invalid('props', `must be an object with ${listed(Object.keys(fields))}`);
  const further = Reflect.ownKeys(props).find((field) => !Object.hasOwn(fields, field));
  // safety: props-strict
  if (further !== undefined) return invalid(`props.${String(further).slice(0, 64)}`, 'is not known');
  for (const [field, { is, must }] of Object.entries(fields)) {
    const value = Object.hasOwn(props, field) ? props[field] : undefined;
    // safety: props-well-formed
    if (typeof value !== 'string' || value.length > MOST_PROPS || !is(value))
      return invalid(`props.${field}`, must);
  }
  return props as Record<Name, string>;
}

/** The caller in the props of a binding, or what is wrong with them. */
export function callerIn(props: unknown): Bound | Refusal {
  const found = fieldsIn<'org' | 'trust' | 'name'>(props, FIELDS);
  return isRefusal(found) ? found : { org: found.org, workload: found.trust, name: found.name };
}

/** The caller and the upstream in the props of a binding, or what is wrong with them. */
function upstreamIn(props: unknown): { caller: Bound; upstream: string } | Refusal {
  const found = fieldsIn<'org' | 'trust' | 'name' | 'upstream'>(props, UPSTREAM);
  if (isRefusal(found)) return found;
  const { org, trust, name, upstream } = found;
  return { caller: { org, workload: trust, name }, upstream };
}

/** Whether a path belongs to what a bound Worker may reach. */
const isWithin = (org: string, path: string): boolean =>
  path === `${API}/whoami` || path === `${API}/orgs/${org}` || path.startsWith(`${API}/orgs/${org}/`);

/** Why a request is not taken; null if it is. */
function refusedBefore({ org }: Bound, { url, headers }: Request): Refusal | null {
  const { pathname } = new URL(url);
  // safety: binding-within-its-org
  if (!isWithin(org, pathname)) return refuse('NOT_FOUND');
  const credential = CREDENTIALS.find((name) => headers.has(name));
  // safety: binding-brings-no-credential
  if (credential !== undefined)
    return invalid(credential, 'must not be sent through a binding, which says who calls');
  return null;
}

const trace = () => ({
  route: 'binding',
  org: null,
  credential: null,
  code: null,
  gate_calls: 0,
  gate_ms: 0,
  d1_calls: 0,
});

interface Called {
  env: DeployedEnv;
  ctx: ExecutionContext;
}

/** Sends a request through the pipeline of the API, in the name of the props. */
async function send({ env, ctx }: Called, request: Request): Promise<Response> {
  const caller = callerIn((ctx as { props?: unknown }).props);
  const refusal = 'code' in caller ? caller : refusedBefore(caller, request);
  if (refusal) return errorResponse(refusal, new URL(request.url).origin, trace());
  bind(request, caller as Bound);
  return app.fetch(request, withMetrics(await withStoredSecrets(env)), ctx);
}

// A URL drops a segment of dots.
const Name = z.string().max(255).refine(isSecretName);
const Part = z.string().max(255);
const GetOptions = z.strictObject({
  environment: Part.min(1).optional(),
  version: z.int().min(1).optional(),
  approval_id: Part.min(1).optional(),
});
const ValuesOptions = z.strictObject({ environment: Part.min(1).optional(), prefix: Part.optional() });

/** Arguments are read only once they are known to be plain data: reading a stub would call its owner. */
function checked<T extends z.ZodType>(schema: T, name: string, value: unknown): z.output<T> {
  // safety: arguments-plain
  if (typeof value !== 'string' && !isPlain(value))
    throw new Error(`VALIDATION_FAILED: ${name} is malformed`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [name, ...(issue?.path ?? [])].join('.');
  throw new Error(`VALIDATION_FAILED: ${path} is malformed`);
}

interface Failure {
  error?: {
    code?: string;
    message?: string;
    approval?: { id: string };
    details?: { path: string; message: string }[];
  };
}

/** An error as a caller gets it: the message is all that arrives of one. */
function errorOf(response: Response, { error }: Failure): Error {
  const { code = 'INTERNAL', message = '', details: [detail] = [], approval } = error ?? {};
  const wait = code === 'RATE_LIMITED' ? response.headers.get('Retry-After') : null;
  const said = detail ? `${detail.path} ${detail.message}` : message;
  const end = wait ? ` (retry after ${wait} s)` : approval ? ` (${approval.id})` : '';
  return new Error(`${code}: ${said}${end}`);
}

/** What a GET answers. `path` begins after the organisation, or is that of whoami. */
async function read<T>(from: Called, path: string, headers: Record<string, string> = {}): Promise<T> {
  const response = await send(from, new Request(`${ORIGIN}${API}${path}`, { headers }));
  const json = await response.json();
  if (!response.ok) throw errorOf(response, json as Failure);
  return json as T;
}

/** The path of the caller's organisation. */
function home(ctx: ExecutionContext): string {
  const caller = callerIn((ctx as { props?: unknown }).props);
  if (!('code' in caller)) return `/orgs/${caller.org}`;
  const [detail] = caller.details ?? [];
  throw new Error(`${caller.code}: ${detail ? `${detail.path} ${detail.message}` : ''}`);
}

const queryOf = (parameters: Record<string, string | number | undefined>): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : '';
};

export class Vault extends WorkerEntrypoint<DeployedEnv> {
  /** The HTTP API. Bad props are an answer. */
  override fetch(request: Request): Promise<Response> {
    return send({ env: this.env, ctx: this.ctx }, request);
  }

  /** What `GET …/secrets/by-name/:name` answers. */
  async get(name: unknown, options: unknown = {}): Promise<unknown> {
    const from = { env: this.env, ctx: this.ctx };
    const secret = checked(Name, 'name', name);
    const { environment, version, approval_id } = checked(GetOptions, 'options', options);
    return read(
      from,
      `${home(this.ctx)}/secrets/by-name/${encodeURIComponent(secret)}${queryOf({ environment, version })}`,
      approval_id === undefined ? {} : { 'Approval-Id': approval_id },
    );
  }

  /** The values of an environment: by default the default one, which takes another request. */
  async values(options: unknown = {}): Promise<unknown> {
    const from = { env: this.env, ctx: this.ctx };
    const { environment, prefix } = checked(ValuesOptions, 'options', options);
    const at = home(this.ctx);
    const slug =
      environment ??
      (await read<{ default_environment: string | null }>(from, '/whoami')).default_environment;
    if (slug === null) throw new Error('SECRET_ACCESS_DENIED: name an environment that the trust reaches');
    return read(from, `${at}/environments/${encodeURIComponent(slug)}/values${queryOf({ prefix })}`);
  }
}

/**
 * An upstream, by the URLs of the API itself: `env.STRIPE.fetch('https://api.stripe.com/v1/charges', …)`. The
 * credentials that SDKs always send identify nobody, and stay here.
 */
export class Upstream extends WorkerEntrypoint<DeployedEnv> {
  override async fetch(request: Request): Promise<Response> {
    const found = upstreamIn((this.ctx as { props?: unknown }).props);
    if ('code' in found) return errorResponse(found, ORIGIN, trace(), null, { 'Svc-Error': found.code });
    const { caller, upstream } = found;
    const call = new Request(`${ORIGIN}${API}/orgs/${caller.org}/use/${upstream}`, request);
    bind(call, caller, request.url);
    return app.fetch(call, withMetrics(await withStoredSecrets(this.env)), this.ctx);
  }
}
