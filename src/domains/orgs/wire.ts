// Request and response schemas of organisations and environments.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { MOST_REGIONS, REGIONS } from '../../db/regions';
import type { EnvironmentRow, OrgRow } from '../../db/schema';
import { Addresses, EnvironmentRef, iso, Name, pageOf, Revision, Time, text } from '../../http/wire';
import { adoption } from '../audit/wire';
import { NewApiKey } from '../credentials/wire';
import { Email, EnrolmentUrl, NewMember } from '../members/wire';

const RegionName = z.enum(REGIONS).openapi('Region');
const regions = z
  .union(
    [
      z.literal('auto'),
      z
        .array(RegionName)
        .max(MOST_REGIONS)
        .refine((list) => new Set(list).size === list.length, 'must not contain duplicates'),
    ],
    `must be auto, or a list of at most ${MOST_REGIONS} of: ${REGIONS.join(', ')}`,
  )
  .openapi('Regions', {
    description:
      'Where replicas answer reads. auto: in each region with more than a few reads a minute, until it is idle for an hour. [], the default: nowhere but in the gate.',
    example: ['weur', 'oc'],
  });

export const OrgIn = z
  .strictObject({
    name: Name.openapi({ example: 'Acme' }),
    owner: z.strictObject({ email: Email, name: Name.openapi({ example: 'Ann' }) }),
    location_hint: RegionName.optional().openapi({
      description:
        "Where the organisation's Durable Object is placed. Choose the region closest to most readers.",
    }),
    regions: regions.optional(),
  })
  .openapi('OrgIn');

const allowed_addresses = Addresses.nullable().openapi({
  description:
    'IP addresses and ranges from which members can sign in and use browser sessions. null allows any address. Credentials created by members are not affected.',
});
const audit_retention_days = z.int().min(90).max(3650).nullable().openapi({
  description:
    'How many days audit log entries are kept. After that, they are deleted once their export is confirmed. null: 400 days, and they are deleted without an export.',
  example: 365,
});
export const OrgPatch = z
  .strictObject({
    name: Name.optional(),
    default_environment: EnvironmentRef.optional(),
    allowed_addresses: allowed_addresses.optional(),
    audit_retention_days: audit_retention_days.optional(),
    regions: regions.optional(),
  })
  .openapi('OrgPatch');
export const OrgDelete = z
  .strictObject({
    confirm: z
      .string()
      .max(255)
      .openapi({ description: 'The name of the organisation, to confirm the deletion.', example: 'Acme' }),
  })
  .openapi('OrgDelete');
const Reason = text(1024).openapi({ example: 'the only key was lost with a laptop' });
export const Recovery = z
  .strictObject({
    reason: Reason,
    email: Email.optional().openapi({
      description: 'Email address of the owner who enrols again. The oldest owner by default.',
    }),
    contain: z.boolean().optional().openapi({
      description: 'true ends every other credential and session of the organisation in the same call.',
      example: true,
    }),
  })
  .openapi('Recovery');
export const Adoption = z.strictObject({ reason: Reason }).openapi('Adoption');

export const Org = z
  .object({
    id: z.string().openapi({ example: exampleId('org') }),
    revision: Revision,
    name: z.string(),
    default_environment: z.string().openapi({ example: 'production' }),
    allowed_addresses,
    audit_retention_days,
    regions,
    created_at: Time,
    updated_at: Time,
  })
  .openapi('Org');
