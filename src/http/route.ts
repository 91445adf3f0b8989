// Routes: one declaration says what a route is (method, path, action), what it takes (zod), what it gives and can refuse (OpenAPI),
// and how the Worker prepares the request for the gate and renders its answer. Invariant: a route cannot exist without an action.
import type { z } from '@hono/zod-openapi';
import type { Action, FullNeed } from '../auth/actions';
import type { Code } from '../errors';
import type { Named } from '../gate/types';
import type { BaseContext, Context, MoreContext, PublicAnswer, PublicContext, RenderContext } from './context';

/** Where the API begins. */
export const API = '/api/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** A validated request. */
export interface Input<Q = unknown, B = unknown> {
  params: Record<string, string>;
  query: Q;
  body: B;
  if_match: string | null;
  if_none_match: string | null;
  /** Of a route that streams events: where to go on. */
  last_event_id?: string | null;
  /** And whether it is to be a WebSocket. */
  is_websocket?: boolean;
  /** The body as it came, where one of its fields is a document: see `Route.body`. */
  bytes?: Uint8Array;
}

/** What the gate is asked, and the one-time values of the answer by their place in it ("api_key.token"). */
export interface Prepared {
  input: unknown;
  once?: Record<string, string>;
}

/** What is answered: JSON, or a body of its own. */
export type Rendered = { json: unknown; headers?: Record<string, string> } | Response;

export interface Route<Q extends z.ZodType = z.ZodType, B extends z.ZodType = z.ZodType> {
  method: Method;
  /** As OpenAPI spells it, below /api/v1. */
  path: string;
  /** What a page asks at its own address: the path is not below /api/v1. */
  isPage?: true;
  action: Action;
  /** What the action needs. */
  need: FullNeed;
  tag: string;
  summary: string;
  description?: string;
  query?: Q;
  /**
   * The body, if the route takes one; `optional` allows none. In the fields `nulls`, null counts as omitted. The field `document` holds another
   * vendor's data: the shape of requests does not bound it, and the route reads it from the bytes by rules of its own.
   */
  body?: { schema: B; optional?: boolean; nulls?: readonly string[]; document?: string };
  conditional?: ('if-match' | 'if-none-match')[];
  /** It takes Last-Event-ID, as Server-Sent Events do. */
  streams?: true;
  /** What each success looks like; null for no body. */
  answers: Record<number, z.ZodType | null>;
  /** Further forms of the first success. */
  alsoAs?: string[];
  /** Refusals beyond those that every route can give. */
  refusals?: Code[];
  /** Where one of them has another status here than usual. */
  statuses?: Partial<Record<Code, number>>;
  /** What the path and query name, for the gate to judge before the body. */
  named?(input: Pick<Input<z.output<Q>>, 'params' | 'query'>): Named;
  /** Turns a valid request into the operation's input: the place where values are encrypted and tokens made. */
  prepare?(input: Input<z.output<Q>, z.output<B>>, context: Context): Prepared | Promise<Prepared>;
  /** Makes what the gate had no means to make, when it asks for it. */
  more?(asked: never, input: Input<z.output<Q>, z.output<B>>, context: MoreContext): Promise<Prepared>;
  /** Turns the gate's data into what is shown: the place where values are opened. */
  render?(data: never, input: Input<z.output<Q>, z.output<B>>, context: RenderContext): Rendered | Promise<Rendered>;
  /** What it renders goes on where an earlier call was cut off: a stored response is rendered again. */
  resumes?: true;
  /** Its answer is not kept: an Idempotency-Key is accepted and ignored, and a repeat runs again. A function says for which valid bodies. */
  unkept?: true | ((body: z.output<B>) => boolean);
  /** For calls with the bootstrap token that no org's gate answers. */
  deployment?(input: Input<z.output<Q>, z.output<B>>, context: BaseContext): Promise<Rendered>;
  /** Answers a request that needs no credential: its body or a cookie proves who asks. Such a route takes no Idempotency-Key. */
  public?(input: Input<z.output<Q>, z.output<B>>, context: PublicContext): Promise<PublicAnswer>;
  /** The action's operation, where it has another name: one action may be done in several ways. */
  operation?: string;
}

/** A route as its domain declares it: what its action needs is added from the table of actions. */
export type DeclaredRoute = Omit<Route, 'need'>;

/** Declares a route; the types of its parts follow from its schemas. */
export const route = <Q extends z.ZodType, B extends z.ZodType>(declaration: Omit<Route<Q, B>, 'need'>): DeclaredRoute =>
  declaration as unknown as DeclaredRoute;
