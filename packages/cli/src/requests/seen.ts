// What svc has seen of the resources that it changes. Each change of one names that state (If-Match), so svc
// never undoes what someone else changed meanwhile. Invariants: no value of a secret is read for it; only a
// credential that may change a resource but not read it sends `*`; if the state cannot be read, nothing is
// changed.
import { jsonIn } from './bounded.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A resource as the API shows it: with its revision, or the ETag of a secret. */
export type Resource = Record<string, unknown>;

/** The requests that take If-Match, except PUT: PATCH and DELETE of a resource, and these POSTs. */
const COLLECTIONS =
  'environments|members|teams|api-keys|agent-credentials|trusts|policies|devices|webhooks|log-streams|upstreams|integrations|incidents|domains|sso-connections|scim-tokens|secrets';
const OF_ONE = new RegExp(
  `^(/api/v1/orgs/[^/]+/(${COLLECTIONS}))/([^/]+)(?:/(rotate|rollback|rotate-secret|assign|block|enrolments|suspend|resume))?$`,
);
/** Who is in a team: POST and DELETE of a membership change the team. */
const OF_TEAM = /^(\/api\/v1\/orgs\/[^/]+\/(teams))\/([^/]+)\/(?:members|(members\/[^/]+))$/;

/** The organisation itself: PATCH changes it. */
const ORG = /^\/api\/v1\/orgs\/([^/]+)$/;

interface Target {
  id: string;
  /** The address that shows it, without its value if it is a secret. */
  address: string;
}

/** What a request changes, if it takes If-Match. */
function targetOf(url: string, method: string): Target | null {
  const { origin, pathname } = new URL(url);
  const [, org] = ORG.exec(pathname) ?? [];
  if (org && method === 'PATCH') return { id: decodeURIComponent(org), address: `${origin}${pathname}` };
  const isOfTeam = OF_TEAM.test(pathname);
  const [, list, collection, id = '', verb] = (isOfTeam ? OF_TEAM : OF_ONE).exec(pathname) ?? [];
  const isPost = isOfTeam ? !verb : Boolean(verb);
  const isChange = isPost ? method === 'POST' : method === 'PATCH' || method === 'DELETE';
  if (!list || !isChange) return null;
  return {
    id: decodeURIComponent(id),
    address: `${origin}${list}${collection === 'secrets' ? `?id=${id}` : `/${id}`}`,
  };
}

/** The ETag of a response. A proxy that compresses marks it as weak, but it names the same state. */
export const tagIn = ({ headers }: Response): string | null =>
  /^(?:W\/)?("[^",]+")$/.exec(headers.get('ETag') ?? '')?.[1] ?? null;

const tagOf = ({ etag, revision }: Resource): string => (typeof etag === 'string' ? etag : `"r${revision}"`);

/** Fields that change by themselves, or say only that something else did. */
const INCIDENTAL = [
  'revision',
  'etag',
  'updated_at',
  'updatedAt',
  'last_used_at',
  'last_used_place',
  'use_count',
  'timeline',
];
const LONGEST = 200;
const inWords = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
};

/** What differs between what was seen and what is there now, one line a field. */
export const differences = (seen: Resource, now: Resource): string[] =>
  Object.keys(seen)
    .filter(
      (field) =>
        !INCIDENTAL.includes(field) &&
        field in now &&
        JSON.stringify(seen[field]) !== JSON.stringify(now[field]),
    )
    .map((field) => `${field}: ${inWords(seen[field])} → ${inWords(now[field])}`);

export class Seen {
  private readonly known = new Map<string, Resource>();

  /** Remembers what the user was shown of a resource, by the id that later requests name. */
  note(id: string, resource: Resource): void {
    this.known.set(id, resource);
  }

  /**
   * The fetch that names what was seen in each change, or what is there just before it.
   * @param tell prints lines about a conflict
   */
  guarding(fetch: Fetch, tell: (line: string) => void): Fetch {
    return async (url, init) => {
      const headers = new Headers(init.headers);
      const target = headers.has('If-Match') ? null : targetOf(url, init.method ?? 'GET');
      if (!target) return fetch(url, init);
      const seen = this.known.get(target.id) ?? (await read(fetch, target, init));
      // safety: cli-if-match-unread
      if (seen instanceof Response) return seen;
      if (seen) this.note(target.id, seen);
      // safety: cli-if-match
      headers.set('If-Match', seen ? tagOf(seen) : '*');
      const response = await fetch(url, { ...init, headers });
      if (response.ok) this.known.delete(target.id);
      if (response.status !== 412 || !seen) return response;
      const now = await read(fetch, target, init);
      const lines = now && !(now instanceof Response) ? differences(seen, now) : [];
      if (lines.length) tell('Someone else changed it in the meantime:');
      for (const line of lines) tell(`  ${line}`);
      return response;
    };
  }
}

/**
 * Reads a resource as the same caller; null if the vault does not let it read this one. Of one that is too
 * large to compare, such as the report of an incident, the tag alone. A refusal if it could not be read.
 */
async function read(
  fetch: Fetch,
  { address }: Target,
  { headers: sent, signal }: RequestInit,
): Promise<Resource | Response | null> {
  const headers = new Headers(sent);
  for (const name of ['Idempotency-Key', 'Approval-Id', 'Content-Type']) headers.delete(name);
  const response = await fetch(address, { method: 'GET', headers, redirect: 'manual', signal });
  const body = (await jsonIn(response)) as Body | null;
  if (!response.ok) {
    const isWithheld = WITHHELD.includes(response.status) && typeof body?.error?.code === 'string';
    return isWithheld ? null : unread(response, body);
  }
  const etag = tagIn(response);
  // safety: cli-if-match-large
  if (!body && etag) return { etag };
  const found = address.includes('?id=') ? body?.data?.[0] : body;
  if (found) return found;
  const isAbsent = Array.isArray(body?.data);
  return unread(isAbsent ? new Response(null, { status: 404 }) : response, body);
}

type Body = Resource & { data?: Resource[]; error?: { code?: unknown; message?: unknown } | null };

/** Refusals of a vault to a caller who may change a resource all the same: no scope, or no such request. */
const WITHHELD = [403, 405];

/** Is not repeated, unlike a 5xx. */
const FAILED_DEPENDENCY = 424;

/** The answer to a change whose state could not be read: with what a repetition of the change depends on. */
function unread({ status, headers }: Response, body: Body | null): Response {
  const { code, message } = body?.error ?? {};
  const why =
    status === 404
      ? 'It does not exist.'
      : typeof message === 'string'
        ? message
        : `The status is ${status}.`;
  const kept = ['Retry-After', 'Request-Id', 'Location'].flatMap((name): [string, string][] => {
    const text = headers.get(name);
    return text === null ? [] : [[name, text]];
  });
  return Response.json(
    {
      error: {
        code: typeof code === 'string' ? code : status === 404 ? 'NOT_FOUND' : 'UNEXPECTED_RESPONSE',
        message: `Nothing was changed, because the current state could not be read. ${why}`,
      },
    },
    { status: status >= 300 ? status : FAILED_DEPENDENCY, headers: kept },
  );
}
