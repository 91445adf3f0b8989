// The mutants of policies and of comparing names with them. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- policies
  ...checks({
    'violations-steps-bounded': 'api/policies/naming: a page compares a bounded number of names',
    'only-active-rotated':
      'api/policies/rotation: skips secrets outside the policy, and secrets that are deleted, expired or revoked',
    'rotation-place-kept':
      'api/policies/rotation: a search interrupted between pages continues there, and reports each secret once',
  }),
  {
    name: 'naming policies are not enforced',
    tag: 'naming-policies-enforced',
    change: { from: 'namingViolation(call, proposed)', to: 'null' },
    notice: 'api/policies/naming: holds on every path: create, generate',
  },
  {
    name: 'policies are read once and never again',
    tag: 'policies-read-again',
    change: { from: 'known?.edits !== edits', to: '!known' },
    notice: 'api/policies/naming: applies to the next request',
  },
  {
    name: 'a policy that is off applies',
    tag: 'disabled-policy-ignored',
    change: { from: 'row.enabled === 1', to: 'true' },
    notice: 'api/policies/naming: applies to the next request',
  },
  {
    name: 'a pattern may repeat groups without bound before it is compiled',
    tag: 'pattern-size-limited',
    notice: 'unit/auth/policies: refuses (a){65}',
  },
  {
    name: 'a pattern may compile to a program of any size',
    tag: 'program-size-limited',
    change: 'never',
    notice: 'unit/auth/policies: refuses [a-z]{600}',
  },
  {
    name: 'a credential that is limited to environments changes policies',
    tag: 'policies-by-unlimited-callers',
    change: { from: "mustReachAll(caller, need.scopes, 'change policies')", to: 'null' },
    notice:
      'api/policies/policies: a credential limited to environments or names cannot change policies of the whole organisation',
  },
  {
    name: 'a policy takes the config of another kind',
    tag: 'policy-kind-fixed',
    change: { from: 'configProblem(call, row.kind, config, (bounds ?? row).environments)', to: 'null' },
    notice: 'api/policies/policies: keeps its kind',
  },
  {
    name: 'violations are shown to callers who may not list the secrets',
    tag: 'violations-within-reach',
    change: { from: 'reaches(caller, LISTS, row.environment_id, row.name) &&', to: '' },
    notice: 'api/policies/naming: shows a caller only what it may list',
  },
  {
    name: 'a policy rotates secrets that did not opt in',
    tag: 'auto-rotation-opted-in',
    change: { from: 'row.auto_rotate === 1 && ', to: '' },
    notice:
      'api/policies/rotation: replaces the value of a secret that opted in and was generated here; the rest is reported as due',
  },
  {
    name: 'a policy replaces a value that was issued elsewhere',
    tag: 'only-own-values-replaced',
    change: 'always',
    notice:
      'api/policies/rotation: replaces the value of a secret that opted in and was generated here; the rest is reported as due',
  },
  {
    name: 'a due secret is reported in each search',
    tag: 'due-once-a-period',
    change: { from: 'known === null || known.period < since', to: 'true' },
    notice: 'api/policies/rotation: raises an event once a period',
  },
  {
    name: 'a value is accepted for a secret that has changed since it was reported as due',
    tag: 'rotated-once',
    change: { from: ' || etagOf(row) !== input.etag || !isToRotate(core, row, now)', to: '' },
    notice:
      'api/policies/rotation: a value is too late for a secret that has changed since: rotated, amended, opted out, deleted, or no longer due',
  },
  {
    name: 'a refused rotation is reported again in the same period',
    tag: 'failure-told-once',
    change: 'always',
    notice:
      'api/policies/rotation: a secret without a new value for six hours is reported once, and still rotated once the job runs',
  },

  // ---------------------------------------------------------------- comparing names with policies
  {
    name: 'comparing patterns of a policy takes any number of steps',
    tag: 'overlap-steps-bounded',
    notice: 'unit/auth/effects: counts long lists of patterns as overlapping',
  },
  {
    name: 'comparing names with policies takes one turn, however long',
    tag: 'policy-steps-bounded',
    notice: 'unit/gate/turns: continues in another turn when the steps of one are spent',
  },
  {
    name: 'an organisation can have patterns of policies of any size',
    tag: 'policy-width-bounded',
    notice: 'api/limits/policies: are bounded for the organisation; a change may narrow them',
  },
  {
    name: 'what a rotation policy of an agent replaces is not held',
    tag: 'policy-of-agent-held',
    change: { from: 'since !== null && isAutomatic', to: 'true' },
    notice:
      'api/policies/rotation: a rotation by the policy of an agent is held, and the secret is reported as due',
  },
  {
    name: 'an agent lets the service replace a value that it may not replace itself',
    tag: 'automatic-rotation-held-as-rotation',
    change: { from: 'after.auto_rotate === 1', to: 'after.auto_rotate === 2' },
    notice: 'api/policies/rotation: an agent has no secret replaced by itself, or sooner',
  },
  {
    name: 'an agent renames a secret so that a rotation policy replaces its value',
    tag: 'move-to-rotation-policy-held',
    change: { from: 'before.name !== after.name', to: 'false' },
    notice: 'api/policies/rotation: an agent brings no secret under a policy that replaces its value',
  },
  {
    name: 'an agent lets an expired secret live again so that a rotation policy replaces its value',
    tag: 'return-to-rotation-held',
    change: { from: 'isActiveLonger(before, after)', to: 'false' },
    notice: 'api/policies/rotation: an agent makes no secret due by letting it live longer, or again',
  },
];
