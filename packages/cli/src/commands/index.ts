// The commands, in the order of the help. Each command's file is loaded only when the command runs, to keep
// start-up fast.
import type { Entry } from '../definition/command.ts';

export const COMMANDS: Record<string, Entry> = {
  login: { section: 'Start', summary: 'Sign in to a vault', load: () => import('./login.ts') },
  logout: {
    section: 'Start',
    summary: 'Sign out and remove the stored credential',
    load: () => import('./logout.ts'),
  },
  whoami: {
    section: 'Start',
    summary: 'Show the current credential and its permissions',
    load: () => import('./whoami.ts'),
  },
  'aws-credentials': {
    section: 'Start',
    summary: "Print an access key for AWS's clients, for an hour",
    load: () => import('./aws-credentials.ts'),
  },
  init: {
    section: 'Start',
    summary: 'Set the organisation and environment of a directory',
    load: () => import('./init.ts'),
  },
  org: {
    section: 'Start',
    summary: 'Create and list the organisations of a deployment',
    load: () => import('./org.ts'),
  },
  check: {
    section: 'Start',
    summary: 'Compare the secrets that a directory expects with the vault',
    load: () => import('./check.ts'),
  },
  run: {
    section: 'Secrets',
    summary: 'Run a command with secrets in its environment',
    load: () => import('./run.ts'),
  },
  proxy: {
    section: 'Secrets',
    summary: 'Run a command that uses APIs without their keys',
    load: () => import('./proxy.ts'),
  },
  get: { section: 'Secrets', summary: 'Print the value of a secret', load: () => import('./get.ts') },
  set: { section: 'Secrets', summary: 'Create a secret or change its value', load: () => import('./set.ts') },
  list: {
    section: 'Secrets',
    summary: 'List secrets, without their values',
    load: () => import('./list.ts'),
  },
  delete: { section: 'Secrets', summary: 'Delete secrets', load: () => import('./delete.ts') },
  restore: { section: 'Secrets', summary: 'Restore a deleted secret', load: () => import('./restore.ts') },
  history: {
    section: 'Secrets',
    summary: 'List the versions of a secret',
    load: () => import('./history.ts'),
  },
  rollback: {
    section: 'Secrets',
    summary: 'Restore the value of an earlier version',
    load: () => import('./rollback.ts'),
  },
  rotate: { section: 'Secrets', summary: 'Give a secret a new version', load: () => import('./rotate.ts') },
  diff: {
    section: 'Secrets',
    summary: 'Compare two environments, without showing values',
    load: () => import('./diff.ts'),
  },
  copy: {
    section: 'Secrets',
    summary: 'Copy secrets to another environment',
    load: () => import('./copy.ts'),
  },
  promote: {
    section: 'Secrets',
    summary: 'Give an environment the values of another one',
    load: () => import('./promote.ts'),
  },
  import: {
    section: 'Secrets',
    summary: 'Import secrets from a file or another tool',
    load: () => import('./import.ts'),
  },
  export: {
    section: 'Secrets',
    summary: 'Export secrets in the format of another tool',
    load: () => import('./export.ts'),
  },
  share: { section: 'Secrets', summary: 'Share a secret through a link', load: () => import('./share.ts') },
  scan: { section: 'Secrets', summary: 'Scan files for credentials', load: () => import('./scan.ts') },
  environment: { section: 'Secrets', summary: 'Manage environments', load: () => import('./environment.ts') },
  key: { section: 'Access', summary: 'Manage API keys', load: () => import('./key.ts') },
  agent: { section: 'Access', summary: 'Manage credentials for AI agents', load: () => import('./agent.ts') },
  token: { section: 'Access', summary: 'Manage session tokens', load: () => import('./token.ts') },
  trust: {
    section: 'Access',
    summary: 'Manage workloads that sign in with OIDC tokens',
    load: () => import('./trust.ts'),
  },
  member: { section: 'Access', summary: 'Manage members', load: () => import('./member.ts') },
  team: { section: 'Access', summary: 'Manage teams', load: () => import('./team.ts') },
  grant: {
    section: 'Access',
    summary: 'Manage access of members and teams to secrets',
    load: () => import('./grant.ts'),
  },
  upstream: {
    section: 'Access',
    summary: 'Manage HTTP APIs that are used without reading their secrets',
    load: () => import('./upstream.ts'),
  },
  domain: {
    section: 'Access',
    summary: 'Manage domains of the organisation',
    load: () => import('./domain.ts'),
  },
  sso: {
    section: 'Access',
    summary: 'Show connections to identity providers',
    load: () => import('./sso.ts'),
  },
  scim: {
    section: 'Access',
    summary: 'Manage tokens with which identity providers manage members',
    load: () => import('./scim.ts'),
  },
  device: {
    section: 'Access',
    summary: 'Manage devices that credentials are bound to',
    load: () => import('./device.ts'),
  },
  mcp: {
    section: 'Access',
    summary: 'Let an AI agent call APIs without their secrets',
    load: () => import('./mcp.ts'),
  },
  approval: {
    section: 'Access',
    summary: 'Manage requests that need approval',
    load: () => import('./approval.ts'),
  },
  policy: {
    section: 'Access',
    summary: 'Manage naming, rotation and approval policies',
    load: () => import('./policy.ts'),
  },
  audit: { section: 'Operations', summary: 'Read the audit log', load: () => import('./audit.ts') },
  sync: {
    section: 'Operations',
    summary: 'Write secrets to other platforms',
    load: () => import('./sync.ts'),
  },
  'log-stream': {
    section: 'Operations',
    summary: 'Send the audit log to a SIEM or a bucket',
    load: () => import('./log-stream.ts'),
  },
  webhook: {
    section: 'Operations',
    summary: 'Send events to other programs',
    load: () => import('./webhook.ts'),
  },
  contain: {
    section: 'Operations',
    summary: 'Revoke a leaked credential and report what it did',
    load: () => import('./contain.ts'),
  },
  incident: {
    section: 'Operations',
    summary: 'Follow containments and panics',
    load: () => import('./incident.ts'),
  },
  completion: {
    section: 'Operations',
    summary: 'Print a shell completion script',
    load: () => import('./completion.ts'),
  },
  doctor: { section: 'Operations', summary: 'Check the set-up of svc', load: () => import('./doctor.ts') },
};
