// The largest request that a route's schemas take, made from the schemas themselves: every field there, each
// of its largest value, so that a new field or route is part of it without being named here. Invariant: what
// `largest` answers passes its schema.
import { z } from 'zod';
import { allScopes } from '../../../src/auth/scopes';
import { utf8 } from '../../../src/crypto/bytes';

interface Def {
  type: string;
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  keyType?: z.core.$ZodType;
  valueType?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  options?: z.core.$ZodType[];
  entries?: Record<string, string>;
  values?: unknown[];
}
const defOf = (schema: z.core.$ZodType) => schema._zod.def as unknown as Def;
/**
 * What a body of 1 MiB has room for: characters of a text, each of two bytes on average, and bytes of a list.
 */
const MOST_TEXT = 200_000;
const MOST_LIST = 500_000;
/** The bound of a schema by itself: characters of a text, items of a list, or the value of a number. */
const mostOf = (schema: z.core.$ZodType): number | undefined => {
  const { maxLength, maxItems, maximum } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return maxLength ?? maxItems ?? maximum;
};
const passes = (schema: z.core.$ZodType, value: unknown) => z.safeParse(schema, value).success;
const bytesOf = (value: unknown) => utf8(JSON.stringify(value) ?? '').length;

/**
 * A name pattern of a length, with five `*` and else a `?` at every other place: no text ends its match
 * early.
 */
export function pattern(length: number, n = 0): string {
  const head = `*${n}*`;
  const body = '?a'.repeat(length).slice(0, length - head.length - 3);
  const third = Math.floor(body.length / 3);
  return `${head}${body.slice(0, third)}*${body.slice(third, 2 * third)}*${body.slice(2 * third)}*`;
}

/** The largest patterns that one credential may have: 4,096 bytes together. */
export const PATTERNS = Array.from({ length: 16 }, (_, n) => pattern(256, n));

/** Texts of at most so many UTF-16 units, no two the same for different `n`; some of them fit any field. */
function texts(most: number, n: number): string[] {
  const filled = (char: string, length: number) => `${n || ''}${char.repeat(most)}`.slice(0, length);
  const domain = `${'d'.repeat(60)}.`.repeat(3);
  return [
    ...['👍', '漢'].map((char) => filled(char, most - (most % 2)).replace(/[\uD800-\uDBFF]$/, '')),
    ...(most > 20 ? [pattern(most, n)] : []),
    // base64url of some lengths is none.
    ...[0, 1, 2, 3].map((less) => filled('A', most - less)),
    filled('z', most),
    // Hexadecimal.
    filled('f', most),
    `${n || ''}${'m'.repeat(60)}@${domain}example.com`.slice(-most),
    `https://${n || ''}example.com/${'p'.repeat(most)}`.slice(0, most),
    `c${n}${'c'.repeat(most)}`.slice(0, most),
    '59 23 1-31 JAN-DEC SUN-SAT',
    '2097-12-31T23:59:59.999999999+00:00',
    `ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128`,
    allScopes[n % allScopes.length] as string,
    'development,staging,production',
    ...['999999999', '100', '1'],
  ];
}

/** The largest of some values, in bytes as JSON, that passes; undefined where none does. */
const largestOf = (values: unknown[], valid: (value: unknown) => boolean): unknown =>
  values.filter(valid).sort((a, b) => bytesOf(b) - bytesOf(a))[0];

/**
 * The largest value that passes a schema. `valid` is what it has to pass besides, where the schema is the
 * inside of another.
 */
export function largest(
  schema: z.core.$ZodType,
  n = 0,
  valid = (value: unknown) => passes(schema, value),
): unknown {
  const def = defOf(schema);
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
      return largest(def.innerType as z.core.$ZodType, n, valid);
    case 'pipe':
      return largest(def.in as z.core.$ZodType, n, valid);
    case 'string':
      return largestOf(
        [Math.min(mostOf(schema) ?? 64, MOST_TEXT), 255, 64, 63, 32].flatMap((most) => texts(most, n)),
        valid,
      );
    case 'number':
      return mostOf(schema) ?? 1;
    case 'boolean':
      return false;
    case 'enum':
      return largestOf(Object.values(def.entries ?? {}), valid);
    case 'literal':
      return def.values?.[0];
    case 'array':
      return largestList(schema, def, valid);
    case 'record':
      return largestMap(def, valid);
    case 'union':
      return largestOf(
        (def.options ?? []).map((option) => largest(option, n)),
        valid,
      );
    case 'object':
      return largestObject(def, valid);
    // The data of an import: many items, each of which fails.
    case 'unknown':
      return Array.from({ length: 1000 }, (_, at) => ({ key: `${n}${'漢'.repeat(10)}${at}`, value: null }));
    default:
      throw new Error(`no largest ${def.type}: teach test/support/limits/largest.ts about it`);
  }
}

function largestList(
  schema: z.core.$ZodType,
  { element }: Def,
  valid: (value: unknown) => boolean,
): unknown[] {
  const items: unknown[] = [];
  const most = mostOf(schema) ?? 100;
  for (let bytes = 0; items.length < most && bytes < MOST_LIST; bytes += bytesOf(items.at(-1)))
    items.push(largest(element as z.core.$ZodType, items.length));
  const distinct = [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
  for (const list of [items, distinct])
    for (let size = list.length; size; size--) if (valid(list.slice(0, size))) return list.slice(0, size);
  throw new Error('no list is valid');
}

function largestMap(
  { keyType, valueType }: Def,
  valid: (value: unknown) => boolean,
): Record<string, unknown> {
  // Keys have to differ; values need not. Where lists are too large together, one of their items is.
  const whole = largest(valueType as z.core.$ZodType);
  const values = Array.isArray(whole) ? [whole, whole[0]] : [whole];
  const keys = Array.from({ length: 100 }, (_, n) => largest(keyType as z.core.$ZodType, n) as string);
  // The claims of a trust name a workload.
  for (const first of [{}, { sub: 'job' }])
    for (const value of values)
      for (let size = keys.length; size; size--) {
        const map = { ...first, ...Object.fromEntries(keys.slice(0, size).map((key) => [key, value])) };
        if (valid(map)) return map;
      }
  throw new Error('no map is valid');
}

/** With as many fields as can stand together, the largest of them first. */
function largestObject({ shape = {} }: Def, valid: (value: unknown) => boolean): Record<string, unknown> {
  const all = Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, largest(field)]));
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));
  const names = Object.keys(shape).sort((a, b) => bytesOf(all[a]) - bytesOf(all[b]));
  // Where the whole is bounded too, its lists are cut, and so are the objects in them.
  const first = (item: unknown, fields: number) =>
    item instanceof Object ? Object.fromEntries(Object.entries(item).slice(0, fields)) : item;
  const cut = (most: number, fields: number) =>
    Object.fromEntries(
      Object.entries(all).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.slice(0, most).map((item) => first(item, fields)) : value,
      ]),
    );
  const ways = [
    all,
    ...names.map((a) => without(a)),
    ...names.flatMap((a) => names.map((b) => without(a, b))),
    // Of fields that exclude each other, such as those of one protocol.
    ...names.flatMap((a) => names.flatMap((b) => names.map((c) => without(a, b, c)))),
    ...[8, 4, 2, 1].flatMap((most) => [100, 10].map((fields) => cut(most, fields))),
  ];
  const found = ways.find(valid);
  if (!found) throw new Error(`no object is valid: ${names.join(', ')}`);
  return found;
}
