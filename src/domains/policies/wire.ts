// Request and response schemas of policies, strict by kind.
import { z } from '@hono/zod-openapi';
import { MOST_PATTERN, patternProblem } from '../../auth/policies/naming';
import { cronProblem, MOST_CRON, nextTimes } from '../../auth/policies/rotation';
import { exampleId } from '../../db/ids';
import {
  heldOperations,
  type PolicyKind,
  type PolicyRow,
  policyKinds,
  type RotationConfig,
  roles,
  secretTypes,
} from '../../db/schema';
import { Environments, iso, Name, Patterns, pageOf, Revision, Time, text } from '../../http/wire';

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

/** A text that passes a check. */
const sound = (most: number, problem: (value: string) => string | null) =>
  text(most).superRefine((value, context) => {
    const message = value.length > most ? null : problem(value);
    if (message) context.addIssue({ code: 'custom', message });
  });

const Naming = z
  .strictObject({
    pattern: sound(MOST_PATTERN, patternProblem).openapi({
      description:
        'A regular expression in RE2 syntax. It can match anywhere in the name: anchor it with ^ and $ to match the whole name.',
      example: '^[A-Z][A-Z0-9_]*$',
    }),
  })
  .openapi('NamingConfig');

const Rotation = z
  .strictObject({
    max_age_days: z
      .int()
      .min(1)
      .max(3650)
      .optional()
      .openapi({ description: 'The maximum age of a value, in days.' }),
    cron: sound(MOST_CRON, cronProblem).optional().openapi({
      description:
        'When values are due, as a cron expression in UTC: minute (one number), hour, day of month, month, day of week. Send this or max_age_days.',
    }),
    auto_rotate: z.boolean().default(false).openapi({
      description: 'Replaces due values of secrets that have auto_rotate, if this service generated them.',
    }),
  })
  .refine(
    ({ max_age_days, cron }) => (max_age_days === undefined) !== (cron === undefined),
    'must have either max_age_days or cron',
  )
  .openapi('RotationConfig', { example: { max_age_days: 90, auto_rotate: true } });

const Approval = z
  .strictObject({
    operations: z
      .array(z.enum(heldOperations))
      .min(1)
      .max(heldOperations.length)
      .refine(distinct, 'must not contain duplicates'),
    required: z.int().min(1).max(5).openapi({ description: 'How many people must approve.' }),
    approvers: z
      .union(
        [
          z.strictObject({ team_id: z.string().min(1).max(64) }),
          z.strictObject({ role: z.enum(roles) }),
          z.strictObject({ accountable: z.literal(true) }),
        ],
        { error: 'must have one of team_id, role and accountable: true' },
      )
      .openapi({
        description:
          'The team or role whose members can approve. With accountable, the policy holds only agents and credentials that they created, and the members accountable for the agent approve.',
        example: { role: 'admin' },
      }),
    allow_break_glass: z
      .boolean()
      .default(false)
      .openapi({ description: 'Whether a break-glass token can access secrets without approval.' }),
    max_valid_seconds: z.int().min(0).max(28_800).optional().openapi({
      description:
        'For how many seconds an approved read may be repeated by the same credential, at most. With 0, the default, it can be made once.',
    }),
    repeat_writes: z.boolean().optional().openapi({
      description:
        'Whether that also applies to calls other than GET, HEAD and OPTIONS, where a secret is used at another service. false by default.',
    }),
  })
  .refine(({ approvers, required }) => !('accountable' in approvers) || required === 1, {
    path: ['required'],
    message: 'must be 1 where the accountable members approve',
  })
  .openapi('ApprovalConfig');

const AppliesTo = z
  .strictObject({
    environments: Environments.nullable().optional().openapi({ description: 'Environments by id or slug.' }),
    types: z
      .array(z.enum(secretTypes))
      .min(1)
      .max(secretTypes.length)
      .refine(distinct, 'must not contain duplicates')
      .nullable()
      .optional(),
    names: Patterns.nullable()
      .optional()
      .openapi({ description: 'Secret names as glob patterns (* and ?).' }),
  })
  .openapi('PolicyAppliesTo', {
    description:
      'The secrets that the policy applies to. A field that is omitted or null does not limit them.',
  });

