// Fields of responses that the client itself relies on. Invariant: the client takes nothing for a value, a
// token or a version that is not of the documented kind: a proxy or a foreign server may answer anything.
import { VaultError } from './errors.js';

type Kind = 'string' | 'number' | 'string?' | 'list' | 'texts' | 'numbers';

const TESTS: Record<Kind, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  'string?': (value) => value === null || typeof value === 'string',
  list: Array.isArray,
  texts: (value) => isObject(value) && Object.values(value).every(TESTS.string),
  numbers: (value) => isObject(value) && Object.values(value).every(TESTS.number),
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The response, which has these fields. */
export function documented<Data>(data: Data, fields: { [Name in keyof Data]?: Kind }): Data {
  const isDocumented = Object.entries(fields).every(([name, kind]) =>
    TESTS[kind as Kind]((data as Record<string, unknown> | undefined)?.[name]),
  );
  if (!isDocumented) throw notDocumented(0);
  return data;
}

/** The error for a response that no vault gives. */
export const notDocumented = (status: number) =>
  new VaultError('The response is not from the vault: check the URL and any proxies.', {
    code: 'UNEXPECTED_RESPONSE',
    status,
  });
