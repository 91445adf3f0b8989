// The actions of the audit log, grouped by resource, for the filter. To filter by an action that is not listed, start from an entry.

const VERBS: Record<string, [label: string, verbs: string]> = {
  secret: [
    'Secrets',
    'auto_rotate create delete expired expiring list read read_all restore rollback rotate rotation_due share share_list share_revoke share_view update versions',
  ],
  api_key: ['API keys', 'create list read revoke rotate update'],
  agent: ['Agents', 'create list read revoke update'],
  approval: ['Approvals', 'approve cancel list read reject'],
  audit: ['Audit log', 'archive checkpoint checkpoints export export_confirm key missing read readers verify'],
  break_glass: ['Break-glass tokens', 'create list revoke'],
  caller: ['Caller', 'read'],
  compliance: ['Compliance', 'report'],
  credential: ['Credentials', 'contain expiring graph'],
  device: ['Devices', 'assign block create delete list read update'],
  environment: ['Environments', 'create delete list read update'],
  event: ['Events', 'read stream'],
  grant: ['Grants', 'create delete list'],
  integration: [
    'Integrations',
    'create delete deliver generate import list notify platforms read sync sync_auto sync_cancel sync_end sync_run sync_status syncs update',
  ],
  integrity: ['Integrity', 'alarm'],
  scan: ['Leak scans', 'create'],
  member: ['Members', 'access create delete enrol list read update'],
  org: ['Organisation', 'adopt create delete list panic read recover update'],
  passkey: ['Passkeys', 'create delete list update'],
  policy: ['Policies', 'create delete list read update violations'],
  provider_token: ['Provider tokens', 'create list revoke'],
  provider: ['Providers', 'issue revoke rotate'],
  role: ['Roles', 'list'],
  access_token: ['Session tokens', 'create list revoke'],
  auth: [
    'Sign-in',
    'confirm device device_confirm device_deny device_lookup device_token enrol exchange login logout refresh session_end session_list',
  ],
  team_member: ['Team members', 'add list remove'],
  team: ['Teams', 'create delete list read update'],
  webhook: ['Webhooks', 'create delete deliver deliveries disable list read redeliver rotate_secret test update'],
  trust: ['Workload identity', 'create delete list read update'],
};

/** Each group with its actions, named as in the API. */
export const ACTION_GROUPS: [label: string, actions: string[]][] = Object.entries(VERBS).map(([about, [label, verbs]]) => [
  label,
  verbs.split(' ').map((verb) => `${about}.${verb}`),
]);
