// A file for java.util.Properties. Everything except printable ASCII is escaped, so the file's charset does
// not matter.
import { verbatim } from '../names';
import { format, none, nul } from './format';
import { hex } from './yaml';

const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\f': '\\f' };

const escaped = (text: string): string =>
  text
    .replace(/[\\:=#!]/g, '\\$&')
    // Only a leading space is skipped.
    .replace(/^ /, '\\ ')
    // By UTF-16 code units, as in Java.
    .replace(/[^ -~]/g, (each) => SHORT[each] ?? `\\u${hex(each.charCodeAt(0), 4)}`);

export const properties = format({
  format: 'properties',
  filename: 'secrets.properties',
  contentType: 'text/plain',
  options: none,
  names: verbatim,
  refuses: nul,
  *render(entries) {
    for (const { key, value } of entries) yield `${escaped(key)}=${escaped(value)}\n`;
  },
});
