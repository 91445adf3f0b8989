// The actions of the audit log, grouped by resource, for the filter. To filter by an action that is not
// listed, start from an entry.

const VERBS: Record<string, [label: string, verbs: string]> = {
  secret: [
    'Secrets',
    'auto_rotate compare create delete delete_folder expired expiring list promote read read_all restore rollback rotate rotation_due share share_list share_revoke share_view update use use_end versions write_folder',
  ],
  api_key: ['API keys', 'create list read revoke rotate update'],
  agent: ['Agents', 'create list read revoke update'],
  approval: ['Approvals', 'approve cancel list read reject'],
  audit: [
    'Audit log',
    'archive checkpoint checkpoints export export_confirm histogram key missing read readers verify',
  ],
  break_glass: ['Break-glass tokens', 'create list revoke'],
  caller: ['Caller', 'read'],
  compliance: ['Compliance', 'report'],
  credential: ['Credentials', 'contain expiring graph'],
  database: ['Database', 'late'],
  deployment: ['Deployment', 'rewrap'],
  device: ['Devices', 'assign block create delete list read update'],
  domain: ['Domains', 'check create delete list read verify'],
  environment: ['Environments', 'create delete list mounts read update'],
  event: ['Events', 'read stream'],
  grant: ['Grants', 'create delete list'],
  integration: [
    'Integrations',
    'create delete deliver generate import list notify platforms read sync sync_auto sync_cancel sync_end sync_run sync_status syncs update',
  ],
  sso_connection: ['Single sign-on', 'create delete list read test update'],
  incident: ['Incidents', 'list read update'],
  integrity: ['Integrity', 'alarm'],
  scan: ['Leak scans', 'create'],
  scim: [
    'SCIM',
    'describe group_create group_delete group_list group_read group_update user_create user_delete user_list user_read user_update',
  ],
  scim_token: ['SCIM tokens', 'create list revoke'],
  log_stream: ['Log streams', 'create delete deliver disable list read seek test update'],
  member: ['Members', 'access create delete enrol links list read readmit resume suspend unlink update'],
  org: [
    'Organisation',
    'accept_clock adopt create delete list overview panic read recover reset_gate search update',
  ],
  passkey: ['Passkeys', 'create delete list update'],
  policy: ['Policies', 'create delete list read update violations'],
  provider_token: ['Provider tokens', 'create list revoke'],
  provider: ['Providers', 'issue revoke rotate'],
  region: ['Regions', 'late'],
  replica: ['Replicas', 'begin'],
  role: ['Roles', 'list'],
  access_token: ['Session tokens', 'create create_child list revoke'],
  auth: [
    'Sign-in',
    'confirm device device_confirm device_deny device_lookup device_token enrol exchange login logout refresh session_end session_list sso sso_logout',
  ],
  team_member: ['Team members', 'add list remove'],
  team: ['Teams', 'create delete list read update'],
  upstream: ['Upstreams', 'create delete list read update'],
  webhook: [
    'Webhooks',
    'create delete deliver deliveries disable list read redeliver rotate_secret test update',
  ],
  trust: ['Workload identity', 'create delete list read update'],
};

/** Each group with its actions, named as in the API. */
export const ACTION_GROUPS: [label: string, actions: string[]][] = Object.entries(VERBS).map(
  ([about, [label, verbs]]) => [label, verbs.split(' ').map((verb) => `${about}.${verb}`)],
);

const ALL = ACTION_GROUPS.flatMap(([, actions]) => actions);

/** Actions that return values of secrets. */
const VALUES = [
  ...['secret.read', 'secret.read_all', 'secret.share_view'],
  ...['integration.generate', 'integration.sync', 'integration.sync_run', 'integration.sync_auto'],
];

/** Reads of metadata, and routine actions of programs: of little interest to people, and most of the log. */
const ROUTINE = new Set([
  ...ALL.filter((action) => /\.(list|read)$/.test(action) && !VALUES.includes(action)),
  ...[
    'secret.versions',
    'secret.share_list',
    'member.access',
    'credential.graph',
    'policy.violations',
    'compliance.report',
  ],
  ...['audit.archive', 'audit.checkpoint', 'audit.checkpoints', 'audit.key', 'audit.readers', 'audit.verify'],
  ...['audit.histogram', 'org.overview', 'org.search'],
  ...[
    'event.stream',
    'webhook.deliver',
    'webhook.deliveries',
    'auth.refresh',
    'auth.session_list',
    'auth.device_token',
  ],
  ...['integration.deliver', 'integration.platforms', 'integration.sync_status', 'integration.syncs'],
]);
const ACTIVITY = ALL.filter((action) => !ROUTINE.has(action));

/** Quick filters for the log. The first is the default. */
export const VIEWS: {
  value: string;
  label: string;
  lead: string;
  query: { action?: string; outcome?: 'denied' };
}[] = [
  {
    value: 'activity',
    label: 'Activity',
    lead: 'Changes, reads of values and sign-ins. For lists and other reads of metadata, choose Everything.',
    query: { action: ACTIVITY.join(',') },
  },
  {
    value: 'changes',
    label: 'Changes',
    lead: 'Everything that was created, changed, deleted or revoked.',
    query: {
      action: ACTIVITY.filter(
        (action) => !VALUES.includes(action) && !/^auth\.(?!enrol|session_end)/.test(action),
      ).join(','),
    },
  },
  {
    value: 'values',
    label: 'Reads of values',
    lead: 'Reads of secrets, single or in bulk, generated files, syncs and opened links.',
    query: { action: VALUES.join(',') },
  },
  { value: 'refusals', label: 'Refusals', lead: 'Requests that were denied.', query: { outcome: 'denied' } },
  { value: 'all', label: 'Everything', lead: 'Every request, including reads of this page.', query: {} },
];
