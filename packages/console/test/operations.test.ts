// Every operation of the API is reachable from the console, or listed as only for programs, with the reason.
import fs from 'node:fs';
import { expect, it } from 'vitest';
import { apiOnly } from './operations.ts';

const at = new URL('../src/', import.meta.url);
const source = (fs.readdirSync(at, { recursive: true }) as string[])
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => fs.readFileSync(new URL(name, at), 'utf8'))
  .join('\n');

const document = JSON.parse(
  fs.readFileSync(new URL('../../client/openapi.json', import.meta.url), 'utf8'),
) as {
  paths: Record<string, Record<string, { operationId: string; parameters?: { $ref?: string }[] }>>;
};

/**
 * Called by the typed client with this method and path, or by `callPublic`, whose paths of sign-in are
 * `/auth/X` and `/auth/X/options`.
 */
const isCalled = (method: string, path: string): boolean => {
  if (new RegExp(`\\b${method}\\(\\s*'${path.replace(/[{}/.]/g, '\\$&')}'`).test(source)) return true;
  return (
    method === 'POST' && path.startsWith('/auth/') && source.includes(`'${path.replace(/\/options$/, '')}'`)
  );
};

const operations = Object.entries(document.paths).flatMap(([path, { parameters: _, ...methods }]) =>
  Object.entries(methods).map(([method, { operationId, parameters = [] }]) => ({
    method: method.toUpperCase(),
    path,
    operationId,
    isConditional: parameters.some(({ $ref }) => $ref === '#/components/parameters/IfMatch'),
  })),
);

it('console: every operation of the API is called, or listed with a reason', () => {
  const missing = operations.filter(
    ({ method, path, operationId }) => !isCalled(method, path) && !apiOnly[operationId],
  );
  expect(missing).toEqual([]);
});

it('console: no operation listed as only for programs is called by the console or missing from the API', () => {
  const listed = Object.keys(apiOnly);
  const known = new Set(operations.map(({ operationId }) => operationId));
  expect(listed.filter((id) => !known.has(id))).toEqual([]);
  expect(
    operations.filter(({ method, path, operationId }) => apiOnly[operationId] && isCalled(method, path)),
  ).toEqual([]);
});

it('console: a change of what others may change too names the state that was shown (src/requests/seen.ts)', () => {
  const conditional = operations.filter(
    ({ isConditional, operationId }) => isConditional && !apiOnly[operationId],
  );
  expect(conditional.length).toBeGreaterThan(30);
  const blind = conditional.filter(({ method, path }) =>
    [
      ...source.matchAll(new RegExp(`\\b${method}\\(\\s*'${path.replace(/[{}/.]/g, '\\$&')}',([^;]*)`, 'g')),
    ].some(([, rest = '']) => !/\bheader\b|^ init\)/.test(rest)),
  );
  expect(blind.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});
