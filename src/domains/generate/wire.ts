// Request and response schemas of generated files, in camelCase.
import { z } from '@hono/zod-openapi';
import { formatNames, formats } from '../../adapters/generate';
import { isSecretName } from '../../db/names';
import { EnvironmentRef } from '../../http/wire';

/** The most secrets that one request names. */
const MOST_NAMES = 1000;

const distinct = (list: readonly string[]) => new Set(list).size === list.length;
const Names = z
  .array(z.string().max(255).refine(isSecretName, 'must be the name of a secret'))
  .min(1)
  .max(MOST_NAMES)
  .refine(distinct, 'must not contain duplicates');

/** The options of each format that has any, in a sentence. */
const optionsOf = formats
  .filter(({ options }) => Object.keys(options.shape).length)
  .map(({ format, options }) => `${format}: ${Object.keys(options.shape).join(', ')}`)
  .join('; ');

/** Options have few, short fields; each format validates its own. */
const Options = z
  .record(z.string().max(64), z.string().max(1024))
  .refine((options) => Object.keys(options).length <= 20, 'must have at most 20 fields');

export const GenerateIn = z
  .strictObject({
    format: z.enum(formatNames).openapi({ example: 'dotenv' }),
    environmentId: EnvironmentRef.openapi({ description: 'An environment, by id or slug.' }),
    names: Names.optional().openapi({
      description:
        'Names of secrets. By default, all active secrets of the environment that the caller can read.',
      example: ['DATABASE_URL'],
    }),
    stripPrefixes: z
      .array(z.string().min(1).max(255))
      .min(1)
      .max(10)
      .optional()
      .openapi({
        description: 'Prefixes that names in the file leave out: of those that a name begins with, the last.',
        example: ['billing/'],
      }),
    options: Options.optional().openapi({
      description: `Options of the format. ${optionsOf}.`,
      example: { dialect: 'node' },
    }),
  })
  .openapi('GenerateIn');

export const GeneratedFile = z
  .object({
    filename: z.string().openapi({ example: '.env' }),
    contentType: z.string().openapi({ example: 'text/plain' }),
    content: z.string().openapi({
      description: 'The file, in UTF-8 without a byte order mark.',
      example: 'DATABASE_URL=postgres://…\n',
    }),
  })
  .openapi('GeneratedFile');
