// Schemas shared by several resources: times, names, pages. ISO strings and wire formats exist only in
// `wire.ts` files.
import { z } from '@hono/zod-openapi';
import { isRange } from '../auth/addresses';
import { isPattern } from '../auth/globs';
import { allScopes } from '../auth/scopes';
import { utf8 } from '../crypto/bytes';
import { isPrintable } from '../text';

/** ISO 8601 UTC with milliseconds. */
export const iso = (time: number): string => new Date(time).toISOString();
export const isoOrNull = (time: number | null): string | null => (time === null ? null : iso(time));

export const Time = z.string().openapi({ format: 'date-time' });

/** The number in the ETag of a resource. */
export const Revision = z.int().openapi({ description: 'The ETag is "r" and this number.', example: 1 });

/** User text: well-formed Unicode without control, format (including bidi) and line-separator characters. */
export const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine(isPrintable, 'must not contain control, format or line-separator characters');

export const Name = text(255);
/** An environment, by id or slug. */
export const EnvironmentRef = z.string().min(1).max(255).openapi({ example: 'production' });

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

export const Scopes = z
  .array(
    z
      .string()
      .max(64)
      .refine((scope) => allScopes.includes(scope), 'is not a known scope'),
  )
  .min(1)
  .max(100)
  .refine(distinct, 'must not contain duplicates')
  .openapi({ example: ['secrets:read'] });
export const Environments = z
  .array(EnvironmentRef)
  .min(1)
  .max(100)
  .refine(distinct, 'must not contain duplicates');
/**
 * The most total bytes of the name patterns of one credential or grant, which bounds the cost of matching a
 * name.
 */
const MOST_PATTERNS = 4096;
export const Patterns = z
  .array(
    z
      .string()
      .max(256)
      .refine(
        isPattern,
        'must be a pattern of letters, digits, . _ / - * ? with at most 256 characters and five *',
      ),
  )
  .min(1)
  .max(100)
  .refine(distinct, 'must not contain duplicates')
  .refine((list) => utf8(list.join('')).length <= MOST_PATTERNS, 'must have at most 4,096 bytes in total')
  .openapi({ example: ['app/*'] });

/** Where a new credential, trust or grant may be used: by default wherever `giver` may. */
export const limitsBelow = (giver: 'creator' | 'API key') => ({
  environments: Environments.optional().openapi({
    description: `Environments by id or slug. By default, those of its ${giver}.`,
  }),
  secrets: Patterns.optional().openapi({
    description: `Secret names as glob patterns (* and ?). By default, those of its ${giver}.`,
  }),
  upstreams: Patterns.optional().openapi({
    description: `Upstreams that may be used, as glob patterns. By default, those of its ${giver}.`,
  }),
});
export const Addresses = z
  .array(z.string().max(49).refine(isRange, 'must be an IPv4 or IPv6 address or CIDR range'))
  .min(1)
  .max(20)
  .openapi({ example: ['203.0.113.0/24'] });

/** ISO 8601 with an offset; 40 characters allow for nanoseconds. */
const Spelled = z.iso.datetime({ offset: true }).max(40);
const spelled = { type: 'string', format: 'date-time' } as const;

/** A time in ISO 8601 with an offset; milliseconds internally. */
export const Instant = Spelled.transform((value) => Date.parse(value)).openapi(spelled);

/** The same, in the future. */
export const FutureTime = Spelled.transform((value) => Date.parse(value))
  .refine((time) => time > Date.now() && time < 253402300800000, 'must be in the future')
  .openapi({ ...spelled, example: '2027-11-21T12:00:00.000Z' });

const MOST_FIELDS = 20;

/** A map of fields by name, such as those of a config: 20 at most. */
export const fieldsOf = <T extends z.ZodType>(value: T) =>
  z
    .record(z.string().max(64), value)
    .refine((fields) => Object.keys(fields).length <= MOST_FIELDS, `must have at most ${MOST_FIELDS} fields`);

/** An integer in a query. */
export const QueryInteger = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be an integer')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be between ${least} and ${most}`)
    .openapi({ type: 'integer', minimum: least, maximum: most });

/** How long, in seconds, what is replaced stays valid beside its successor. */
export const Overlap = z.int().min(0).max(86_400).optional();

export const pageQuery = {
  limit: QueryInteger(1, 100).optional().openapi({ description: 'How many items to return, 50 by default.' }),
  cursor: z.string().max(1000).optional().openapi({ description: 'next_cursor of the previous page.' }),
};

/** @param beside additional fields of the response */
export const pageOf = <T extends z.ZodType, B extends z.ZodRawShape = Record<never, never>>(
  item: T,
  name: string,
  beside?: B,
) =>
  z
    .object({
      data: z.array(item),
      next_cursor: z.string().nullable().openapi({ description: 'null on the last page.' }),
      has_more: z.boolean(),
      ...beside,
    })
    .openapi(name);
