// Values in responses: of one secret, and of a whole environment. Invariant: a bulk read shows one state of
// the environment; if it changes between two parts from the gate, the read starts again.

import type { z } from '@hono/zod-openapi';
import { toCursor } from '../../db/page';
import { ApiError, type IntegrityViolation, refuse } from '../../errors';
import { unwrap } from '../../gate/request/outcome';
import { type Context, keysOf, type RenderContext } from '../../http/context';
import { listName } from '../../http/list';
import type { Input } from '../../http/route';
import { iso } from '../../http/wire';
import { decryptValue } from './encryption';
import type { ValuesInput, ValuesPart } from './gate/bulk';
import type { Delivered, Readable } from './rules';
import * as wire from './wire';

/** The path of the bulk read. */
export const VALUES = '/orgs/{org_id}/environments/{environment}/values';

/** The metadata of a secret with the value. */
export const withValue = async (delivered: Delivered, _: unknown, context: Context) => {
  const { row, version, value } = await decryptValue(keysOf(context), context.org, delivered);
  return {
    json: { ...wire.secretOut(row, delivered.environment, delivered.now), version: version.version, value },
  };
};

type Query = z.output<typeof wire.ValuesQuery>;

/** The gate's input for a bulk read, or for a further part of it. */
export const valuesInput = (
  { prefix, strip_prefix, limit, cursor }: Query,
  part: Pick<ValuesInput, 'if_none_match' | 'after' | 'etag'>,
): ValuesInput => ({
  // A gate of 0.4.0 takes one prefix.
  prefix: prefix?.[0] ?? '',
  ...(prefix && { prefixes: prefix }),
  ...(strip_prefix === 'true' && { strip: true }),
  ...(limit !== undefined && { limit }),
  ...(cursor !== undefined && { limit: limit ?? MOST_VALUES, page: cursor }),
  ...part,
  as_text: true,
});

/** The values of a page that was asked for without a limit. */
const MOST_VALUES = 2000;
/** How often an answer starts again because the set changed between two parts. */
const MOST_STARTS = 3;
/** How many altered values of one request are reported. */
const MOST_REPORTED = 20;

/** The parts of an answer together. */
interface Parts extends Pick<ValuesPart, 'environment' | 'withheld' | 'next_page' | 'folder'> {
  /** Items with the names under which they are shown; null for their own. */
  items: { item: Delivered; name: string | null }[];
  unreadable: string[];
  etag: string | null;
}

const itemsOf = ({ items, names }: ValuesPart) =>
  items.map((item, index) => ({ item, name: names?.[index] ?? null }));

/** The gate's input for a part of an answer. */
type InputOf = (part: Pick<ValuesInput, 'if_none_match' | 'after' | 'etag'>) => ValuesInput;

/** Reads parts from the gate until the answer is complete; starts again if it changed between two parts. */
async function partsOf(first: ValuesPart, inputOf: InputOf, context: RenderContext): Promise<Parts> {
  const start = (part: ValuesPart, etag: string | null): Parts => ({
    ...part,
    items: itemsOf(part),
    unreadable: part.unreadable ?? [],
    etag,
  });
  let all = start(first, context.etag);
  let next = first.next;
  for (let starts = 0; next !== null; ) {
    const more = { if_none_match: null, after: next, etag: all.etag };
    const part = unwrap(await context.further(inputOf(more))).data as ValuesPart;
    if (part.changed) {
      if (++starts > MOST_STARTS) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
      const again = unwrap(await context.further(inputOf({ if_none_match: null, after: null, etag: null })));
      all = start(again.data as ValuesPart, again.etag ?? null);
      next = (again.data as ValuesPart).next;
      continue;
    }
    all.items.push(...itemsOf(part));
    all.unreadable.push(...(part.unreadable ?? []));
    next = part.next;
  }
  return all;
}

/** The name of a secret whose value does not open. */
const nameOf = (item: Delivered): string =>
  ('text' in item ? (JSON.parse(item.text) as Readable) : item).row.name;

/** The parts of an answer with their values by name. */
interface Opened extends Omit<Parts, 'items'> {
  values: Record<string, string>;
  versions: Record<string, number>;
  /** When secrets expire, of those that do. */
  expires_at: Record<string, string>;
}

/** Decrypts all parts. A value that does not open is named, and reported as an integrity violation. */
export async function openAll(first: ValuesPart, inputOf: InputOf, context: RenderContext): Promise<Opened> {
  const { items, ...parts } = await partsOf(first, inputOf, context);
  // Without a prototype, so that __proto__ is an ordinary name.
  const values: Record<string, string> = Object.create(null);
  const versions: Record<string, number> = Object.create(null);
  const expires_at: Record<string, string> = Object.create(null);
  const violations: IntegrityViolation[] = [];
  for (const { item, name } of items) {
    try {
      const { row, value } = await decryptValue(keysOf(context), context.org, item);
      const shown = name ?? row.name;
      values[shown] = value;
      versions[shown] = row.version;
      if (row.expires_at !== null) expires_at[shown] = iso(row.expires_at);
    } catch (error) {
      // safety: bulk-names-what-does-not-open
      if (!(error instanceof ApiError && error.violation)) throw error;
      violations.push(error.violation);
      parts.unreadable.push(nameOf(item));
    }
  }
  for (const violation of violations.slice(0, MOST_REPORTED)) await context.report(violation);
  return { ...parts, values, versions, expires_at };
}

/** All values of an answer. */
export async function allValues(first: ValuesPart, { query, params }: Input<Query>, context: RenderContext) {
  const opened = await openAll(first, (part) => valuesInput(query, part), context);
  const { environment, values, versions, expires_at, withheld = [] } = opened;
  const { unreadable, etag, next_page = null } = opened;
  const isPage = query.limit !== undefined || query.cursor !== undefined;
  const next_cursor =
    next_page && toCursor(context.deployment.cursor, context.org, listName(VALUES, params), next_page);
  // An incomplete answer has an ETag that matches nothing: once the values are repaired, it is read again.
  const tag = etag && unreadable.length ? etag.replace(/"$/, '-incomplete"') : etag;
  return {
    json: {
      environment,
      values,
      versions,
      ...(Object.keys(expires_at).length && { expires_at }),
      withheld,
      ...(unreadable.length && { unreadable: unreadable.sort() }),
      ...(isPage && { next_cursor }),
    },
    ...(tag && { headers: { ETag: tag } }),
  };
}
