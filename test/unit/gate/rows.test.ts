// The MAC of a row: it covers the kind and every column but itself and ciphertext, and survives a journey
// through JSON.
import { getTableColumns } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { macOf, type RowKind } from '../../../src/db/rows';
import type {
  ApprovalRow,
  CredentialRow,
  DeviceRow,
  EnvironmentRow,
  GrantRow,
  IntegrationRow,
  LogStreamRow,
  MemberRow,
  OrgRow,
  PasskeyRow,
  PolicyRow,
  SecretRow,
  ShareRow,
  TeamMemberRow,
  TeamRow,
  UpstreamRow,
  VersionRow,
  WebhookRow,
} from '../../../src/db/schema';
import {
  approvals,
  credentials,
  devices,
  environments,
  grants,
  integrations,
  logStreams,
  members,
  orgs,
  passkeys,
  policies,
  secrets,
  secretVersions,
  shares,
  teamMembers,
  teams,
  upstreams,
  webhooks,
} from '../../../src/db/schema';

const key = Uint8Array.from({ length: 32 }, (_, at) => at);

const org: OrgRow = {
  id: 'org_1',
  shard: 0,
  name: 'Acme “é”',
  default_environment: 'env_1',
  created_at: 1,
  updated_at: 2,
  deleted_at: null,
  member_addresses: ['10.0.0.0/8'],
  generation: 1,
  keys_generation: 2,
  spared: 'key_1',
  panicked_at: 3,
  audit_retention_days: 90,
  regions: ['weur'],
  location_hint: 'weur',
  passkeys_ended: { 'example.com': 1_700_000_000_000 },
  revision: 1,
  mac: '',
};
const environment: EnvironmentRow = {
  org_id: 'org_1',
  id: 'env_1',
  slug: 'production',
  name: 'Production',
  created_at: 1,
  lease_seconds: 60,
  revision: 1,
  mac: '',
};
const member: MemberRow = {
  org_id: 'org_1',
  id: 'mem_1',
  email: 'ann@example.com',
  name: 'Ann',
  role: 'owner',
  created_at: 1,
  invited_by: 'mem_0',
  enrolled_at: 2,
  enrolment_hash: 'ef'.repeat(32),
  enrolment_made_at: 3,
  enrolment_ends_at: 4,
  connections: [['mem_0', 3]],
  environments: ['env_1'],
  suspended_at: 5,
  suspended_by: 'mem_0',
  resumed_at: 6,
  provisioned: { made: true, connection: 'sso_1', role: true, groups: ['ops'], scim: null },
  revision: 1,
  mac: '',
};
const passkey: PasskeyRow = {
  org_id: 'org_1',
  id: 'psk_1',
  member_id: 'mem_1',
  name: 'laptop',
  credential_id: 'AQID',
  public_key: 'pQECAyY',
  counter: 7,
  transports: ['internal', 'hybrid'],
  backed_up: 0,
  created_at: 1,
  revision: 1,
  mac: '',
};
const team: TeamRow = {
  org_id: 'org_1',
  id: 'team_1',
  name: 'Core',
  created_at: 1,
  provisioned: { connection: 'sso_1', token: 'scm_1', external_id: 'x' },
  revision: 1,
  mac: '',
};
const teamMember: TeamMemberRow = {
  org_id: 'org_1',
  id: 'team_1.mem_1',
  team_id: 'team_1',
  member_id: 'mem_1',
  added_by: 'mem_0',
  accountable: ['mem_0'],
  created_at: 1,
  held_by: ['scim'],
  revision: 1,
  mac: '',
};
const grant: GrantRow = {
  org_id: 'org_1',
  id: 'grt_1',
  grantee_type: 'team',
  grantee_id: 'team_1',
  permission: 'read',
  environments: ['env_1'],
  secrets: null,
  upstreams: ['stripe'],
  created_by: 'key_1',
  accountable: ['mem_0'],
  dies_with: null,
  created_at: 1,
  expires_at: 5,
  revision: 1,
  mac: '',
};
const credential: CredentialRow = {
  org_id: 'org_1',
  id: 'key_1',
  kind: 'api_key',
  name: 'deploy',
  token_hash: 'ab'.repeat(32),
  hint: 'svc_live_…abcd',
  scopes: ['secrets:read', 'audit:read'],
  environments: ['env_1'],
  secrets: null,
  upstreams: ['stripe'],
  allowed_addresses: ['10.0.0.0/8'],
  rate_limit: 600,
  created_by: 'key_0',
  below_owner: 1,
  created_in: 'ses_1',
  dies_with: null,
  successor_id: null,
  created_at: 1_800_000_000_000,
  expires_at: 1_900_000_000_000,
  revoked_at: null,
  generation: 1,
  reason: 'an outage',
  member_id: 'mem_1',
  passkey_id: 'psk_1',
  refresh: { live: [2], used: [[1, 1_800_000_000_000]], last: 2 },
  confirmed_at: 1_800_000_000_000,
  accountable: ['mem_1'],
  device_id: 'dev_1',
  aws: '0102030405060708',
  sso: { connection: 'sso_1', link: 'lnk_1', sid: 's' },
  scim: { connection: 'sso_1', end_credentials: true },
  mcp_limits: { bindings: ['A=a.example'], hosts: [], run: false, commands: null, read: false },
  trust: {
    issuer: 'https://issuer.example.com',
    audiences: ['https://vault.example.com'],
    claims: { sub: 'repo:acme/*' },
    ttl: 3600,
    keys: null,
    changed_at: 1,
  },
  workload: {
    issuer: 'https://issuer.example.com',
    audiences: ['https://vault.example.com'],
    claims: { sub: ['repo:acme/app'] },
    key: null,
  },
  revision: 3,
  mac: '',
};
const secret: SecretRow = {
  org_id: 'org_1',
  id: 'sec_1',
  environment_id: 'env_1',
  name: 'prod/db',
  type: 'password',
  description: null,
  tags: { team: 'core', '10': 'b', '9': 'a' },
  version: 2,
  amended: 0,
  seal_id: 'ver_1',
  fingerprint: 'cd'.repeat(32),
  size: 10,
  sealed_size: 200,
  oldest_version: 1,
  binary: 1,
  unlabelled: 1,
  lost_versions: [[2, 3]],
  rotate_every_seconds: null,
  created_at: 1,
  updated_at: 2,
  expires_at: null,
  deleted_at: null,
  revoked_at: 4,
  revoked_through: 2,
  lifetime_seconds: 60,
  generated: 1,
  rotated_at: 2,
  auto_rotate: 1,
  revision: 2,
  mac: '',
};
const policy: PolicyRow = {
  org_id: 'org_1',
  id: 'pol_1',
  name: 'two people',
  kind: 'approval',
  enabled: 1,
  environments: ['env_1'],
  types: ['password'],
  names: ['prod/*'],
  config: { operations: ['secret.read'], required: 2, approvers: { role: 'admin' } },
  of_agent: ['mem_1'],
  created_by: 'mem_1',
  created_at: 1,
  updated_at: 2,
  revision: 1,
  mac: '',
};
const approval: ApprovalRow = {
  org_id: 'org_1',
  id: 'apr_1',
  status: 'approved',
  operation: 'secret.read',
  action: 'secret.read',
  requester: { kind: 'agent', id: 'agt_1', parent_id: null, name: 'bot' },
  root: 'agt_1',
  accountable: ['mem_1'],
  digest: 'ef'.repeat(32),
  method: 'GET',
  path: '/api/v1/orgs/org_1/secrets/sec_1',
  summary: 'Agent bot asks to read prod/db.',
  resource: 'sec_1',
  resource_name: 'prod/db',
  environment: 'production',
  environments: ['env_1'],
  targets: { sec_1: 3 },
  policies: [{ id: 'pol_1', revision: 1, name: 'two people', required: 2 }],
  decisions: [{ member: 'mem_2', decision: 'approve', at: 4 }],
  reason: 'an outage',
  request_id: 'req_1',
  ip: '192.0.2.1',
  place: 'Oslo',
  user_agent: 'curl',
  created_at: 1,
  expires_at: 5,
  ended_at: 6,
  used_by: 'req_2',
  revision: 2,
  mac: '',
};
const device: DeviceRow = {
  org_id: 'org_1',
  id: 'dev_1',
  name: 'laptop',
  platform: 'linux',
  serial: 'X1',
  public_key: { kty: 'OKP', crv: 'Ed25519', x: 'AQID' },
  member_id: 'mem_1',
  created_by: 'mem_1',
  created_at: 1,
  updated_at: 2,
  assigned_at: 3,
  blocked_at: 4,
  revision: 1,
  mac: '',
};
const webhook: WebhookRow = {
  org_id: 'org_1',
  id: 'whk_1',
  host: 'hooks.example.com',
  url_sealed: 'AQ==',
  description: 'alerts',
  events: ['SECRET_ROTATED'],
  secret_sealed: 'AQ==',
  old_secret_sealed: 'AQ==',
  old_secret_until: 3,
  disabled: 'gone',
  created_by: 'mem_1',
  created_at: 1,
  updated_at: 2,
  revision: 1,
  mac: '',
};
const logStream: LogStreamRow = {
  org_id: 'org_1',
  id: 'log_1',
  name: 'SIEM',
  kind: 'https',
  config: { url: 'https://siem.example.com' },
  credentials_sealed: 'AQ==',
  format: 'svc',
  disabled: 'gone',
  created_by: 'mem_1',
  maker: 'mem_1',
  generation: 0,
  starts_after: 7,
  created_at: 1,
  updated_at: 2,
  revision: 1,
  mac: '',
};
const upstream: UpstreamRow = {
  org_id: 'org_1',
  id: 'ups_1',
  name: 'stripe',
  base_url: 'https://api.stripe.com',
  environment_id: 'env_1',
  auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{STRIPE_KEY}}' }],
  secrets: ['STRIPE_KEY'],
  allow: [{ methods: ['POST'], paths: ['/v1/charges'] }],
  max_request_bytes: 1,
  max_response_bytes: 2,
  timeout_seconds: 30,
  rate_limit: 10,
  created_by: 'mem_1',
  maker: 'mem_1',
  taken_at: 1,
  generation: 0,
  created_at: 1,
  updated_at: 2,
  revision: 1,
  mac: '',
};
const integration: IntegrationRow = {
  org_id: 'org_1',
  id: 'int_1',
  kind: 'notify',
  platform: 'slack',
  name: 'alerts',
  config: { channel: 'ops' },
  credentials_sealed: 'AQ==',
  environments: ['env_1'],
  auto: 1,
  prune: 0,
  events: ['SECRET_LEAKED'],
  maker: 'mem_1',
  reach: [{ scopes: ['secrets:read'], environments: ['env_1'], secrets: ['A*'] }],
  of_agent: ['mem_1'],
  changed_by: [['mem_1', 1]],
  created_by: 'mem_1',
  created_at: 1,
  updated_at: 2,
  revision: 1,
  mac: '',
};
const share: ShareRow = {
  org_id: 'org_1',
  id: 'shr_1',
  secret_id: 'sec_1',
  version: 2,
  key_hash: 'ab'.repeat(32),
  value_sealed: 'AQ==',
  passphrase: 'salt:hash',
  max_views: 3,
  views: 1,
  failures: 2,
  created_by: 'mem_1',
  dies_with: 'key_1',
  created_at: 1,
  expires_at: 4,
  revoked_at: 3,
  revision: 1,
  mac: '',
};
const version: VersionRow = {
  org_id: 'org_1',
  secret_id: 'sec_1',
  version: 2,
  seal_id: 'ver_1',
  value_sealed: 'AQ==',
  fingerprint: 'cd'.repeat(32),
  size: 10,
  created_by: 'key_1',
  created_at: 2,
  generated: 1,
  binary: 1,
  request_token: 'ef'.repeat(32),
  mac: '',
};

