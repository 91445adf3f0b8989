// YAML that readers of 1.1 and 1.2 understand alike, and the format yaml. Invariant: keys and values are double-quoted, so that no reader takes
// one for anything but a string.
//
// The quoting is our own and not a library's: which characters have to be escaped so that PyYAML, go-yaml and YAML 1.2 readers agree is known
// exactly, and a general writer decides by rules of its own. JSON.stringify is no substitute: it leaves DEL and NEL as they are, which PyYAML
// refuses and folds, and U+FEFF and U+2028, which readers drop or take for line breaks.
import { verbatim } from '../names';
import { type Entry, format, none, nul } from './format';

const SHORT: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return SHORT[character] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
}

/** A number in hexadecimal, with leading zeros. */
export const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');

/** A double-quoted YAML scalar of one line. */
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
