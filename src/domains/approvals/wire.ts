// Request and response schemas of approvals. Invariant: they never contain a value.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { heldOperations } from '../../db/schema';
import { statuses } from '../../gate/approvals/state';
import { pageOf, pageQuery, Time } from '../../http/wire';

export const ListQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(statuses).optional().openapi({ description: 'Only approvals of this status.' }),
  waiting_for: z
    .enum(['me'])
    .optional()
    .openapi({ description: 'me: only pending approvals that the calling member may decide.' }),
});

export const ReadQuery = z.strictObject({
  wait: z
    .string()
    .regex(/^(\d|1\d|2[0-5])$/, { error: 'must be a number of seconds from 0 to 25' })
    .optional()
    .openapi({
      description: 'How many seconds to wait for a decision while the approval is pending, up to 25.',
      example: '25',
    }),
});

export const ApproveIn = z
  .strictObject({
    valid_for_seconds: z.int().min(1).max(28_800).optional().openapi({
      description:
        'The same credential may repeat the call for this long. Only for reading, and only as far as the policies that hold the request allow with max_valid_seconds. Without it, the call can be made once within 24 hours.',
    }),
  })
  .openapi('ApproveIn', { example: { valid_for_seconds: 3600 } });

const Decision = z.object({
  member_id: z.string(),
  name: z.string().nullable(),
  decision: z.enum(['approve', 'reject']),
  time: Time,
});

const Fact = z.object({ name: z.string(), value: z.string() });

export const Approval = z
  .object({
    id: z.string().openapi({ example: exampleId('approval') }),
    status: z.enum(statuses).openapi({
      description:
        'pending: waiting for a decision. approved: the request can be repeated with Approval-Id until expires_at. used: it was repeated. expired: it was not decided or used in time. void: the requester has ended, or a target or a policy has changed.',
    }),
    operation: z.enum(heldOperations),
    action: z.string().openapi({ description: 'The action, as in the audit log.', example: 'secret.read' }),
    summary: z.string().openapi({ description: 'What the request asks for, in a sentence.' }),
    required: z.int().openapi({ description: 'How many members must approve.' }),
    approvals: z.array(z.object({ member_id: z.string(), time: Time })),
    decisions: z.array(Decision),
    policies: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          required: z.int(),
          accountable: z
            .literal(true)
            .optional()
            .openapi({ description: 'Members accountable for the agent decide for this policy.' }),
        }),
      )
      .openapi({ description: 'The policies that hold the request.' }),
    requester: z.object({
      kind: z.string(),
      id: z.string().nullable(),
      parent_id: z.string().nullable(),
      name: z.string().nullable(),
      accountable: z.array(z.object({ member_id: z.string(), name: z.string().nullable() })).openapi({
        description: 'The members behind the requesting credential. They cannot decide this request.',
      }),
    }),
    target: z.object({
      id: z.string().nullable(),
      name: z.string().nullable(),
      environment: z.string().nullable(),
    }),
    request: z.object({
      id: z.string(),
      method: z.string(),
      path: z.string(),
      digest: z
        .string()
        .openapi({ description: 'Keyed digest of the method, path, query, body and X-Access-Call.' }),
      ip: z.string().nullable(),
      place: z.string().nullable(),
      user_agent: z.string().nullable(),
      reason: z.string().nullable().openapi({ description: 'The X-Access-Reason of the request.' }),
    }),
    shown: z
      .array(Fact)
      .nullable()
      .openapi({
        description:
          'What the request would do, in words and without values; Call is the X-Access-Call of the request. Only for the requester and for members who may decide it, and only while it is pending or approved; null otherwise, and in answers to approve, reject and cancel.',
        example: [
          { name: 'Secret', value: 'DATABASE_URL' },
          { name: 'Environment', value: 'production' },
        ],
      }),
    max_valid_seconds: z
      .int()
      .openapi({ description: 'For how many seconds the approval may be repeated, at most. 0: only once.' }),
    valid_for_seconds: z
      .int()
      .openapi({ description: 'For how many seconds the approved call may be repeated. 0: only once.' }),
    may_decide: z.boolean().openapi({ description: 'Whether the calling member can decide it now.' }),
    created_at: Time,
    expires_at: Time,
    ended_at: Time.nullable(),
  })
  .openapi('Approval');

export const ApprovalPage = pageOf(Approval, 'ApprovalPage');
