// KV version 2 on a mount `<environment>/`: reads of values, of their keys and of metadata.
import { z } from '@hono/zod-openapi';
import { decryptValue } from '../../domains/secrets/encryption';
import type { Absent, DeliveredAtPath, PathShown } from '../../domains/secrets/gate/paths';
import { MOST_VERSIONS } from '../../domains/secrets/rules';
import { type Context, keysOf, type RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { iso, QueryInteger } from '../../http/wire';
import { enveloped } from './answers';
import { answered, at, gone, mount, mustBeName, versionData } from './kv-places';
import { becomes, type Taken } from './route';
import { mapOf, subkeysOf } from './values';

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

export const readData = becomes(
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

export const readSubkeys = becomes(
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

export const readMetadata = becomes({
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
