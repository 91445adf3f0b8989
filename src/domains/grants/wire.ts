// Request and response schemas of grants.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { type GrantRow, parentIdOf } from '../../db/schema';
import { FutureTime, iso, isoOrNull, limitsBelow, Patterns, pageOf, pageQuery, Time } from '../../http/wire';

const GranteeId = z
  .string()
  .min(1)
  .max(64)
  .openapi({ example: exampleId('member') });
const grantee = { type: z.enum(['member', 'team']), id: GranteeId };
const anyGrantee = {
  type: z
    .enum(['member', 'team', 'agent'])
    .openapi({ description: 'A grant to an agent is created only by POST /orgs/:org_id/secrets/:id/share.' }),
  id: GranteeId,
};
const Permission = z.enum(['read', 'write', 'use']).openapi({
  description:
    'read grants secrets:list and secrets:read. write also grants secrets:write and secrets:rotate. use grants secrets:list and secrets:use, through the upstreams that it names.',
});

export const GrantIn = z
  .strictObject({
    grantee: z.strictObject(grantee),
    permission: Permission,
    ...limitsBelow('creator'),
    upstreams: Patterns.optional().openapi({
      description: 'Upstreams that may be used, as glob patterns. Required with use.',
    }),
    expires_at: FutureTime.optional(),
  })
  .refine(({ permission, upstreams }) => permission !== 'use' || upstreams !== undefined, {
    path: ['upstreams'],
    message: 'is required with use',
  })
  .openapi('GrantIn');

export const GrantQuery = z.strictObject({
  ...pageQuery,
  grantee: GranteeId.optional().openapi({ description: 'Only the grants of this member, team or agent.' }),
});

/** In the response to a new grant to a team. */
export const ProviderWarning = z
  .string()
  .openapi({ description: 'Of a new grant: that an identity provider decides who is in the team.' })
  .optional();

export const Grant = z
  .object({
    id: z.string().openapi({ example: exampleId('grant') }),
    grantee: z.object(anyGrantee),
    permission: Permission,
    environments: z.array(z.string()).nullable(),
    secrets: z.array(z.string()).nullable(),
    upstreams: z.array(z.string()).nullable(),
    created_by: z.string(),
    parent_id: z.string().nullable().openapi({
      description: 'The credential that this grant is revoked together with. null if there is none.',
    }),
    created_at: Time,
    expires_at: Time.nullable(),
    warning: ProviderWarning,
  })
  .openapi('Grant');
export const GrantPage = pageOf(Grant, 'GrantPage');

/** A grant, with its environments as slugs. */
export const grantOut = (row: GrantRow, environments: string[] | null): z.infer<typeof Grant> => ({
  id: row.id,
  grantee: { type: row.grantee_type, id: row.grantee_id },
  permission: row.permission,
  environments,
  secrets: row.secrets,
  upstreams: row.upstreams,
  created_by: row.created_by,
  parent_id: parentIdOf(row),
  created_at: iso(row.created_at),
  expires_at: isoOrNull(row.expires_at),
});
