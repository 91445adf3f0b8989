// HTTP route of imports. The Worker reads the export and encrypts its values; the gate gets names and
// ciphertext.
import { fromUtf8 } from '../../crypto/bytes';
import { newId } from '../../db/ids';
import { ApiError, invalid } from '../../errors';
import { type Context, keysOf } from '../../http/context';
import { type Input, route } from '../../http/route';
import { encryptValue } from '../secrets/encryption';
import { type Ready, readExport, withoutEmpty } from './items';
import type { ImportInput, ImportItem, Wanted } from './payloads';
import * as wire from './wire';

type ImportRequest = Input<unknown, ReturnType<(typeof wire.ImportIn)['parse']>>;

/** The parsed requests: the gate may ask for some values again, encrypted for other ids. */
const read = new WeakMap<object, { items: Ready[]; input: ImportInput }>();

const encrypted = (context: Context, { value, is_bytes, ...item }: Ready, id: string): ImportItem => ({
  ...item,
  id,
  value: {
    ...encryptValue(keysOf(context), context.org, id, value),
    ...(is_bytes && { binary: 1 }),
  },
});

function inputOf({ body, bytes }: ImportRequest, context: Context): ImportInput {
  const {
    source,
    data,
    environmentId = null,
    onConflict,
    dryRun = false,
    prefix = '',
    refuseEmpty = false,
    keepPaths = false,
    whole = false,
  } = body;
  if (keepPaths && source !== 'vault') throw new ApiError(invalid('keepPaths', 'is for the source vault'));
  if (whole && source !== 'aws-secrets-manager')
    throw new ApiError(invalid('whole', 'is for the source aws-secrets-manager'));
  const found = readExport(source, data, fromUtf8(bytes as Uint8Array) as string, prefix, Date.now(), {
    keepPaths,
    whole,
  });
  const refusal = 'code' in found ? found : null;
  const { items, failed } =
    'code' in found ? { items: [], failed: [] } : refuseEmpty ? withoutEmpty(found) : found;
  const input = {
    source,
    environment: environmentId,
    on_conflict: onConflict,
    dry_run: dryRun,
    items: items.map((item) => encrypted(context, item, newId('sec'))),
    failed,
    refusal,
  };
  read.set(body, { items, input });
  return input;
}

export const importRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/integrations/import',
    action: 'integration.import',
    tag: 'Integrations',
    summary: 'Import secrets',
    description:
      'Reads the export of another secrets manager and creates its secrets in one transaction. Valid names are kept; characters that are not allowed become _. An item that cannot be imported is listed in failed and does not stop the others. Also needs the scope secrets:write. Items outside the name patterns of the credential fail with NOT_ALLOWED. Up to 5,000 items.',
    body: { schema: wire.ImportIn, document: 'data' },
    answers: { 200: wire.Imported },
    refusals: ['NOT_FOUND', 'SECRET_ACCESS_DENIED', 'IMPORT_CONFLICT', 'LIMIT_REACHED', 'IMPORT_UNREADABLE'],
    unkept: ({ dryRun }) => dryRun === true,
    prepare: (request, context) => ({ input: inputOf(request, context) }),
    async more({ ids }: Wanted, { body }, context) {
      const { items, input } = read.get(body) as { items: Ready[]; input: ImportInput };
      const again = new Map(ids);
      const encryptedFor = (item: ImportItem, at: number) => {
        const id = again.get(at);
        return id === undefined ? item : encrypted(context, items[at] as Ready, id);
      };
      return { input: { ...input, items: input.items.map(encryptedFor) } };
    },
  }),
];
