// A flat JSON object of strings.
import { verbatim } from '../names';
import { type Entry, format, none } from './format';

/**
 * An object in the order of the entries: a JavaScript object would put numeric keys first and lose __proto__.
 */
export function* object(entries: readonly Entry[]): Generator<string> {
  if (entries.length === 0) return yield '{}\n';
  yield '{\n';
  for (const [at, { key, value }] of entries.entries())
    yield `  ${JSON.stringify(key)}: ${JSON.stringify(value)}${at < entries.length - 1 ? ',' : ''}\n`;
  yield '}\n';
}

export const json = format({
  format: 'json',
  filename: 'secrets.json',
  contentType: 'application/json',
  options: none,
  names: verbatim,
  render: object,
});
