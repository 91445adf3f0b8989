// Request and response schemas of the compliance report.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { roles } from '../../db/schema';
import { Instant, Time } from '../../http/wire';
import { areas, findingIds } from './catalogue';

export const ReportQuery = z.strictObject({
  format: z.enum(['json', 'csv', 'html']).optional().openapi({
    description: 'json by default. csv has one row per piece of evidence; html is one page that prints well.',
  }),
  from: Instant.optional().openapi({
    description:
      'Start of the period for data from the audit log and approvals. Defaults to 90 days before to.',
  }),
  to: Instant.optional().openapi({
    description: 'End of the period. Defaults to now. A period is at most 400 days long.',
  }),
});

export const statuses = ['pass', 'warn', 'fail', 'not_applicable'] as const;
export const Status = z.enum(statuses).openapi({
  description: 'not_applicable: there was nothing to test.',
  example: 'warn',
});
export type Status = z.infer<typeof Status>;

const count = (description: string, example = 1) => z.int().openapi({ description, example });

export const Evidence = z
  .object({
    id: z.string().openapi({
      description: 'The id of what was found: a secret, a credential, an audit entry.',
      example: exampleId('secret'),
    }),
    name: z.string().nullable().openapi({ example: 'payments/stripe-key' }),
    environment: z.string().nullable(),
    time: Time.nullable().openapi({ description: 'The time that decides the finding.' }),
    detail: z.string().openapi({
      description: 'What was found.',
      example: 'Due since 2026-09-01T00:00:00.000Z by the policy Quarterly.',
    }),
    facts: z.record(z.string(), z.union([z.string(), z.int(), z.boolean(), z.null()])).openapi({
      description: 'The ids, times and counts behind the finding, by name.',
      example: { version: 1, rotated_at: '2026-06-03T00:00:00.000Z' },
    }),
    people: z
      .array(
        z.object({
          id: z.string(),
          name: z.string().nullable(),
          decision: z.enum(['approve', 'reject']),
          time: Time,
        }),
      )
      .optional()
      .openapi({ description: 'For an approval: who decided, and how.', example: undefined }),
  })
  .openapi('ComplianceEvidence');
export type Evidence = z.infer<typeof Evidence>;

export const Finding = z
  .object({
    id: z.enum(findingIds),
    title: z.string().openapi({ example: 'Secrets overdue for rotation' }),
    area: z.enum(Object.keys(areas) as [keyof typeof areas]),
    status: Status,
    tested: z.string().openapi({
      description: 'Exactly what was tested, with the thresholds of each status.',
      example: 'Whether 120 active secrets are past the end of their rotation period.',
    }),
    examined: count('How many were tested.', 120),
    count: count('How many were found.', 3),
    complete: z.boolean().openapi({
      description: 'false if a limit was reached before everything was tested. tested names the limit.',
    }),
    evidence: z.array(Evidence).openapi({ description: 'The first 100.' }),
    remedy: z.string(),
    controls: z.object({ soc2: z.array(z.string()), iso27001: z.array(z.string()) }).openapi({
      example: { soc2: ['CC6.1'], iso27001: ['A.5.17'] },
    }),
  })
  .openapi('ComplianceFinding');
export type Finding = z.infer<typeof Finding>;

export const frameworks = {
  soc2: 'SOC 2 Trust Services Criteria',
  iso27001: 'ISO/IEC 27001:2022 Annex A',
} as const;

export const Control = z
  .object({
    framework: z.enum(Object.keys(frameworks) as [keyof typeof frameworks]),
    id: z.string().openapi({ example: 'CC6.1' }),
    title: z.string().openapi({ example: 'Logical access security over protected information assets' }),
    status: Status.openapi({ description: 'The worst status of its findings.' }),
    findings: z.array(z.enum(findingIds)),
  })
  .openapi('ComplianceControl');
export type Control = z.infer<typeof Control>;

const Age = z.object({ days: z.string().openapi({ example: '0-30' }), secrets: z.int() });

const Inventory = z
  .object({
    secrets: z.object({
      active: z.int(),
      expired: z.int(),
      revoked: z.int(),
      deleted: count('Deleted and still restorable.'),
      generated: count('Active secrets whose current value this service generated.'),
      by_age: z
        .array(Age)
        .openapi({ description: 'Active secrets by the age of their current value in days.' }),
    }),
    credentials: z
      .array(
        z.object({
          kind: z.string().openapi({ example: 'api_key' }),
          live: z.int(),
          without_expiry: z.int(),
          unused: z.int(),
          over_scoped: z.int(),
        }),
      )
      .openapi({
        description: 'Live credentials by kind. Session tokens and browser sessions are only counted.',
      }),
    members: z.object({
      total: z.int(),
      by_role: z.object(
        Object.fromEntries(roles.map((role) => [role, z.int()])) as Record<(typeof roles)[number], z.ZodInt>,
      ),
      without_passkey: z.int().openapi({ description: 'Without suspended members.' }),
      suspended: z.int(),
    }),
    devices: z.object({ total: z.int(), assigned: z.int(), blocked: z.int() }),
    policies: z
      .object({ naming: z.int(), rotation: z.int(), approval: z.int() })
      .openapi({ description: 'Enabled policies by kind.' }),
    audit_log: z.object({
      head: z.object({ sequence: z.int(), hash: z.string() }),
      verified_from: count('Sequence of the first entry that was verified for this report.'),
      verified_to: z.int(),
      last_checkpoint: z.object({ sequence: z.int(), time: Time }).nullable(),
      retention_days: z.int().openapi({ example: 400 }),
    }),
  })
  .openapi('ComplianceInventory');
export type Inventory = z.infer<typeof Inventory>;

export const Report = z
  .object({
    org: z.object({
      id: z.string().openapi({ example: exampleId('org') }),
      name: z.string().openapi({ example: 'Acme' }),
    }),
    generated_at: Time,
    period: z.object({ from: Time, to: Time }),
    summary: z.object({ pass: z.int(), warn: z.int(), fail: z.int(), not_applicable: z.int() }).openapi({
      description: 'Findings by status.',
      example: { pass: 9, warn: 5, fail: 2, not_applicable: 1 },
    }),
    inventory: Inventory,
    findings: z.array(Finding),
    controls: z.array(Control),
  })
  .openapi('ComplianceReport');
export type Report = z.infer<typeof Report>;
