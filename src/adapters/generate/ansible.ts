// An Ansible vars file. The tag !unsafe prevents Ansible from treating a value as a Jinja template. From
// ansible-core 2.19 on, a tagged value is resolved like a plain scalar, so "no" becomes false. Therefore a
// value that YAML 1.1 could read as something other than a string has no tag; it contains no brace and so is
// not a template.
import { environmentStyle, without } from '../names';
import { format, none, nul } from './format';
import { quoted } from './yaml';

/** Keywords of Python. */
const KEYWORDS = [
  ...[
    'and',
    'as',
    'assert',
    'async',
    'await',
    'break',
    'class',
    'continue',
    'def',
    'del',
    'elif',
    'else',
    'except',
    'finally',
    'for',
  ],
  ...[
    'from',
    'global',
    'if',
    'import',
    'in',
    'is',
    'lambda',
    'nonlocal',
    'not',
    'or',
    'pass',
    'raise',
    'return',
    'try',
    'while',
    'with',
  ],
  'yield',
];

/** Constants of Jinja and Python, in any case. */
const CONSTANTS = ['true', 'false', 'none'];

/**
 * Names that Ansible gives a meaning: what `get_reserved_names` of ansible-core 2.19 lists, and attributes of
 * earlier releases. Some of these variables are replaced, and Ansible warns about the others.
 */
const RESERVED = [
  ...[
    'action',
    'always',
    'any_errors_fatal',
    'args',
    'async_val',
    'become',
    'become_exe',
    'become_flags',
    'become_method',
    'become_user',
  ],
  ...[
    'block',
    'changed_when',
    'check_mode',
    'collections',
    'connection',
    'cycler',
    'debugger',
    'delay',
    'delegate_facts',
    'delegate_to',
  ],
  ...[
    'dict',
    'diff',
    'environment',
    'fact_path',
    'failed_when',
    'force_handlers',
    'gather_facts',
    'gather_subset',
    'gather_timeout',
  ],
  ...[
    'handlers',
    'hosts',
    'ignore_errors',
    'ignore_unreachable',
    'joiner',
    'lipsum',
    'local_action',
    'lookup',
    'loop',
    'loop_control',
  ],
  ...[
    'loop_with',
    'max_fail_percentage',
    'module_defaults',
    'name',
    'namespace',
    'no_log',
    'notify',
    'now',
    'omit',
    'order',
    'poll',
    'port',
  ],
  ...[
    'post_tasks',
    'pre_tasks',
    'q',
    'query',
    'range',
    'register',
    'remote_user',
    'rescue',
    'retries',
    'roles',
    'run_once',
    'serial',
  ],
  ...[
    'strategy',
    'tags',
    'tasks',
    'throttle',
    'timeout',
    'undef',
    'until',
    'vars',
    'vars_files',
    'vars_prompt',
    'when',
    'with_',
  ],
];

/**
 * Magic variables, which Ansible sets itself (`INTERNAL_STATIC_VARS`), the variable of loops, and the
 * template that Jinja calls `self`.
 */
const MAGIC = [
  ...[
    'group_names',
    'groups',
    'hostvars',
    'inventory_dir',
    'inventory_file',
    'inventory_hostname',
    'inventory_hostname_short',
    'item',
  ],
  ...['play_hosts', 'playbook_dir', 'role_name', 'role_names', 'role_path', 'role_uuid', 'self'],
];

function refused(key: string): string | null {
  if (KEYWORDS.includes(key)) return 'is a Python keyword, which Ansible does not allow as a variable name';
  if (CONSTANTS.includes(key.toLowerCase())) return 'is a constant in templates';
  // safety: generated-ansible-names
  return RESERVED.includes(key) || MAGIC.includes(key) || key.startsWith('ansible_')
    ? 'is a name that Ansible reserves'
    : null;
}

/** By the first character, as PyYAML resolves it, or as a whole. */
const UNLIKE_STRINGS = /^(?:[-+.0-9~<=!&*]|$|(?:y|yes|n|no|true|false|on|off|null)$)/i;

// safety: generated-ansible-unsafe
const tagOf = (value: string): string =>
  UNLIKE_STRINGS.test(value) && !value.includes('{') ? '' : '!unsafe ';

export const ansible = format({
  format: 'ansible',
  filename: 'secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: without(environmentStyle, refused),
  refuses: nul,
  *render(entries) {
    if (entries.length === 0) yield '{}\n';
    for (const { key, value } of entries) yield `${quoted(key)}: ${tagOf(value)}${quoted(value)}\n`;
  },
});
