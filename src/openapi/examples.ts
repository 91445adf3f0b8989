// Examples from JSON schemas: a schema's own example takes precedence; otherwise the type, the format and the
// field's name decide. Invariant: pure; the same schema always gives the same example.

import { exampleId } from '../db/ids';
import { examples } from '../domains';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  example?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  /** What a string contains. */
  contentMediaType?: string;
  contentSchema?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

export type Schemas = Record<string, Schema>;

const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const HASH_BEFORE = '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752';

/** Example values by field name. Domains add theirs by schema and field name. */
const common: Record<string, unknown> = {
  action: 'secret.read',
  actor: exampleId('api_key'),
  charset: 'alphanumeric',
  created_by: exampleId('api_key'),
  cursor: 'eyJ2IjoxfQ.kR2vT9',
  deleted_at: undefined,
  email: 'ann@example.com',
  environment: 'production',
  hash: HASH,
  expires_at: null,
  expiresAt: '2026-11-21T12:15:00.000Z',
  head: { sequence: 42, hash: HASH },
  hint: 'svc_live_…x7Qd',
  ip: '203.0.113.7',
  kind: 'api_key',
  length: 32,
  lastUsedAt: '2026-11-21T12:00:00.000Z',
  lastUsedPlace: 'Zurich, CH (ZRH)',
  last_used_at: '2026-11-21T12:00:00.000Z',
  limit: 50,
  broken: undefined,
  next_cursor: null,
  org_id: exampleId('org'),
  overlap_seconds: 3600,
  parentId: exampleId('api_key'),
  prefix: 'app/',
  prev_hash: HASH_BEFORE,
  public_key: undefined,
  rate_limit: 600,
  request_id: exampleId('request'),
  resource: exampleId('secret'),
  revoked_at: null,
  scopes: ['secrets:read'],
  sequence: 42,
  status: 'active',
  tag: 'team:core',
  tags: { team: 'core' },
  type: 'database_url',
  useCount: 12,
  version: 1,
};

const words: Record<string, unknown> = { ...common, ...examples };

export const nameOf = (ref: string): string => ref.split('/').at(-1) ?? ref;

/** A schema with its references resolved and its parts (allOf) merged. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref) return resolved(schemas[nameOf(schema.$ref)] ?? {}, schemas);
  if (!schema.allOf) return schema;
  const { allOf, ...own } = schema;
  const whole: Schema = { properties: {}, required: [] };
  for (const part of [...allOf.map((part) => resolved(part, schemas)), own]) {
    const { properties, required, ...rest } = part;
    Object.assign(whole, rest);
    whole.properties = { ...whole.properties, ...properties };
    whole.required = [...new Set([...(whole.required ?? []), ...(required ?? [])])];
  }
  return whole;
}

export const typesOf = (schema: Schema): string[] => (schema.type === undefined ? [] : [schema.type].flat());

interface Options {
  /** Omits optional fields, as in a first request. */
  leanest?: boolean;
}

/** An example that is valid for the schema. */
export function exampleOf(
  schema: Schema,
  schemas: Schemas,
  options: Options = {},
  path: string[] = [],
): unknown {
  const owner = schema.$ref ? nameOf(schema.$ref) : null;
  const whole = resolved(schema, schemas);
  if (whole.example !== undefined) return whole.example;
  if (whole.examples?.length) return whole.examples[0];
  if (whole.const !== undefined) return whole.const;
  if (whole.enum) return whole.enum[0];
  const choice = whole.anyOf ?? whole.oneOf;
  if (choice) {
    const some = choice.find((each) => !typesOf(resolved(each, schemas)).includes('null'));
    return some ? exampleOf(some, schemas, options, path) : null;
  }
  const types = typesOf(whole);
  if (whole.properties) return objectOf(whole, schemas, options, owner ? [...path, owner] : path);
  if (types.includes('null')) return null;
  if (types.includes('array')) return whole.items ? [exampleOf(whole.items, schemas, options, path)] : [];
  if (types.includes('object'))
    return typeof whole.additionalProperties === 'object'
      ? { key: exampleOf(whole.additionalProperties, schemas, options, path) }
      : {};
  if (types.includes('integer') || types.includes('number'))
    return whole.minimum && whole.minimum > 0 ? whole.minimum : 1;
  if (types.includes('boolean')) return false;
  return whole.format === 'date-time'
    ? '2026-11-21T12:00:00.000Z'
    : whole.format === 'email'
      ? 'ann@example.com'
      : 'text';
}

function objectOf(
  whole: Schema,
  schemas: Schemas,
  options: Options,
  owners: string[],
): Record<string, unknown> {
  const { properties = {}, required = [] } = whole;
  const all = Object.keys(properties);
  const needed = all.filter((name) => required.includes(name));
  const shown = options.leanest ? (needed.length > 0 ? needed : all.slice(0, 1)) : all;
  const found: [string, unknown][] = [];
  for (const name of shown) {
    const schema = properties[name] as Schema;
    const value = wordFor(name, schema, schemas, owners.at(-1));
    const own = value.known ? value.word : exampleOf(schema, schemas, options, owners);
    if (own !== undefined || required.includes(name)) found.push([name, own === undefined ? null : own]);
  }
  return Object.fromEntries(found);
}

/**
 * The example value of a field: by its schema and field name first; by field name alone only if the field
 * allows the value and has no example of its own.
 */
function wordFor(
  name: string,
  schema: Schema,
  schemas: Schemas,
  owner: string | undefined,
): { known: boolean; word?: unknown } {
  const exact = `${owner}.${name}`;
  const own = words[exact];
  if (exact in words && (own == null || typeof own === 'object' || fits(own, resolved(schema, schemas))))
    return { known: true, word: own };
  if (!(name in words)) return { known: false };
  const word = words[name];
  const whole = resolved(schema, schemas);
  if (word === undefined || word === null) return { known: true, word };
  if (whole.example !== undefined) return { known: false };
  return { known: fits(word, whole), word };
}

function fits(word: unknown, schema: Schema): boolean {
  if (schema.enum) return schema.enum.includes(word);
  const type = Array.isArray(word) ? 'array' : typeof word === 'number' ? 'integer' : typeof word;
  return typesOf(schema).includes(type);
}

/**
 * The schemas, with the example values of fields in them: tools compose the example of a response from these.
 */
export function withExamples(schemas: Schemas): Schemas {
  const visit = (schema: Schema, owner: string): Schema => {
    const { properties, items, allOf, anyOf, oneOf } = schema;
    const all = (parts: Schema[]) => parts.map((part) => visit(part, owner));
    return {
      ...schema,
      ...(items && { items: visit(items, owner) }),
      ...(allOf && { allOf: all(allOf) }),
      ...(anyOf && { anyOf: all(anyOf) }),
      ...(oneOf && { oneOf: all(oneOf) }),
      ...(properties && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, field]) => {
            const { known, word } = wordFor(name, field, schemas, owner);
            const isPlain =
              known && word !== undefined && word !== null && !field.$ref && field.example === undefined;
            return [name, { ...visit(field, owner), ...(isPlain && { example: word }) }];
          }),
        ),
      }),
    };
  };
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, visit(schema, name)]));
}

/** The example of a query or path parameter. */
export const exampleFor = (name: string, schema: Schema, schemas: Schemas): unknown => {
  const { known, word } = wordFor(name, schema, schemas, undefined);
  return known && word !== undefined && word !== null ? word : exampleOf(schema, schemas);
};
