// Generates a file in the Worker: values are decrypted here and written only to the file.
import { formatOf } from '../../adapters/generate';
import { generate, type Source } from '../../adapters/generate/render';
import { ApiError, type Refusal, refuse } from '../../errors';
import { isRefusal } from '../../gate/request/call';
import type { Outcome } from '../../gate/request/outcome';
import { keysOf, type MoreContext } from '../../http/context';
import { detailsOf } from '../../http/input/validate';
import { messageOf } from '../../http/input/wording';
import { decryptValue } from '../secrets/encryption';
import type { GenerateInput, SourcePage } from './gate/operations';

/** How often reading starts again because the secrets changed between two pages. */
const MOST_STARTS = 3;

/** The validated options of a format; throws if they are invalid. */
export function optionsOf(name: string, given: Record<string, unknown> | undefined): never {
  const parsed = formatOf(name).options.safeParse(given ?? {}, { error: messageOf });
  if (parsed.success) return parsed.data as never;
  const details = detailsOf(parsed.error, 'is not a known option of this format').map(
    ({ path, message }) => ({
      path: path ? `options.${path}` : 'options',
      message,
    }),
  );
  throw new ApiError(refuse('VALIDATION_FAILED', { details }));
}

/**
 * A further page; null if a policy now holds the secrets. A refusal of the gate already has its audit entry
 * and ends the request.
 */
function pageIn(outcome: Outcome): SourcePage | null {
  if (outcome.kind === 'refused') throw new ApiError(outcome.refusal);
  return 'etag' in (outcome.data as SourcePage) ? (outcome.data as SourcePage) : null;
}

/** Everything in the file at one point in time, from its first page on; null if the secrets keep changing. */
async function sourcesOf(
  first: SourcePage,
  input: GenerateInput,
  context: MoreContext,
): Promise<{ etag: string; sources: Source[] } | null> {
  let page: SourcePage | null = first;
  let items = [...first.items];
  for (let starts = 0; page.next !== null; ) {
    const { next: after, etag } = page;
    page = pageIn(await context.further({ ...input, after, etag }));
    if (page?.changed) {
      if (++starts > MOST_STARTS) return null;
      page = pageIn(await context.further({ ...input, after: null, etag: null }));
      items = [];
    }
    if (!page) return null;
    items.push(...page.items);
  }
  const sources: Source[] = page.names.map((name) => ({ name, value: '' }));
  for (const item of items) {
    const { row, value } = await decryptValue(keysOf(context), context.org, item);
    sources.push({ name: row.name, value });
  }
  return { etag: page.etag, sources };
}

/** The file or the reason there is none, and the ETag of the secrets it was created from. */
export async function fileOf(
  first: SourcePage,
  input: GenerateInput,
  options: never,
  context: MoreContext,
  prefixes?: readonly string[],
): Promise<{ etag: string; content: string; refusal: Refusal | null }> {
  const found = await sourcesOf(first, input, context);
  // The empty ETag matches no state, so the gate starts the file again or refuses.
  if (!found) return { etag: '', content: '', refusal: null };
  const { etag, sources } = found;
  const made = generate(formatOf(input.format), sources, options, prefixes);
  return isRefusal(made)
    ? { etag, content: '', refusal: made }
    : { etag, content: made.content, refusal: null };
}
