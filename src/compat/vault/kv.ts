// KV version 2 on a mount `<environment>/`: one secret a path. Each call is an operation on a secret by its
// name (domains/secrets/gate/paths.ts); only its body and its answer are translated here. Invariant: a value
// keeps its text both ways (values.ts).
import { z } from '@hono/zod-openapi';
import { utf8 } from '../../crypto/bytes';
import { newId } from '../../db/ids';
import { isSecretName } from '../../db/names';
import { decryptValue, encryptValue } from '../../domains/secrets/encryption';
import type { ListInput } from '../../domains/secrets/gate/lists';
import type {
  Absent,
  DeleteInput,
  DeliveredAtPath,
  DescribeInput,
  PathShown,
  VersionShown,
  WriteAsked,
  WriteInput,
} from '../../domains/secrets/gate/paths';
import { knownId, rememberId } from '../../domains/secrets/known-ids';
import { MOST_VERSIONS } from '../../domains/secrets/rules';
import { MOST_VALUE, SecretValue, TagName, Tags, TagValue } from '../../domains/secrets/wire';
import { ApiError, invalid } from '../../errors';
import { unwrap } from '../../gate/request/outcome';
import { pause } from '../../gate/request/yielding';
import { type Context, keysOf, type RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { iso, QueryInteger } from '../../http/wire';
import { isObject, isObjectText, merged } from '../json-text';
import { integer, type Sent, sentence } from './body';
import { enveloped, errors } from './envelope';
import { becomes, type Taken } from './route';
import { isMap, mapOf, type Stored, storedAs, subkeysOf } from './values';

type At = Pick<Input, 'params'>;
type Params = { mount: string; path: string };

/** The secret of a path. A text that is no name of ours names only its environment, and is refused later. */
const at = ({ params }: At) => {
  const { mount, path } = params as Params;
  return { environment: mount, ...(isSecretName(path) && { name: path }) };
};
export const mount = ({ params }: At) => ({ environment: (params as Params).mount });

/** Throws 400 for a path that is no name of ours. */
function mustBeName({ params }: At): void {
  if (!isSecretName((params as Params).path))
    throw sentence(
      'the path must have 1 to 255 characters: letters, digits, _ . / - and must start with a letter, a digit or _',
    );
}

/** The metadata of a version. */
export const versionData = ({ version, created_at, deleted_at, tags }: VersionShown) => ({
  version,
  created_time: created_at,
  deletion_time: deleted_at ?? '',
  destroyed: false,
  custom_metadata: Object.keys(tags).length ? tags : null,
});

export const answered = (context: Context, data: object, status = 200) =>
  enveloped(context.request, { data: JSON.stringify(data), status });

/** 404: of what was deleted, its metadata stay visible. */
const gone = ({ gone }: Absent, context: Context) =>
  gone ? answered(context, { data: null, metadata: versionData(gone) }, 404) : errors(404);

// ---------------------------------------------------------------- reading

export const VersionQuery = z.strictObject({ version: QueryInteger(0, 999_999_999).optional() });
const SubkeysQuery = VersionQuery.extend({ depth: QueryInteger(0, 999_999_999).optional() });

export const versionOf = (query: URLSearchParams): Taken => ({
  query: { version: query.get('version') ?? undefined },
});

const prepareRead = ({ params, query }: Input<z.output<typeof VersionQuery>>) => {
  mustBeName({ params });
  return { input: { version: query.version || null, if_none_match: null, as_text: true } };
};

async function readable(delivered: DeliveredAtPath, context: Context) {
  const { row, version, value } = await decryptValue(keysOf(context), context.org, delivered);
  const metadata = versionData({
    version: version.version,
    created_at: iso(version.created_at),
    deleted_at: null,
    tags: row.tags,
  });
  return { map: mapOf(row.type, value), metadata: JSON.stringify(metadata) };
}

const readData = becomes(
  {
    method: 'get',
    action: 'secret.read',
    operation: 'secret.read_path',
    query: VersionQuery,
    named: at,
    prepare: prepareRead,
    async render(found: DeliveredAtPath | Absent, _, context: RenderContext) {
      if ('gone' in found) return gone(found, context);
      const { map, metadata } = await readable(found, context);
      const data = `{"data":${map},"metadata":${metadata}}`;
      return enveloped(context.request, { data, lease_seconds: found.lease_seconds });
    },
  },
  { takes: (_, query) => versionOf(query) },
);

const readSubkeys = becomes(
  {
    method: 'get',
    action: 'secret.read',
    operation: 'secret.read_path',
    query: SubkeysQuery,
    named: at,
    prepare: prepareRead,
    async render(found: DeliveredAtPath | Absent, { query }, context: RenderContext) {
      if ('gone' in found) return gone(found, context);
      const { map, metadata } = await readable(found, context);
      const subkeys = JSON.stringify(subkeysOf(JSON.parse(map), query.depth ?? 0));
      return enveloped(context.request, { data: `{"subkeys":${subkeys},"metadata":${metadata}}` });
    },
  },
  {
    takes: (_, query) => ({ query: { ...versionOf(query).query, depth: query.get('depth') ?? undefined } }),
  },
);

const versionShown = ({ created_at, deleted_at, revoked }: PathShown['versions'][number]) => ({
  created_time: created_at,
  deletion_time: deleted_at ?? '',
  destroyed: revoked,
});

const readMetadata = becomes({
  method: 'get',
  action: 'secret.versions',
  operation: 'secret.show_path',
  named: at,
  prepare: (input) => {
    mustBeName(input);
    return { input: {} };
  },
  render: ({ tags, versions, ...shown }: PathShown, _, context: RenderContext) =>
    answered(context, {
      versions: Object.fromEntries(versions.map((one) => [one.version, versionShown(one)])),
      current_version: shown.version,
      // As in Vault: 0 while no version has made room for a newer one.
      oldest_version: shown.oldest_version > 1 ? shown.oldest_version : 0,
      created_time: shown.created_at,
      updated_time: shown.updated_at,
      ...CONFIG,
      custom_metadata: Object.keys(tags).length ? tags : null,
    }),
});

/** What a path can be configured to in Vault, and what it always is here. */
export const CONFIG = { max_versions: 0, cas_required: false, delete_version_after: '0s' };

export const readConfig = becomes({
  method: 'get',
  action: 'environment.mounts',
  named: mount,
  render: (_: unknown, __, context: RenderContext) =>
    answered(context, { ...CONFIG, max_versions: MOST_VERSIONS }),
});

// ---------------------------------------------------------------- lists

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

// ---------------------------------------------------------------- writing

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

/** Encrypts what a request makes of the current value, if that is needed. */
async function encrypted(
  asked: WriteAsked,
  input: Input<unknown, WriteBody>,
  context: Context,
  merges: boolean,
) {
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

const writeData = becomes(
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

const patchData = becomes(
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

const writeMetadata = (method: 'post' | 'patch') =>
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

// ---------------------------------------------------------------- deleting

const Versions = z.strictObject({ versions: z.array(z.int()).max(MOST_VERSIONS) });

/**
 * The versions that a request names: numbers, texts, or texts with commas, as the command line sends them.
 */
function namedVersions({ fields }: Sent): Taken {
  const { versions = [] } = fields;
  const all = (Array.isArray(versions) ? versions : [versions]).flatMap((one) =>
    typeof one === 'string' ? one.split(',').filter((part) => part.trim() !== '') : [one],
  );
  if (all.length === 0) throw sentence('No version number provided');
  return {
    body: { versions: all.map((one) => integer(typeof one === 'string' ? one.trim() : one, 'versions')) },
  };
}

const deleting = (
  method: 'delete' | 'post',
  action: 'secret.delete' | 'secret.restore',
  what: DeleteInput['what'],
) =>
  becomes(
    {
      method,
      action,
      operation: `${action}_path`,
      ...(method === 'post' && { body: { schema: Versions } }),
      named: at,
      prepare(input) {
        mustBeName(input);
        const { versions = null } = (input.body ?? {}) as { versions?: number[] };
        return { input: { what, versions } satisfies DeleteInput };
      },
    },
    method === 'post' ? { takes: namedVersions } : {},
  );

/** The calls on a mount, by method and the first segment of the path. LIST is `GET …?list=true`. */
export const kv = {
  'GET data': readData,
  'POST data': writeData,
  'PATCH data': patchData,
  'DELETE data': deleting('delete', 'secret.delete', 'newest'),
  'POST delete': deleting('post', 'secret.delete', 'newest'),
  'POST undelete': deleting('post', 'secret.restore', 'newest'),
  'POST destroy': deleting('post', 'secret.delete', 'all'),
  'GET metadata': readMetadata,
  'LIST metadata': list,
  'POST metadata': writeMetadata('post'),
  'PATCH metadata': writeMetadata('patch'),
  'DELETE metadata': deleting('delete', 'secret.delete', 'all'),
  'GET subkeys': readSubkeys,
  'GET config': readConfig,
};
