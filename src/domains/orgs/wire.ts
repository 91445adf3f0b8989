// Organisations and environments on the wire.
import { z } from '@hono/zod-openapi';
import type { EnvironmentRow, OrgRow } from '../../db/schema';
import { Addresses, EnvironmentRef, iso, Name, pageOf, Time, text } from '../../http/wire';
import { NewApiKey } from '../credentials/wire';
import { Email, EnrolmentUrl, NewMember } from '../members/wire';

/** Where a Durable Object may be placed: https://developers.cloudflare.com/durable-objects/reference/data-location/ */
const LocationHint = z.enum(['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me']);

export const OrgIn = z
  .strictObject({
    name: Name.openapi({ example: 'Acme' }),
    owner: z.strictObject({ email: Email, name: Name.openapi({ example: 'Ann' }) }),
    location_hint: LocationHint.optional().openapi({
      description: "Where the organisation's gate is placed, near those who read from it most.",
    }),
  })
  .openapi('OrgIn');

const allowed_addresses = Addresses.nullable().openapi({
  description: 'Where members may sign in and act from; null for anywhere. It does not bind what they make.',
});
export const OrgPatch = z
  .strictObject({
    name: Name.optional(),
    default_environment: EnvironmentRef.optional(),
    allowed_addresses: allowed_addresses.optional(),
  })
  .openapi('OrgPatch');
export const OrgDelete = z
  .strictObject({ confirm: z.string().max(255).openapi({ description: 'The name of the organisation.', example: 'Acme' }) })
  .openapi('OrgDelete');
const Reason = text(1024).openapi({ example: 'the only key was lost with a laptop' });
export const Recovery = z
  .strictObject({
    reason: Reason,
    email: Email.optional().openapi({ description: 'Of the owner who is to enrol again; the oldest owner where absent.' }),
  })
  .openapi('Recovery');
export const Adoption = z.strictObject({ reason: Reason }).openapi('Adoption');

export const Org = z
  .object({
    id: z.string().openapi({ example: 'org_01M9xQeKcX3vTz6nWJfQ4b' }),
    name: z.string(),
    default_environment: z.string().openapi({ example: 'production' }),
    allowed_addresses,
    created_at: Time,
    updated_at: Time,
  })
  .openapi('Org');
export const OrgWithUsage = Org.extend({
  usage: z
    .object({
      secrets: z.int().openapi({ description: 'Of 100,000. Deleted ones count until they are purged.' }),
      sealed_bytes: z.int().openapi({ description: 'Ciphertext of all versions of all secrets, in bytes, of 4 GiB.' }),
      credentials: z.int().openapi({
        description:
          'Of 10,000 that may be alive. Session tokens and browser sessions do not count. One that expires may count for five seconds more.',
      }),
      members: z.int().openapi({ description: 'Of 2,000.' }),
    })
    .openapi({
      description: 'How much of what it may hold the organisation holds.',
      example: { secrets: 42, sealed_bytes: 18_211, credentials: 7, members: 12 },
    }),
}).openapi('OrgWithUsage');
export const Founded = z.object({ org: Org, owner: NewMember, api_key: NewApiKey }).openapi('Founded');
export const Recovered = z.object({ api_key: NewApiKey, enrolment_url: EnrolmentUrl }).openapi('Recovered');
export const Adopted = z
  .object({
    restored: z.int().openapi({ description: 'Secrets that are put back to what the backup says.' }),
    ended: z.int().openapi({ description: 'Secrets that stay deleted or destroyed, though the backup holds them.' }),
    lost: z.int().openapi({ description: 'Secrets that were made after the backup, and are gone with what it replaced.' }),
    refused: z.int().openapi({ description: 'Rows that this organisation never wrote; they were removed.' }),
    audit_entries_lost: z.int().openapi({ description: 'Entries of the audit log that the backup does not hold.' }),
  })
  .openapi('Adopted');
export const ListedOrg = z.object({ id: z.string(), name: z.string(), created_at: Time }).openapi('ListedOrg');
export const OrgPage = pageOf(ListedOrg, 'OrgPage');

const Slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 of a-z, 0-9 and -, not at an end')
  .openapi({ example: 'qa' });
export const EnvironmentIn = z.strictObject({ name: Name.openapi({ example: 'QA' }), slug: Slug.optional() }).openapi('EnvironmentIn');
export const EnvironmentPatch = z.strictObject({ name: Name }).openapi('EnvironmentPatch');
export const Environment = z.object({ id: z.string(), name: z.string(), slug: z.string() }).openapi('Environment');
export const EnvironmentPage = pageOf(Environment, 'EnvironmentPage');

export const orgOut = (row: OrgRow, defaultEnvironment: string): z.infer<typeof Org> => ({
  id: row.id,
  name: row.name,
  default_environment: defaultEnvironment,
  allowed_addresses: row.member_addresses,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
});

export const environmentOut = ({ id, name, slug }: EnvironmentRow): z.infer<typeof Environment> => ({ id, name, slug });

/** The slug that a name suggests; empty if it suggests none. */
export const slugOfName = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63)
    .replace(/-+$/, '');
