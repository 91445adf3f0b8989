// The findings of a compliance report and the controls each relates to. Control titles for ISO/IEC 27001:2022
// are those of its Annex A. The Trust Services Criteria have no titles; theirs here summarise the criterion.

export const areas = {
  secrets: 'Secrets',
  credentials: 'Credentials',
  people: 'People and devices',
  governance: 'Approvals and emergency access',
  audit: 'Audit log and integrity',
  delivery: 'Webhooks and syncs',
} as const;
export type Area = keyof typeof areas;

interface Declared {
  title: string;
  area: Area;
  remedy: string;
  soc2: readonly Soc2[];
  iso27001: readonly Iso27001[];
}

export const soc2 = {
  'CC5.3': 'Policies that establish what is expected, and procedures that put them into action',
  'CC6.1': 'Logical access security over protected information assets',
  'CC6.2':
    'Registration and authorization of users before credentials are issued, and removal of credentials',
  'CC6.3': 'Access by role, with least privilege and segregation of duties',
  'CC6.6': 'Protection against threats from outside the system boundaries',
  'CC7.2': 'Monitoring of system components for anomalies',
  'CC7.3': 'Evaluation of security events',
  'CC7.4': 'Response to security incidents',
  'CC8.1': 'Authorization and approval of changes',
} as const;
export type Soc2 = keyof typeof soc2;

export const iso27001 = {
  'A.5.3': 'Segregation of duties',
  'A.5.9': 'Inventory of information and other associated assets',
  'A.5.15': 'Access control',
  'A.5.16': 'Identity management',
  'A.5.17': 'Authentication information',
  'A.5.18': 'Access rights',
  'A.5.25': 'Assessment and decision on information security events',
  'A.5.26': 'Response to information security incidents',
  'A.5.28': 'Collection of evidence',
  'A.5.33': 'Protection of records',
  'A.8.1': 'User endpoint devices',
  'A.8.2': 'Privileged access rights',
  'A.8.3': 'Information access restriction',
  'A.8.5': 'Secure authentication',
  'A.8.15': 'Logging',
  'A.8.16': 'Monitoring activities',
  'A.8.24': 'Use of cryptography',
  'A.8.32': 'Change management',
} as const;
export type Iso27001 = keyof typeof iso27001;

