// Request and response schemas of shares: links and grants of one secret, and the view of a link.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { GrantRow, ShareRow } from '../../db/schema';
import { FutureTime, iso, isoOrNull, pageOf, Time } from '../../http/wire';
import { ProviderWarning } from '../grants/wire';

const Passphrase = z.string().min(1).max(256);

const LinkIn = z.strictObject({
  kind: z.literal('link'),
  expires_in: z.int().min(60).max(604_800).openapi({ description: 'Lifetime in seconds.', example: 3600 }),
  max_views: z
    .int()
    .min(1)
    .max(100)
    .openapi({ description: 'How often the value can be viewed.', example: 1 }),
  passphrase: Passphrase.optional().openapi({
    description: 'Required before the value is shown. Send it through a different channel than the link.',
  }),
});

const Grantee = z.object({
  type: z.enum(['member', 'team', 'agent']),
  id: z
    .string()
    .min(1)
    .max(64)
    .openapi({ example: exampleId('member') }),
});
const Permission = z.enum(['read', 'write']).openapi({ description: 'As in POST /orgs/:org_id/grants.' });

const GrantIn = z.strictObject({
  kind: z.literal('grant'),
  grantee: Grantee.strict(),
  permission: Permission,
  expires_at: FutureTime.optional(),
});

export const ShareIn = z.discriminatedUnion('kind', [LinkIn, GrantIn]).openapi('ShareIn');

/** A new link. Its URL is shown only in this response. */
const NewLink = z.object({
  id: z.string().openapi({ example: exampleId('share') }),
  url: z
    .string()
    .nullable()
    .openapi({ description: 'Address of the page that shows the value. Shown only once.' }),
  expires_at: Time,
});

const Link = z.object({
  id: z.string().openapi({ example: exampleId('share') }),
  kind: z.literal('link'),
  version: z.int().openapi({ description: 'The version that the link shows.' }),
  max_views: z.int(),
  views: z.int(),
  passphrase: z.boolean().openapi({ description: 'Whether the link requires a passphrase.' }),
  created_by: z.string().openapi({
    description: 'The credential or member that created the link. The link is revoked together with it.',
  }),
  created_at: Time,
  expires_at: Time,
});

const Grant = z.object({
  id: z.string().openapi({ example: exampleId('grant') }),
  kind: z.literal('grant'),
  grantee: Grantee,
  permission: z.enum(['read', 'write', 'use']),
  created_by: z.string(),
  created_at: Time,
  expires_at: Time.nullable(),
  warning: ProviderWarning,
});

const url = `https://vault.example.com/s/${exampleId('share')}#svcshare_…`;
const times = { created_at: '2026-11-21T12:00:00.000Z', expires_at: '2026-11-21T13:00:00.000Z' };
export const NewShare = z
  .union([NewLink, Grant])
  .openapi('NewShare', { example: { id: exampleId('share'), url, expires_at: times.expires_at } });
export const Share = z.union([Link, Grant]).openapi('Share', {
  example: {
    id: exampleId('share'),
    kind: 'link',
    version: 1,
    max_views: 3,
    views: 1,
    passphrase: true,
    created_by: exampleId('api_key'),
    ...times,
  },
});
export const SharePage = pageOf(Share, 'SharePage');

export const linkOut = (row: ShareRow): z.infer<typeof Link> => ({
  id: row.id,
  kind: 'link',
  version: row.version,
  max_views: row.max_views,
  views: row.views,
  passphrase: row.passphrase !== null,
  created_by: row.dies_with ?? row.created_by,
  created_at: iso(row.created_at),
  expires_at: iso(row.expires_at),
});

export const grantOut = (row: GrantRow): z.infer<typeof Grant> => ({
  id: row.id,
  kind: 'grant',
  grantee: { type: row.grantee_type, id: row.grantee_id },
  permission: row.permission,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  expires_at: isoOrNull(row.expires_at),
});

export const ViewIn = z
  .strictObject({
    key: z
      .string()
      .min(1)
      .max(1000)
      .openapi({ description: 'The part of the link after #.', example: 'svcshare_…' }),
    passphrase: z.string().min(1).max(1000).optional(),
  })
  .openapi('ViewIn');

export const Viewed = z
  .object({
    name: z.string().openapi({ example: 'DATABASE_URL' }),
    version: z.int(),
    value: z.string().openapi({ example: 'postgres://app:…@db.example.com/app' }),
  })
  .openapi('Viewed');
