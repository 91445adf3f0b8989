// The bad day on the wire.
import { z } from '@hono/zod-openapi';
import { Instant, Time, text } from '../../http/wire';
import { ApiKey } from '../credentials/wire';

export const PanicIn = z
  .strictObject({
    reason: text(1024).openapi({ example: 'a laptop was stolen' }),
    api_keys: z.boolean().optional().openapi({ description: 'Whether API keys end too: the answer then has a new first key.' }),
  })
  .openapi('PanicIn');

const memberId = z.string().openapi({ example: 'mem_01M9xQeKcX3vTz6nWJfQ4b' });
const passkeyId = z.string().openapi({ example: 'psk_01M9xQeKcX3vTz6nWJfQ4b' });

/** What is younger than seven days and may be an attacker's. */
const Recent = z
  .object({
    passkeys: z
      .array(z.object({ id: passkeyId, member_id: memberId, name: z.string().openapi({ example: 'Security key' }), created_at: Time }))
      .openapi({ description: 'They still sign in: remove those that their members do not know.' }),
    sessions: z
      .array(
        z.object({
          id: z.string().openapi({ example: 'ses_01M9xQeKcX3vTz6nWJfQ4b' }),
          member_id: memberId,
          passkey_id: passkeyId,
          created_at: Time,
          last_used_at: Time.nullable(),
          last_used_place: z.string().nullable().openapi({ example: 'Zurich, CH (ZRH)' }),
        }),
      )
      .openapi({ description: 'Browser sessions. They have ended, except the one that made this call.' }),
    enrolments: z
      .array(z.object({ member_id: memberId, email: z.string(), created_at: Time, expires_at: Time }).openapi('RecentEnrolment'))
      .openapi({ description: 'Enrolment URLs that still serve. A newer one for the same member takes their place.' }),
    grants: z
      .array(
        z.object({
          id: z.string().openapi({ example: 'grt_01M9xQeKcX3vTz6nWJfQ4b' }),
          grantee: z.object({ type: z.enum(['member', 'team']), id: memberId }),
          permission: z.enum(['read', 'write']),
          created_by: z.string(),
          created_at: Time,
          expires_at: Time.nullable(),
        }),
      )
      .openapi({ description: 'They still hold. GET /orgs/:org_id/grants shows for which environments and names.' }),
    trusts: z.array(z.object({ id: z.string() })).openapi({ description: 'Always empty in this release.', example: [] }),
  })
  .openapi({ description: 'What is younger than seven days, to look through: the newest first, up to 1,000 of each.' });

export const Panicked = z
  .object({
    ended_at: Time,
    recent: Recent,
    api_key: ApiKey.extend({ token: z.string().nullable().openapi({ description: 'Shown this once.', example: 'svc_live_…' }) }).optional(),
  })
  .openapi('Panicked');

export const ContainIn = z
  .strictObject({
    since: Instant.optional().openapi({ description: 'From when on to give account; where absent, from when it was made.' }),
    rotate: z
      .enum(['generated'])
      .optional()
      .openapi({ description: 'Give what it read or wrote new values, where this service generated the current ones.' }),
  })
  .openapi('ContainIn');

const Kind = z.enum(['api_key', 'session', 'agent', 'provider', 'break_glass', 'browser']);
const CredentialName = z.object({ kind: Kind, id: z.string(), name: z.string().nullable() });
const SecretName = z.object({
  secret_id: z.string(),
  name: z.string().nullable().openapi({ description: 'As it is called now; null where it is gone, or where the caller may not list it.' }),
});
const Deed = SecretName.extend({ version: z.int(), time: Time });

export const Contained = z
  .object({
    revoked: z.array(CredentialName).openapi({ description: 'Itself, and all that descends from it, but for what had expired before.' }),
    read: z.array(Deed).openapi({ description: 'Each version of each secret that was given to one of them, with the first time.' }),
    written: z.array(Deed.extend({ action: z.string().openapi({ example: 'secret.update' }) })),
    shared: z.array(Deed).openapi({ description: 'What one of them shared.' }),
    credentials: z
      .array(CredentialName.extend({ created_at: Time }))
      .openapi({ description: 'What was made with it, and with those in turn.' }),
    rotated: z.array(SecretName.extend({ version: z.int() })).optional(),
    rotation_due: z
      .array(SecretName)
      .optional()
      .openapi({ description: 'What this service did not generate: whoever issued the value has to replace it.' }),
    remaining: z.int().optional().openapi({ description: 'Credentials that are still to be revoked: send the request again.' }),
    omitted: z
      .int()
      .optional()
      .openapi({ description: 'Credentials that revoked and credentials do not name: each list names 10,000 at most.' }),
    gaps: z
      .array(z.object({ from: z.int(), to: z.int() }))
      .optional()
      .openapi({ description: 'Sequences of the audit log that are lost or cannot be read: what was done then is not in this account.' }),
  })
  .openapi('Contained');

const Node = z.object({
  kind: z.enum([...Kind.options, 'member', 'system']),
  id: z.string(),
  name: z.string().nullable(),
  relation: z.enum(['dies_with', 'created_by']).openapi({ description: 'Whether the one ends with the other, or was only made by it.' }),
});

export const Graph = z
  .object({
    kind: Kind,
    id: z.string(),
    name: z.string().nullable(),
    parent: Node,
    children: z.array(Node).openapi({ description: 'The live ones, 1,000 at most.' }),
    grants: z.array(
      z.object({
        source: z.enum(['credential', 'role', 'grant']),
        role: z.string().nullable().optional(),
        grant_id: z.string().optional(),
        grantee: z.object({ type: z.enum(['member', 'team']), id: z.string() }).optional(),
        scopes: z.array(z.string()),
        environments: z.array(z.string()).nullable(),
        secrets: z.array(z.string()).nullable(),
        expires_at: Time.nullable(),
      }),
    ),
    reach: z.object({
      alive: z.boolean(),
      scopes: z.array(z.string()),
      environments: z
        .array(
          z.object({
            environment: z.string(),
            secrets: z.int(),
            incomplete: z.literal(true).optional().openapi({
              description: 'There are more names than one request compares with its patterns: it reaches at least so many secrets.',
            }),
          }),
        )
        .openapi({ description: 'How many secrets it may read or write now, by environment.' }),
    }),
  })
  .openapi('CredentialGraph');
