// Vault's system paths: what a client asks before it reads. Those that need no token say the same of each
// deployment; the others become operations. Invariant: an environment that a caller may not use is 403,
// whether it exists or not, and never 404, by which clients would take it for a mount of KV version 1.
import type { RenderContext } from '../../http/context';
import { bare, enveloped } from './answers';
import { sentence } from './body';
import { capabilities } from './capabilities';
import { becomes } from './route';
import { refusing } from './tokens';

/**
 * The release of Vault whose KV calls these are. Clients parse it, and turn features on by it: 1.17 asks for
 * no path that is not here.
 */
const VERSION = '1.17.0';
const CLUSTER = { cluster_name: 'svc', cluster_id: '7376632d-0000-4000-8000-000000000000' };

/** Answers without a token. */
export const open: Record<string, () => Response> = {
  health: () =>
    bare({
      initialized: true,
      sealed: false,
      standby: false,
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'disabled',
      server_time_utc: Math.floor(Date.now() / 1000),
      version: `${VERSION}+svc`,
      ...CLUSTER,
    }),
  'seal-status': () =>
    bare({
      type: 'svc',
      initialized: true,
      sealed: false,
      t: 1,
      n: 1,
      progress: 0,
      nonce: '',
      version: VERSION,
      build_date: '2024-06-10T00:00:00Z',
      migration: false,
      ...CLUSTER,
      recovery_seal: false,
      storage_type: 'svc',
    }),
  leader: () => bare({ ha_enabled: false, is_self: true, leader_address: '', leader_cluster_address: '' }),
  init: () => bare({ initialized: true }),
};

interface Environments {
  environments: { id: string; slug: string; name: string }[];
}

const MOUNT = {
  type: 'kv',
  options: { version: '2' },
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
  running_plugin_version: '',
  plugin_version: '',
};

const mountData = ({ id, name }: Environments['environments'][number]) => ({
  ...MOUNT,
  description: name,
  accessor: `kv_${id}`,
  uuid: id,
});

/** The mount that a path belongs to, which a client asks for before its first call. */
export const mountOf = becomes(
  {
    method: 'get',
    action: 'environment.mounts',
    named: ({ params }) => ({ environment: params.mount as string }),
    render({ environments: [found] }: Environments, { params }, context: RenderContext) {
      const data = { path: `${params.shown}/`, ...mountData(found as Environments['environments'][number]) };
      return enveloped(context.request, { data: JSON.stringify(data) });
    },
  },
  { purpose: 'preflight' },
);

/** All mounts that the caller can use. */
const mounts = (isUi: boolean) =>
  becomes({
    method: 'get',
    action: 'environment.mounts',
    render({ environments }: Environments, _, context: RenderContext) {
      const all = Object.fromEntries(
        environments.flatMap((one) => [
          [`${one.slug}/`, mountData(one)],
          [`${one.slug}.folders/`, mountData(one)],
        ]),
      );
      return enveloped(context.request, { data: JSON.stringify(isUi ? { secret: all, auth: {} } : all) });
    },
  });

/** There are no leases: each call on one says so, as Vault does of an unknown one. */
const lease = (text: string | null) => ({
  ...refusing('post', text ?? ''),
  takes: ({ fields }: { fields: Record<string, unknown> }) => {
    if (typeof fields.lease_id !== 'string' || fields.lease_id === '')
      throw sentence('lease_id must be specified');
    return {};
  },
});

const revokeLease = becomes(
  {
    method: 'post',
    action: 'caller.read',
    operation: 'caller.lookup',
    prepare: () => ({ input: { hash: null } }),
    render: () => new Response(null, { status: 204 }),
  },
  { takes: lease(null).takes },
);

export const system = {
  'GET internal/ui/mounts': mounts(true),
  'GET mounts': mounts(false),
  'POST capabilities-self': capabilities,
  'POST leases/lookup': lease('invalid lease'),
  'POST leases/renew': lease('lease not found'),
  'POST leases/revoke': revokeLease,
};
