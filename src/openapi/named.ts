// Names for parts of schemas that generated clients turn into types: unions and their members, objects that
// several schemas contain, and long enumerations, so that each is in the document once. Without names, a
// generator may invent the same name twice. Invariant: the described requests and responses do not change.
import type { Schema, Schemas } from './examples';

/** Enumerations with more values have a name. */
const LONG = 6;

/** The schemas, in which unions of arrays or objects, objects in unions and repeated objects have names. */
export function named(schemas: Schemas): Schemas {
  const made: Schemas = { ...schemas };
  const byShape = new Map<string, string>();
  const repeated = repeatedObjects(Object.values(schemas));

  /** A reference to a part, which becomes a schema with this name, or reuses an equal part's schema. */
  const refer = (name: string, part: Schema): Schema => {
    const { description, example } = part;
    const spelled = shapeOf(part);
    let known = byShape.get(spelled);
    if (known === undefined) {
      for (known = name; made[known]; ) known += 'Choice';
      byShape.set(spelled, known);
      made[known] = part;
    }
    return {
      $ref: `#/components/schemas/${known}`,
      ...(description !== undefined && { description }),
      ...(example !== undefined && { example }),
    };
  };

  const visit = (schema: Schema, name: string, isWhole: boolean): Schema => {
    if (schema.$ref) return schema;
    const seen: Schema = { ...schema };
    if (schema.properties)
      seen.properties = mapped(schema.properties, (part, field) =>
        visit(part, `${stem(name)}${pascal(field)}`, false),
      );
    if (schema.items) seen.items = visit(schema.items, `${name}Item`, false);
    if (typeof schema.additionalProperties === 'object')
      seen.additionalProperties = visit(schema.additionalProperties, `${name}Value`, false);
    if (schema.allOf) seen.allOf = schema.allOf.map((part) => visit(part, name, true));
    for (const choice of ['anyOf', 'oneOf'] as const) {
      const parts = schema[choice];
      if (!parts) continue;
      seen[choice] = parts.map((part, index) => {
        const own = `${name}${pascal(kindOf(part) ?? `choice_${index + 1}`)}`;
        const within = part.items?.enum
          ? { ...part, items: refer(`${name}Item`, part.items) }
          : visit(part, own, true);
        return isObject(part) ? refer(own, within) : within;
      });
      if (!isWhole && parts.some((part) => part.$ref || part.type === 'array' || isObject(part)))
        return refer(name, seen);
    }
    const isNamed = (seen.enum?.length ?? 0) > LONG || repeated.has(shapeOf(schema));
    return !isWhole && isNamed ? refer(name, seen) : seen;
  };

  for (const [name, schema] of Object.entries(schemas)) made[name] = visit(schema, name, true);
  return made;
}

/** A schema as text, without what two uses of it may say differently. */
const shapeOf = ({ description: _, example: _example, ...shape }: Schema) => JSON.stringify(shape);

/** The shapes of objects with fields that are in the schemas more than once. */
function repeatedObjects(schemas: Schema[]): Set<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const visit = (schema: Schema) => {
    const { properties = {}, items, additionalProperties, allOf = [], anyOf = [], oneOf = [] } = schema;
    if (isObject(schema) && schema.properties) {
      const shape = shapeOf(schema);
      (seen.has(shape) ? repeated : seen).add(shape);
    }
    const within = typeof additionalProperties === 'object' ? [additionalProperties] : [];
    for (const part of [...Object.values(properties), ...within, ...allOf, ...anyOf, ...oneOf]) visit(part);
    if (items) visit(items);
  };
  schemas.forEach(visit);
  return repeated;
}

const isObject = ({ $ref, type }: Schema) => !$ref && type === 'object';

/** The value that distinguishes an object from the other members of a union. */
function kindOf({ properties }: Schema): string | undefined {
  const { const: only, enum: [first, ...others] = [] } = properties?.kind ?? {};
  return typeof only === 'string'
    ? only
    : typeof first === 'string' && others.length === 0
      ? first
      : undefined;
}

const mapped = (parts: Record<string, Schema>, change: (part: Schema, name: string) => Schema) =>
  Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part, name)]));

/** A name without the suffix that distinguishes requests from responses: both contain the same parts. */
const stem = (name: string) => name.replace(/(In|Patch|Page)$/, '');

const pascal = (words: string) =>
  words.replace(/(^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, _between, first: string) => first.toUpperCase());
