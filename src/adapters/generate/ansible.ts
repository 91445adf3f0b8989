// A vars file of Ansible. The tag !unsafe keeps Ansible from taking a value for a Jinja template. It has a price: from ansible-core 2.19 on a
// value with that tag is resolved like a plain scalar, so that "no" becomes false. A value that YAML 1.1 could take for anything but a string
// stands without the tag: it holds no brace, and so is no template.
import { environmentStyle, without } from '../names';
import { format, none, nul } from './format';
import { quoted } from './yaml';

const KEYWORDS = [
  ...['False', 'None', 'True', 'and', 'as', 'assert', 'async', 'await', 'break', 'class', 'continue', 'def', 'del', 'elif', 'else'],
  ...['except', 'finally', 'for', 'from', 'global', 'if', 'import', 'in', 'is', 'lambda', 'nonlocal', 'not', 'or', 'pass', 'raise'],
  ...['return', 'try', 'while', 'with', 'yield'],
];

/** By its first character, as PyYAML looks it up, or as a whole. */
const UNLIKE_STRINGS = /^(?:[-+.0-9~<=!&*]|$|(?:y|yes|n|no|true|false|on|off|null)$)/i;

// safety: generated-ansible-unsafe
const tagOf = (value: string): string => (UNLIKE_STRINGS.test(value) && !value.includes('{') ? '' : '!unsafe ');

export const ansible = format({
  format: 'ansible',
  filename: 'secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: without(environmentStyle, (key) =>
    KEYWORDS.includes(key) ? 'is a keyword of Python, which no variable of Ansible may be' : null,
  ),
  refuses: nul,
  *render(entries) {
    if (entries.length === 0) yield '{}\n';
    for (const { key, value } of entries) yield `${quoted(key)}: ${tagOf(value)}${quoted(value)}\n`;
  },
});
