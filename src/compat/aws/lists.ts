// ListSecrets, and the filters that BatchGetSecretValue has too. Invariants: the gate lists what the caller
// may list, and filters choose among that alone; a NextToken serves the list that gave it.
import { z } from '@hono/zod-openapi';
import { fromCursor, toCursor } from '../../db/page';
import type { AwsShown } from '../../domains/secrets/gate/aws/lookup';
import type { AwsListInput } from '../../domains/secrets/gate/aws/reads';
import { ApiError, invalid, refuse } from '../../errors';
import { unwrap } from '../../gate/request/outcome';
import type { Context, RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { answered } from './answers';
import { Flag, NextToken } from './fields';
import { atOf, becomes } from './route';
import { described } from './secrets';

const KEYS = [
  'description',
  'name',
  'tag-key',
  'tag-value',
  'primary-region',
  'owning-service',
  'all',
] as const;

export const Filters = z
  .array(z.object({ Key: z.enum(KEYS), Values: z.array(z.string().min(1).max(512)).min(1).max(10) }))
  .max(10);
type Filter = z.output<typeof Filters>[number];

const lower = (text: string) => text.toLowerCase();
const wordsOf = (text: string): string[] =>
  lower(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** Whether each word of a text begins a word of another. */
const hasWords = (text: string, wanted: string): boolean => {
  const words = wordsOf(text);
  return wordsOf(wanted).every((word) => words.some((one) => one.startsWith(word)));
};

const MATCHES: Record<Filter['Key'], (secret: AwsShown, value: string) => boolean> = {
  name: ({ name }, value) => name.startsWith(value),
  description: ({ description }, value) => hasWords(description ?? '', value),
  'tag-key': ({ tags }, value) => Object.keys(tags).some((key) => key.startsWith(value)),
  'tag-value': ({ tags }, value) => Object.values(tags).some((one) => one.startsWith(value)),
  'primary-region': () => false,
  'owning-service': () => false,
  all: ({ name, description, tags }, value) =>
    hasWords([name, description ?? '', ...Object.entries(tags).flat()].join(' '), value),
};

/** All filters must match, each by one of its values. `!` before a value negates it. */
export const matchesFilters = (secret: AwsShown, filters: readonly Filter[]): boolean =>
  filters.every(({ Key, Values }) =>
    Values.some((value) =>
      value.startsWith('!') ? !MATCHES[Key](secret, value.slice(1)) : MATCHES[Key](secret, value),
    ),
  );

interface Listing {
  Filters?: Filter[] | undefined;
  MaxResults: number;
  NextToken?: string | undefined;
}
type ListOf = Pick<Input<unknown, Listing>, 'params' | 'body'>;

/** What a NextToken is bound to: everything but the page. */
function listOf({ params, body }: ListOf): string {
  const { NextToken: _, MaxResults: __, ...same } = body;
  return JSON.stringify(['aws', params.environment, same]);
}

export const positionOf = (position: string, input: ListOf, { deployment, org }: Context): string =>
  toCursor(deployment.cursor, org, listOf(input), position);

/** The rows that one call of the gate gives at most. */
const PART = 1000;

export function listInput(input: ListOf, { deployment, org }: Context, with_deleted: boolean): AwsListInput {
  const { NextToken: token } = input.body;
  const after = token === undefined ? null : fromCursor(deployment.cursor, org, listOf(input), token);
  if (token !== undefined && after === null) throw new ApiError(refuse('INVALID_CURSOR'));
  return { after, limit: PART, with_deleted };
}

export interface ListPage {
  items: AwsShown[];
  next: string | null;
}

/** The most calls of the gate for one page. With fewer results than asked for, a page is not yet the last. */
const MOST_PARTS = 10;

/** The id after which a list continues. */
const idOf = ({ id, version }: AwsShown): string => (version === 0 ? id.replace(/^sec_/, 'rsv_') : id);

/** One page of a list, in the order of creation. */
export async function pageOfList(
  first: ListPage,
  { body }: ListOf,
  context: RenderContext,
  with_deleted = false,
): Promise<ListPage> {
  const items: AwsShown[] = [];
  let page = first;
  for (let part = 1; ; part++) {
    for (const [at, item] of page.items.entries()) {
      if (!matchesFilters(item, body.Filters ?? [])) continue;
      items.push(item);
      const isLast = page.next === null && at === page.items.length - 1;
      if (items.length === body.MaxResults) return { items, next: isLast ? null : idOf(item) };
    }
    if (page.next === null || part === MOST_PARTS) return { items, next: page.next };
    const input = { after: page.next, limit: PART, with_deleted } satisfies AwsListInput;
    // safety: aws-list-parts-counted
    page = unwrap(await context.further(input, { counts: true })).data as ListPage;
  }
}

const SORTS = ['created-date', 'last-accessed-date', 'last-changed-date', 'name'] as const;

const ListSecrets = z.object({
  Filters: Filters.optional(),
  MaxResults: z.int().min(1).max(100).default(100),
  NextToken: NextToken.optional(),
  IncludePlannedDeletion: Flag.optional(),
  SortOrder: z.enum(['asc', 'desc']).optional(),
  SortBy: z.enum(SORTS).optional(),
});
type Asked = z.output<typeof ListSecrets>;

/** The most secrets that are sorted in another order than that of their creation. */
const MOST_SORTED = 5000;

/** One page of a list that is sorted. Its position is that of its last item. */
async function sortedPage(
  first: ListPage,
  input: Pick<Input<unknown, Asked>, 'params' | 'body'>,
  context: RenderContext,
  after: string | null,
): Promise<ListPage> {
  const { SortBy = 'created-date', SortOrder = 'asc', MaxResults, IncludePlannedDeletion } = input.body;
  const whole = { ...input, body: { ...input.body, MaxResults: MOST_SORTED + 1 } };
  const { items, next } = await pageOfList(first, whole, context, IncludePlannedDeletion);
  if (next !== null || items.length > MOST_SORTED)
    throw new ApiError(
      invalid('SortBy', `sorts at most ${MOST_SORTED} secrets: narrow the list with Filters`),
    );
  const keyOf = ({ name, id, created_at, updated_at }: AwsShown): string =>
    `${SortBy === 'name' ? name : SortBy === 'created-date' ? created_at : updated_at} ${id}`;
  const sorted = items.map((item) => ({ item, key: keyOf(item) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  if (SortOrder === 'desc') sorted.reverse();
  const rest = sorted.filter(
    ({ key }) => after === null || (SortOrder === 'desc' ? key < after : key > after),
  );
  const shown = rest.slice(0, MaxResults);
  return {
    items: shown.map(({ item }) => item),
    next: rest.length > MaxResults ? (shown.at(-1)?.key ?? null) : null,
  };
}

const isSorted = ({ SortBy, SortOrder }: Asked): boolean =>
  SortOrder === 'desc' || (SortBy !== undefined && SortBy !== 'created-date');

export const listSecrets = becomes(ListSecrets, {
  action: 'secret.list',
  operation: 'secret.list_aws',
  prepare(input, context) {
    const asked = listInput(input, context, input.body.IncludePlannedDeletion ?? false);
    return { input: isSorted(input.body) ? { ...asked, after: null } : asked };
  },
  async render(first: ListPage, input, context: RenderContext) {
    const with_deleted = input.body.IncludePlannedDeletion ?? false;
    const { items, next } = isSorted(input.body)
      ? await sortedPage(first, input, context, listInput(input, context, with_deleted).after)
      : await pageOfList(first, input, context, with_deleted);
    return answered({
      SecretList: items.map((item) => described(item, atOf(input).region, 'SecretVersionsToStages')),
      ...(next !== null && { NextToken: positionOf(next, input, context) }),
    });
  },
});
