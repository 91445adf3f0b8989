// .env files in three dialects that differ in quotes and escapes, and .dev.vars, which Wrangler reads like
// npm dotenv.
import { z } from '@hono/zod-openapi';
import { environmentStyle } from '../names';
import { type Entry, format, none, nul } from './format';
import { refusesShellName, singleQuoted } from './shell';

/** Values that npm dotenv reads unquoted without change. */
const PLAIN = /^[A-Za-z0-9_./:+=@,%-]*$/;

/**
 * Whether npm dotenv reads a value back from between these quotes. It has no escapes: a backslash before a
 * quote does not end the value there.
 */
const fits = (value: string, quote: string): boolean =>
  !value.includes(quote) && !value.endsWith('\\') && !(quote === '"' && /\\[nr]/.test(value));

/** Whether it reads the value back without quotes, from a line that is trimmed and ends at a #. */
const isLine = (value: string): boolean =>
  !/[#\n\u2028\u2029]/.test(value) && value === value.trim() && !/^['"`]/.test(value);

/** A value in npm dotenv syntax; null if it cannot be expressed. */
function forNode(value: string): string | null {
  if (value.includes('\r') || value.includes('\0')) return null;
  if (PLAIN.test(value)) return value;
  const quote = ["'", '"', '`'].find((each) => fits(value, each));
  if (quote !== undefined) return quote + value + quote;
  return isLine(value) ? value : null;
}

function refusedByNode(value: string): string | null {
  if (value.includes('\r')) return 'has a value with a carriage return, which npm dotenv changes';
  return (
    nul(value) ??
    (forNode(value) === null ? 'has a value that npm dotenv cannot read back with any kind of quotes' : null)
  );
}

const COMPOSE: Record<string, string> = { '\\': '\\\\', '"': '\\"', $: '\\$', '\n': '\\n', '\r': '\\r' };

const dialects = {
  node: { refuses: refusedByNode, value: (value: string) => forNode(value) as string },
  compose: {
    refuses: nul,
    value: (value: string) =>
      `"${value.replace(/[\\"$\n\r]/g, (character) => COMPOSE[character] as string)}"`,
  },
  bash: { refuses: nul, value: singleQuoted },
};

function* lines(entries: readonly Entry[], dialect: keyof typeof dialects): Generator<string> {
  for (const { key, value } of entries) yield `${key}=${dialects[dialect].value(value)}\n`;
}

export const dotenv = format({
  format: 'dotenv',
  filename: '.env',
  contentType: 'text/plain',
  options: z.strictObject({ dialect: z.enum(['node', 'compose', 'bash']).default('node') }),
  names: environmentStyle,
  refusesName: (key, { dialect }) => (dialect === 'bash' ? refusesShellName(key) : null),
  refuses: (value, _, { dialect }) => dialects[dialect].refuses(value),
  render: (entries, { dialect }) => lines(entries, dialect),
});

export const devVars = format({
  format: 'dev-vars',
  filename: '.dev.vars',
  contentType: 'text/plain',
  options: none,
  names: environmentStyle,
  refuses: refusedByNode,
  render: (entries) => lines(entries, 'node'),
});
