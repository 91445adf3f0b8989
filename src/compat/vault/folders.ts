// KV version 2 on a mount `<environment>.folders/`: one folder a path, whose secrets are the keys of its map.
// Each call is an operation on the secrets directly below a prefix (domains/secrets/gate/folder-*.ts and
// bulk.ts); only its body and its answer are translated here. Versions are revisions of the environment.
// Invariant: a value is stored as the text that was sent, and no key is removed that a request does not name.
import { z } from '@hono/zod-openapi';
import { newId } from '../../db/ids';
import { isSecretName } from '../../db/names';
import { encryptValue } from '../../domains/secrets/encryption';
import type { ValuesInput, ValuesPart } from '../../domains/secrets/gate/bulk';
import type {
  FolderList,
  FolderListInput,
  FolderShown,
} from '../../domains/secrets/gate/folders/folder-lists';
import {
  type FolderDeleteInput,
  type FolderWanted,
  type FolderWriteInput,
  type FolderWritten,
  MOST_KEYS,
} from '../../domains/secrets/gate/folders/folder-writes';
import { knownId, rememberId } from '../../domains/secrets/known-ids';
import { openAll } from '../../domains/secrets/values';
import { SecretValue } from '../../domains/secrets/wire';
import { ApiError, invalid } from '../../errors';
import { type Context, keysOf, type RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { iso } from '../../http/wire';
import { enveloped, errors } from './answers';
import { sentence } from './body';
import { cutList, folderOf, ListQuery, listed, MOST_KEYS_LISTED, nextPart } from './kv-lists';
import { answered, mount, versionData } from './kv-places';
import { CONFIG, readConfig, VersionQuery, versionOf } from './kv-reads';
import { MapText, type WriteBody, written } from './kv-writes';
import { becomes } from './route';

type At = Pick<Input, 'params'>;

/** The folder of a path, as a prefix; throws 400 for one that no name of ours can have. */
function prefixOf({ params }: At): string {
  const path = params.path ?? '';
  if (path !== '' && !isSecretName(path))
    throw sentence(
      'the path must have at most 255 characters: letters, digits, _ . / - and must start with a letter, a digit or _',
    );
  return folderOf(path);
}

/** What stands for the metadata of a version: the revision of the environment. */
const revisionData = (revision: number, created_time: string) =>
  versionData({ version: revision, created_at: created_time, deleted_at: null, tags: {} });

// ---------------------------------------------------------------- reading

type Part = Pick<ValuesInput, 'if_none_match' | 'after' | 'etag'>;

const folderInput = (prefix: string, revision: number | null, part: Part): ValuesInput => ({
  as_text: true,
  prefix,
  prefixes: [prefix],
  strip: true,
  folder: { revision },
  ...part,
});

const FIRST: Part = { if_none_match: null, after: null, etag: null };

const readData = becomes(
  {
    method: 'get',
    action: 'secret.read_all',
    operation: 'secret.read_folder',
    query: VersionQuery,
    named: mount,
    prepare: (input) => ({ input: folderInput(prefixOf(input), input.query.version || null, FIRST) }),
    async render(first: ValuesPart, { params, query }, context: RenderContext) {
      if (!first.folder) return errors(404);
      const inputOf = (part: Part) => folderInput(prefixOf({ params }), query.version || null, part);
      const { values, withheld = [], unreadable, folder } = await openAll(first, inputOf, context);
      const { revision, changed_at, lease_seconds } = folder as NonNullable<typeof folder>;
      const data = JSON.stringify({ data: values, metadata: revisionData(revision, iso(changed_at)) });
      const warnings = [
        ...withheld.map((name) => `${name} is left out: its read needs approval`),
        ...unreadable.map((name) => `${name} is left out: its stored value cannot be decrypted`),
      ];
      return enveloped(context.request, { data, lease_seconds, warnings });
    },
  },
  { takes: (_, query) => versionOf(query) },
);

/** The names of the keys, without values. */
const showing = (shown: (folder: FolderShown, context: Context) => Response) =>
  becomes({
    method: 'get',
    action: 'secret.versions',
    operation: 'secret.show_folder',
    named: mount,
    prepare: (input) => ({ input: { prefix: prefixOf(input) } }),
    render: (folder: FolderShown, _, context: RenderContext) => shown(folder, context),
  });

const readSubkeys = showing(({ keys, revision, updated_at }, context) =>
  answered(context, {
    subkeys: Object.fromEntries(keys.map((key) => [key, null])),
    metadata: revisionData(revision, iso(updated_at)),
  }),
);

const readMetadata = showing(({ revision, created_at, updated_at }, context) =>
  answered(context, {
    versions: { [revision]: { created_time: iso(updated_at), deletion_time: '', destroyed: false } },
    current_version: revision,
    oldest_version: revision,
    created_time: iso(created_at),
    updated_time: iso(updated_at),
    ...CONFIG,
    custom_metadata: null,
  }),
);

const list = becomes(
  {
    method: 'get',
    action: 'secret.list',
    operation: 'secret.list_folders',
    query: ListQuery,
    named: mount,
    prepare: (input) => ({ input: { prefix: prefixOf(input), after: null } satisfies FolderListInput }),
    async render(first: FolderList, { params, query }, context: RenderContext) {
      const keys: string[] = [];
      for (let page = first, parts = 1; ; parts++) {
        keys.push(...page.keys);
        if (page.next === null) break;
        if (keys.length > MOST_KEYS_LISTED) throw sentence('the list is too long: list a folder below it');
        const input: FolderListInput = { prefix: prefixOf({ params }), after: page.next };
        page = await nextPart<FolderList>(parts, input, context);
      }
      return listed(context, keys.sort(), query);
    },
  },
  { takes: cutList },
);

// ---------------------------------------------------------------- writing

/** A write. Each value of its map is bounded, and the body as a whole. */
const Write = z.strictObject({ data: MapText, cas: z.int().min(0).optional() });

/** The keys and values of a map, and the keys to remove. */
function keysIn({ params, body }: Input<unknown, WriteBody>, merges: boolean) {
  const prefix = prefixOf({ params });
  const items: { name: string; value: string }[] = [];
  const removed: string[] = [];
  for (const [key, value] of Object.entries(JSON.parse(body.data) as Record<string, unknown>)) {
    const name = prefix + key;
    if (key.includes('/') || !isSecretName(name))
      throw sentence(
        `the key ${key.slice(0, 100)} cannot be the name of a secret: use letters, digits, _ . and -`,
      );
    if (value === null && merges) removed.push(name);
    else if (typeof value !== 'string')
      throw sentence(`the value of ${key} must be a string: this mount has one secret a key`);
    else items.push({ name, value: checkedValue(key, value) });
  }
  if (items.length + removed.length > MOST_KEYS)
    throw sentence(`a folder can have at most ${MOST_KEYS.toLocaleString('en')} keys`);
  return { prefix, items, removed };
}

function checkedValue(key: string, value: string): string {
  const checked = SecretValue.safeParse(value);
  if (!checked.success)
    throw new ApiError(invalid(key, checked.error.issues[0]?.message ?? 'is not a value'));
  return value;
}

/** What the gate takes of a write: values encrypted for the ids that it asked for, or for guesses. */
function writeInput(
  input: Input<unknown, WriteBody>,
  context: Context,
  merges: boolean,
  { ids }: FolderWanted,
): { input: FolderWriteInput } {
  const { prefix, items, removed } = keysIn(input, merges);
  const environment = input.params.mount as string;
  const wanted = new Map(ids);
  const encrypted = items.map(({ name, value }, at) => {
    const secret = { environment, name };
    const id = wanted.has(at) ? wanted.get(at) : knownId(context, secret);
    const used = rememberId(context, secret, id ?? newId('sec'));
    return { name, id: used, value: encryptValue(keysOf(context), context.org, used, value) };
  });
  return {
    input: { prefix, replaces: !merges, cas: input.body.cas ?? null, items: encrypted, removed },
  };
}

const writing = (method: 'post' | 'patch') =>
  becomes(
    {
      method,
      action: 'secret.write_folder',
      body: { schema: Write },
      named: mount,
      prepare: (input, context) => writeInput(input, context, method === 'patch', { ids: [] }),
      more: async (asked: FolderWanted, input, context) =>
        writeInput(input, context, method === 'patch', asked),
      render: ({ revision, changed_at }: FolderWritten, _, context: RenderContext) =>
        answered(context, revisionData(revision, changed_at)),
    },
    { takes: written },
  );

const deleting = (permanent: boolean) =>
  becomes({
    method: 'delete',
    action: 'secret.delete_folder',
    named: mount,
    prepare(input) {
      const prefix = prefixOf(input);
      // A client whose path is empty by mistake must not delete an environment.
      if (prefix === '') throw sentence('the root of a mount cannot be deleted');
      return { input: { prefix, permanent } satisfies FolderDeleteInput };
    },
  });

/** The calls on such a mount. `delete`, `undelete` and `destroy` name versions, which folders have not. */
export const folders = {
  'GET data': readData,
  'POST data': writing('post'),
  'PATCH data': writing('patch'),
  'DELETE data': deleting(false),
  'GET metadata': readMetadata,
  'LIST metadata': list,
  'DELETE metadata': deleting(true),
  'GET subkeys': readSubkeys,
  'GET config': readConfig,
};
