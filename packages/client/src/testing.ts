// `@secrets-vault/client/testing`: a vault for tests of Workers. It holds the values that a test gives it,
// and refuses as a vault does. Invariants: it sends nothing; `respond` and what it calls use nothing from
// outside, since their source text also becomes a Worker.

/**
 * What a fake vault holds.
 *
 * @example
 * fakeVault({ values: { STRIPE_KEY: 'sk_test_1' }, failures: { OLD_KEY: 'SECRET_EXPIRED' } });
 */
export interface FakeVaultOptions {
  /** The values of the default environment, by name. */
  values?: Record<string, string>;
  /** The slug of the default environment. Default: `production`. */
  environment?: string;
  /** The values of other environments, by slug and name. */
  environments?: Record<string, Record<string, string>>;
  /** Secrets that cannot be read, by name, each with the code of its refusal. */
  failures?: Record<string, FakeFailure>;
  /** The refusal of every request, such as `TOKEN_REVOKED`. */
  failure?: FakeFailure;
  /** The organisation's id. */
  org?: string;
}

/** The code of a refusal. */
export type FakeFailure =
  | 'APPROVAL_REQUIRED'
  | 'INSUFFICIENT_SCOPE'
  | 'INTERNAL'
  | 'NOT_FOUND'
  | 'OVERLOADED'
  | 'RATE_LIMITED'
  | 'SECRET_ACCESS_DENIED'
  | 'SECRET_EXPIRED'
  | 'SECRET_REVOKED'
  | 'TOKEN_REVOKED'
  | 'UNAUTHENTICATED'
  | 'UNAVAILABLE';

/** A read secret, as `env.VAULT.get` answers it. */
export interface FakeSecret {
  id: string;
  name: string;
  environment: string;
  version: number;
  value: string;
  expires_at: null;
}

/** Values, as `env.VAULT.values` answers them. */
export interface FakeValues {
  environment: string;
  values: Record<string, string>;
  versions: Record<string, number>;
  expires_at: Record<string, string>;
  withheld: string[];
  unreadable: string[];
}

/** A fake of a service binding to the entrypoint `Vault`. */
export interface FakeVault {
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  get(name: string, options?: { environment?: string }): Promise<FakeSecret>;
  values(options?: { environment?: string; prefix?: string }): Promise<FakeValues>;
  /** Gives a secret a value, or another one, in an environment; by default the default one. */
  set(name: string, value: string, environment?: string): void;
}

/** Refuses as a vault does. */
function refused(code: string): Response {
  const statuses: Record<string, number> = {
    UNAUTHENTICATED: 401,
    TOKEN_REVOKED: 401,
    APPROVAL_REQUIRED: 403,
    INSUFFICIENT_SCOPE: 403,
    SECRET_ACCESS_DENIED: 403,
    NOT_FOUND: 404,
    SECRET_EXPIRED: 410,
    SECRET_REVOKED: 410,
    RATE_LIMITED: 429,
    INTERNAL: 500,
    UNAVAILABLE: 503,
    OVERLOADED: 503,
  };
  const approval = { id: 'apr_0000000000000000000000', status: 'pending' };
  const isHeld = code === 'APPROVAL_REQUIRED';
  const waits = code === 'RATE_LIMITED';
  return Response.json(
    { error: { code, message: `A fake vault answers ${code}.`, ...(isHeld && { approval }) } },
    { status: statuses[code] ?? 400, headers: waits ? { 'Retry-After': '60' } : {} },
  );
}

/** A secret without its value. */
function secretOf(name: string, environment: string): Omit<FakeSecret, 'value'> {
  return { id: 'sec_0000000000000000000000', name, environment, version: 1, expires_at: null };
}

/** Answers a request by what a fake vault holds. */
function respond(held: FakeVaultOptions, method: string, address: string): Response {
  const { failure, failures = {}, environment: slug = 'production' } = held;
  const { org = 'org_0000000000000000000000' } = held;
  const all: Record<string, Record<string, string>> = { ...held.environments };
  all[slug] = { ...all[slug], ...held.values };
  const url = new URL(address);
  const [, path = ''] = /^\/api\/v1(\/.*)$/.exec(url.pathname) ?? [];
  if (failure) return refused(failure);
  if (path === '/whoami')
    return Response.json({
      kind: 'workload',
      id: 'trs_0000000000000000000000',
      claimed_name: 'test',
      org_id: org,
      scopes: ['secrets:read'],
      default_environment: slug,
    });
  if (!path.startsWith(`/orgs/${org}/`)) return refused('NOT_FOUND');
  if (method !== 'GET') return refused('INSUFFICIENT_SCOPE');
  const rest = path.slice(`/orgs/${org}`.length);
  const [, encoded] = /^\/secrets\/by-name\/(.+)$/.exec(rest) ?? [];
  if (encoded !== undefined) {
    const name = decodeURIComponent(encoded);
    const at = url.searchParams.get('environment') ?? slug;
    const code = Object.hasOwn(failures, name) ? failures[name] : undefined;
    if (code) return refused(code);
    const values = Object.hasOwn(all, at) ? all[at] : undefined;
    if (!values || !Object.hasOwn(values, name)) return refused('NOT_FOUND');
    return Response.json({ ...secretOf(name, at), value: values[name] });
  }
  const [, named] = /^\/environments\/([^/]+)\/values$/.exec(rest) ?? [];
  const values = named !== undefined && Object.hasOwn(all, named) ? all[named] : undefined;
  if (!values || named === undefined) return refused('NOT_FOUND');
  const prefixes = url.searchParams.getAll('prefix');
  const found = Object.entries(values).filter(
    ([name]) =>
      !Object.hasOwn(failures, name) && (!prefixes.length || prefixes.some((one) => name.startsWith(one))),
  );
  return Response.json({
    environment: named,
    values: Object.fromEntries(found),
    versions: Object.fromEntries(found.map(([name]) => [name, 1])),
    expires_at: {},
    withheld: [],
    unreadable: [],
    next_cursor: null,
  });
}

