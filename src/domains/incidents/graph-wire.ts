// Response schemas of the graph of a credential.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { Time } from '../../http/wire';
import { Kind } from './wire';

const Node = z.object({
  kind: z.enum([...Kind.options, 'member', 'system']),
  id: z.string(),
  name: z.string().nullable(),
  relation: z.enum(['dies_with', 'created_by']).openapi({
    description:
      'dies_with: one is revoked together with the other. created_by: one was created by the other and stays valid without it.',
  }),
});

/** A live credential below another, nearest first. */
const Descendant = Node.extend({
  parent_id: z.string().openapi({
    description: 'The credential that led to it. It may have ended.',
    example: exampleId('api_key'),
  }),
  depth: z.int().openapi({ description: '1 for a child, 2 for a child of a child.', example: 1 }),
  dies_with: z
    .string()
    .nullable()
    .openapi({
      description: 'The credential that it is revoked together with.',
      example: exampleId('api_key'),
    }),
  ended_by_contain: z.boolean().openapi({
    description:
      'Whether a containment by this caller would end it. false for the lineage of the caller, and for everything if the caller may not contain the credential.',
  }),
});

export const Graph = z
  .object({
    kind: Kind,
    id: z.string(),
    name: z.string().nullable(),
    parent: Node,
    children: z.array(Descendant).openapi({
      description:
        'All live credentials below it, children of children included, nearest first. At most 10,000.',
    }),
    omitted: z
      .int()
      .optional()
      .openapi({ description: 'How many live credentials below it are not listed. There may be more.' }),
    grants: z.array(
      z.object({
        source: z.enum(['credential', 'role', 'grant']),
        role: z.string().nullable().optional(),
        grant_id: z.string().optional(),
        grantee: z.object({ type: z.enum(['member', 'team', 'agent']), id: z.string() }).optional(),
        scopes: z.array(z.string()),
        environments: z.array(z.string()).nullable(),
        secrets: z.array(z.string()).nullable(),
        upstreams: z.array(z.string()).nullable(),
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
      upstreams: z
        .array(z.object({ id: z.string(), name: z.string() }))
        .openapi({ description: 'What it can use, of the upstreams that the caller may see.' }),
    }),
  })
  .openapi('CredentialGraph');