export const OrgWithUsage = Org.extend({
  // A nullable reference would not allow null.
  location_hint: z.union([RegionName, z.null()]).openapi({
    description:
      'Where the Durable Object of the organisation was placed: at its location_hint, or near the request that created it. null: not known.',
  }),
  replicas: z
    .array(
      z.object({
        region: RegionName,
        status: z.enum(['starting', 'serving', 'stopped']),
        reads_per_minute: z.int(),
        behind: z.int().openapi({ description: 'Number of changes that it lacks.' }),
      }),
    )
    .openapi({
      description: 'The replicas of its regions. stopped: nothing is read there at present.',
      example: [],
    }),
  usage: z
    .object({
      secrets: z.int().openapi({
        description: 'Number of secrets, at most 100,000. Deleted secrets count until they are purged.',
      }),
      sealed_bytes: z
        .int()
        .openapi({ description: 'Encrypted size of all versions of all secrets in bytes, at most 4 GiB.' }),
      credentials: z.int().openapi({
        description:
          'Number of live credentials, at most 10,000. Session tokens and browser sessions do not count. An expired credential may count for up to five more seconds.',
      }),
      members: z.int().openapi({ description: 'Number of members, at most 2,000.' }),
      backlog: z
        .object({
          audit_entries: z.int().openapi({
            description:
              'Audit entries that have not moved to the database. At 100,000, requests are refused that do not revoke or recover.',
          }),
          audit_entries_refused: z
            .int()
            .openapi({ description: 'Audit entries that the database refuses; they stay in the gate.' }),
          events: z.int().openapi({
            description: 'Events that have not moved to the database. The oldest are deleted beyond 100,000.',
          }),
          deliveries: z.int().openapi({
            description: 'Deliveries that have not succeeded or failed yet, counted up to 20,000.',
          }),
          deliveries_late_seconds: z
            .int()
            .openapi({ description: 'How long the most overdue delivery has been due; 0 if none is.' }),
          changes: z.int().openapi({
            description:
              'Changes that the database does not have yet. At 20,000, changes are refused that do not revoke or recover.',
          }),
          changes_late_seconds: z
            .int()
            .openapi({ description: 'How long the oldest of them has waited; 0 if none does.' }),
        })
        .openapi({
          description:
            'What waits. It grows while the database, the queue or receivers of deliveries do not respond.',
        }),
    })
    .openapi({
      description: 'How much of its limits the organisation uses.',
      example: {
        secrets: 42,
        sealed_bytes: 18_211,
        credentials: 7,
        members: 12,
        backlog: {
          audit_entries: 310,
          audit_entries_refused: 0,
          events: 1204,
          deliveries: 2,
          deliveries_late_seconds: 0,
          changes: 0,
          changes_late_seconds: 0,
        },
      },
    }),
}).openapi('OrgWithUsage');
export const Founded = z.object({ org: Org, owner: NewMember, api_key: NewApiKey }).openapi('Founded');
export const Recovered = z
  .object({
    api_key: NewApiKey,
    enrolment_url: EnrolmentUrl,
    warning: z.string().optional().openapi({
      description: 'Without contain: that every other credential still works, a lost API key too.',
    }),
    ended_at: Time.optional().openapi({
      description: 'With contain: every credential that was created before this time has ended.',
    }),
    incident_id: z.string().nullable().optional().openapi({
      description:
        'With contain: the incident that records it. null if every incident is still open and there is no room.',
    }),
  })
  .openapi('Recovered');
export const Adopted = z
  .object({
    ...adoption,
    adopted_at: Time.nullable().openapi({
      description:
        'When these changes were made. A repeated request changes nothing and shows the last ones again. null if there never were any.',
    }),
    gate_loaded_at: Time.nullable().openapi({
      description:
        'When the gate last began again from the database, or null. It does not know what was revoked or deleted between the backup and that time.',
    }),
  })
  .openapi('Adopted');
export const GateReset = z
  .object({
    gate_loaded_at: Time.openapi({ description: 'When the new gate began from the database.' }),
    audit_entries_archived: z.boolean().openapi({
      description:
        'Whether the old gate could first send the database the changes that it lacked, and its newest audit entries. If not, they are lost.',
    }),
    missing: z
      .array(z.object({ from: z.int(), to: z.int(), reason: z.enum(['restore', 'gate_lost']) }))
      .openapi({
        description:
          'Sequences that the audit log lacks. Those after the last entry in the database were never used, or are lost.',
      }),
  })
  .openapi('GateReset');
export const ClockAccepted = z
  .object({ ahead_seconds: z.int().min(0).openapi({ description: 'How far the audit log is ahead.' }) })
  .openapi('ClockAccepted');
export const ListedOrg = z
  .object({ id: z.string(), name: z.string(), created_at: Time })
  .openapi('ListedOrg');
export const OrgPage = pageOf(ListedOrg, 'OrgPage');

const Slug = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must have 1 to 63 characters: a-z, 0-9 and -, and must start and end with a letter or digit',
  )
  .openapi({ example: 'qa' });
export const EnvironmentIn = z
  .strictObject({
    name: Name.openapi({ example: 'QA' }),
    slug: Slug.optional().openapi({ description: 'Derived from the name by default.' }),
  })
  .openapi('EnvironmentIn');
/** How long clients of Vault wait before they read a secret again, where the environment does not say. */
export const LEASE_SECONDS = 60;
const LeaseSeconds = z.int().min(0).max(86_400).openapi({
  description: 'How many seconds clients of Vault wait before they read a secret again.',
  example: 60,
});

export const EnvironmentPatch = z
  .strictObject({ name: Name.optional(), lease_seconds: LeaseSeconds.optional() })
  .openapi('EnvironmentPatch');
export const Environment = z
  .object({
    id: z.string(),
    revision: Revision,
    name: z.string(),
    slug: z.string(),
    lease_seconds: z.int().openapi({ example: 60 }),
  })
  .openapi('Environment');
export const EnvironmentPage = pageOf(Environment, 'EnvironmentPage');

export const orgOut = (row: OrgRow, defaultEnvironment: string): z.infer<typeof Org> => ({
  id: row.id,
  revision: row.revision,
  name: row.name,
  default_environment: defaultEnvironment,
  allowed_addresses: row.member_addresses,
  audit_retention_days: row.audit_retention_days,
  regions: row.regions ?? [],
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
});

export const environmentOut = ({
  id,
  revision,
  name,
  slug,
  lease_seconds,
}: EnvironmentRow): z.infer<typeof Environment> => ({
  id,
  revision,
  name,
  slug,
  lease_seconds: lease_seconds ?? LEASE_SECONDS,
});

/** The slug for a name; empty if none can be derived. */
export const slugOfName = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63)
    .replace(/-+$/, '');
