// Routes: one declaration defines a route's method, path and action, its input (zod), its responses and
// refusals (OpenAPI), and how the Worker prepares the request for the gate and renders the result. Invariant:
// a route cannot exist without an action.
import { z } from '@hono/zod-openapi';
import type { Action, FullNeed } from '../auth/actions';
import type { Code } from '../errors';
import type { Named } from '../gate/request/call';
import type {
  BaseContext,
  Context,
  MoreContext,
  PublicAnswer,
  PublicContext,
  RenderContext,
} from './context';

/** The base path of the API. */
export const API = '/api/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** A validated request. */
export interface Input<Q = unknown, B = unknown> {
  params: Record<string, string>;
  query: Q;
  body: B;
  if_match: string | null;
  if_none_match: string | null;
  /** For a route that streams events: where to resume. */
  last_event_id?: string | null;
  /** For a route that streams events: whether to use a WebSocket. */
  is_websocket?: boolean;
  /** The raw body, if one of its fields is a document: see `Route.body`. */
  bytes?: Uint8Array;
}

/** The gate's input, and the response's one-time values by their place in it ("api_key.token"). */
export interface Prepared {
  input: unknown;
  once?: Record<string, string>;
}

/** The response: JSON, or a complete response. */
export type Rendered = { json: unknown; headers?: Record<string, string> } | Response;

export interface Route<Q extends z.ZodType = z.ZodType, B extends z.ZodType = z.ZodType> {
  method: Method;
  /** In OpenAPI syntax, below /api/v1. */
  path: string;
  /** Called by a page at its own address: the path is not below /api/v1. */
  isPage?: true;
  action: Action;
  /** The permissions that the action needs. */
  need: FullNeed;
  /** Replicas answer it too. */
  byReplica?: true;
  tag: string;
  summary: string;
  description?: string;
  query?: Q;
  /**
   * The body, if the route takes one; `optional` allows none. In the fields `nulls`, null counts as omitted.
   * The field `document` contains another vendor's data: the request shape does not limit it, and the route
   * parses it from the bytes by its own rules.
   */
  body?: { schema: B; optional?: boolean; nulls?: readonly string[]; document?: string };
  conditional?: ('if-match' | 'if-none-match')[];
  /**
   * It changes a resource with a revision: it takes If-Match, and refuses another revision
   * (REVISION_CONFLICT).
   */
  revises?: true;
  /** It accepts Last-Event-ID, as Server-Sent Events do. */
  streams?: true;
  /** The schema of each success response; null for no body. */
  answers: Record<number, z.ZodType | null>;
  /** Alternative media types of the first success response. */
  alsoAs?: string[];
  /** Refusals in addition to those of every route. */
  refusals?: Code[];
  /** Refusals with a status different from the usual one. */
  statuses?: Partial<Record<Code, number>>;
  /** What the path and query name, for the gate to check before the body. */
  named?(input: Pick<Input<z.output<Q>>, 'params' | 'query'>): Named;
  /** Converts a valid request into the operation's input: here values are encrypted and tokens created. */
  prepare?(input: Input<z.output<Q>, z.output<B>>, context: Context): Prepared | Promise<Prepared>;
  /** Creates what the gate asked for and cannot create itself. */
  more?(asked: never, input: Input<z.output<Q>, z.output<B>>, context: MoreContext): Promise<Prepared>;
  /** Converts the gate's data into the response: here values are decrypted. */
  render?(
    data: never,
    input: Input<z.output<Q>, z.output<B>>,
    context: RenderContext,
  ): Rendered | Promise<Rendered>;
  /** Rendering continues where an earlier request was interrupted: a stored response is rendered again. */
  resumes?: true;
  /**
   * Its response is not stored: an Idempotency-Key is accepted and ignored, and a repeat runs again. A
   * function decides by the valid body.
   */
  unkept?: true | ((body: z.output<B>) => boolean);
  /** For requests with the bootstrap token that no organisation's gate handles. */
  deployment?(input: Input<z.output<Q>, z.output<B>>, context: BaseContext): Promise<Rendered>;
  /**
   * Handles a request without a credential, authenticated by its body or a cookie. Such a route takes no
   * Idempotency-Key.
   */
  public?(input: Input<z.output<Q>, z.output<B>>, context: PublicContext): Promise<PublicAnswer>;
  /** The operation, if its name differs from the action's: an action can have several operations. */
  operation?: string;
}

/** Whether a response shows the revision of a resource, and so has its ETag. */
export const hasRevision = (schema: z.ZodType | null | undefined): boolean =>
  schema instanceof z.ZodObject && 'revision' in schema.shape;

/** A route as declared by its domain: the action's permissions are added from the table of actions. */
export type DeclaredRoute = Omit<Route, 'need' | 'byReplica'>;

/** Declares a route; its types follow from its schemas. */
export const route = <Q extends z.ZodType, B extends z.ZodType>(
  declaration: Omit<Route<Q, B>, 'need'>,
): DeclaredRoute => declaration as unknown as DeclaredRoute;

/** What a path names by its `id`. */
export const by =
  (kind: keyof Named) =>
  ({ params }: { params: Record<string, string> }): Named => ({ [kind]: params.id as string });
