// Request and response schemas of secrets. Requests are strict.

import { z } from '@hono/zod-openapi';
import { utf8 } from '../../crypto/bytes';
import { type GenerateOptions, optionsProblem } from '../../crypto/generate';
import { exampleId } from '../../db/ids';
import { type SecretRow, secretTypes, type VersionRow } from '../../db/schema';
import { EnvironmentRef, iso, isoOrNull, pageOf, pageQuery, QueryInteger, Time, text } from '../../http/wire';
import type { RotationPlan } from '../policies/gate/due';
import { etagOf, MOST_TAGS, MOST_TAGS_BYTES, statuses, statusOf } from './rules';

export const MOST_VALUE = 65_536;

export const SecretName = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/,
    'must have 1 to 255 characters: letters, digits, _ . / - and must start with a letter, a digit or _',
  )
  .refine(
    (name) => name.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
    'must not contain an empty, "." or ".." segment between slashes',
  )
  .openapi({ example: 'DATABASE_URL' });

/** A value, up to 64 KiB of UTF-8. Callers may set an empty value: `.env` files have them. */
export const SecretValue = z
  .string()
  .max(MOST_VALUE, { message: 'must have at most 64 KiB in UTF-8', abort: true })
  .refine((value) => utf8(value).length <= MOST_VALUE, 'must have at most 64 KiB in UTF-8')
  .refine((value) => value.isWellFormed(), 'must be well-formed Unicode without lone surrogates')
  .openapi({ example: 'postgres://app:correct-horse@db.example.com/app' });

/** A value that replaces another, or that a provider issues: never empty. */
export const NonEmptyValue = SecretValue.refine((value) => value !== '', 'must not be empty');

const Type = z.enum(secretTypes);
const Description = text(2048);
/** The name of a tag: printable, so that pages and terminals show it as it is. */
export const TagName = text(128).refine(
  (key) => utf8(key).length <= 128,
  'must have at most 128 bytes in UTF-8',
);
export const TagValue = text(512).refine(
  (value) => utf8(value).length <= 512,
  'must have at most 512 bytes in UTF-8',
);
export const Tags = z
  .record(TagName, TagValue)
  .refine((tags) => Object.keys(tags).length <= MOST_TAGS, 'must have at most 64 tags')
  .refine(
    (tags) => utf8(Object.entries(tags).flat().join('')).length <= MOST_TAGS_BYTES,
    'must have at most 16,384 bytes in total',
  )
  .openapi({ example: { team: 'core' }, maxProperties: MOST_TAGS });
const Seconds = z.int().min(1).max(31_536_000);
const AutoRotate = z.boolean().optional().openapi({
  description: 'Whether a rotation policy with auto_rotate may replace a generated value. false by default.',
  example: false,
});

const Generate = z.strictObject({
  length: z.int().min(8).max(4096).optional(),
  charset: z.string().min(2).max(256).optional().openapi({
    description:
      'The name of a character set (alphanumeric, letters, digits, hex, base64url, ascii, …) or the characters themselves.',
  }),
});

/** Types for which a new secret's value can be generated: their values are usually not issued elsewhere. */
const GENERATED_AT_FIRST: ReadonlySet<string> = new Set([
  'password',
  'ssh_key',
  'private_key',
  'webhook_secret',
]);

/** What is wrong with the source of a new secret's value, or null. */
function originProblem({
  type,
  value,
  generate,
}: {
  type: string;
  value?: string;
  generate?: GenerateOptions;
}) {
  if (value !== undefined)
    return generate === undefined
      ? null
      : { path: 'generate', message: 'must not be sent together with value' };
  if (generate === undefined) return { path: 'value', message: 'is required unless generate is sent' };
  if (!GENERATED_AT_FIRST.has(type))
    return {
      path: 'generate',
      message: `does not apply to a new secret of type ${type}: send value instead`,
    };
  return optionsProblem(type, generate);
}

