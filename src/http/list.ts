// Lists: page by page, with `limit` and `cursor` in the query and a cursor for the next page in the response.
// Invariant: a cursor is encrypted for its organisation and list, so it works nowhere else.
import { z } from '@hono/zod-openapi';
import type { Code } from '../errors';
import { type Context, pageOf } from './context';
import { type DeclaredRoute, type Route, route } from './route';
import { pageQuery } from './wire';

/** The query of a list without filters. */
export const PageQuery = z.strictObject(pageQuery);

/** The items of a page, and the position after it; null at the end. */
export interface Slice {
  items: unknown[];
  next: string | null;
}

/** What a list's cursors are bound to: its path, and the id in the path. */
export const listName = (path: string, params: Record<string, string>): string =>
  [path, params.id ?? ''].join(' ').trim();

type ListQuery = z.ZodType<{ limit?: number; cursor?: string }>;

type Declaration<Q extends ListQuery> = Omit<
  Route<Q, z.ZodType>,
  'method' | 'need' | 'body' | 'prepare' | 'render' | 'query'
> & {
  query?: Q;
  refusals?: Code[];
  /** The operation's input in addition to `limit` and `after`. */
  filters?(query: z.output<Q>): object;
  /** An item with what only the Worker knows. */
  shows?(item: unknown, context: Context): unknown;
  /** Additional fields of the response. */
  beside?(slice: Slice): object | undefined;
};

/** Declares a list: GET, 50 items by default. */
export const listRoute = <Q extends ListQuery = typeof PageQuery>({
  filters,
  shows = (item) => item,
  beside,
  refusals = [],
  ...declaration
}: Declaration<Q>): DeclaredRoute =>
  route({
    query: PageQuery as unknown as Q,
    ...declaration,
    method: 'get',
    refusals: [...refusals, 'INVALID_CURSOR'],
    prepare: ({ query }) => ({
      input: { limit: query.limit ?? 50, after: query.cursor ?? null, ...filters?.(query) },
    }),
    render: (slice: Slice, { params }, context: Context) => ({
      json: {
        ...pageOf(context, listName(declaration.path, params), {
          ...slice,
          items: slice.items.map((item) => shows(item, context)),
        }),
        ...beside?.(slice),
      },
    }),
  });
