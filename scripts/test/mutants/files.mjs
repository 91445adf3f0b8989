// The mutants of generated and imported files. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- generated files
  ...checks({
    'generate-steps-bounded': 'api/integrations/generate: comparing names with patterns takes bounded steps',
    'generated-names-distinct':
      'unit/adapters/generate: that map to the same key are all reported, and case folding depends on the reader',
    'generated-values-exact': 'unit/adapters/generate: name every secret, and say nothing of the value',
    'generated-content-bounded': 'api/integrations/generate: that escapes make larger than 24 MiB is refused',
    'generated-shell-names': 'unit/adapters/generate: that shell cannot have are refused',
  }),
  {
    name: 'a file is generated for a caller who may not read the secrets',
    tag: 'generate-needs-read',
    change: { from: 'mayAct(caller, READ, ask.request.ip)', to: 'null' },
    notice: 'api/integrations/generate: needs integrations:generate first and then secrets:read',
  },
  {
    name: 'a generated file reveals an environment outside the reach of its caller',
    tag: 'generate-within-environments',
    change: { from: '!environment || outside', to: '!environment' },
    notice:
      'api/integrations/generate: an environment outside the reach of a key looks like one that does not exist',
  },
  {
    name: 'a file holds secrets that were named and are outside the reach of its caller',
    tag: 'generate-within-names',
    change: { from: 'reaches(caller, READ.scopes, environment.id, name)', to: 'true' },
    notice:
      'api/integrations/generate: contains only the named secrets; a name that is not an active secret within reach is 404 and named',
  },
  {
    name: 'a file holds secrets that have ended',
    tag: 'generate-active-only',
    change: { from: 'row && readable(row, now) === null', to: 'row' },
    notice:
      'api/integrations/generate: contains only the named secrets; a name that is not an active secret within reach is 404 and named',
  },
  {
    name: 'a file leaves although its secrets have changed meanwhile',
    tag: 'generate-point-in-time',
    change: { from: '!made || made.etag !== etagOf(selected)', to: '!made' },
    notice: 'api/integrations/generate: a file of secrets that have changed in the meantime is not sent',
  },
  {
    name: 'ciphertexts are returned to a caller who was revoked while they were fetched',
    tag: 'generate-rechecked-after-fetch',
    change: { from: 'asked ? call.recheck() : null', to: 'null' },
    notice: 'api/integrations/generate: gives no ciphertext for a caller who is revoked while it is fetched',
  },
  {
    name: 'of several secrets those that are not held are revealed by themselves',
    tag: 'one-held-holds-all',
    change: { from: 'each.some(({ isHeld }) => isHeld)', to: 'false' },
    notice: 'api/integrations/generate: with a held secret waits as a whole',
  },
  {
    name: 'a file that cannot be generated uses up an approval',
    tag: 'approval-used-by-answer',
    change: 'always',
    notice: 'api/integrations/generate: that cannot be made does not use the approval',
  },
  {
    name: 'a vars file sets variables that Ansible reserves',
    tag: 'generated-ansible-names',
    change: 'never',
    notice: 'unit/adapters/generate: that ansible cannot have are refused',
  },
  {
    name: 'a quote in a value ends the quotes of a script',
    tag: 'generated-shell-quoting',
    change: { from: `text.replaceAll("'", "'\\\\''")`, to: 'text' },
    notice: 'unit/adapters/generate: shell quotes a value so that nothing in it ends the quotes',
  },
  {
    name: 'a script for GitHub Actions sets names of the runner',
    tag: 'generated-workflow-names',
    change: { from: '/^(GITHUB_|RUNNER_|NODE_OPTIONS$)/i.test(key)', to: 'false' },
    notice: 'unit/adapters/generate: that github-actions cannot have are refused',
  },
  {
    name: 'a value begins a workflow command of its own',
    tag: 'generated-workflow-commands',
    change: { from: 'text.replace(/[%\\r\\n]/g, (each) => COMMAND[each] as string)', to: 'text' },
    notice: 'unit/adapters/generate: github-actions masks each line and the whole of a value',
  },
  {
    name: 'Ansible takes a value for a template',
    tag: 'generated-ansible-unsafe',
    change: { from: "'!unsafe '", to: "''" },
    notice:
      'unit/adapters/generate: ansible tags possible templates, but not values whose type the tag would change',
  },

  // ---------------------------------------------------------------- imports
  ...checks({
    'import-depth-bounded': 'unit/imports/json: depth is refused at the 65th level',
    'import-items-bounded': 'unit/imports/items: 5,000 items are taken, one more is 413',
    'import-steps-bounded': 'api/imports/imports: comparing many long names with many patterns',
    'import-naming-policies': 'api/imports/imports: an item that breaks one fails, with an event',
    'dry-run-writes-nothing': 'api/imports/imports: a dry run gives the same answer',
    'import-conflict-writes-nothing': 'api/imports/imports: skip leaves existing secrets, overwrite',
    'import-unreadable-refused':
      'api/imports/imports: refusals: an unreadable export is refused after the permission and existence checks',
  }),
  {
    name: 'the data of an import is taken from JSON.parse, which loses digits and keys',
    tag: 'import-digits-kept',
    change: {
      from: 'parseJson(body, MOST_DEPTH + 1)',
      to: 'parseJson(JSON.stringify(JSON.parse(body)), MOST_DEPTH + 1)',
    },
    notice: 'unit/imports/items: JSON data is read from the bytes of the request, the last one if repeated',
  },
  {
    name: 'of different values for one name the last is imported',
    tag: 'import-collisions-fail',
    change: { from: "group.map(({ original }) => failure(original, 'NAME_COLLISION'))", to: '[]' },
    notice: 'unit/imports/items: none of several values for one name is taken',
  },
  {
    name: 'the scopes of an import come from two permission sets',
    tag: 'import-scopes-of-one-permission-set',
    change: { from: 'reasons(caller.permissions, IMPORT, { environment })', to: 'caller.permissions' },
    notice:
      'api/imports/imports: permission: role and grant of a member do not add up to an import: both scopes come from one permission set',
  },
  {
    name: 'an import does without secrets:write',
    tag: 'import-needs-write',
    change: { from: 'reasons(caller.permissions, WRITE, null).length', to: 'true' },
    notice: 'api/imports/imports: integrations:import first, then secrets:write',
  },
  {
    name: 'an import writes secrets outside the name patterns of the caller',
    tag: 'import-within-names',
    change: {
      from: 'reasons(permissions, WRITE, { environment: environment.id, name: item.name }).length > 0',
      to: 'true',
    },
    notice:
      'api/imports/imports: permission: items outside the name patterns fail, indistinguishable from unused names',
  },
  {
    name: 'an import reveals to any caller that a value is equal',
    tag: 'import-equal-told-to-readers',
    change: { from: ' && mayRead(call, row)', to: '' },
    notice: 'api/imports/imports: permission: only readers are told that a value is equal',
  },
  {
    name: 'an import goes beyond the limits of the organisation',
    tag: 'import-within-limits',
    change: { from: 'limits(core, added', to: 'limits(core, 0 * added' },
    notice: 'api/imports/imports: the encrypted bytes and the number of secrets are counted',
  },
  {
    name: 'a statement of a batch takes a parameter of any length',
    tag: 'batch-parameters-bounded',
    change: { from: 'bytes + size > MOST_PARAMETER', to: 'parts.length === 0' },
    notice:
      'api/imports/imports: limits: parameters of D1 stay below its limit, regardless of the size of an import',
  },
  {
    name: 'the names of an import repeat a title of any length',
    tag: 'import-parts-bounded',
    change: { from: '.slice(0, LONGEST_PART)', to: '' },
    notice: 'unit/imports/sources: names of several parts stay short',
  },
  {
    name: 'an import returns failures of any length',
    tag: 'import-answer-bounded',
    change: { from: 'bytes > MOST_FAILURES', to: 'false' },
    notice: 'unit/imports/items: names of failed items fit into an answer',
  },
  {
    name: 'an exposure report passes over imports',
    tag: 'exposure-counts-imports',
    change: { from: 'entry.imported?.versions ?? {}', to: '{}' },
    notice:
      'api/imports/imports: contain: the imports and bulk reads of a leaked credential are reported, with the log',
  },
];