const common = {
  name: Name,
  enabled: z.boolean().optional().openapi({ description: 'true by default.' }),
  applies_to: AppliesTo.optional(),
};

export const PolicyIn = z
  .discriminatedUnion('kind', [
    z.strictObject({ ...common, kind: z.literal('naming'), config: Naming }),
    z.strictObject({ ...common, kind: z.literal('rotation'), config: Rotation }),
    z.strictObject({ ...common, kind: z.literal('approval'), config: Approval }),
  ])
  .openapi('PolicyIn', {
    example: {
      name: 'Upper case',
      kind: 'naming',
      applies_to: { environments: ['production'] },
      config: { pattern: '^[A-Z][A-Z0-9_]*$' },
    },
  });

/** The message for an invalid config: that of the kind whose fields it has. */
const configMessage = ({ errors = [] }: { errors?: z.core.$ZodIssue[][] }) => {
  const [issue] = errors.find((issues) => issues.every(({ code }) => code !== 'unrecognized_keys')) ?? [];
  return issue
    ? `${issue.path.join('.')} ${issue.message}`.trim()
    : 'must be a config of the kind of this policy';
};

export const PolicyPatch = z
  .strictObject({
    name: Name.optional(),
    enabled: z.boolean().optional(),
    applies_to: AppliesTo.optional().openapi({ description: 'Replaces all of applies_to.' }),
    config: z
      .union([Naming, Rotation, Approval], { error: (issue) => configMessage(issue as never) })
      .optional()
      .openapi({
        description:
          "Replaces all of config. Its fields must be those of the policy's kind, which cannot change.",
      }),
  })
  .openapi('PolicyPatch', { example: { enabled: false } });

export type PolicyInput = z.output<typeof PolicyIn>;
export type Selectors = z.output<typeof AppliesTo>;
export type ConfigInput = PolicyInput['config'];

/** The kind of a config, from its required fields. */
export const kindOf = (config: ConfigInput): PolicyKind =>
  'pattern' in config ? 'naming' : 'operations' in config ? 'approval' : 'rotation';

export const Policy = z
  .object({
    id: z.string().openapi({ example: exampleId('policy') }),
    revision: Revision,
    name: z.string(),
    kind: z.enum(policyKinds),
    enabled: z.boolean(),
    applies_to: z
      .object({
        environments: z.array(z.string()).nullable(),
        types: z.array(z.enum(secretTypes)).nullable(),
        names: z.array(z.string()).nullable(),
      })
      .openapi({
        description: 'null means no limit.',
        example: { environments: ['production'], types: null, names: null },
      }),
    config: z.union([Naming, Rotation, Approval]).openapi({ example: { pattern: '^[A-Z][A-Z0-9_]*$' } }),
    next_times: z
      .array(Time)
      .openapi({ description: 'For a rotation policy with cron: the next five times, in UTC.' })
      .optional(),
    warning: z
      .string()
      .openapi({ description: 'After a change: what the policy does not do, if that may surprise.' })
      .optional(),
    created_by: z.string(),
    created_at: Time,
    updated_at: Time,
  })
  .openapi('Policy');
export const PolicyPage = pageOf(Policy, 'PolicyPage');

export const Violation = z
  .object({
    id: z.string().openapi({ example: exampleId('secret') }),
    name: z.string(),
    type: z.enum(secretTypes),
    environment: z.string(),
  })
  .openapi('PolicyViolation');
export const ViolationPage = pageOf(Violation, 'PolicyViolationPage');

/** A policy, with environment slugs. */
export function policyOut(
  row: PolicyRow,
  environments: string[] | null,
  now: number,
): z.infer<typeof Policy> {
  const { cron } = row.config as RotationConfig;
  return {
    id: row.id,
    revision: row.revision,
    name: row.name,
    kind: row.kind,
    enabled: row.enabled === 1,
    applies_to: { environments, types: row.types, names: row.names },
    config: row.config as z.infer<typeof Policy>['config'],
    ...(cron !== undefined && { next_times: nextTimes(cron, now).map(iso) }),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
