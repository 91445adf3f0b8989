// YAML that YAML 1.1 and 1.2 readers parse alike, and the format yaml. Invariant: keys and values are
// double-quoted, so every reader parses them as strings.
//
// The quoting is our own, not a library's: the characters that must be escaped so that PyYAML, go-yaml and
// YAML 1.2 readers agree are known exactly, and a general writer uses its own rules. JSON.stringify is not a
// substitute: it leaves DEL and NEL unescaped, which PyYAML rejects and folds, and U+FEFF and U+2028, which
// readers drop or treat as line breaks.
import { verbatim } from '../names';
import { type Entry, format, none, nul } from './format';

const SHORT: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return SHORT[character] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
}

/** A number in hexadecimal, with leading zeros. */
export const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');

/** A double-quoted YAML scalar on one line. */
export const quoted = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
  `"${text.replace(/["\\\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, escaped)}"`;

/** A flat map of strings. */
export function* mapping(entries: readonly Entry[], indent = ''): Generator<string> {
  for (const { key, value } of entries) yield `${indent}${quoted(key)}: ${quoted(value)}\n`;
}

export const yaml = format({
  format: 'yaml',
  filename: 'secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: verbatim,
  refuses: nul,
  render: (entries) => (entries.length ? mapping(entries) : ['{}\n']),
});
