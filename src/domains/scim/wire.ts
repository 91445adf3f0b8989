// Request and response schemas of SCIM tokens. What providers send and get is in compat/scim.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { ScimToken as Stored } from '../../db/schema';
import { FutureTime, iso, isoOrNull, Name, pageOf, Revision, Time } from '../../http/wire';
import type { Shown } from '../credentials/wire';

export const ScimTokenIn = z
  .strictObject({
    name: Name.openapi({ example: 'Okta' }),
    connection_id: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .openapi({
        description:
          'A connection: the token then manages its people, its default_role and mappings apply, and the token ends with it. Without one it manages members of no connection.',
        example: exampleId('sso_connection'),
      }),
    end_credentials: z.boolean().optional().openapi({
      description: 'Whether suspending or deleting a person also ends the credentials that they created.',
    }),
    expires_at: FutureTime.optional().openapi({ description: 'Never by default.' }),
  })
  .openapi('ScimTokenIn');

export const ScimToken = z
  .object({
    id: z.string().openapi({ example: exampleId('scim') }),
    revision: Revision,
    name: z.string(),
    hint: z.string().openapi({ example: 'svcscim_…x7Qd' }),
    connection_id: z.string().nullable(),
    end_credentials: z.boolean(),
    rate_limit: z.int().openapi({ example: 1800 }),
    created_by: z.string(),
    created_at: Time,
    expires_at: Time.nullable(),
    revoked_at: Time.nullable(),
    last_used_at: Time.nullable(),
  })
  .openapi('ScimToken');
export const NewScimToken = ScimToken.extend({
  token: z.string().nullable().openapi({ description: 'Shown only once.', example: 'svcscim_…' }),
  base_url: z.string().nullable().openapi({
    description: 'The tenant URL for the identity provider.',
    example: 'https://vault.example.com/scim/v2/org_…',
  }),
}).openapi('NewScimToken');
export const ScimTokenPage = pageOf(ScimToken, 'ScimTokenPage');

export const scimTokenOut = ({ row, used }: Shown): z.infer<typeof ScimToken> => ({
  id: row.id,
  revision: row.revision,
  name: row.name as string,
  hint: row.hint,
  connection_id: (row.scim as Stored).connection,
  end_credentials: (row.scim as Stored).end_credentials,
  rate_limit: row.rate_limit,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  expires_at: isoOrNull(row.expires_at),
  revoked_at: isoOrNull(row.revoked_at),
  last_used_at: isoOrNull(used?.at ?? null),
});
