// The scopes of credentials, with short descriptions. A test compares them with the service.

export interface ScopeGroup {
  resource: string;
  label: string;
  scopes: [verb: string, words: string][];
}

export const scopeGroups: ScopeGroup[] = [
  {
    resource: 'secrets',
    label: 'Secrets',
    scopes: [
      ['list', 'See names and details, never values'],
      ['read', 'Read values'],
      ['write', 'Create and change'],
      ['rotate', 'Set new values'],
      ['delete', 'Delete and restore'],
      ['share', 'Share by link or grant'],
    ],
  },
  {
    resource: 'integrations',
    label: 'Integrations',
    scopes: [
      ['read', 'See connections and runs'],
      ['sync', 'Send values to platforms'],
      ['generate', 'Generate files with values'],
      ['import', 'Import from other tools'],
      ['notify', 'Send notifications'],
      ['write', 'Create and change connections'],
    ],
  },
  {
    resource: 'webhooks',
    label: 'Webhooks',
    scopes: [
      ['read', 'See webhooks and deliveries'],
      ['write', 'Create, change and delete'],
    ],
  },
  { resource: 'events', label: 'Events', scopes: [['read', 'Follow the event feed']] },
  {
    resource: 'scans',
    label: 'Leak scans',
    scopes: [
      ['read', 'See findings'],
      ['write', 'Scan text and files'],
    ],
  },
  {
    resource: 'environments',
    label: 'Environments',
    scopes: [
      ['read', 'See them'],
      ['write', 'Create, rename and delete'],
    ],
  },
  {
    resource: 'tokens',
    label: 'Credentials',
    scopes: [
      ['read', 'See all kinds'],
      ['write', 'Create and revoke all kinds'],
    ],
  },
  {
    resource: 'members',
    label: 'Members and grants',
    scopes: [
      ['read', 'See them'],
      ['write', 'Invite, change and remove'],
    ],
  },
  {
    resource: 'teams',
    label: 'Teams',
    scopes: [
      ['read', 'See them'],
      ['write', 'Create, change and delete'],
    ],
  },
  {
    resource: 'sso',
    label: 'Single sign-on',
    scopes: [
      ['read', 'See domains and connections'],
      ['write', 'Add, verify and delete domains'],
    ],
  },
  {
    resource: 'devices',
    label: 'Devices',
    scopes: [
      ['read', 'See them'],
      ['write', 'Register, assign and block'],
    ],
  },
  {
    resource: 'policies',
    label: 'Policies',
    scopes: [
      ['read', 'See them'],
      ['write', 'Create, change and delete'],
    ],
  },
  {
    resource: 'approvals',
    label: 'Approvals',
    scopes: [
      ['read', 'See requests'],
      ['decide', 'Approve and reject, in a browser session'],
    ],
  },
  { resource: 'audit', label: 'Audit log', scopes: [['read', 'Read and verify it']] },
  { resource: 'compliance', label: 'Compliance', scopes: [['read', 'Read the report']] },
  {
    resource: 'org',
    label: 'Organisation',
    scopes: [
      ['read', 'See its settings'],
      ['write', 'Change its settings'],
    ],
  },
];

/** A short description of scopes that names the first one. */
export function scopesInWords(scopes: readonly string[]): string {
  if (scopes.includes('*')) return 'Everything';
  if (!scopes.length) return 'Nothing';
  return scopes.length > 2 ? `${scopes[0]} and ${scopes.length - 1} more` : scopes.join(', ');
}