export const SecretIn = z
  .strictObject({
    name: SecretName,
    type: Type,
    value: SecretValue.optional().openapi({
      description: 'The value, up to 64 KiB in UTF-8. Required unless generate is sent.',
    }),
    generate: Generate.optional().openapi({
      description:
        'Generates the value instead, for the types password, ssh_key, private_key and webhook_secret. The generated value is shown only in this response.',
    }),
    environment: EnvironmentRef.optional().openapi({
      description: 'Id or slug. By default, the default environment.',
    }),
    description: Description.nullable().optional(),
    tags: Tags.optional(),
    ttlSeconds: Seconds.optional().openapi({
      description: 'How long the value can be read, in seconds. Unlimited by default.',
    }),
    rotate_every_seconds: Seconds.nullable()
      .optional()
      .openapi({ description: 'How often the secret should be rotated, in seconds.' }),
    auto_rotate: AutoRotate,
  })
  .superRefine((body, context) => {
    // Each invalid field is reported only once.
    const problem =
      context.issues.length > 0 ? null : originProblem(body as Parameters<typeof originProblem>[0]);
    if (problem)
      context.addIssue({ code: 'custom', message: problem.message, path: problem.path.split('.') });
  })
  .openapi('SecretIn', {
    example: {
      name: 'DATABASE_URL',
      type: 'database_url',
      value: 'postgres://app:correct-horse@db.example.com/app',
    },
  });

export const SecretPut = z
  .strictObject({
    value: SecretValue,
    type: Type.optional().openapi({ description: '`generic` by default for a new secret.' }),
    description: Description.nullable().optional(),
    tags: Tags.optional(),
    ttlSeconds: Seconds.nullable()
      .optional()
      .openapi({ description: 'A new lifetime in seconds, counted from now. null for none.' }),
    rotate_every_seconds: Seconds.nullable().optional(),
    auto_rotate: AutoRotate,
  })
  .openapi('SecretPut');

export const SecretPatch = z
  .strictObject({
    name: SecretName.optional(),
    value: SecretValue.optional(),
    type: Type.optional(),
    description: Description.nullable().optional(),
    tags: Tags.optional(),
    ttlSeconds: Seconds.nullable()
      .optional()
      .openapi({ description: 'A new lifetime in seconds, counted from now. null removes the lifetime.' }),
    rotate_every_seconds: Seconds.nullable().optional(),
    auto_rotate: AutoRotate,
  })
  .openapi('SecretPatch');

export const Rotate = z
  .strictObject({
    value: NonEmptyValue.optional(),
    generate: Generate.optional(),
  })
  .refine((body) => body.value === undefined || body.generate === undefined, {
    message: 'must not be sent together with value',
    path: ['generate'],
  })
  .openapi('Rotate');

export const Rollback = z
  .strictObject({
    version: z
      .int()
      .min(1)
      .max(999_999_999)
      .openapi({ description: 'The version whose value becomes current again.' }),
  })
  .openapi('Rollback');

const status = z.enum(statuses);

const Rotation = z
  .object({
    policy: z
      .object({ id: z.string().openapi({ example: exampleId('policy') }), name: z.string() })
      .nullable()
      .openapi({ description: 'The policy that asks for it; null for rotate_every_seconds of the secret.' }),
    every_seconds: z
      .int()
      .nullable()
      .openapi({ description: 'How old a value may become. null with cron.', example: 7_776_000 }),
    cron: z.string().nullable().openapi({ description: 'The schedule of the policy (UTC).' }),
    due_at: Time,
    is_due: z.boolean(),
  })
  .openapi('SecretRotation');

export const Secret = z
  .object({
    id: z.string().openapi({ example: exampleId('secret') }),
    name: SecretName,
    type: Type,
    environment: z.string().openapi({ example: 'production' }),
    status,
    version: z.int().openapi({ example: 1 }),
    etag: z.string().openapi({ description: 'The ETag of the secret, for If-Match.', example: '"v1"' }),
    description: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
    rotate_every_seconds: z.int().nullable(),
    auto_rotate: z
      .boolean()
      .openapi({ description: 'Whether a rotation policy may replace a generated value.', example: false }),
    generated: z
      .boolean()
      .openapi({ description: 'Whether this service generated the current value.', example: false }),
    created_at: Time,
    updated_at: Time,
    expires_at: Time.nullable(),
    rotation: Rotation.nullable()
      .openapi({
        description:
          'Present in a list with id: the rule by which a new value is due first. null if none applies, or the value cannot be read.',
      })
      .optional(),
    deleted_at: Time.nullable()
      .openapi({
        description: 'Present on deleted secrets. They can be restored for seven days after this time.',
      })
      .optional(),
  })
  .openapi('Secret');