/** What a method of the entrypoint answers, or throws: only the message of an error arrives. */
async function called(response: Response): Promise<unknown> {
  const body = (await response.json()) as {
    error: { code: string; message: string; approval?: { id: string } };
  };
  if (response.ok) return body;
  const { code, message, approval } = body.error;
  const wait = response.headers.get('Retry-After');
  throw new Error(
    `${code}: ${message}${wait ? ` (retry after ${wait} s)` : approval ? ` (${approval.id})` : ''}`,
  );
}

/** The address of a secret, or of the values of an environment. */
function addressOf(
  held: FakeVaultOptions,
  name: string | null,
  of: { environment?: string; prefix?: string },
) {
  const { org = 'org_0000000000000000000000', environment: slug = 'production' } = held;
  const { environment = slug, prefix } = of;
  const at = `https://vault.internal/api/v1/orgs/${org}`;
  return name === null
    ? `${at}/environments/${environment}/values${prefix === undefined ? '' : `?prefix=${encodeURIComponent(prefix)}`}`
    : `${at}/secrets/by-name/${encodeURIComponent(name)}?environment=${environment}`;
}

/**
 * A vault that holds what a test gives it: a stand-in for `env.VAULT` in unit tests, for the `binding` of
 * `createVault`, and, by its `fetch`, for a service binding of Miniflare.
 *
 * @example
 * const VAULT = fakeVault({ values: { STRIPE_KEY: 'sk_test_1' } });
 * await worker.fetch(new Request('http://example.com'), { VAULT });
 */
export function fakeVault(options: FakeVaultOptions = {}): FakeVault {
  const held = { ...options, environments: { ...options.environments } };
  const read = (name: string | null, of: { environment?: string; prefix?: string }) =>
    called(respond(held, 'GET', addressOf(held, name, of)));
  return {
    async fetch(input, init) {
      const request = new Request(input as string, init);
      return respond(held, request.method, request.url);
    },
    get: (name, of = {}) => read(name, of) as Promise<FakeSecret>,
    values: (of = {}) => read(null, of) as Promise<FakeValues>,
    set(name, value, environment = held.environment ?? 'production') {
      const others = { ...held.environments[environment] };
      if (environment === (held.environment ?? 'production')) held.values = { ...held.values, [name]: value };
      else held.environments[environment] = { ...others, [name]: value };
    },
  };
}

/**
 * A Worker with the entrypoint `Vault`, for `workers` of Miniflare or of Vitest's Workers pool. Bind it with
 * `serviceBindings: { VAULT: { name: 'vault', entrypoint: 'Vault' } }`.
 *
 * @example
 * miniflare: {
 *   serviceBindings: { VAULT: { name: 'vault', entrypoint: 'Vault' } },
 *   workers: [fakeVaultWorker({ values: { STRIPE_KEY: 'sk_test_1' } })],
 * }
 */
export function fakeVaultWorker(options: FakeVaultOptions & { name?: string } = {}): {
  name: string;
  modules: true;
  script: string;
  compatibilityDate: string;
} {
  const { name = 'vault', ...held } = options;
  const script = `import { WorkerEntrypoint } from 'cloudflare:workers';
const held = ${JSON.stringify(held)};
${[refused, secretOf, respond, called, addressOf].join('\n')}
export class Vault extends WorkerEntrypoint {
  fetch(request) { return respond(held, request.method, request.url); }
  get(name, of = {}) { return called(respond(held, 'GET', addressOf(held, name, of))); }
  values(of = {}) { return called(respond(held, 'GET', addressOf(held, null, of))); }
}
export default { fetch: () => new Response(null, { status: 404 }) };
`;
  return { name, modules: true, script, compatibilityDate: '2026-01-01' };
}
