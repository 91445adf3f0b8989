// The fields of a platform's config, from the JSON Schema that the service returns. Invariants: a credential
// (writeOnly) is never prefilled from the stored config; only values that differ from the default or the
// stored config are sent.
import type { Integration, Platform } from './platforms';

export type Config = Record<string, string | number | boolean | (string | number)[] | Record<string, string>>;
/** The input of a form: text, checkboxes, selected values. */
export type Draft = Record<string, string | boolean | string[]>;

export interface Field {
  name: string;
  label: string;
  type: 'text' | 'number' | 'choice' | 'choices' | 'lines' | 'numbers' | 'check' | 'long';
  isCredential: boolean;
  isRequired: boolean;
  choices: string[];
  default?: string | boolean | string[];
}

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  writeOnly?: boolean;
  enum?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  default?: unknown;
  maxLength?: number;
}

const spelled: Record<string, string> = {
  url: 'URL',
  id: 'ID',
  ids: 'IDs',
  api: 'API',
  json: 'JSON',
  org: 'organisation',
  repo: 'repository',
};

/** The label of a field: `webhookUrl` becomes `Webhook URL`. */
export function labelOf(name: string): string {
  const words = name.split(/(?=[A-Z])/).map((word) => spelled[word.toLowerCase()] ?? word.toLowerCase());
  const whole = words.join(' ');
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

function typeOf(schema: Schema): Field['type'] {
  if (schema.enum) return 'choice';
  if (schema.type === 'boolean') return 'check';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'array')
    return schema.items?.enum ? 'choices' : schema.items?.type === 'integer' ? 'numbers' : 'lines';
  return schema.anyOf?.some(({ type }) => type === 'object') ? 'long' : 'text';
}

/** The fields, required ones first. */
export function fieldsOf({ configSchema }: Platform): Field[] {
  const { properties = {}, required = [] } = configSchema as Schema;
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    label: labelOf(name),
    type: typeOf(schema),
    isCredential: schema.writeOnly === true,
    isRequired: required.includes(name),
    choices: schema.enum ?? schema.items?.enum ?? [],
    default: schema.default as Field['default'],
  }));
  return fields.sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

/** Sets of field names of which a config contains exactly one: `[['serviceId'], ['envGroupId']]`. */
export const alternativesOf = ({ configSchema }: Platform): string[][] =>
  ((configSchema as Schema).oneOf ?? []).map(({ required = [] }) => required);

/** The alternative that a stored config uses. */
export const alternativeIn = (alternatives: string[][], config: Config): number =>
  Math.max(
    0,
    alternatives.findIndex((names) => names.every((name) => name in config)),
  );

/** The initial values of a form: the stored config without credentials, or the defaults. */
export function draftOf(fields: Field[], config: Config = {}): Draft {
  return Object.fromEntries(
    fields.map((field) => {
      const stored = field.isCredential ? undefined : config[field.name];
      const given = stored ?? (Object.keys(config).length ? undefined : field.default);
      if (field.type === 'check') return [field.name, given === true];
      if (field.type === 'choices') return [field.name, Array.isArray(given) ? given.map(String) : []];
      return [field.name, Array.isArray(given) ? given.join('\n') : given === undefined ? '' : String(given)];
    }),
  );
}

/**
 * A whole number; any other text as it is, so that the service reports the error. Number would read 0x10, and
 * make null of `12a`.
 */
const numberOf = (text: string): number | string => (/^\d{1,15}$/.test(text) ? Number(text) : text);

/** A field in the format of the API; undefined if it is empty. */
function readField(
  { type, isCredential }: Field,
  typed: Draft[string] | undefined,
): Config[string] | undefined {
  if (typed === undefined || typeof typed === 'boolean') return typed || undefined;
  if (Array.isArray(typed)) return typed.length ? typed : undefined;
  const text = isCredential ? typed : typed.trim();
  if (!text) return undefined;
  if (type === 'number') return numberOf(text);
  if (type !== 'lines' && type !== 'numbers') return text;
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean);
  return type === 'numbers' ? lines.map(numberOf) : lines;
}

/** Optional fields that apply only to one alternative, which the JSON Schema does not express. */
const ONLY_WITH: Record<string, string> = { visibility: 'org', selectedRepositoryIds: 'org' };

/** The fields of the chosen alternative. */
export function shownFields(fields: Field[], alternatives: string[][], chosen: number): Field[] {
  const own = new Set(alternatives[chosen] ?? []);
  const bound = fields
    .map(({ name }) => name)
    .filter((name) => own.size && name in ONLY_WITH && !own.has(ONLY_WITH[name] as string));
  const others = new Set([
    ...alternatives.flatMap((names, index) => (index === chosen ? [] : names)),
    ...bound,
  ]);
  return fields
    .filter(({ name }) => own.has(name) || !others.has(name))
    .map((field) => (own.has(field.name) ? { ...field, isRequired: true } : field));
}

/** The complete config from the input. */
export function configOf(fields: Field[], draft: Draft): Config {
  const config: Config = {};
  for (const field of fields) {
    const value = readField(field, draft[field.name]);
    const isDefault = JSON.stringify(value) === JSON.stringify(field.default);
    if (value !== undefined && !isDefault) config[field.name] = value;
  }
  return config;
}

/** Whether a field equals the stored value; a stored number may be a string here. */
const isSame = (value: Config[string] | undefined, stored: Config[string] | undefined): boolean =>
  Array.isArray(value) || Array.isArray(stored)
    ? JSON.stringify(value) === JSON.stringify(stored)
    : String(value ?? '') === String(stored || '');

/** The difference from the stored config: null removes a field. Empty credentials are unchanged. */
export function patchOf(
  fields: Field[],
  all: Field[],
  draft: Draft,
  stored: Integration,
): Record<string, Config[string] | null> {
  const first = stored.config as Config;
  const patch: Record<string, Config[string] | null> = {};
  for (const field of fields) {
    const value = readField(field, draft[field.name]);
    if (field.isCredential) {
      if (value !== undefined) patch[field.name] = value;
    } else if (!isSame(value, first[field.name])) patch[field.name] = value ?? null;
  }
  const shown = new Set(fields.map(({ name }) => name));
  for (const { name } of all) if (!shown.has(name) && name in first) patch[name] = null;
  return patch;
}
