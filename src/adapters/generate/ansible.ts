// A vars file of Ansible. The tag !unsafe keeps Ansible from taking a value for a Jinja template.
import { environmentStyle, without } from '../names';
import { format, none, nul } from './format';
import { mapping } from './yaml';

const KEYWORDS = [
  ...['False', 'None', 'True', 'and', 'as', 'assert', 'async', 'await', 'break', 'class', 'continue', 'def', 'del', 'elif', 'else'],
  ...['except', 'finally', 'for', 'from', 'global', 'if', 'import', 'in', 'is', 'lambda', 'nonlocal', 'not', 'or', 'pass', 'raise'],
  ...['return', 'try', 'while', 'with', 'yield'],
];

export const ansible = format({
  format: 'ansible',
  filename: 'secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: without(environmentStyle, (key) =>
    KEYWORDS.includes(key) ? 'is a keyword of Python, which no variable of Ansible may be' : null,
  ),
  refuses: nul,
  // safety: generated-ansible-unsafe
  render: (entries) => (entries.length ? mapping(entries, '', '!unsafe ') : ['{}\n']),
});
