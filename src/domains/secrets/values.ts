// Values in responses: of one secret, and of a whole environment. Invariant: a bulk read shows one state of the environment; if it changes
// between two pages of the gate, the read starts again.

import type { z } from '@hono/zod-openapi';
import { ApiError, refuse } from '../../errors';
import { unwrap } from '../../gate/outcome';
import { type Context, keysOf, type RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { decryptValue } from './encryption';
import type { ValuesPage } from './gate/reads';
import type { Delivered } from './rules';
import * as wire from './wire';

/** The metadata of a secret with the value. */
export const withValue = async (delivered: Delivered, _: unknown, context: Context) => {
  const { row, version, value } = await decryptValue(keysOf(context), context.org, delivered);
  return { json: { ...wire.secretOut(row, delivered.environment, delivered.now), version: version.version, value } };
};

/** Reads pages from the gate until the set is complete; starts again if it changed between two pages. */
export async function allValues(first: ValuesPage, { query }: Input<z.output<typeof wire.ValuesQuery>>, context: RenderContext) {
  const prefix = query.prefix ?? '';
  let items = [...first.items];
  let { next, withheld = [] } = first;
  let etag = context.etag;
  for (let starts = 0; next !== null; ) {
    let page = unwrap(await context.further({ prefix, if_none_match: null, after: next, etag, as_text: true })).data as ValuesPage;
    if (page.changed) {
      if (++starts > 3) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
      const again = unwrap(await context.further({ prefix, if_none_match: null, after: null, etag: null, as_text: true }));
      page = again.data as ValuesPage;
      etag = again.etag ?? null;
      items = [];
      withheld = page.withheld ?? [];
    }
    items.push(...page.items);
    next = page.next;
  }
  // Without a prototype, so that __proto__ is an ordinary name.
  const values: Record<string, string> = Object.create(null);
  const versions: Record<string, number> = Object.create(null);
  for (const item of items) {
    const { row, value } = await decryptValue(keysOf(context), context.org, item);
    values[row.name] = value;
    versions[row.name] = row.version;
  }
  return { json: { environment: first.environment, values, versions, withheld }, ...(etag && { headers: { ETag: etag } }) };
}