const rows = [
  ['org', org, orgs],
  ['environment', environment, environments],
  ['member', member, members],
  ['passkey', passkey, passkeys],
  ['team', team, teams],
  ['team_member', teamMember, teamMembers],
  ['grant', grant, grants],
  ['credential', credential, credentials],
  ['secret', secret, secrets],
  ['policy', policy, policies],
  ['approval', approval, approvals],
  ['device', device, devices],
  ['webhook', webhook, webhooks],
  ['log_stream', logStream, logStreams],
  ['upstream', upstream, upstreams],
  ['integration', integration, integrations],
  ['share', share, shares],
  ['version', version, secretVersions],
] as const;
const kinds: (RowKind | 'version')[] = rows.map(([kind]) => kind);

/** Columns that rows of the first release do not have. */
const later: Record<string, string[]> = {
  org: ['member_addresses', 'generation', 'keys_generation', 'spared', 'panicked_at', 'audit_retention_days'],
  member: [
    'invited_by',
    'enrolled_at',
    'enrolment_hash',
    'enrolment_made_at',
    'enrolment_ends_at',
    'connections',
    'suspended_at',
    'suspended_by',
    'provisioned',
  ],
  team: ['provisioned'],
  team_member: ['accountable', 'held_by'],
  grant: ['accountable', 'upstreams'],
  credential: [
    'generation',
    'reason',
    'member_id',
    'passkey_id',
    'refresh',
    'confirmed_at',
    'accountable',
    'device_id',
    'mcp_limits',
    'sso',
    'scim',
    'upstreams',
  ],
  secret: ['lost_versions', 'revoked_at', 'revoked_through', 'generated', 'rotated_at', 'auto_rotate'],
  version: ['generated'],
};

