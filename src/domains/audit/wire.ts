// Request and response schemas of the audit log.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { type CheckpointRow, incidentStatuses } from '../../db/schema';
import type { Reading } from '../../gate/archive/readers';
import { Instant, iso, pageOf, pageQuery, QueryInteger, Time } from '../../http/wire';

/** Actions that one filter names. */
const MOST_ACTIONS = 200;

export const AuditQuery = z.strictObject({
  ...pageQuery,
  actor: z.string().max(100).optional().openapi({
    description:
      'Only entries of the credential, member or browser session with this id; of the service itself with `system`, of the operator with `bootstrap`.',
  }),
  action: z
    .string()
    .max(5000)
    .refine((text) => text.split(',').length <= MOST_ACTIONS, `must name at most ${MOST_ACTIONS} actions`)
    .optional()
    .openapi({
      description: 'Only entries of this action, or of any of several, separated by commas.',
      example: 'secret.read',
    }),
  resource: z.string().max(300).optional().openapi({
    description: 'Only entries about the resource with this id. For a secret, imports that wrote it too.',
  }),
  outcome: z.enum(['success', 'denied', 'failed']).optional(),
  from: Instant.optional(),
  to: Instant.optional(),
  format: z
    .enum(['json', 'ndjson'])
    .optional()
    .openapi({ description: 'ndjson streams all matching entries, one per line.' }),
});

export const HistogramQuery = AuditQuery.pick({
  actor: true,
  action: true,
  resource: true,
  outcome: true,
  from: true,
  to: true,
}).extend({
  buckets: QueryInteger(1, 400)
    .optional()
    .openapi({ description: 'How many equal parts the time has, 24 by default.' }),
});

const requests = z.int().openapi({ example: 12 });

export const Histogram = z
  .object({
    from: Time,
    to: Time,
    complete_from: Time.openapi({
      description:
        'Later than from if the log has more entries than one request counts: what came before this time is not counted. Ask again with this time as to.',
    }),
    data: z.array(
      z
        .object({
          time: Time.openapi({ description: 'When this part begins.' }),
          success: requests,
          denied: requests,
          failed: requests,
          groups: z
            .record(z.string(), z.int())
            .openapi({ description: 'Requests by the first part of their action.', example: { secret: 12 } }),
        })
        .openapi('HistogramBucket'),
    ),
  })
  .openapi('AuditHistogram');

export const VerifyQuery = z.strictObject({ cursor: pageQuery.cursor });

const Stretch = { from: z.int(), to: z.int(), reason: z.enum(['restore', 'gate_lost']) };

/** Counts and names of an adoption, in its response and in its audit entry. */
export const adoption = {
  restored: z.int().openapi({ description: 'Secrets whose state was restored from the backup.' }),
  ended: z.int().openapi({
    description: 'Secrets in the backup that stay deleted because they were deleted after it was made.',
  }),
  lost: z.int().openapi({ description: 'Secrets that were created after the backup and are lost.' }),
  refused: z.int().openapi({ description: 'Rows that this organisation never wrote and that were removed.' }),
  newer: z.int().openapi({
    description:
      'Rows other than secrets of which the database had a newer state than the gate, such as a revocation; they were taken.',
  }),
  audit_entries_lost: z.int().openapi({ description: 'Audit log entries that the backup does not contain.' }),
  lost_secrets: z
    .array(z.object({ id: z.string(), name: z.string(), environment: z.string(), version: z.int() }))
    .openapi({ description: 'The secrets that are lost, with their newest version.' }),
  lost_versions: z
    .array(
      z.object({ id: z.string(), name: z.string(), environment: z.string(), from: z.int(), to: z.int() }),
    )
    .openapi({
      description:
        'Ranges of versions whose values the database lacks. Numbers that the backup lacks are not used again.',
    }),
  kept_revocations: z
    .array(z.object({ id: z.string(), kind: z.string(), name: z.string().nullable() }))
    .openapi({
      description:
        'Credentials that live in the backup and stay revoked or deleted. Sessions are not listed.',
    }),
  unnamed: z
    .int()
    .openapi({ description: 'How many items these lists leave out, because they have 100 kB at most.' }),
};