export const SecretWithValue = Secret.extend({ value: SecretValue }).openapi('SecretWithValue');
const generatedOnce = {
  value: z
    .string()
    .nullable()
    .openapi({ description: 'The generated value. Present only if the value was generated.' })
    .optional(),
  public_key: z
    .string()
    .nullable()
    .openapi({ description: 'The public key. Present only if a key pair was generated.' })
    .optional(),
};
export const NewSecret = Secret.extend(generatedOnce).openapi('NewSecret');
export const RotatedSecret = Secret.extend(generatedOnce).openapi('RotatedSecret');

export const Version = z
  .object({ version: z.int(), created_at: Time, created_by: z.string(), current: z.boolean() })
  .openapi('Version');

export const Values = z
  .object({
    environment: z.string(),
    values: z.record(z.string(), z.string()),
    versions: z.record(z.string(), z.int()),
    expires_at: z.record(z.string(), Time).optional().openapi({
      description: 'When secrets expire, by name. Absent if none of them does.',
    }),
    withheld: z.array(z.string()).openapi({
      description:
        'Names that an approval policy holds back. Read each secret on its own to request approval.',
    }),
    unreadable: z.array(z.string()).optional().openapi({
      description:
        'Names of secrets whose stored value was altered or is missing (an integrity violation). Absent if there are none.',
    }),
    next_cursor: z
      .string()
      .nullable()
      .optional()
      .openapi({ description: 'Of a page: pass it as cursor to get the next one. null on the last page.' }),
  })
  .openapi('Values', {
    example: {
      environment: 'production',
      values: { DATABASE_URL: 'postgres://…' },
      versions: { DATABASE_URL: 1 },
      withheld: [],
    },
  });

export const SecretPage = pageOf(Secret, 'SecretPage', {
  folders: z
    .array(z.string())
    .openapi({
      description:
        'Present with delimiter: the folders of this page, each with its whole path and the / at its end.',
    })
    .optional(),
});
export const VersionPage = pageOf(Version, 'VersionPage');

export const ListQuery = z
  .strictObject({
    ...pageQuery,
    environment: EnvironmentRef.optional(),
    type: Type.optional(),
    prefix: z.string().max(255).optional(),
    contains: z.string().min(1).max(255).optional().openapi({
      description:
        'Only secrets with this text in their name, after prefix. Upper and lower case are the same.',
      example: 'stripe',
    }),
    status: status.optional(),
    tag: z
      .string()
      .min(1)
      .max(641)
      .optional()
      .openapi({ description: 'Only secrets with this tag: key, or key:value.' }),
    id: z.string().max(64).optional().openapi({
      description:
        'Only the secret with this id, deleted or not. Returns its metadata without reading its value.',
    }),
    sort: z.enum(['name']).optional().openapi({
      description:
        'name: sorts by name, and without environment also by environment where names are the same. Does not list deleted secrets. By default, secrets are sorted by creation.',
    }),
    delimiter: z.enum(['/']).optional().openapi({
      description:
        'Lists what is directly below prefix: first folders (names with a further / after prefix), then secrets, both sorted by name. limit counts both. Needs environment, and does not list deleted secrets.',
    }),
  })
  .refine(({ sort, status }) => !sort || status !== 'deleted', {
    path: ['sort'],
    message: 'needs a status other than deleted',
  })
  .refine(
    ({ delimiter, environment, status, id }) =>
      !delimiter || (environment !== undefined && status !== 'deleted' && id === undefined),
    {
      path: ['delimiter'],
      message: 'needs environment, a status other than deleted, and no id',
    },
  );
