// One call of Vault's API: the operation of ours that it becomes. `route` is declared as any route of the API
// is, with its action, and handled by the same pipeline; `takes` only translates what was sent. Invariant: a
// call has no rule of its own.
import type { z } from '@hono/zod-openapi';
import { type DeclaredRoute, type Route, route } from '../../http/route';
import type { Sent } from './body';
import type { Purpose } from './errors';

/** What the operation takes of a request: the query and the body of its route. */
export interface Taken {
  query?: Record<string, string | undefined>;
  body?: object;
  /** The token that a login presents, instead of the one in the headers. */
  bearer?: string;
  /** The organisation that a login names. */
  org?: string;
}

export interface VaultCall {
  route: DeclaredRoute;
  /** `org`: that of the namespace or the base path. Throws what is wrong with the request. */
  takes?(sent: Sent, query: URLSearchParams, org: string | null): Taken;
  purpose?: Purpose;
  /** The answer, for a route that shows a value once and so does not render. */
  shows?(json: unknown, taken: Taken, request: { id: string }): Response;
}

const TAG = 'Vault';

/** Declares a call: its action and operation, and how both translate. */
export const becomes = <Q extends z.ZodType, B extends z.ZodType>(
  declared: Pick<Route<Q, B>, 'method' | 'action'> &
    Partial<
      Pick<
        Route<Q, B>,
        'operation' | 'streams' | 'query' | 'body' | 'named' | 'prepare' | 'more' | 'render' | 'public'
      >
    >,
  { takes, purpose, shows }: Omit<VaultCall, 'route'> = {},
): VaultCall => ({
  route: route<Q, B>({ tag: TAG, summary: '', path: '', answers: {}, ...declared } as never),
  ...(takes && { takes }),
  ...(purpose && { purpose }),
  ...(shows && { shows }),
});
