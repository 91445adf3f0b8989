// The mutants of compliance reports. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'report-period-bounded':
      'api/compliance/report: is refused unless from is before to, and at most 400 days',
    'report-steps-bounded': 'unit/compliance/compliance: comparing names with policies takes bounded steps',
    'reports-limited': 'api/compliance/report: are at most ten a minute for an organisation, across callers',
  }),
  {
    name: 'a caller that is limited to names gets a compliance report',
    tag: 'report-needs-whole-reach',
    change: { from: "mustReachAll(caller, ['compliance:read'], 'create a compliance report')", to: 'null' },
    notice: 'api/compliance/report: is refused to a caller who is limited to environments or names',
  },
  {
    name: 'a finding keeps any amount of evidence',
    tag: 'report-evidence-bounded',
    change: 'always',
    notice: 'unit/compliance/compliance: a finding keeps 100 pieces of evidence, and makes no others',
  },
  {
    name: 'a report compares all names in one turn of the Worker',
    tag: 'report-works-in-slices',
    change: 'always',
    notice: 'api/limits/policies: of compliance work in slices',
  },
  {
    name: 'a root has any number of long reports at a time',
    tag: 'long-reports-of-root-bounded',
    change: { from: '>= MOST_LONG', to: '>= Number.POSITIVE_INFINITY' },
    notice: 'api/limits/policies: of compliance work in slices',
  },
  {
    name: 'a containment that has taken effect is refused because of other reports',
    tag: 'contained-report-not-refused',
    change: { from: 'isFull(root) && !waits', to: 'isFull(root)' },
    notice: 'api/limits/policies: of containments wait for others of their root',
  },
  {
    name: 'a compliance report counts entries twice if they move during the report',
    tag: 'report-entry-counted-once',
    change: { from: 'Math.min(before ?? Number.MAX_SAFE_INTEGER, part.oldest)', to: 'part.oldest' },
    notice:
      'unit/compliance/compliance: entries that move to D1 between two pages of the gate are not read there again',
  },
  {
    name: 'a cell of a compliance report is a formula',
    tag: 'csv-formula-escaped',
    change: 'never',
    notice: 'unit/compliance/compliance: a cell that begins as',
  },
];
