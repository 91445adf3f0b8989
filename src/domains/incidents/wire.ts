// Request and response schemas of incident response.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { Instant, Time, text } from '../../http/wire';
import { ApiKey } from '../credentials/wire';

export const PanicIn = z
  .strictObject({
    reason: text(1024).openapi({ example: 'a laptop was stolen' }),
    api_keys: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether to revoke all API keys too. The response then contains a new API key.' }),
  })
  .openapi('PanicIn');

const memberId = z.string().openapi({ example: exampleId('member') });
const passkeyId = z.string().openapi({ example: exampleId('passkey') });

/** Items younger than seven days that an attacker may have created. */
const Recent = z
  .object({
    passkeys: z
      .array(z.object({ id: passkeyId, member_id: memberId, name: z.string().openapi({ example: 'Security key' }), created_at: Time }))
      .openapi({ description: 'Passkeys that still work. Remove those that their members do not recognise.' }),
    sessions: z
      .array(
        z.object({
          id: z.string().openapi({ example: exampleId('browser') }),
          member_id: memberId,
          passkey_id: passkeyId,
          created_at: Time,
          last_used_at: Time.nullable(),
          last_used_place: z.string().nullable().openapi({ example: 'Zurich, CH (ZRH)' }),
        }),
      )
      .openapi({ description: 'Browser sessions. All are revoked except the calling one.' }),
    enrolments: z
      .array(z.object({ member_id: memberId, email: z.string(), created_at: Time, expires_at: Time }).openapi('RecentEnrolment'))
      .openapi({ description: 'Enrolment links that still work. A new link for the same member replaces the old one.' }),
    grants: z
      .array(
        z.object({
          id: z.string().openapi({ example: exampleId('grant') }),
          grantee: z.object({ type: z.enum(['member', 'team', 'agent']), id: memberId }),
          permission: z.enum(['read', 'write']),
          created_by: z.string(),
          created_at: Time,
          expires_at: Time.nullable(),
        }),
      )
      .openapi({ description: 'Grants that are still in effect. GET /orgs/:org_id/grants shows their environments and names.' }),
    trusts: z
      .array(
        z.object({
          id: z.string().openapi({ example: exampleId('trust') }),
          name: z.string().openapi({ example: 'GitHub Actions: acme/app' }),
          issuer: z.string().openapi({ example: 'https://token.actions.githubusercontent.com' }),
          created_by: z.string(),
          created_at: Time,
          updated_at: Time,
        }),
      )
      .openapi({
        description:
          'Trusts that were created or changed. They still work, unless this request revoked all API keys and with them all trusts. Their session tokens are revoked.',
      }),
  })
  .openapi({ description: 'Items created in the last seven days, to review. Newest first, at most 1,000 of each kind.' });

export const Panicked = z
  .object({
    ended_at: Time,
    recent: Recent,
    api_key: ApiKey.extend({ token: z.string().nullable().openapi({ description: 'Shown only once.', example: 'svc_live_…' }) }).optional(),
  })
  .openapi('Panicked');

export const ContainIn = z
  .strictObject({
    since: Instant.optional().openapi({ description: 'Start of the report. By default, the time when the credential was created.' }),
    rotate: z
      .enum(['generated'])
      .optional()
      .openapi({ description: 'Rotates the secrets that were read or written, if this service generated their current values.' }),
  })
  .openapi('ContainIn');

const Kind = z.enum(['api_key', 'session', 'agent', 'provider', 'break_glass', 'browser', 'trust']);
const CredentialName = z.object({ kind: Kind, id: z.string(), name: z.string().nullable() });
const SecretName = z.object({
  secret_id: z.string(),
  name: z.string().nullable().openapi({ description: 'The current name. null if the secret is gone or the caller may not list it.' }),
});
const Deed = SecretName.extend({ version: z.int(), time: Time });

export const Contained = z
  .object({
    revoked: z
      .array(CredentialName)
      .openapi({ description: 'The credential and all credentials revoked together with it, except those that had already expired.' }),
    read: z.array(Deed).openapi({ description: 'Each version of each secret that one of them read, with the time of the first read.' }),
    written: z.array(Deed.extend({ action: z.string().openapi({ example: 'secret.update' }) })),
    shared: z
      .array(SecretName.extend({ version: z.int().nullable(), time: Time }))
      .openapi({ description: 'Secrets that one of them shared: the version for a link, null for a grant. The links are revoked.' }),
    credentials: z
      .array(CredentialName.extend({ created_at: Time }))
      .openapi({ description: 'Credentials created with it, directly or indirectly.' }),
    rotated: z.array(SecretName.extend({ version: z.int() })).optional(),
    rotation_due: z
      .array(SecretName)
      .optional()
      .openapi({ description: 'Secrets whose values this service did not generate. Replace each one where it was issued.' }),
    remaining: z.int().optional().openapi({ description: 'How many credentials are not revoked yet. Repeat the request.' }),
    omitted: z
      .int()
      .optional()
      .openapi({ description: 'How many credentials the lists revoked and credentials omit. Each list has at most 10,000 items.' }),
    gaps: z
      .array(z.object({ from: z.int(), to: z.int() }))
      .optional()
      .openapi({
        description: 'Ranges of audit log entries that are lost or cannot be read. The report does not include what happened in them.',
      }),
  })
  .openapi('Contained');

const Node = z.object({
  kind: z.enum([...Kind.options, 'member', 'system']),
  id: z.string(),
  name: z.string().nullable(),
  relation: z.enum(['dies_with', 'created_by']).openapi({
    description: 'dies_with: one is revoked together with the other. created_by: one was created by the other and stays valid without it.',
  }),
});

export const Graph = z
  .object({
    kind: Kind,
    id: z.string(),
    name: z.string().nullable(),
    parent: Node,
    children: z.array(Node).openapi({ description: 'Live credentials, at most 1,000.' }),
    grants: z.array(
      z.object({
        source: z.enum(['credential', 'role', 'grant']),
        role: z.string().nullable().optional(),
        grant_id: z.string().optional(),
        grantee: z.object({ type: z.enum(['member', 'team', 'agent']), id: z.string() }).optional(),
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
              description:
                'There are more names than one request can compare with the patterns: the credential reaches at least this many secrets.',
            }),
          }),
        )
        .openapi({ description: 'How many secrets it can read or write now in each environment.' }),
    }),
  })
  .openapi('CredentialGraph');
