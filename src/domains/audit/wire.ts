// The audit log on the wire.
import { z } from '@hono/zod-openapi';
import { Instant, pageOf, pageQuery, Time } from '../../http/wire';

export const AuditQuery = z.strictObject({
  ...pageQuery,
  actor: z.string().max(100).optional().openapi({ description: 'Only entries of the credential or member with this id.' }),
  action: z.string().max(100).optional().openapi({ example: 'secret.read' }),
  resource: z.string().max(300).optional().openapi({ description: 'Only entries about the resource with this id.' }),
  outcome: z.enum(['success', 'denied', 'failed']).optional(),
  from: Instant.optional(),
  to: Instant.optional(),
  format: z.enum(['json', 'ndjson']).optional().openapi({ description: 'ndjson streams all matching entries, one per line.' }),
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
        'What was done. integrity.alarm is written by the system when stored data was altered or is missing (an integrity violation): reason names the event, request_id the request that found it.',
    }),
    resource: z.string().nullable(),
    resource_name: z.string().nullable().optional().openapi({
      description: 'The name of the secret at that time, also if the request was refused or found nothing.',
      example: 'DATABASE_URL',
    }),
    environment: z.string().nullable(),
    version: z.int().nullable().openapi({
      description: 'Version of the secret. For a bulk read, the revision of the environment: the sequence of the last change there.',
    }),
    reason: z.string().nullable(),
    request_id: z.string(),
    ip: z.string(),
    user_agent: z.string().nullable(),
    prefix: z.string().optional(),
    patterns: z.array(z.string()).optional().openapi({
      description:
        'For a bulk read by a caller that is limited to some names: its name patterns. They are repeated once in twelve hours; entries in between hold patterns_digest alone.',
    }),
    patterns_digest: z.string().optional().openapi({ description: 'SHA-256 of the name patterns as compact JSON.' }),
    successor: z.string().optional().openapi({ description: 'For a rotation of an API key or a panic: the id of the new API key.' }),
    expires_at: Time.nullable().optional().openapi({ description: 'For a change that sets a lifetime: when it ends.' }),
    former_name: z.string().optional().openapi({ description: 'For a change that renames or deletes a secret: its previous name.' }),
    outcome: z.enum(['success', 'denied', 'failed']),
    status: z.int(),
    count: z.int().openapi({ description: 'How many requests the entry stands for. More than 1 only for requests over the rate limit.' }),
    emergency: z.boolean().openapi({ description: 'Whether it concerns a break-glass token.' }),
    prev_hash: z.string().openapi({ description: 'hash of the previous entry.' }),
    hash: z.string().openapi({ description: 'SHA-256 of this entry as compact JSON, with the fields in this order and without hash.' }),
  })
  .openapi('AuditEntry');

export const AuditPage = pageOf(AuditEntry, 'AuditPage');

export const Archived = z
  .object({
    archived: z.int().openapi({ description: 'Number of entries that this call moved.', example: 12 }),
    head: z.int().openapi({ description: 'Sequence of the newest entry that was moved.', example: 12 }),
  })
  .openapi('Archived');

export const Verification = z
  .object({
    ok: z.boolean(),
    checked_from: z.int().openapi({ description: 'Sequence of the first entry that this call checked.' }),
    checked_to: z.int(),
    head: z.object({ sequence: z.int(), hash: z.string() }),
    next: z
      .string()
      .nullable()
      .openapi({ description: 'Pass it as cursor to check the next part. null when the newest entry was checked.' }),
    broken: z
      .object({ sequence: z.int(), id: z.string().nullable() })
      .optional()
      .openapi({ description: 'The first entry that does not match the hash chain.' }),
    missing: z.array(z.object({ from: z.int(), to: z.int(), reason: z.enum(['restore', 'gate_lost']) })).openapi({
      description:
        'Ranges of lost entries in this part. restore: the restored backup does not contain them. gate_lost: the gate lost its storage before it moved them to the database; their sequences are never used again. The chain is checked before and after each range.',
      example: [],
    }),
  })
  .openapi('Verification');
