// KV version 2: lists of keys, on both mounts. A list of Vault has no pages, so it is made of several of
// ours.
import { z } from '@hono/zod-openapi';
import type { ListInput } from '../../domains/secrets/gate/lists';
import { unwrap } from '../../gate/request/outcome';
import { pause } from '../../gate/request/yielding';
import type { Context, RenderContext } from '../../http/context';
import { QueryInteger } from '../../http/wire';
import { errors } from './answers';
import { type Sent, sentence } from './body';
import { answered, mount, type Params } from './kv-places';
import { becomes, type Taken } from './route';

export const ListQuery = z.strictObject({
  after: z.string().max(255).optional(),
  limit: QueryInteger(1, 5000).optional(),
});

/** The most keys of one answer. With more, a client narrows the list with `after` and `limit`. */
export const MOST_KEYS_LISTED = 5000;
/** The most parts of one answer: with wide name patterns, the gate looks far for few keys. */
const MOST_PARTS = 100;

interface Page {
  items: { name: string }[];
  folders?: string[];
  next: string | null;
}

export const folderOf = (path: string): string => (path === '' ? '' : `${path}/`);

const listInput = (path: string, after: string | null): ListInput => ({
  limit: 1000,
  after,
  environment: null,
  type: null,
  prefix: folderOf(path),
  contains: null,
  status: null,
  tag: null,
  id: null,
  by_name: false,
  by_folder: true,
});

/** All keys below a path, sorted; a folder and a secret of one name are two keys. */
export async function keysBelow(
  first: Page,
  { mount, path }: Params,
  context: RenderContext,
): Promise<string[]> {
  const keys: string[] = [];
  for (let page = first, parts = 1; ; parts++) {
    const names = [...(page.folders ?? []), ...page.items.map(({ name }) => name)];
    keys.push(...names.map((name) => name.slice(folderOf(path).length)));
    if (page.next === null) return keys.sort();
    if (keys.length > MOST_KEYS_LISTED)
      throw sentence(
        `the list has over ${MOST_KEYS_LISTED.toLocaleString('en')} keys: list a folder below it`,
      );
    const input = { ...listInput(path, page.next), environment: mount };
    page = await nextPart<Page>(parts, input, context);
  }
}

/** The next part of a list, after so many. It counts as a request, as a page of our own lists does. */
export async function nextPart<T>(parts: number, input: unknown, context: RenderContext): Promise<T> {
  if (parts === MOST_PARTS) throw sentence('the list takes too long: list a folder below it');
  // A runtime in one process polls for other requests only when it waits.
  await pause();
  // safety: list-parts-counted
  return unwrap(await context.further(input, { counts: true })).data as T;
}

export const list = becomes(
  {
    method: 'get',
    action: 'secret.list',
    query: ListQuery,
    named: mount,
    prepare: ({ params }) => {
      const { mount, path } = params as Params;
      return { input: { ...listInput(path, null), environment: mount } };
    },
    async render(page: Page, { params, query }, context: RenderContext) {
      return listed(context, await keysBelow(page, params as Params, context), query);
    },
  },
  { takes: cutList },
);

/** The keys that `after` and `limit` leave. */
export function listed(context: Context, all: string[], query: z.output<typeof ListQuery>): Response {
  const { after, limit = all.length } = query;
  const keys = all.filter((key) => after === undefined || key > after).slice(0, limit);
  return keys.length ? answered(context, { keys }) : errors(404);
}

export function cutList(_: Sent, query: URLSearchParams): Taken {
  return { query: { after: query.get('after') || undefined, limit: positive(query.get('limit')) } };
}

/** OpenBao takes 0 and negative limits for none. */
const positive = (limit: string | null): string | undefined =>
  limit !== null && Number(limit) > 0 ? limit : undefined;
