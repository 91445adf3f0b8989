// Request and response schemas of members, roles and access explanations.

import { z } from '@hono/zod-openapi';
import { allScopes } from '../../auth/scopes';
import { exampleId } from '../../db/ids';
import { type MemberRow, type Role, roles } from '../../db/schema';
import {
  EnvironmentRef,
  Environments,
  iso,
  isoOrNull,
  Name,
  pageOf,
  pageQuery,
  Revision,
  Time,
} from '../../http/wire';
import { statuses, statusOf } from './rules';

export const Email = z.email().max(254).openapi({ example: 'ann@example.com' });
const RoleName = z.enum(roles).openapi({ example: 'developer' });
const Id = z.string().openapi({ example: exampleId('member') });

const Bounds = Environments.openapi({
  description:
    'The environments in which the role holds, by id or slug. All by default. Grants add to it anywhere. An owner is not limited to environments.',
  example: ['development'],
});
const unbounded = {
  check: ({ role, environments }: { role?: Role | undefined; environments?: unknown }) =>
    role !== 'owner' || environments == null,
  params: {
    path: ['environments'],
    message: 'must not be given for an owner, who is not limited to environments',
  },
};

export const MemberIn = z
  .strictObject({
    email: Email,
    name: Name.openapi({ example: 'Ann' }),
    role: RoleName,
    environments: Bounds.optional(),
  })
  .refine(unbounded.check, unbounded.params)
  .openapi('MemberIn');
export const MemberPatch = z
  .strictObject({
    email: Email.optional(),
    name: Name.optional(),
    role: RoleName.optional(),
    environments: Bounds.nullable().optional(),
  })
  .refine(unbounded.check, unbounded.params)
  .openapi('MemberPatch');

export const Readmission = z.strictObject({ email: Email }).openapi('Readmission');

/** Fields in which null counts as omitted when a member is invited. */
export const OMITTABLE = ['environments'];

export const MemberQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(statuses).optional().openapi({ description: 'Only members with this status.' }),
});
export const RemovalQuery = z.strictObject({
  revoke_credentials: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: 'Whether to also revoke the credentials that the member created.' }),
});
export const AccessQuery = z
  .strictObject({
    action: z
      .string()
      .max(64)
      .refine((scope) => allScopes.includes(scope), 'is not a known scope')
      .openapi({ description: 'The scope to check.', example: 'secrets:read' }),
    environment: EnvironmentRef.optional().openapi({
      description: 'Id or slug of the environment to check.',
    }),
    secret: z.string().min(1).max(255).optional().openapi({
      description:
        'The name of a secret. It is looked up in the default environment unless environment is sent.',
      example: 'DATABASE_URL',
    }),
    upstream: z.string().min(1).max(63).optional().openapi({
      description: 'The name of an upstream, with `secrets:use` alone.',
      example: 'stripe',
    }),
  })
  .refine(
    ({ action, environment, secret, upstream }) =>
      upstream === undefined ||
      (action === 'secrets:use' && environment === undefined && secret === undefined),
    {
      path: ['upstream'],
      message: 'goes with the action secrets:use, and with neither environment nor secret',
    },
  );

export const Member = z
  .object({
    id: Id,
    revision: Revision,
    email: z.string(),
    name: z.string(),
    role: RoleName,
    environments: z.array(z.string()).nullable().openapi({
      description: 'Slugs of the environments in which the role holds. null means all.',
      example: null,
    }),
    status: z.enum(statuses).openapi({
      description:
        'invited: the enrolment link is still valid. lapsed: it ended before it was used, or a provider made the member, who has not signed in yet. active: the member has enrolled. suspended: the member can do nothing until somebody resumes them.',
    }),
    passkeys: z.int().openapi({ description: 'How many passkeys the member has.', example: 1 }),
    invited_by: z.string().nullable(),
    created_at: Time,
    enrolled_at: Time.nullable(),
    suspended_at: Time.nullable().openapi({
      description: 'Since when the member is suspended.',
      example: null,
    }),
    enrolment: z.object({ created_at: Time, expires_at: Time }).nullable().openapi({
      description:
        'The enrolment link that is still valid or has expired. null if the member has enrolled with it.',
    }),
  })
  .openapi('Member');

const url = z.string().nullable().openapi({
  description:
    'The link with which the member registers a passkey. Shown only once. It works once, within 24 hours.',
  example: 'https://vault.example.com/enrol#svcenrol_…',
});
export const NewMember = Member.extend({ enrolment_url: url }).openapi('NewMember');
export const EnrolmentUrl = url;
export const MemberPage = pageOf(Member, 'MemberPage');

const left = {
  credentials: z.array(z.object({ kind: z.string(), id: z.string(), name: z.string().nullable() })).openapi({
    description:
      'Live credentials that the member created, without session tokens. They stay valid unless revoke_credentials=true revoked them.',
  }),
  remaining: z.int().optional().openapi({
    description:
      'How many more credentials this request neither listed nor revoked: one request covers about 1,000. Repeat it with revoke_credentials=true.',
  }),
};
export const Removed = z.object(left).openapi('Removed');
export const SuspendedMember = Member.extend(left).openapi('SuspendedMember');

export const Access = z
  .object({
    allowed: z.boolean(),
    suspended: z.boolean().openapi({ description: 'Whether the member is suspended and so may do nothing.' }),
    reasons: z.array(
      z.object({
        source: z.enum(['role', 'grant']),
        role: RoleName.optional(),
        grant_id: z.string().optional(),
        grantee: z.object({ type: z.enum(['member', 'team']), id: z.string() }).optional(),
      }),
    ),
    upstreams: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .optional()
      .openapi({ description: 'For `secrets:use`: those that the member may use, and the caller see.' }),
  })
  .openapi('Access');

export const Roles = z
  .object({ data: z.array(z.object({ role: RoleName, scopes: z.array(z.string()) })) })
  .openapi('Roles');

export const memberOut = (
  row: MemberRow,
  { environments, passkeys }: { environments: string[] | null; passkeys: number },
  now: number,
): z.infer<typeof Member> => ({
  id: row.id,
  revision: row.revision,
  email: row.email,
  name: row.name,
  role: row.role,
  environments,
  status: statusOf(row, now),
  passkeys,
  invited_by: row.invited_by,
  created_at: iso(row.created_at),
  enrolled_at: isoOrNull(row.enrolled_at),
  suspended_at: isoOrNull(row.suspended_at),
  enrolment:
    row.enrolment_hash === null
      ? null
      : {
          created_at: iso(row.enrolment_made_at as number),
          expires_at: iso(row.enrolment_ends_at as number),
        },
});
