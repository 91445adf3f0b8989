// The audit log on the wire.
import { z } from '@hono/zod-openapi';
import { Instant, pageOf, pageQuery, Time } from '../../http/wire';

export const AuditQuery = z.strictObject({
  ...pageQuery,
  actor: z.string().max(100).optional().openapi({ description: 'Id of a credential or member.' }),
  action: z.string().max(100).optional().openapi({ example: 'secret.read' }),
  resource: z.string().max(300).optional().openapi({ description: 'Id of what was acted on.' }),
  outcome: z.enum(['success', 'denied', 'failed']).optional(),
  from: Instant.optional(),
  to: Instant.optional(),
  format: z.enum(['json', 'ndjson']).optional().openapi({ description: 'ndjson streams all that match, one entry a line.' }),
});

export const VerifyQuery = z.strictObject({ cursor: pageQuery.cursor });

export const AuditEntry = z
  .object({
    id: z.string(),
    sequence: z.int(),
    time: Time,
    actor: z.object({ kind: z.string(), id: z.string().nullable(), parent_id: z.string().nullable(), name: z.string().nullable() }),
    action: z.string().openapi({
      example: 'secret.read',
      description:
        'integrity.alarm, by the system: the database did not hold what was left there. The reason is the event, request_id the request that met it.',
    }),
    resource: z.string().nullable(),
    resource_name: z.string().nullable().optional().openapi({
      description: 'The name of a secret at that time, also where the request was refused or found nothing.',
      example: 'DATABASE_URL',
    }),
    environment: z.string().nullable(),
    version: z
      .int()
      .nullable()
      .openapi({ description: 'Of a secret; for a bulk read the revision of the environment: the sequence of the last change there.' }),
    reason: z.string().nullable(),
    request_id: z.string(),
    ip: z.string(),
    user_agent: z.string().nullable(),
    prefix: z.string().optional(),
    patterns: z.array(z.string()).optional().openapi({
      description:
        'Of a bulk read by a caller who is limited to some names: the patterns, at least once in twelve hours for the same ones.',
    }),
    patterns_digest: z.string().optional().openapi({ description: 'SHA-256 of these patterns as compact JSON.' }),
    successor: z.string().optional().openapi({ description: 'Of the rotation of an API key, or a panic: the id of the new key.' }),
    expires_at: Time.nullable().optional().openapi({ description: 'Of a change that sets the lifetime of a secret: its end.' }),
    former_name: z
      .string()
      .optional()
      .openapi({ description: 'Of a change that renames or deletes a secret: what it was called until then.' }),
    outcome: z.enum(['success', 'denied', 'failed']),
    status: z.int(),
    count: z.int(),
    emergency: z.boolean(),
    prev_hash: z.string(),
    hash: z.string().openapi({ description: 'SHA-256 of this entry as compact JSON, in this order, without hash.' }),
  })
  .openapi('AuditEntry');

export const AuditPage = pageOf(AuditEntry, 'AuditPage');

export const Archived = z
  .object({
    archived: z.int().openapi({ description: 'Entries that this call moved.', example: 12 }),
    head: z.int().openapi({ description: 'The newest entry that has moved.', example: 12 }),
  })
  .openapi('Archived');

export const Verification = z
  .object({
    ok: z.boolean(),
    checked_from: z.int().openapi({ description: 'Sequence of the first entry checked by this call.' }),
    checked_to: z.int(),
    head: z.object({ sequence: z.int(), hash: z.string() }),
    next: z.string().nullable().openapi({ description: 'Pass as cursor to check the next part; null once the head is reached.' }),
    broken: z
      .object({ sequence: z.int(), id: z.string().nullable() })
      .optional()
      .openapi({ description: 'The first entry that does not fit the chain.' }),
    missing: z.array(z.object({ from: z.int(), to: z.int(), reason: z.enum(['restore', 'gate_lost']) })).openapi({
      description:
        'Sequences within this part that are lost. restore: the backup that was put back does not hold them. gate_lost: the gate lost its storage; entries that had not moved to the database are gone, and these sequences are not used again. The chain is checked up to them, and after them.',
      example: [],
    }),
  })
  .openapi('Verification');