export const AuditEntry = z
  .object({
    id: z.string().openapi({
      description:
        "The caller's own entries about what lies outside its environments or names have no id and no hash (`withheld`), and name neither the secret nor the environment.",
    }),
    sequence: z.int(),
    format: z.int().optional().openapi({
      description:
        'How hash is calculated. 2: over canonical JSON. Absent in entries written before 0.5.0: over compact JSON in field order.',
      example: 2,
    }),
    time: Time,
    actor: z.object({
      kind: z.string(),
      id: z.string().nullable(),
      parent_id: z.string().nullable(),
      name: z.string().nullable(),
    }),
    action: z.string().openapi({
      example: 'secret.read',
      description:
        'What was done. The system writes integrity.alarm when stored data was altered or is missing (an integrity violation): reason names the event, request_id the request that detected it. The system writes audit.missing once after an upgrade if earlier releases recorded lost entries.',
    }),
    resource: z.string().nullable(),
    region: z.string().optional().openapi({ description: 'The region whose replica answered.' }),
    resource_name: z.string().nullable().optional().openapi({
      description:
        'The name of the secret at that time, even if the request was refused or the secret did not exist.',
      example: 'DATABASE_URL',
    }),
    environment: z.string().nullable(),
    version: z.int().nullable().openapi({
      description:
        'Version of the secret. For a bulk read, the revision of the environment: the sequence of its last change. For a confirmed export, the sequence at which the export ends.',
    }),
    reason: z.string().nullable(),
    request_id: z.string(),
    ip: z.string().nullable().openapi({
      description: '`unknown` if the platform does not tell it; null for a bound Worker, which has none.',
    }),
    user_agent: z.string().nullable(),
    prefix: z.string().optional(),
    prefixes: z.array(z.string()).optional().openapi({
      description:
        'For a bulk read with several prefixes: all of them, in their order. prefix is what they all begin with.',
    }),
    patterns: z.array(z.string()).optional().openapi({
      description:
        'For a bulk read by a caller limited to some names: its name patterns. They are written at least every twelve hours; entries in between have only patterns_digest.',
    }),
    patterns_digest: z
      .string()
      .optional()
      .openapi({ description: 'SHA-256 of the name patterns as compact JSON.' }),
    withheld: z.array(z.string()).optional().openapi({
      description:
        'For a bulk read that left out secrets whose reads need approval: their ids. They are written at least every twelve hours; entries in between, and those of callers with very many of them, have only withheld_digest.',
    }),
    withheld_digest: z.string().optional().openapi({ description: 'SHA-256 of these ids as compact JSON.' }),
    use: z
      .object({
        host: z.string().openapi({ example: 'api.stripe.com' }),
        method: z.string().openapi({ example: 'POST' }),
        path: z.string().openapi({ example: '/v1/charges' }),
        secrets: z.array(z.object({ id: z.string(), name: z.string(), version: z.int() })),
        request_bytes: z.int().optional(),
        response_bytes: z.int().optional(),
        ended: z.string().optional().openapi({ example: 'complete' }),
      })
      .optional()
      .openapi({ description: 'For a call of an upstream: what was asked of whom, with which secrets.' }),
    successor: z
      .string()
      .optional()
      .openapi({ description: 'For a rotation of an API key or a panic: the id of the new API key.' }),
    share: z
      .string()
      .optional()
      .openapi({ description: 'For a shared secret: the id of the share link or the grant.' }),
    expires_at: Time.nullable()
      .optional()
      .openapi({ description: 'For a change that sets an expiry: when it expires.' }),
    former_name: z
      .string()
      .optional()
      .openapi({ description: 'For a change that renames or deletes a secret: its previous name.' }),
    approval: z.string().optional().openapi({ description: 'The id of the approval that the request used.' }),
    incident: z
      .object({
        id: z.string().openapi({ example: exampleId('incident') }),
        status: z.enum(incidentStatuses).openapi({ example: 'open' }),
      })
      .optional()
      .openapi({
        description:
          'For a containment, a panic or a change of an incident: the incident, and its status from then on.',
      }),
    bypassed_policies: z
      .array(z.string())
      .optional()
      .openapi({ description: 'The ids of the policies that a break-glass token bypassed.' }),
    findings: z.object({ known: z.int(), secrets: z.int(), tokens: z.int() }).optional().openapi({
      description:
        'For a scan: how many findings were recognised only by their format, how many secrets have a value that was found, and how many tokens of this organisation were found.',
    }),
    file: z
      .object({ format: z.string(), secrets: z.int() })
      .optional()
      .openapi({ description: 'For a generated file: its format and how many secrets it contains.' }),
    sent: z
      .object({ integration_id: z.string().optional(), platform: z.string(), secrets: z.int() })
      .optional()
      .openapi({
        description:
          'For a sync: its stored connection, the platform that secrets are sent to, and how many.',
      }),
    names: z.array(z.string()).optional().openapi({
      description:
        'For a generated file or a sync: the names of its secrets, up to 16 KiB in total. Beyond that, prefix and patterns describe them.',
    }),
    imported: z
      .object({
        source: z.string(),
        created: z.int(),
        updated: z.int(),
        skipped: z.int(),
        failed: z.int(),
        names: z.array(z.string()),
        unnamed: z.int(),
        versions: z.record(z.string(), z.int()),
        deleted: z.record(z.string(), z.int()).optional(),
        copied: z.record(z.string(), z.int()).optional(),
        dry_run: z.boolean(),
      })
      .optional()
      .openapi({
        description:
          'For an import, a promotion or a change of a folder: its source, how many secrets it created, updated and skipped, how many items failed, the names of those written or deleted (as many as fit), how many names are left out, and the versions written, deleted or copied, by secret.',
      }),
    adopted: z.object(adoption).optional().openapi({
      description: 'For the adoption of a restored database: what changed, and what was lost or stays ended.',
    }),
    missing: z.array(z.object(Stretch)).optional().openapi({
      description: 'After a restore or the loss of a gate: the ranges of sequences missing from the log.',
    }),
    outcome: z.enum(['success', 'denied', 'failed']),
    status: z.int(),
    count: z.int().openapi({
      description:
        'How many requests the entry represents. More than 1 only for requests over the rate limit.',
    }),
    emergency: z.boolean().openapi({ description: 'Whether a break-glass token is involved.' }),
    prev_hash: z.string().openapi({ description: 'hash of the previous entry.' }),
    hash: z.string().openapi({
      description: 'SHA-256 in hexadecimal of the canonical JSON (RFC 8785) of this entry without hash.',
    }),
  })
  .openapi('AuditEntry');

