// Request and response schemas of sign-in by single sign-on.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { SsoLinkRow } from '../../db/schema';
import { iso, pageOf, Time } from '../../http/wire';
import { Email } from '../members/wire';
import { Assertion } from '../passkeys/wire';
import { isReturnPath } from './rules';

export const StartIn = z
  .strictObject({
    email: Email.optional().openapi({ description: 'Of the member. Its domain decides the connection.' }),
    connection_id: z
      .string()
      .max(64)
      .optional()
      .openapi({ example: exampleId('sso_connection') }),
    confirm: z.literal(true).optional().openapi({
      description: 'Confirms the calling session, which single sign-on began.',
    }),
    return_to: z
      .string()
      .max(500)
      .refine(isReturnPath, 'must be a path of this deployment: one slash, then printable ASCII')
      .optional()
      .openapi({ description: 'Where the browser goes in the end.', example: '/console' }),
  })
  .refine(
    ({ email, connection_id, confirm }) =>
      [email, connection_id, confirm].filter((one) => one !== undefined).length === 1,
    'must have exactly one of email, connection_id and confirm',
  )
  .openapi('SsoStartIn');

export const SsoLink = z
  .object({
    id: z.string().openapi({ example: exampleId('sso_link') }),
    connection_id: z.string().openapi({ example: exampleId('sso_connection') }),
    issuer: z.string().openapi({ example: 'https://login.example.com' }),
    subject: z.string().openapi({
      description: 'The id of the person at the provider. Of Entra: tenant, slash, object.',
      example: '00u1b2c3d4',
    }),
    live: z.boolean().openapi({
      description: 'Whether the connection is there. A link of a deleted one lets nobody in.',
    }),
    created_at: Time,
  })
  .openapi('SsoLink');
export const SsoLinkPage = pageOf(SsoLink, 'SsoLinkPage');

export const linkOut = (row: SsoLinkRow, live: boolean): z.infer<typeof SsoLink> => ({
  id: row.id,
  connection_id: row.connection_id,
  issuer: row.issuer,
  subject: row.subject,
  live,
  created_at: iso(row.created_at),
});

export const Started = z
  .object({ url: z.string().openapi({ example: 'https://login.example.com/authorize?…' }) })
  .openapi('SsoStarted');

export const LinkOptionsIn = z.strictObject({}).openapi('SsoLinkOptionsIn');
export const LinkIn = z.strictObject({ response: Assertion }).openapi('SsoLinkIn');
