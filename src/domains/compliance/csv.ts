// The compliance report as CSV (RFC 4180): one row per piece of evidence, and one for a finding without
// evidence. Invariant: no cell can become a formula in a spreadsheet, regardless of the names and reasons in
// it.
import type { Evidence, Finding, Report } from './wire';

const columns = [
  ...[
    'finding',
    'area',
    'title',
    'status',
    'count',
    'complete',
    'evidence_id',
    'name',
    'environment',
    'time',
    'detail',
    'facts',
    'people',
  ],
  ...['tested', 'remedy', 'soc2', 'iso27001'],
];

/**
 * What a spreadsheet may take for the start of a formula, also after white space; some accept full-width
 * forms.
 */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** A cell, always quoted, so its contents cannot end it. */
export function cell(value: string | number | boolean | null): string {
  const text = value === null ? '' : String(value);
  // safety: csv-formula-escaped
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

const factsOf = ({ facts }: Evidence): string =>
  Object.entries(facts)
    .map(([name, value]) => `${name}=${value ?? ''}`)
    .join('; ');

const peopleOf = ({ people = [] }: Evidence): string =>
  people.map(({ id, name, decision, time }) => `${name ?? id} (${id}): ${decision} at ${time}`).join('; ');

function rowsOf(finding: Finding): string[] {
  const { id, area, title, status, count, complete, tested, remedy, controls } = finding;
  const shown: (Evidence | null)[] = finding.evidence.length ? finding.evidence : [null];
  return shown.map((one) =>
    [
      ...[id, area, title, status, count, complete],
      ...(one
        ? [one.id, one.name, one.environment, one.time, one.detail, factsOf(one), peopleOf(one)]
        : Array(7).fill(null)),
      ...[tested, remedy, controls.soc2.join(' '), controls.iso27001.join(' ')],
    ]
      .map(cell)
      .join(','),
  );
}

export const csvOf = ({ findings }: Report): string =>
  [columns.map(cell).join(','), ...findings.flatMap(rowsOf), ''].join('\r\n');