export const AuditPage = pageOf(AuditEntry, 'AuditPage');

export const Archived = z
  .object({
    archived: z.int().openapi({ description: 'Number of entries that this request moved.', example: 12 }),
    head: z.int().openapi({ description: 'Sequence of the newest entry that was moved.', example: 12 }),
  })
  .openapi('Archived');

export const Verification = z
  .object({
    ok: z.boolean(),
    checked_from: z.int().openapi({ description: 'Sequence of the first entry that this request checked.' }),
    checked_to: z.int(),
    head: z.object({ sequence: z.int(), hash: z.string() }),
    next: z.string().nullable().openapi({
      description: 'Pass it as cursor to check the next part. null once the newest entry has been checked.',
    }),
    checkpoints: z
      .int()
      .openapi({ description: 'Signed checkpoints in this part that match the entries.', example: 1 }),
    broken: z
      .object({
        sequence: z.int(),
        id: z.string().nullable(),
        reason: z.enum([
          'entry',
          'checkpoint_altered',
          'checkpoint_missing',
          'checkpoint_differs',
          'cut_off',
        ]),
      })
      .optional()
      .openapi({
        description:
          'The first fault. entry: this entry does not follow the previous one, or its hash is wrong. checkpoint_altered: the signature of the checkpoint for this entry is invalid. checkpoint_missing: the checkpoint was deleted from the database. checkpoint_differs: the entry is not the one that was signed. cut_off: a signed checkpoint is newer than the newest entry.',
      }),
    missing: z.array(z.object({ ...Stretch, confirmed_through: z.int().nullable() })).openapi({
      description:
        'Ranges of lost entries in this part. restore: the restored backup does not contain them. gate_lost: the gate lost its storage before it moved them to the database; their sequences are never reused. A new gate skips 110,000 sequences; most of them were never used. The chain is checked before and after each range. confirmed_through: a signed checkpoint confirms that the entries up to this sequence existed.',
      example: [],
    }),
  })
  .openapi('Verification');

