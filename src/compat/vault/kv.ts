// KV version 2 on a mount `<environment>/`: one secret a path. Each call is an operation on a secret by its
// name (domains/secrets/gate/paths.ts); only its body and its answer are translated, in the files beside
// this.
import { z } from '@hono/zod-openapi';
import type { DeleteInput } from '../../domains/secrets/gate/paths';
import { MOST_VERSIONS } from '../../domains/secrets/rules';
import { integer, type Sent, sentence } from './body';
import { list } from './kv-lists';
import { at, mustBeName } from './kv-places';
import { readConfig, readData, readMetadata, readSubkeys } from './kv-reads';
import { patchData, writeData, writeMetadata } from './kv-writes';
import { becomes, type Taken } from './route';

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
