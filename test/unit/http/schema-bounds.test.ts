// Every field that a request may hold has a bound: a new one without cannot enter.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { routes } from '../../../src/domains';
import { MOST_FIELDS } from '../../../src/http/input/shape';

/** The part of JSON Schema that zod makes. */
interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  not?: unknown;
  pattern?: string;
  maxLength?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  maxProperties?: number;
  items?: Schema;
  prefixItems?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

const isSafe = (value: number | undefined) =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;

/** Whether a pattern bounds the length: anchored, and without a quantifier that has no end. */
const bounds = (pattern: string | undefined): boolean => {
  if (!pattern?.startsWith('^') || !pattern.endsWith('$')) return false;
  const bare = pattern.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
  return !/[*+]|\{\d+,\}/.test(bare);
};

/** The places of a schema that something without end fits into. */
function unbounded(schema: Schema, at: string): string[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (choices.length) return choices.flatMap((choice) => unbounded(choice, at));
  if (schema.allOf?.some((part) => unbounded(part, at).length === 0)) return [];
  if (schema.const !== undefined || schema.enum) return [];
  switch (schema.type) {
    case 'string':
      return isSafe(schema.maxLength) || bounds(schema.pattern) ? [] : [`${at}: a string without maxLength`];
    case 'integer':
    case 'number':
      return isSafe(schema.minimum ?? schema.exclusiveMinimum) && isSafe(schema.maximum)
        ? []
        : [`${at}: a number without bounds`];
    case 'boolean':
    case 'null':
      return [];
    case 'array':
      return [
        ...(isSafe(schema.maxItems) ? [] : [`${at}: an array without maxItems`]),
        ...unbounded(schema.items ?? {}, `${at}[]`),
      ];
    case 'object': {
      const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
        unbounded(field, `${at}.${name}`),
      );
      const { additionalProperties: others } = schema;
      if (others === undefined || others === false) return own;
      const counted = isSafe(schema.maxProperties) ? [] : [`${at}: a map without a maximum of entries`];
      return [
        ...own,
        ...counted,
        ...unbounded(schema.propertyNames ?? {}, `${at} names`),
        ...unbounded(others === true ? {} : others, `${at}{}`),
      ];
    }
    default:
      return [`${at}: anything`];
  }
}

/** Whether a map refuses 101 entries for being too many: its own fault, and not that of an entry. */
const isCounted = (map: z.core.$ZodType): boolean => {
  const many = Object.fromEntries(Array.from({ length: MOST_FIELDS + 1 }, (_, n) => [`k${n}`, 'x']));
  return z.safeParse(map, many).error?.issues.some(({ path }) => path.length === 0) ?? false;
};

/**
 * As zod itself has it, so that what is only written in the documentation counts for nothing; zod does not
 * tell how maps are counted.
 */
const spelled = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'record' && isCounted(zodSchema))
        jsonSchema.maxProperties = MOST_FIELDS;
    },
  }) as Schema;

describe('bounds: every route', () => {
  it('has one for each field of its query and its body', () => {
    const found = routes.flatMap(({ method, path, query, body }) =>
      [query, body?.schema]
        .flatMap((schema) => (schema ? unbounded(spelled(schema), `${method} ${path}`) : []))
        // A document is bounded by the size of the body and by its own reader, whose tests say how.
        .filter(
          (place) => body?.document === undefined || place !== `${method} ${path}.${body.document}: anything`,
        ),
    );
    expect(found).toEqual([]);
  });
});

describe('bounds: the check itself', () => {
  it.each([
    ['a string', z.string()],
    ['a pattern without end', z.string().regex(/^a+$/)],
    ['a pattern that is not anchored', z.string().regex(/a/)],
    ['a time', z.iso.datetime({ offset: true })],
    ['an integer', z.int()],
    ['an integer without a minimum', z.int().max(10)],
    ['a list', z.array(z.string().max(1))],
    ['a list of strings', z.array(z.string()).max(1)],
    ['a map', z.record(z.string().max(1), z.string().max(1))],
    ['anything', z.unknown()],
    ['a choice', z.union([z.string().max(1), z.string()])],
    ['what is optional or null', z.string().nullable().optional()],
    ['what is transformed', z.string().transform(Number)],
  ])('finds %s without one, at any depth', (_what, schema) => {
    expect(
      unbounded(spelled(z.strictObject({ a: z.array(z.strictObject({ b: schema })).max(2) })), ''),
    ).toHaveLength(1);
  });

  it.each([
    ['a string', z.string().max(5)],
    ['an enum', z.enum(['a', 'b'])],
    ['a literal', z.literal('a')],
    ['a pattern with an end', z.string().regex(/^[a*+]{1,5}$/)],
    ['an integer', z.int().min(1).max(5)],
    ['a boolean', z.boolean()],
    ['a list', z.array(z.string().max(1)).max(1)],
    ['a map', z.record(z.string().max(9), z.string().max(1)).refine((map) => Object.keys(map).length < 9)],
  ])('accepts %s with one', (_what, schema) => {
    expect(unbounded(spelled(z.strictObject({ a: schema })), '')).toEqual([]);
  });
});
