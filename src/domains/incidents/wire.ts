// Request and response schemas of incident response. Those of the graph of a credential are in graph-wire.ts.

import { z } from '@hono/zod-openapi';
import { kindsOfCredentials } from '../../db/credential-kinds';
import { exampleId } from '../../db/ids';
import {
  type IncidentRow,
  incidentKinds,
  incidentStatuses,
  logStreamKinds,
  syncStatuses,
} from '../../db/schema';
import { Instant, iso, isoOrNull, pageOf, pageQuery, Revision, Time, text } from '../../http/wire';
import { ApiKey } from '../credentials/wire';
import { configuring, settingUp } from './payloads';

export const PanicIn = z
  .strictObject({
    reason: text(1024).openapi({ example: 'a laptop was stolen' }),
    api_keys: z.boolean().optional().openapi({
      description: 'Whether to revoke all API keys too. The response then contains a new API key.',
    }),
    sso: z.boolean().optional().openapi({
      description:
        'Whether to refuse sign-ins by single sign-on, until an owner changes the connection (PATCH).',
    }),
  })
  .openapi('PanicIn');

const memberId = z.string().openapi({ example: exampleId('member') });
const passkeyId = z.string().openapi({ example: exampleId('passkey') });

/** Items younger than seven days that an attacker may have created. */
const Recent = z
  .object({
    passkeys: z
      .array(
        z.object({
          id: passkeyId,
          member_id: memberId,
          name: z.string().openapi({ example: 'Security key' }),
          created_at: Time,
        }),
      )
      .openapi({
        description: 'Passkeys that still work. Remove those that their members do not recognise.',
      }),
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
      .array(
        z
          .object({ member_id: memberId, email: z.string(), created_at: Time, expires_at: Time })
          .openapi('RecentEnrolment'),
      )
      .openapi({
        description: 'Enrolment links that still work. A new link for the same member replaces the old one.',
      }),
    grants: z
      .array(
        z.object({
          id: z.string().openapi({ example: exampleId('grant') }),
          grantee: z.object({ type: z.enum(['member', 'team', 'agent']), id: memberId }),
          permission: z.enum(['read', 'write', 'use']),
          created_by: z.string(),
          created_at: Time,
          expires_at: Time.nullable(),
        }),
      )
      .openapi({
        description:
          'Grants that are still in effect. GET /orgs/:org_id/grants shows their environments and names.',
      }),
    upstreams: z
      .array(
        z
          .object({
            id: z.string().openapi({ example: exampleId('upstream') }),
            name: z.string().openapi({ example: 'stripe' }),
            base_url: z.string().openapi({ example: 'https://api.stripe.com' }),
            created_by: z.string(),
            created_at: Time,
            updated_at: Time,
          })
          .openapi('RecentUpstream'),
      )
      .openapi({ description: 'Upstreams that were created or changed. Those of members have stopped.' }),
    log_streams: z
      .array(
        z
          .object({
            id: z.string().openapi({ example: exampleId('log_stream') }),
            name: z.string().openapi({ example: 'SIEM' }),
            kind: z.enum(logStreamKinds).openapi({ example: 'https' }),
            created_by: z.string(),
            created_at: Time,
            updated_at: Time,
          })
          .openapi('RecentLogStream'),
      )
      .openapi({
        description: 'Log streams that were created or changed. Those of members have stopped.',
      }),
    sso_connections: z
      .array(
        z
          .object({
            id: z.string().openapi({ example: exampleId('sso_connection') }),
            name: z.string().openapi({ example: 'Okta' }),
            issuer: z.string().openapi({ example: 'https://acme.okta.com' }),
            created_by: z.string(),
            created_at: Time,
            updated_at: Time,
          })
          .openapi('RecentSsoConnection'),
      )
      .openapi({ description: 'Connections to identity providers that were created or changed.' }),
    domains: z
      .array(
        z
          .object({
            id: z.string().openapi({ example: exampleId('domain') }),
            domain: z.string().openapi({ example: 'example.com' }),
            verified_at: Time.nullable(),
            created_by: z.string(),
            created_at: Time,
          })
          .openapi('RecentDomain'),
      )
      .openapi({ description: 'Domains that were added or verified.' }),
    scim_tokens: z
      .array(
        z
          .object({
            id: z.string().openapi({ example: exampleId('scim') }),
            name: z.string().openapi({ example: 'Okta' }),
            connection_id: z.string().nullable(),
            created_by: z.string(),
            created_at: Time,
          })
          .openapi('RecentScimToken'),
      )
      .openapi({ description: 'SCIM tokens. They still work, unless this request revoked all API keys.' }),
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
  .openapi('RecentItems', {
    description: 'Items created in the last seven days, to review. Newest first, at most 1,000 of each kind.',
  });

const IncidentId = z.string().openapi({ example: exampleId('incident') });
const Opened = IncidentId.nullable().openapi({
  description:
    'The incident that records it. null where nothing was recorded: for a dry run, or if all 1,000 incidents are open.',
  example: exampleId('incident'),
});

export const Panicked = z
  .object({
    ended_at: Time,
    incident_id: Opened,
    recent: Recent,
    api_key: ApiKey.extend({
      token: z.string().nullable().openapi({ description: 'Shown only once.', example: 'svc_live_…' }),
    }).optional(),
  })
  .openapi('Panicked');

export const ContainIn = z
  .strictObject({
    since: Instant.optional().openapi({
      description: 'Start of the report. By default, the time when the credential was created.',
    }),
    rotate: z.enum(['generated']).optional().openapi({
      description:
        'Rotates the secrets that were read, written, or used through an upstream that the credential made or changed, if this service generated their current values.',
    }),
    dry_run: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether to only report what would happen. false by default.' }),
  })
  .openapi('ContainIn');

export const Kind = z.enum(kindsOfCredentials);
const CredentialName = z.object({ kind: Kind, id: z.string(), name: z.string().nullable() });
const SecretName = z.object({
  secret_id: z.string(),
  name: z.string().nullable().openapi({ description: 'null if it is gone or may not be listed.' }),
  environment: z.string().nullable().openapi({ example: 'production' }),
});
const Deed = SecretName.extend({ version: z.int(), time: Time });

const unknown = 'null if it is gone or the caller may not see it.';
const Connection = z
  .object({
    id: z.string().openapi({ example: exampleId('integration') }),
    kind: z.enum(['sync', 'notify']).nullable().openapi({ description: unknown }),
    platform: z.string().nullable().openapi({ description: unknown, example: 'heroku' }),
    name: z.string().nullable().openapi({ description: unknown }),
    action: z.enum(configuring).openapi({ description: 'What the first change was.' }),
    time: Time,
  })
  .openapi('ConfiguredConnection');

const StartedSync = z
  .object({
    id: z.string().openapi({ example: exampleId('sync') }),
    platform: z.string().nullable().openapi({ description: unknown, example: 'heroku' }),
    integration_id: z
      .string()
      .nullable()
      .openapi({
        description: 'The stored connection. null for a sync without one, too.',
        example: exampleId('integration'),
      }),
    environment: z.string().nullable().openapi({ description: unknown, example: 'production' }),
    status: z.enum(syncStatuses).nullable().openapi({ description: unknown }),
    time: Time,
  })
  .openapi('StartedSync');

const MadeResource = z
  .object({
    id: z.string().openapi({ example: exampleId('log_stream') }),
    name: z.string().nullable().openapi({ description: unknown, example: 'SIEM' }),
    action: z.enum([...settingUp.log_streams, ...settingUp.domains, ...settingUp.sso_connections]),
    time: Time,
  })
  .openapi('MadeResource');

/** What a contained credential and its descendants did. */
const report = {
  credential: CredentialName.openapi({ description: 'The contained credential.' }),
  revoked: z.array(CredentialName).openapi({
    description:
      'The credential and all credentials below it that are revoked now, those revoked before included. Not those that had expired.',
  }),
  read: z.array(Deed).openapi({
    description: 'Each version of each secret that one of them read, with the time of the first read.',
  }),
  used: z.array(Deed).openapi({
    description:
      'Each version of each secret that one of them used through an upstream, or anybody through an upstream that one of them created or changed, with the time of the first use.',
  }),
  upstreams: z
    .array(
      z
        .object({
          id: z.string().openapi({ example: exampleId('upstream') }),
          name: z.string().nullable().openapi({ example: 'stripe' }),
          action: z.enum(['upstream.create', 'upstream.update']),
          time: Time,
        })
        .openapi('MadeUpstream'),
    )
    .openapi({
      description:
        'Upstreams that one of them created or changed, with the time of the first change, newest 10,000. They have stopped, unless somebody else changed them since.',
    }),
  written: z.array(Deed.extend({ action: z.string().openapi({ example: 'secret.update' }) })),
  shared: z.array(SecretName.extend({ version: z.int().nullable(), time: Time })).openapi({
    description:
      'Secrets that one of them shared: the version for a link, null for a grant. The links are revoked.',
  }),
  credentials: z
    .array(CredentialName.extend({ created_at: Time }))
    .openapi({ description: 'Credentials created with it, directly or indirectly.' }),
  connections: z.array(Connection).openapi({
    description:
      'Connections to other platforms that one of them created or changed, with the time of the first change, newest 10,000. They are not deleted: look through them.',
  }),
  syncs: z.array(StartedSync).openapi({
    description:
      'Syncs that one of them started, newest 10,000. Those that had not ended stop, unless this is a dry run.',
  }),
  log_streams: z.array(MadeResource).openapi({
    description:
      'Log streams that one of them created or changed. Those of a revoked key have stopped, unless somebody else took them over.',
  }),
  domains: z.array(MadeResource).openapi({
    description: 'Domains that one of them added or verified. They are not deleted: look through them.',
  }),
  sso_connections: z.array(MadeResource).openapi({
    description:
      'Connections to identity providers that one of them created or changed. They still let people in: look through them.',
  }),
  omitted: z.int().optional().openapi({
    description:
      'How many credentials the lists revoked and credentials omit. Each list has at most 10,000 items.',
  }),
  gaps: z
    .array(z.object({ from: z.int(), to: z.int() }))
    .optional()
    .openapi({
      description:
        'Ranges of audit log entries that are lost or cannot be read. The report does not include what happened in them.',
    }),
};

export const Contained = z
  .object({
    dry_run: z
      .literal(true)
      .optional()
      .openapi({ description: 'Nothing was changed: revoked and rotated are what a containment would do.' }),
    incident_id: Opened,
    ...report,
    rotated: z.array(SecretName.extend({ version: z.int() })).optional(),
    rotation_due: z.array(SecretName).optional().openapi({
      description:
        'Secrets whose values this service did not generate. Replace each one where it was issued.',
    }),
    remaining: z
      .int()
      .optional()
      .openapi({ description: 'How many credentials are not revoked yet. Repeat the request.' }),
  })
  .openapi('Contained');

export const ContainTokenIn = z
  .strictObject({
    token: z
      .string()
      .min(1)
      .max(4096)
      .openapi({ description: 'The text of a token of this organisation.', example: 'svc_live_…' }),
    ...ContainIn.shape,
  })
  .openapi('ContainTokenIn');

const Actor = z.object({
  kind: z.string().openapi({ example: 'member' }),
  id: z.string().nullable(),
  name: z.string().nullable(),
});

const incident = {
  id: IncidentId,
  revision: Revision,
  kind: z.enum(incidentKinds),
  status: z.enum(incidentStatuses),
  credential: CredentialName.nullable().openapi({
    description: 'The contained credential. null for a panic.',
  }),
  since: Time.nullable().openapi({
    description: 'Start of the report. null for the time when the credential was created.',
  }),
  reason: z
    .string()
    .nullable()
    .openapi({ description: 'The reason of the panic, or X-Access-Reason of the containment.' }),
  note: z.string().nullable(),
  opened_by: Actor,
  created_at: Time,
  updated_at: Time,
  closed_at: Time.nullable(),
};

export const Incident = z.object(incident).openapi('Incident');
export const IncidentPage = pageOf(Incident, 'IncidentPage');

export const IncidentQuery = z.strictObject({
  ...pageQuery,
  status: z
    .enum(incidentStatuses)
    .optional()
    .openapi({ description: 'Only incidents of this status.', example: 'open' }),
  credential: z
    .string()
    .max(100)
    .optional()
    .openapi({
      description: 'Only the incident of the credential with this id.',
      example: exampleId('api_key'),
    }),
});

export const IncidentPatch = z
  .strictObject({
    status: z.enum(incidentStatuses).optional(),
    note: text(2048)
      .nullable()
      .optional()
      .openapi({ description: 'null removes the note.', example: 'The key was in a public repository.' }),
  })
  .openapi('IncidentPatch');

const RotationItem = SecretName.extend({
  version: z.int().openapi({ description: 'The newest version that was exposed.' }),
  current_version: z.int(),
  status: z
    .enum(['due', 'rotated'])
    .openapi({ description: 'rotated: the secret got a new value since the containment.' }),
  rotated_at: Time.nullable(),
});

export const IncidentReport = z
  .object({
    ...incident,
    report: z.object(report).optional().openapi({
      description: 'Of a containment: what the credential and its descendants did, from the audit log.',
    }),
    rotation: z
      .object({ total: z.int(), rotated: z.int(), secrets: z.array(RotationItem) })
      .optional()
      .openapi({
        description:
          'Of a containment: the secrets that rotate covers and that still exist, those that are due first.',
      }),
    recent: Recent.optional().openapi({
      description:
        'Of a panic: what was recent then and is still there. Absent for callers without members:read.',
    }),
    timeline: z
      .array(
        z.object({
          time: Time,
          action: z.string().openapi({ example: 'credential.contain' }),
          actor: Actor.optional(),
          status: z
            .string()
            .optional()
            .openapi({ description: 'The status of the incident from then on.', example: 'open' }),
          secret_id: z.string().optional(),
          name: z.string().nullable().optional(),
          environment: z.string().nullable().optional(),
          version: z.int().optional(),
        }),
      )
      .openapi({
        description:
          'Oldest first, at most the first 1,000 steps: creation of the credential, containments, new values, changes of the incident.',
      }),
  })
  .openapi('IncidentReport');

/** An incident in responses, without its report. */
export const incidentOut = (row: IncidentRow): z.infer<typeof Incident> => ({
  id: row.id,
  revision: row.revision,
  kind: row.kind,
  status: row.status,
  credential: row.credential && {
    kind: row.credential.kind,
    id: row.credential.id,
    name: row.credential.name,
  },
  since: isoOrNull(row.since),
  reason: row.reason,
  note: row.note,
  opened_by: { kind: row.opened_by.kind, id: row.opened_by.id, name: row.opened_by.name },
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  closed_at: isoOrNull(row.closed_at),
});