/** In report order. */
export const catalogue = {
  'secrets-rotation-overdue': {
    title: 'Secrets overdue for rotation',
    area: 'secrets',
    remedy:
      'Rotate each secret at its source first, then store the new value with POST /secrets/{id}/rotate. Set auto_rotate on secrets whose value this service generates.',
    soc2: ['CC6.1'],
    iso27001: ['A.5.17', 'A.8.24'],
  },
  'secrets-never-rotated': {
    title: 'Secrets that were never rotated',
    area: 'secrets',
    remedy: 'Rotate them, or set a rotation policy that applies to them. Delete those that nothing uses.',
    soc2: ['CC6.1'],
    iso27001: ['A.5.17', 'A.8.24'],
  },
  'secrets-expiring': {
    title: 'Secrets that expire soon',
    area: 'secrets',
    remedy: 'Renew each secret before it expires, or delete it. Reading an expired secret returns 410.',
    soc2: ['CC6.1'],
    iso27001: ['A.5.17', 'A.5.9'],
  },
  'secrets-unread': {
    title: 'Secrets that nothing reads',
    area: 'secrets',
    remedy:
      'Ask the owner whether the secret is still needed. If not, revoke it where it came from and delete it here.',
    soc2: ['CC6.1', 'CC6.3'],
    iso27001: ['A.5.9', 'A.5.18'],
  },
  'secrets-naming': {
    title: 'Secret names that break a naming policy',
    area: 'secrets',
    remedy:
      'Rename them. New names are checked when they are set; these are older than the policy or its last change.',
    soc2: ['CC5.3'],
    iso27001: ['A.5.9'],
  },
  'credentials-unused': {
    title: 'Unused credentials',
    area: 'credentials',
    remedy: 'Revoke credentials that nothing uses.',
    soc2: ['CC6.2', 'CC6.3'],
    iso27001: ['A.5.16', 'A.5.18'],
  },
  'credentials-without-expiry': {
    title: 'Credentials without an expiry',
    area: 'credentials',
    remedy:
      'Replace them with credentials that have expires_at, or rotate API keys on a schedule. Prefer session tokens and agents.',
    soc2: ['CC6.1', 'CC6.2'],
    iso27001: ['A.5.17', 'A.5.18'],
  },
  'credentials-over-scoped': {
    title: 'Over-scoped credentials',
    area: 'credentials',
    remedy:
      'Give each credential only the scopes, environments and names that its program needs, and revoke the broader one.',
    soc2: ['CC6.1', 'CC6.3'],
    iso27001: ['A.5.15', 'A.8.2', 'A.8.3'],
  },
  'members-without-passkey': {
    title: 'Members without a passkey',
    area: 'people',
    remedy: 'Have each member set up a passkey with the enrolment link, or remove the member.',
    soc2: ['CC6.1', 'CC6.2'],
    iso27001: ['A.5.16', 'A.8.5'],
  },
  'devices-unassigned': {
    title: 'Devices without an assigned member',
    area: 'people',
    remedy: 'Assign each device to a member, or block or remove it.',
    soc2: ['CC6.1', 'CC6.6'],
    iso27001: ['A.5.9', 'A.8.1'],
  },
  'break-glass-use': {
    title: 'Emergency access with break-glass tokens',
    area: 'governance',
    remedy: 'Review each use against its reason, record the review, and rotate the values that were read.',
    soc2: ['CC6.3', 'CC7.3', 'CC7.4'],
    iso27001: ['A.5.18', 'A.8.2', 'A.8.16'],
  },
  approvals: {
    title: 'Approvals and who decided them',
    area: 'governance',
    remedy:
      'Enable approval policies for sensitive operations. Ask why a request was used without the approvals that its policies require.',
    soc2: ['CC6.3', 'CC8.1'],
    iso27001: ['A.5.3', 'A.8.2', 'A.8.32'],
  },
  'emergency-operations': {
    title: 'Panic, containment and recovery',
    area: 'governance',
    remedy:
      'Keep the incident record with each operation, and check that its follow-up steps were completed.',
    soc2: ['CC7.3', 'CC7.4'],
    iso27001: ['A.5.25', 'A.5.26'],
  },
  'refused-administration': {
    title: 'Refused administrative requests',
    area: 'audit',
    remedy:
      'Check who sent them and for what: a program with too few scopes, a person without the role, or an attempt to gain more access.',
    soc2: ['CC6.6', 'CC7.2', 'CC7.3'],
    iso27001: ['A.8.3', 'A.8.16'],
  },
  'integrity-alarms': {
    title: 'Integrity alarms',
    area: 'audit',
    remedy: 'Find out who altered the database, restore the rows from a backup, and treat it as an incident.',
    soc2: ['CC7.2', 'CC7.3', 'CC7.4'],
    iso27001: ['A.5.25', 'A.8.15', 'A.8.16'],
  },
  'audit-chain': {
    title: 'State of the audit log',
    area: 'audit',
    remedy:
      'Verify the whole log with GET /audit-log/verify, keep checkpoints outside this service, and set a retention of 365 days or more.',
    soc2: ['CC7.2', 'CC7.3'],
    iso27001: ['A.5.28', 'A.5.33', 'A.8.15'],
  },
  'delivery-failures': {
    title: 'Webhook and sync failures',
    area: 'delivery',
    remedy:
      'Fix the receiver, enable the webhook with PATCH /webhooks/:id, and resend failed deliveries with POST /webhooks/:id/redeliver.',
    soc2: ['CC7.2'],
    iso27001: ['A.8.16'],
  },
} as const satisfies Record<string, Declared>;
export type FindingId = keyof typeof catalogue;
export const findingIds = Object.keys(catalogue) as [FindingId, ...FindingId[]];
