// An Ansible vars file. The tag !unsafe prevents Ansible from treating a value as a Jinja template. From ansible-core 2.19 on, a tagged
// value is resolved like a plain scalar, so "no" becomes false. Therefore a value that YAML 1.1 could read as something other than a string
// has no tag; it contains no brace and so is not a template.
import { environmentStyle, without } from '../names';
import { format, none, nul } from './format';
import { quoted } from './yaml';

const KEYWORDS = [
  ...['False', 'None', 'True', 'and', 'as', 'assert', 'async', 'await', 'break', 'class', 'continue', 'def', 'del', 'elif', 'else'],
  ...['except', 'finally', 'for', 'from', 'global', 'if', 'import', 'in', 'is', 'lambda', 'nonlocal', 'not', 'or', 'pass', 'raise'],
  ...['return', 'try', 'while', 'with', 'yield'],
];

/** By the first character, as PyYAML resolves it, or as a whole. */
const UNLIKE_STRINGS = /^(?:[-+.0-9~<=!&*]|$|(?:y|yes|n|no|true|false|on|off|null)$)/i;

// safety: generated-ansible-unsafe
const tagOf = (value: string): string => (UNLIKE_STRINGS.test(value) && !value.includes('{') ? '' : '!unsafe ');

export const ansible = format({
  format: 'ansible',
  filename: 'secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: without(environmentStyle, (key) =>
    KEYWORDS.includes(key) ? 'is a Python keyword, which Ansible does not allow as a variable name' : null,
  ),
  refuses: nul,
  *render(entries) {
    if (entries.length === 0) yield '{}\n';
    for (const { key, value } of entries) yield `${quoted(key)}: ${tagOf(value)}${quoted(value)}\n`;
  },
});
