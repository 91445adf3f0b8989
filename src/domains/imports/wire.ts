// Request and response schemas of imports, in camelCase.
import { z } from '@hono/zod-openapi';
import { sources } from '../../adapters/import';
import { EnvironmentRef } from '../../http/wire';
import { conflictWays } from './payloads';

const names = sources.map(({ source }) => source) as [(typeof sources)[number]['source']];

/** A valid prefix of a secret's name. */
const Prefix = z
  .string()
  .regex(
    /^([A-Za-z0-9_][A-Za-z0-9_./-]{0,253})?$/,
    'must have at most 254 characters: letters, digits, _ . / - and must start with a letter, a digit or _',
  );

const Data = z
  .unknown()
  .refine(
    (data) => typeof data === 'string' || (typeof data === 'object' && data !== null),
    'must be the export: JSON or text',
  );

export const ImportIn = z
  .strictObject({
    source: z.enum(names).openapi({ description: 'The tool that created the export.', example: 'doppler' }),
    data: Data.openapi({
      description: 'The export, as JSON or text. Nested at most 64 levels deep.',
      example: { DATABASE_URL: 'postgres://…' },
    }),
    environmentId: EnvironmentRef.optional().openapi({
      description: 'Id or slug. By default, the default environment.',
      example: 'production',
    }),
    onConflict: z.enum(conflictWays).openapi({
      description:
        'What happens to existing secrets. skip: they stay unchanged. overwrite: they get a new version. fail: 409 IMPORT_CONFLICT, and nothing is imported.',
      example: 'skip',
    }),
    dryRun: z.boolean().optional().openapi({
      description: 'Whether to return what would happen and write nothing. false by default.',
      example: false,
    }),
    refuseEmpty: z.boolean().optional().openapi({
      description: 'Whether items with an empty value fail with VALUE_EMPTY. false by default.',
      example: false,
    }),
    keepPaths: z.boolean().optional().openapi({
      description: 'For a map of path → answer of vault: whether names begin with the path.',
    }),
    whole: z.boolean().optional().openapi({
      description:
        'For aws-secrets-manager: whether each secret stays one, as its clients read it, although its value is a JSON object.',
    }),
    prefix: Prefix.optional().openapi({
      description: 'Added in front of each name. Empty by default.',
      example: '',
    }),
  })
  .openapi('ImportIn');

export const Imported = z
  .object({
    created: z.array(z.string()).openapi({ description: 'Names of new secrets.', example: ['DATABASE_URL'] }),
    updated: z.array(z.string()).openapi({ description: 'Names of secrets that were updated.', example: [] }),
    skipped: z
      .array(z.string())
      .openapi({ description: 'Names of secrets that stay unchanged.', example: [] }),
    failed: z.array(z.object({ name: z.string(), reason: z.string() })).openapi({
      description:
        'Items that are not imported: the name in the export and a code, in some cases followed by a sentence.',
      example: [],
    }),
  })
  .openapi('Imported');