export const CompareQuery = z.strictObject({
  ...pageQuery,
  environments: z
    .string()
    .max(2600)
    .transform((list) => list.split(','))
    .refine(
      (list) => list.length >= 2 && list.length <= 10,
      'must name two to ten environments, separated by commas',
    )
    .refine((list) => list.every((ref) => ref !== ''), 'must not contain an empty name')
    .openapi({
      type: 'string',
      description: 'Ids or slugs of two to ten environments, separated by commas.',
      example: 'staging,production',
    }),
  prefix: z.string().max(255).optional(),
});
const Compared = z
  .object({
    name: z.string(),
    environments: z
      .array(
        z.object({
          environment: z.string(),
          status: z.enum(['absent', 'present', 'same', 'different']).openapi({
            description:
              'absent: no secret has the name there. same: all environments with a comparable value have the same one. different: they do not. present: it exists, but the caller has nothing to compare it with.',
          }),
          version: z.int().nullable(),
          time: Time.nullable().openapi({ description: 'When this version was created.' }),
          group: z.int().nullable().openapi({
            description: 'Equal for equal values. null where status is absent or present.',
          }),
        }),
      )
      .openapi({ description: 'In the order of the request.' }),
  })
  .openapi('Compared');
export const ComparisonPage = pageOf(Compared, 'ComparisonPage');
export const VersionQuery = z.strictObject({ version: QueryInteger(1, 999_999_999).optional() });
export const ByNameQuery = VersionQuery.extend({ environment: EnvironmentRef.optional() });
export const PutQuery = z.strictObject({ environment: EnvironmentRef.optional() });
/** The most prefixes of a bulk read. */
const MOST_PREFIXES = 10;
export const ValuesQuery = z.strictObject({
  prefix: z
    .array(z.string().max(255))
    .max(MOST_PREFIXES, `must be sent at most ${MOST_PREFIXES} times`)
    .optional()
    .openapi({
      description:
        'Only secrets whose names start with this prefix. Up to 10 prefixes, each as a parameter of its own, in their order.',
      example: ['app/'],
    }),
  strip_prefix: z.enum(['true', 'false']).optional().openapi({
    description:
      'With true, names are shown without their prefix, and a secret whose name matches several prefixes is shown once for each. Where two names become one, the later prefix wins. A name that is only the prefix is shown whole.',
  }),
  limit: QueryInteger(1, 2000).optional().openapi({
    description:
      'Reads in pages: how many values to return at most. A page can hold fewer values, and withholds at most as many.',
  }),
  cursor: z
    .string()
    .max(1000)
    .optional()
    .openapi({ description: 'next_cursor of the previous page. The prefixes must be the same.' }),
});
export const DeleteQuery = z.strictObject({ permanent: z.enum(['true', 'false']).optional() });

/** `auto_rotate` of a request, as rows store it. */
export const optedIn = (auto_rotate: boolean | undefined): { auto_rotate?: 1 | null } =>
  auto_rotate === undefined ? {} : { auto_rotate: auto_rotate ? 1 : null };

export const rotationOut = (plan: RotationPlan | null, now: number): z.infer<typeof Rotation> | null =>
  plan && { ...plan, due_at: iso(plan.due_at), is_due: plan.due_at <= now };

/** A secret without its value. */
export const secretOut = (row: SecretRow, environment: string, now: number): z.infer<typeof Secret> => ({
  id: row.id,
  name: row.name,
  type: row.type,
  environment,
  status: statusOf(row, now),
  version: row.version,
  etag: etagOf(row),
  description: row.description,
  tags: row.tags,
  rotate_every_seconds: row.rotate_every_seconds,
  auto_rotate: row.auto_rotate !== null,
  generated: row.generated !== null,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  expires_at: isoOrNull(row.expires_at),
  ...(row.deleted_at !== null && { deleted_at: iso(row.deleted_at) }),
});

export const versionOut = (
  version: Pick<VersionRow, 'version' | 'created_at' | 'created_by'>,
  current: number,
): z.infer<typeof Version> => ({
  version: version.version,
  created_at: iso(version.created_at),
  created_by: version.created_by,
  current: version.version === current,
});
