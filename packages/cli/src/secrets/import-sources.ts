// Detects which tool wrote an export. Invariant: a format is recognised by fields that only that tool writes;
// if several match, svc does not guess.
import path from 'node:path';

/** The import sources, as named in the API. */
export const SOURCES = [
  'dotenv',
  'vault',
  'aws-secrets-manager',
  'aws-ssm',
  'gcp-secret-manager',
  'azure-key-vault',
  'doppler',
  'infisical',
  '1password',
  'bitwarden-secrets-manager',
  'bitwarden',
  'keeper',
  'conjur',
  'svc',
] as const;

export type ImportSource = (typeof SOURCES)[number];

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const has = (value: unknown, ...names: string[]): value is Json =>
  isObject(value) && names.every((name) => Object.hasOwn(value, name));
const isText = (value: unknown): value is string => typeof value === 'string';
const each = (value: unknown, test: (item: unknown) => boolean) =>
  Array.isArray(value) && value.length > 0 && value.every(test);
const someItem = (value: unknown, test: (item: unknown) => boolean) => test(value) || each(value, test);

/**
 * Whether this is a response of HashiCorp Vault, by its fields. The other format is a map of path → response.
 */
const isVaultAnswer = (value: unknown) =>
  has(value, 'request_id', 'lease_id', 'data') || has(value, 'request_id', 'mount_type', 'data');

const TESTS: Record<Exclude<ImportSource, 'dotenv'>, (json: unknown) => boolean> = {
  vault: (json) =>
    isVaultAnswer(json) ||
    (isObject(json) && Object.keys(json).length > 0 && Object.values(json).every(isVaultAnswer)),
  'aws-secrets-manager': (json) =>
    someItem(
      json,
      (item) => has(item, 'ARN', 'Name') && (has(item, 'SecretString') || has(item, 'SecretBinary')),
    ) || has(json, 'SecretValues'),
  'aws-ssm': (json) =>
    has(json, 'Parameters') || (has(json, 'Parameter') && has(json.Parameter, 'Name', 'Value')),
  'gcp-secret-manager': (json) =>
    someItem(
      json,
      (item) =>
        has(item, 'name', 'payload') && isText(item.name) && /^projects\/[^/]+\/secrets\//.test(item.name),
    ),
  'azure-key-vault': (json) => {
    const isSecret = (item: unknown) =>
      has(item, 'id', 'value') && isText(item.id) && /^https:\/\/[^/]+\/secrets\//.test(item.id);
    return someItem(json, isSecret) || (has(json, 'value') && each(json.value, isSecret));
  },
  doppler: (json) => {
    const map = has(json, 'secrets') && isObject(json.secrets) ? json.secrets : json;
    if (!isObject(map)) return false;
    if (has(map, 'DOPPLER_PROJECT', 'DOPPLER_CONFIG')) return true;
    return Object.keys(map).length > 0 && Object.values(map).every((item) => has(item, 'computed'));
  },
  infisical: (json) =>
    each(
      json,
      (item) => has(item, 'key', 'type', 'secretPath') || has(item, 'key', 'value', 'type', 'workspace'),
    ) ||
    (has(json, 'secrets') && each(json.secrets, (item) => has(item, 'secretKey', 'secretValue'))),
  '1password': (json) => someItem(json, (item) => has(item, 'id', 'title', 'category', 'vault')),
  'bitwarden-secrets-manager': (json) =>
    someItem(json, (item) => has(item, 'id', 'organizationId', 'key', 'value')),
  bitwarden: (json) => has(json, 'encrypted', 'items') && Array.isArray(json.items),
  keeper: (json) => {
    const isRecord = (item: unknown) =>
      has(item, 'title') && ['login', 'password', 'custom_fields', '$type'].some((name) => has(item, name));
    return each(json, isRecord) || (has(json, 'records') && each(json.records, isRecord));
  },
  conjur: (json) =>
    isObject(json) &&
    Object.keys(json).length > 0 &&
    Object.keys(json).every((key) => /^[^:]+:variable:/.test(key)),
  svc: (json) => has(json, 'environment', 'values', 'versions') && isObject(json.values),
};

const ENV_FILE = /^(\.env(\..+)?|.+\.env|\.dev\.vars(\..+)?)$/;
const ASSIGNMENT = /^\s*(?:export\s+)?[\w.-]+\s*=/m;

/** The sources that match an export. */
export function sourcesOf(file: string, text: string): ImportSource[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return ENV_FILE.test(path.basename(file)) || ASSIGNMENT.test(text) ? ['dotenv'] : [];
  }
  return (Object.keys(TESTS) as (keyof typeof TESTS)[]).filter((source) => TESTS[source](json));
}
