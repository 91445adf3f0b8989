// Request and response schemas of promotions.
import { z } from '@hono/zod-openapi';
import { isSecretName } from '../../db/names';
import { EnvironmentRef } from '../../http/wire';

/** The most secrets that one promotion names. */
const MOST_NAMES = 1000;

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

export const PromoteIn = z
  .strictObject({
    from: EnvironmentRef.openapi({ description: 'The environment to copy from.', example: 'staging' }),
    names: z
      .array(z.string().max(255).refine(isSecretName, 'must be the name of a secret'))
      .min(1)
      .max(MOST_NAMES)
      .refine(distinct, 'must not contain duplicates')
      .optional()
      .openapi({ description: 'By default, all active secrets that the caller can read there.' }),
    prefix: z.string().max(255).optional().openapi({ description: 'Instead of names.' }),
    prune: z.boolean().optional().openapi({
      description: 'Whether to delete secrets here, of those chosen, that the source does not have.',
    }),
    dryRun: z.boolean().optional().openapi({
      description: 'Whether to write nothing. With its ETag as If-Match, nothing else is promoted.',
    }),
  })
  .refine(({ names, prefix }) => names === undefined || prefix === undefined, {
    path: ['prefix'],
    message: 'must not be sent together with names',
  })
  .openapi('PromoteIn');

const Names = z.array(z.string());

export const Promoted = z
  .object({
    created: Names,
    updated: Names,
    unchanged: Names.openapi({
      description:
        'Those that the caller could read in both places now without an approval; others are updated.',
    }),
    removed: Names,
  })
  .openapi('Promoted');
