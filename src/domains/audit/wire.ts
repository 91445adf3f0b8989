// The audit log on the wire.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { CheckpointRow } from '../../db/schema';
import type { Reading } from '../../gate/readers';
import { Instant, iso, pageOf, pageQuery, Time } from '../../http/wire';

/** Actions that one filter names. */
const MOST_ACTIONS = 200;

export const AuditQuery = z.strictObject({
  ...pageQuery,
  actor: z.string().max(100).optional().openapi({ description: 'Only entries of the credential or member with this id.' }),
  action: z
    .string()
    .max(5000)
    .refine((text) => text.split(',').length <= MOST_ACTIONS, `must name at most ${MOST_ACTIONS} actions`)
    .optional()
    .openapi({ description: 'Only entries of this action, or of any of several, separated by commas.', example: 'secret.read' }),
  resource: z.string().max(300).optional().openapi({ description: 'Only entries about the resource with this id.' }),
  outcome: z.enum(['success', 'denied', 'failed']).optional(),
  from: Instant.optional(),
  to: Instant.optional(),
  format: z.enum(['json', 'ndjson']).optional().openapi({ description: 'ndjson streams all matching entries, one per line.' }),
});

export const VerifyQuery = z.strictObject({ cursor: pageQuery.cursor });

const Stretch = { from: z.int(), to: z.int(), reason: z.enum(['restore', 'gate_lost']) };

