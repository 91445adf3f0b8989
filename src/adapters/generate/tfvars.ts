// Terraform variables, as HCL and as JSON. In HCL a string is a template, so anything that would start an
// interpolation is escaped. In JSON it is literal.
import { environmentStyle, type NameRule, without } from '../names';
import { format, none, nul } from './format';
import { object } from './json';
import { hex } from './yaml';

/**
 * Names that Terraform lets no variable have: everything with a meaning in a `module` block
 * (`moduleBlockSchema` in its source).
 */
const RESERVED = [
  ...[
    '_',
    'count',
    'depends_on',
    'for_each',
    'ignore_nested_deprecations',
    'lifecycle',
    'locals',
    'provider',
    'providers',
    'source',
  ],
  'version',
];

/** HCL identifiers: as environment variables, and with hyphens. */
const identifiers: NameRule = without(
  { ...environmentStyle, map: (name) => name.replace(/[^A-Za-z0-9_-]/g, '_') },
  (key) => (RESERVED.includes(key) ? 'is a variable name that Terraform reserves' : null),
);

/**
 * Terraform normalises every string to Unicode normal form C, so another form of the same text is not read
 * back.
 */
const unnormalized = (value: string): string | null =>
  value === value.normalize('NFC')
    ? null
    : 'has a value that is not in Unicode normal form C, which Terraform changes';

const SHORT: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
const ESCAPED = /["\\\u0001-\u001f\u007f-\u009f\u2028\u2029\ufeff]/g;

/** A template without interpolations: `${` and `%{` are escaped by doubling the `$` or `%`. */
const template = (value: string): string => {
  const text = value
    .replace(ESCAPED, (each) => SHORT[each] ?? `\\u${hex(each.charCodeAt(0), 4)}`)
    .replace(/([$%])\{/g, '$1$1{');
  return `"${text}"`;
};

export const tfvars = format({
  format: 'tfvars',
  filename: 'secrets.auto.tfvars',
  contentType: 'text/plain',
  options: none,
  names: identifiers,
  refuses: (value) => nul(value) ?? unnormalized(value),
  *render(entries) {
    for (const { key, value } of entries) yield `${key} = ${template(value)}\n`;
  },
});

export const tfvarsJson = format({
  format: 'tfvars-json',
  filename: 'secrets.auto.tfvars.json',
  contentType: 'application/json',
  options: none,
  names: identifiers,
  refuses: unnormalized,
  render: object,
});
