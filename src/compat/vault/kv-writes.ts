// KV version 2 on a mount `<environment>/`: writes of values and of metadata. Invariant: a value keeps its
// text both ways (values.ts).
import { z } from '@hono/zod-openapi';
import { utf8 } from '../../crypto/bytes';
import { newId } from '../../db/ids';
import { decryptValue, encryptValue } from '../../domains/secrets/encryption';
import type {
  Absent,
  DescribeInput,
  VersionShown,
  WriteAsked,
  WriteInput,
} from '../../domains/secrets/gate/paths';
import { knownId, rememberId } from '../../domains/secrets/known-ids';
import { MOST_VALUE, SecretValue, TagName, Tags, TagValue } from '../../domains/secrets/wire';
import { ApiError, invalid } from '../../errors';
import { type Context, keysOf, type MoreContext, type RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { isObject, isObjectText, merged } from '../json-text';
import { errors } from './answers';
import { integer, type Sent, sentence } from './body';
import { type At, answered, at, mustBeName, versionData } from './kv-places';
import { becomes, type Taken } from './route';
import { isMap, mapOf, type Stored, storedAs } from './values';

/** The text of a map. */
export const MapText = z.string().refine(isObjectText, 'must be a map');

/** A write; its map is one value. */
const Write = z.strictObject({
  data: MapText.refine((text) => utf8(text).length <= MOST_VALUE, 'must have at most 64 KiB'),
  cas: z.int().min(0).optional(),
});
export type WriteBody = z.output<typeof Write>;

/** The map and the options of a write. */
export function written({ fields, texts }: Sent): Taken {
  if (!('data' in fields)) throw sentence('no data provided');
  const data = fields.data === null ? '{}' : (texts.get('data') as string);
  if (fields.data !== null && !isObject(fields.data)) throw sentence('data must be a map');
  const options = isObject(fields.options) ? fields.options : {};
  const cas = integer(options.cas, 'cas');
  return { body: { data, ...(cas !== undefined && { cas }) } };
}

/** What the gate takes of a write; `stored` is null until it is known. */
function writeInput(
  { params, body }: Input<unknown, WriteBody>,
  context: Context,
  id: string,
  stored: Stored | null,
  how: Pick<WriteInput, 'merges' | 'seen'>,
): { input: WriteInput } {
  const secret = { environment: params.mount as string, name: params.path as string };
  return {
    input: {
      ...how,
      cas: body.cas ?? null,
      is_single: stored?.is_single ?? false,
      is_text: stored?.is_text ?? false,
      id: rememberId(context, secret, id),
      value: stored && encryptValue(keysOf(context), context.org, id, checkedValue(stored)),
    },
  };
}

/** A value within the limits of ours. */
function checkedValue({ value }: Stored): string {
  const checked = SecretValue.safeParse(value);
  if (!checked.success)
    throw new ApiError(invalid('data', checked.error.issues[0]?.message ?? 'is not a value'));
  return value;
}

const guess = ({ params }: At, context: Context): string =>
  knownId(context, { environment: params.mount as string, name: params.path as string }) ?? newId('sec');

/** How often the gate has given the current value for a merge, by its body. */
const given = new WeakMap<WriteBody, number>();

/**
 * The current value for a merge. Of several merges of one path at a time one succeeds, and the others begin
 * again: each waits longer than before, so that they do not meet forever, and takes the value of after that.
 */
async function unhurried(
  asked: WriteAsked,
  input: Input<unknown, WriteBody>,
  context: MoreContext,
): Promise<WriteAsked> {
  const times = given.get(input.body) ?? 0;
  given.set(input.body, times + 1);
  if (times === 0) return asked;
  await new Promise((done) => setTimeout(done, Math.random() * 25 * 2 ** times));
  const how = { merges: true, seen: null };
  const again = await context.further(writeInput(input, context, asked.id ?? newId('sec'), null, how).input);
  return again.kind === 'more' ? (again.data as WriteAsked) : asked;
}

/** Encrypts what a request makes of the current value, if that is needed. */
async function encrypted(
  first: WriteAsked,
  input: Input<unknown, WriteBody>,
  context: MoreContext,
  merges: boolean,
) {
  const asked = merges && first.current ? await unhurried(first, input, context) : first;
  const id = asked.id ?? newId('sec');
  const { data } = input.body;
  if (asked.type === null || asked.current === null) {
    const stored = merges ? null : storedAs(data, asked.is_map ?? false);
    return writeInput(input, context, id, stored, { merges, seen: null });
  }
  const { row, version, value } = await decryptValue(keysOf(context), context.org, asked.current);
  const is_map = isMap(row.type, value);
  const map = merges ? merged(mapOf(row.type, value), data) : data;
  const seen = { seal_id: version.seal_id, is_map };
  return writeInput(input, context, id, map === null ? null : storedAs(map, is_map), { merges, seen });
}

const writing = {
  action: 'secret.create',
  operation: 'secret.write_path',
  body: { schema: Write },
  named: at,
  render: (shown: VersionShown | Absent, _: unknown, context: RenderContext) => {
    if ('gone' in shown) return shown.gone ? answered(context, versionData(shown.gone), 404) : errors(404);
    return answered(context, versionData(shown));
  },
} as const;

export const writeData = becomes(
  {
    ...writing,
    method: 'post',
    prepare(input, context) {
      mustBeName(input);
      const how = { merges: false, seen: null };
      return writeInput(input, context, guess(input, context), storedAs(input.body.data, false), how);
    },
    more: (asked: WriteAsked, input, context) => encrypted(asked, input, context, false),
  },
  { takes: written },
);

export const patchData = becomes(
  {
    ...writing,
    method: 'patch',
    prepare(input, context) {
      mustBeName(input);
      return writeInput(input, context, guess(input, context), null, { merges: true, seen: null });
    },
    more: (asked: WriteAsked, input, context) => encrypted(asked, input, context, true),
  },
  {
    takes(sent) {
      const taken = written(sent);
      if (merged('{}', (taken.body as WriteBody).data) === null) throw sentence('data is nested too deeply');
      return taken;
    },
  },
);

const Metadata = z.strictObject({
  tags: z.union([Tags, z.record(TagName, TagValue.nullable())]).nullable(),
  merges: z.boolean(),
});

/** Fails for a setting of a path that cannot be changed here: to take it silently would promise it. */
function mustStay({ fields }: Sent): void {
  const isZero = (value: unknown) => [undefined, null, 0, '0', '0s'].includes(value as never);
  const settled = isZero(fields.max_versions) && isZero(fields.delete_version_after);
  if (!settled || ![undefined, null, false, 'false'].includes(fields.cas_required as never))
    throw sentence('max_versions, cas_required and delete_version_after are not supported');
}

const describing = (merges: boolean) => ({
  takes(sent: Sent): Taken {
    mustStay(sent);
    const { custom_metadata } = sent.fields;
    // In a merge patch, null takes everything away.
    if (custom_metadata === null && merges) return { body: { tags: {}, merges: false } };
    return { body: { tags: custom_metadata ?? null, merges } };
  },
});

export const writeMetadata = (method: 'post' | 'patch') =>
  becomes(
    {
      method,
      action: 'secret.update',
      operation: 'secret.describe_path',
      body: { schema: Metadata },
      named: at,
      prepare(input) {
        mustBeName(input);
        return { input: input.body satisfies DescribeInput };
      },
    },
    describing(method === 'patch'),
  );
