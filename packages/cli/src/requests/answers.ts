// Responses compared with their documented shapes: a hostile vault, or a server that is none, may answer
// anything. Invariant: a command sees only a response that has the fields of the document, each of a
// documented kind; fields that it does not name are ignored.
import type { Vault } from '@secrets-vault/client';
import { CliError } from '../errors.ts';
import { OTHER_TYPES, RESPONSES, SCHEMAS } from './shapes.ts';

/** A hostile vault can name any number. */
const MOST_REGIONS = 100;
const LONGEST_REGIONS = 200;

type Method = keyof Vault['api'];
type Call = (path: string, init?: { parseAs?: string }) => Promise<{ data: unknown; response: Response }>;

/** The regions whose newest audit entries an answer from the log lacks. */
const missingIn = (data: unknown): string[] => {
  const { regions_missing: found } = (data ?? {}) as { regions_missing?: unknown };
  return Array.isArray(found) ? found.filter((region) => typeof region === 'string') : [];
};

/**
 * A vault whose operations fail if a response does not have its shape.
 * @param warn prints a warning, once for each region whose audit entries an answer lacks
 */
export function checkingAnswers(vault: Vault, warn: (line: string) => void): Vault {
  const told = new Set<string>();
  const tellMissing = (data: unknown) => {
    const regions = missingIn(data).filter((region) => !told.has(region) && told.size < MOST_REGIONS);
    if (!regions.length) return;
    for (const region of regions) told.add(region);
    warn(
      `No reply from ${regions.join(', ').slice(0, LONGEST_REGIONS)}: audit entries of the last seconds from there are missing.`,
    );
  };
  const methods = Object.entries(vault.api as unknown as Record<Method, Call>).map(([method, send]) => {
    const checked: Call = async (path, init) => {
      const answer = await send(path, init);
      const { status, headers } = answer.response;
      const operation = `${method} ${path}`;
      const type = headers.get('Content-Type')?.split(';')[0] ?? '';
      if (init?.parseAs || OTHER_TYPES[`${operation} ${status}`]?.split(' ').includes(type)) return answer;
      // safety: cli-answer-shape
      if (!isAnswerOf(answer.data, operation, status)) throw notDocumented(status);
      // safety: cli-tells-missing-regions
      tellMissing(answer.data);
      return answer;
    };
    return [method, checked];
  });
  return Object.assign(vault, { api: Object.fromEntries(methods) });
}

export const notDocumented = (status: number) =>
  new CliError('The response is not what a vault answers.', {
    exit: 'failure',
    code: 'UNEXPECTED_RESPONSE',
    status,
    next: 'Check the address and any proxies: svc doctor',
  });

/** The operations of which a success has a JSON body. */
const WITH_BODY = new Set(Object.keys(RESPONSES).map((key) => key.slice(0, key.lastIndexOf(' '))));

/**
 * Whether a response has its shape.
 * @param operation method, and path as in the document
 */
export function isAnswerOf(data: unknown, operation: string, status: number): boolean {
  const schema = RESPONSES[`${operation} ${status}`];
  if (schema) return hasShape(data, schema);
  return !WITH_BODY.has(operation) || status === 204 || status === 304;
}

interface Field {
  name: string;
  kinds: string[];
  isOptional: boolean;
}

const parsed = new Map<string, Field[]>();

function fieldsOf(schema: string): Field[] {
  const known = parsed.get(schema);
  if (known) return known;
  const fields = (SCHEMAS[schema] ?? '').split(' ').map((text) => {
    const [name = '', kinds = ''] = text.split(':');
    return {
      name: name.replace('?', ''),
      kinds: kinds.split('|').filter(Boolean),
      isOptional: name.endsWith('?'),
    };
  });
  parsed.set(schema, fields);
  return fields;
}

/** Whether a JSON value has the fields of a schema. */
function hasShape(value: unknown, schema: string): boolean {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  return fieldsOf(schema).every(({ name, kinds, isOptional }) => {
    if (!Object.hasOwn(value, name)) return isOptional;
    const field = (value as Record<string, unknown>)[name];
    return kinds.length === 0 || kinds.some((kind) => isOf(field, kind));
  });
}

/** Whether a JSON value is of a kind: of a schema (`@Secret`), a list of them (`[@Secret]`), or a type. */
function isOf(value: unknown, kind: string): boolean {
  if (kind.startsWith('@')) return hasShape(value, kind.slice(1));
  if (kind.startsWith('['))
    return Array.isArray(value) && value.every((item) => hasShape(item, kind.slice(2, -1)));
  if (value === null) return kind === 'null';
  return Array.isArray(value) ? kind === 'array' : typeof value === kind;
}