export const ExportConfirmation = z
  .strictObject({
    sequence: z
      .int()
      .min(1)
      .max(2 ** 52)
      .openapi({ description: 'The sequence of the checkpoint in the last line of the export.' }),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
      .openapi({ description: 'The hash of the same checkpoint.', example: 'a'.repeat(64) }),
  })
  .openapi('ExportConfirmation');

export const ExportConfirmed = z
  .object({
    exported_through: z.int().openapi({
      description: 'Entries up to this sequence are exported and can be deleted.',
      example: 12_000,
    }),
    deleted_through: z.int().openapi({
      description: 'Entries up to this sequence have been deleted. The rest are deleted within minutes.',
      example: 8000,
    }),
  })
  .openapi('ExportConfirmed');

export const CheckpointQuery = z.strictObject({
  ...pageQuery,
  format: z
    .enum(['json', 'ndjson'])
    .optional()
    .openapi({ description: 'ndjson streams all checkpoints, one per line.' }),
});

export const Checkpoint = z
  .object({
    org: z.string().openapi({ example: exampleId('org') }),
    sequence: z.int(),
    hash: z.string().openapi({ description: 'The hash of the entry with this sequence.' }),
    time: Time,
    key_id: z
      .string()
      .openapi({ description: 'The key that signed it: the key_id of `GET /orgs/{org_id}/audit-log/key`.' }),
    signature: z.string().openapi({
      description:
        'Ed25519 signature in base64 over the canonical JSON (RFC 8785) of `{ hash, org, sequence, time }`.',
    }),
  })
  .openapi('Checkpoint');

export const CheckpointPage = pageOf(Checkpoint, 'CheckpointPage');

export const CheckpointKey = z
  .object({
    key_id: z.string().openapi({ description: 'Thumbprint of the key (RFC 7638).' }),
    jwk: z
      .object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
      })
      .openapi({ description: 'The public key as a JWK (RFC 8037).' }),
    pem: z.string().openapi({ description: 'The public key in PEM (SubjectPublicKeyInfo).' }),
  })
  .openapi('CheckpointKey');

export const checkpointOut = ({
  org_id,
  sequence,
  hash,
  time,
  key_id,
  signature,
}: CheckpointRow): z.infer<typeof Checkpoint> => ({
  org: org_id,
  sequence,
  hash,
  time: iso(time),
  key_id,
  signature,
});

export const ExportLine = z
  .union([AuditEntry, z.object({ checkpoint: Checkpoint })])
  .openapi('AuditExportLine');

export const Reader = z
  .object({
    actor: z.object({
      kind: z.string(),
      id: z.string().nullable(),
      name: z.string().nullable(),
      parent_id: z.string().nullable(),
    }),
    via: z
      .enum(['read', 'bulk'])
      .openapi({ description: 'How it was last read: on its own, or with all values of its environment.' }),
    last_read_at: Time,
    version: z.int().nullable().openapi({
      description: 'The version last read. null if it was a bulk read and the secret has changed since.',
    }),
    count: z.int().openapi({ description: 'Number of reads.' }),
  })
  .openapi('Reader');

export const ReaderPage = pageOf(Reader, 'ReaderPage');

export const readerOut = ({ actor, at, version, count, prefix }: Reading): z.infer<typeof Reader> => ({
  actor,
  via: prefix === null ? 'read' : 'bulk',
  last_read_at: iso(at),
  version,
  count,
});
