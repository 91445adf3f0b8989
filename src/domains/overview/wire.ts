// Request and response schemas of the overview and of search.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { Time, text } from '../../http/wire';
import { Histogram } from '../audit/wire';

const Item = z
  .object({
    id: z.string().openapi({ example: exampleId('secret') }),
    name: z.string().nullable().openapi({
      description:
        'The name; for an approval that of its target or what it asks for, for a webhook its host, for an incident that of the credential.',
      example: 'DATABASE_URL',
    }),
    kind: z.string().nullable().openapi({
      description:
        'The type of a secret, the kind of a credential or an incident, the operation of an approval, the platform of a sync.',
      example: 'generic',
    }),
    environment: z.string().nullable().openapi({ example: 'production' }),
    time: Time.nullable().openapi({
      description:
        'Since when it needs somebody: due, failing, opened or added; or when it ends: approvals, break-glass tokens and what expires.',
    }),
    detail: z.string().nullable().openapi({
      description:
        'For an approval its requester, for a break-glass token or an incident the reason, for a sync how many runs in a row have failed, for a disabled webhook why.',
      example: null,
    }),
  })
  .openapi('OverviewItem');
export type OverviewItem = z.infer<typeof Item>;

const OverviewPart = z
  .object({
    count: z.int().openapi({ example: 1 }),
    data: z.array(Item).openapi({ description: 'The first five.' }),
  })
  .openapi('OverviewPart');
export type Part = z.infer<typeof OverviewPart>;

const part = (description: string) => OverviewPart.optional().openapi({ description });

export const Overview = z
  .object({
    total: z
      .int()
      .openapi({ description: 'The sum of all counts: how many things need somebody.', example: 4 }),
    incidents: part('Open incidents, newest first.'),
    break_glass_tokens: part('Break-glass tokens that work, those that end first.'),
    approvals: part('Pending approvals that the caller can decide, those that end first.'),
    failing_syncs: part(
      'Of each connection and environment the last sync that ended, if something failed; those without a connection for a week.',
    ),
    failing_webhooks: part('Webhooks whose last delivery failed, or that were disabled for it.'),
    overdue_secrets: part('Secrets that a run, every hour, found due for rotation.'),
    expiring_secrets: part('Secrets that expire within seven days or expired in the last seven.'),
    expiring_credentials: part('API keys, agent credentials and provider tokens that expire soon.'),
    unverified_domains: part('Domains that are not verified.'),
    activity: Histogram.optional().openapi({
      description: 'The audit log of seven days by hour, as far as the caller may read it.',
    }),
  })
  .openapi('Overview');

/** How long what is searched for may be. */
const LONGEST = 255;

export const SearchQuery = z.strictObject({
  q: text(LONGEST).openapi({
    description:
      'A part of the name; of members also of the email address. Case is ignored. It is kept nowhere.',
    example: 'database',
  }),
});

const SearchHit = z
  .object({
    id: z.string().openapi({ example: exampleId('secret') }),
    name: z.string().openapi({ example: 'DATABASE_URL' }),
    kind: z.string().nullable().openapi({
      description: 'The type of a secret, the role of a member, the kind of anything else.',
      example: 'generic',
    }),
    environment: z.string().nullable().openapi({ description: 'Of a secret.', example: 'production' }),
    detail: z.string().nullable().openapi({
      description: 'The email address of a member, the platform of a connection.',
      example: null,
    }),
  })
  .openapi('SearchHit');
export type Hit = z.infer<typeof SearchHit>;

const SearchHits = z
  .object({
    data: z.array(SearchHit).openapi({ description: 'The first 20, by name.' }),
    has_more: z.boolean(),
  })
  .openapi('SearchHits');
export type Hits = z.infer<typeof SearchHits>;

export const Found = z
  .object({
    secrets: SearchHits.optional(),
    members: SearchHits.optional(),
    teams: SearchHits.optional(),
    credentials: SearchHits.optional(),
    policies: SearchHits.optional(),
    connections: SearchHits.optional(),
  })
  .openapi('SearchResult');