export const AuditEntry = z
  .object({
    id: z.string(),
    sequence: z.int(),
    format: z.int().optional().openapi({
      description:
        'How hash is made. 2: over canonical JSON. Absent from entries of releases before 0.5.0: over compact JSON in the order of their fields.',
      example: 2,
    }),
    time: Time,
    actor: z.object({ kind: z.string(), id: z.string().nullable(), parent_id: z.string().nullable(), name: z.string().nullable() }),
    action: z.string().openapi({
      example: 'secret.read',
      description:
        'What was done. integrity.alarm is written by the system when stored data was altered or is missing (an integrity violation): reason names the event, request_id the request that found it. audit.missing is written by the system once after an upgrade, if earlier releases have noted lost entries.',
    }),
    resource: z.string().nullable(),
    resource_name: z.string().nullable().optional().openapi({
      description: 'The name of the secret at that time, also if the request was refused or found nothing.',
      example: 'DATABASE_URL',
    }),
    environment: z.string().nullable(),
    version: z.int().nullable().openapi({
      description:
        'Version of the secret. For a bulk read, the revision of the environment: the sequence of the last change there. For a confirmed export, the sequence at which it ends.',
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
    withheld: z.array(z.string()).optional().openapi({
      description:
        'For a bulk read that left out secrets whose reads need approval: their ids. They are repeated once in twelve hours; entries in between, and those of a caller that causes very many, hold withheld_digest alone.',
    }),
    withheld_digest: z.string().optional().openapi({ description: 'SHA-256 of these ids as compact JSON.' }),
    successor: z.string().optional().openapi({ description: 'For a rotation of an API key or a panic: the id of the new API key.' }),
    share: z.string().optional().openapi({ description: 'For a secret that is shared: the id of the link or the grant.' }),
    expires_at: Time.nullable().optional().openapi({ description: 'For a change that sets a lifetime: when it ends.' }),
    former_name: z.string().optional().openapi({ description: 'For a change that renames or deletes a secret: its previous name.' }),
    approval: z.string().optional().openapi({ description: 'The id of the approval that the request used.' }),
    bypassed_policies: z.array(z.string()).optional().openapi({ description: 'The ids of policies that a break-glass token passed.' }),
    findings: z.object({ known: z.int(), secrets: z.int(), tokens: z.int() }).optional().openapi({
      description:
        'For a scan: how many findings are known by their format alone, how many secrets have a value that was found, and how many tokens of this organisation were found.',
    }),
    file: z
      .object({ format: z.string(), secrets: z.int() })
      .optional()
      .openapi({ description: 'For a generated file: its format, and of how many secrets it was made.' }),
    sent: z
      .object({ platform: z.string(), secrets: z.int() })
      .optional()
      .openapi({ description: 'For a sync: the platform that secrets are sent to, and how many.' }),
    names: z.array(z.string()).optional().openapi({
      description:
        'For a generated file or a sync: the names of its secrets, up to 16 KiB together. Beyond that, prefix and patterns say among which names they are.',
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
        dry_run: z.boolean(),
      })
      .optional()
      .openapi({
        description:
          'For an import: its source, how many secrets it created, updated and skipped, how many items failed, the names of the secrets that it wrote, as far as they fit, how many names are left out, and the versions that it wrote, by the ids of the secrets.',
      }),
    missing: z
      .array(z.object(Stretch))
      .optional()
      .openapi({ description: 'After a restore or the loss of a gate: the ranges of sequences that the log has lost.' }),
    outcome: z.enum(['success', 'denied', 'failed']),
    status: z.int(),
    count: z.int().openapi({ description: 'How many requests the entry stands for. More than 1 only for requests over the rate limit.' }),
    emergency: z.boolean().openapi({ description: 'Whether it concerns a break-glass token.' }),
    prev_hash: z.string().openapi({ description: 'hash of the previous entry.' }),
    hash: z.string().openapi({ description: 'SHA-256 in hexadecimal of the canonical JSON (RFC 8785) of this entry without hash.' }),
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
    checkpoints: z.int().openapi({ description: 'Signed checkpoints in this part that the entries match.', example: 1 }),
    broken: z
      .object({
        sequence: z.int(),
        id: z.string().nullable(),
        reason: z.enum(['entry', 'checkpoint_altered', 'checkpoint_missing', 'checkpoint_differs', 'cut_off']),
      })
      .optional()
      .openapi({
        description:
          'The first fault. entry: this entry does not follow the one before it, or its hash is wrong. checkpoint_altered: the signature of the checkpoint of this entry is wrong. checkpoint_missing: it was deleted from the database. checkpoint_differs: the entry is not the one that was signed. cut_off: a checkpoint was signed of a newer entry than the newest.',
      }),
    missing: z.array(z.object({ ...Stretch, confirmed_through: z.int().nullable() })).openapi({
      description:
        'Ranges of lost entries in this part. restore: the restored backup does not contain them. gate_lost: the gate lost its storage before it moved them to the database; their sequences are never used again. The chain is checked before and after each range. confirmed_through: a signed checkpoint says that the entries up to this sequence existed.',
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
      .openapi({ description: 'sequence of the checkpoint in the last line of the export.' }),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
      .openapi({ description: 'hash of the same checkpoint.', example: 'a'.repeat(64) }),
  })
  .openapi('ExportConfirmation');

export const ExportConfirmed = z
  .object({
    exported_through: z.int().openapi({ description: 'Entries up to this sequence are exported, and may be deleted.', example: 12_000 }),
    deleted_through: z
      .int()
      .openapi({ description: 'Entries up to this sequence have been deleted. More follow within minutes.', example: 8000 }),
  })
  .openapi('ExportConfirmed');

export const CheckpointQuery = z.strictObject({
  ...pageQuery,
  format: z.enum(['json', 'ndjson']).optional().openapi({ description: 'ndjson streams all checkpoints, one per line.' }),
});

export const Checkpoint = z
  .object({
    org: z.string().openapi({ example: exampleId('org') }),
    sequence: z.int(),
    hash: z.string().openapi({ description: 'hash of the entry with this sequence.' }),
    time: Time,
    key_id: z.string().openapi({ description: 'Which key signed it: the key_id of `GET /orgs/{org_id}/audit-log/key`.' }),
    signature: z.string().openapi({
      description: 'Ed25519 signature in base64 over the canonical JSON (RFC 8785) of `{ hash, org, sequence, time }`.',
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

export const checkpointOut = ({ org_id, sequence, hash, time, key_id, signature }: CheckpointRow): z.infer<typeof Checkpoint> => ({
  ...{ org: org_id, sequence, hash, time: iso(time), key_id, signature },
});

export const ExportLine = z.union([AuditEntry, z.object({ checkpoint: Checkpoint })]).openapi('AuditExportLine');

export const Reader = z
  .object({
    actor: z.object({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable(), parent_id: z.string().nullable() }),
    via: z.enum(['read', 'bulk']).openapi({ description: 'How it was read last: by itself, or with all values of its environment.' }),
    last_read_at: Time,
    version: z.int().nullable().openapi({
      description: 'The version that was read last. null if it was a bulk read and the secret has changed since.',
    }),
    count: z.int().openapi({ description: 'Number of reads.' }),
  })
  .openapi('Reader');

export const ReaderPage = pageOf(Reader, 'ReaderPage');

export const readerOut = ({ actor, at, version, count, prefix }: Reading): z.infer<typeof Reader> => ({
  ...{ actor, via: prefix === null ? 'read' : 'bulk', last_read_at: iso(at), version, count },
});