/** What a column could be changed to: near misses first. */
function others(value: unknown): unknown[] {
  if (value === null) return [0, '', 'null', [], 1];
  if (typeof value === 'number') return [value + 1, value - 1, -value - 1, String(value), null];
  if (typeof value === 'string')
    return [`${value} `, `${value}\0`, value.slice(1), `${value.slice(0, -1)}~`, '', [value], null];
  if (Array.isArray(value))
    return [[], [...value, 'x'], value.slice(1), [value.join(',')], ['*'], JSON.stringify(value), null];
  return [
    {},
    { ...(value as object), more: '' },
    { team: 'cor', '10': 'b', '9': 'a' },
    JSON.stringify(value),
    null,
  ];
}

describe.each(rows)('integrity: the MAC of a row of kind %s', (kind, row, table) => {
  const mac = macOf(key, kind, row);

  it('covers every column of its table: the row of this test has them all', () => {
    expect(Object.keys(row).sort()).toEqual(Object.keys(getTableColumns(table)).sort());
  });

  it('is 32 bytes in hex, and the same each time', () => {
    expect(mac).toMatch(/^[0-9a-f]{64}$/);
    expect(macOf(key, kind, { ...row })).toBe(mac);
  });

  it('changes with every column, whatever its new value', () => {
    for (const [column, value] of Object.entries(row)) {
      if (column === 'mac' || column.endsWith('_sealed')) continue;
      for (const other of others(value)) {
        if (JSON.stringify(other) === JSON.stringify(value)) continue;
        expect([column, other, macOf(key, kind, { ...row, [column]: other }) === mac]).toEqual([
          column,
          other,
          false,
        ]);
      }
    }
  });

  it('changes when a column is left out, or one is added', () => {
    for (const column of Object.keys(row)) {
      if (column === 'mac' || column.endsWith('_sealed')) continue;
      const rest = Object.fromEntries(Object.entries(row).filter(([name]) => name !== column));
      expect([column, macOf(key, kind, rest) === mac]).toEqual([column, false]);
    }
    expect(macOf(key, kind, { ...row, more: null })).not.toBe(mac);
  });

  it('is that of the first release while later columns are null, and with no other column', () => {
    const first = Object.fromEntries(
      Object.entries(row).filter(([column]) => !later[kind]?.includes(column)),
    );
    const before = macOf(key, kind, first);
    for (const column of Object.keys(getTableColumns(table))) {
      if (column in first) continue;
      expect([column, macOf(key, kind, { ...first, [column]: null }) === before]).toEqual([column, true]);
      expect([column, macOf(key, kind, { ...first, [column]: 0 }) === before]).toEqual([column, false]);
    }
    for (const column of Object.keys(first)) {
      if (column === 'mac' || column.endsWith('_sealed')) continue;
      const rest = Object.fromEntries(Object.entries(first).filter(([name]) => name !== column));
      expect([column, macOf(key, kind, rest) === before]).toEqual([column, false]);
    }
  });

  it('changes when any two columns swap their values', () => {
    const columns = Object.entries(row).filter(([name]) => name !== 'mac' && !name.endsWith('_sealed'));
    for (const [a, x] of columns)
      for (const [b, y] of columns)
        if (JSON.stringify(x) !== JSON.stringify(y))
          expect([a, b, macOf(key, kind, { ...row, [a]: y, [b]: x }) === mac]).toEqual([a, b, false]);
  });

  it('changes with the kind, and with the key', () => {
    for (const other of kinds) expect(macOf(key, other, row) === mac).toBe(other === kind);
    for (let at = 0; at < key.length; at++)
      expect(
        macOf(
          key.map((byte, n) => (n === at ? byte ^ 1 : byte)),
          kind,
          row,
        ),
      ).not.toBe(mac);
  });

  it('is the same after a round trip through JSON, and in any order of columns', () => {
    expect(macOf(key, kind, JSON.parse(JSON.stringify(row)))).toBe(mac);
    expect(macOf(key, kind, Object.fromEntries(Object.entries(row).reverse()))).toBe(mac);
  });

  it('does not cover itself', () => {
    expect(macOf(key, kind, { ...row, mac })).toBe(mac);
    expect(macOf(key, kind, { ...row, mac: 'x' })).toBe(mac);
  });
});

it('integrity: the MAC of a version covers what its ciphertext is bound to, but not the ciphertext, which authenticates itself', () => {
  expect(macOf(key, 'version', { ...version, value_sealed: 'Ag==' })).toBe(macOf(key, 'version', version));
  expect(macOf(key, 'version', { ...version, seal_id: 'ver_2' })).not.toBe(macOf(key, 'version', version));
});
