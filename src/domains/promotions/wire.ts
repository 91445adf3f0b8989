// Request and response schemas of promotions.
import { z } from '@hono/zod-openapi';
import { isSecretName } from '../../db/names';
import { EnvironmentRef } from '../../http/wire';

/** The most secrets that one promotion names. */
const MOST_NAMES = 1000;

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

export const PromoteIn = z
  .strictObject({
    from: EnvironmentRef.openapi({
      description: 'The environment to copy from, by id or slug.',
      example: 'staging',
    }),
    names: z
      .array(z.string().max(255).refine(isSecretName, 'must be the name of a secret'))
      .min(1)
      .max(MOST_NAMES)
      .refine(distinct, 'must not contain duplicates')
      .optional()
      .openapi({
        description: 'Names of secrets. By default, all active secrets that the caller can read there.',
        example: ['DATABASE_URL'],
      }),
    prefix: z
      .string()
      .max(255)
      .optional()
      .openapi({ description: 'Instead of names: all that begin with this.', example: 'billing/' }),
    prune: z.boolean().optional().openapi({
      description:
        'Whether to delete the secrets here, of those chosen, whose names the source does not have. They can be restored for seven days. false by default.',
    }),
    dryRun: z.boolean().optional().openapi({
      description:
        'Whether to return what would happen and write nothing. Send the ETag of the answer as If-Match, and nothing else is promoted. false by default.',
    }),
  })
  .refine(({ names, prefix }) => names === undefined || prefix === undefined, {
    path: ['prefix'],
    message: 'must not be sent together with names',
  })
  .openapi('PromoteIn');

const names = (description: string, example: string[] = []) =>
  z.array(z.string()).openapi({ description, example });

export const Promoted = z
  .object({
    created: names('Names of new secrets.', ['DATABASE_URL']),
    updated: names('Names of secrets with a new version.'),
    unchanged: names(
      'Names of secrets that have the value already. Told only of values that the caller could read now in both environments without an approval; others are updated.',
    ),
    removed: names('Names of deleted secrets.'),
  })
  .openapi('Promoted');
