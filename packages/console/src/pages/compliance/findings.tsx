// The findings of the report: the test, the evidence and the remedy.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { hrefOfId } from '../../organisation/people';
import { Time } from '../../ui/parts';
import { type Report, StatusBadge } from './status';

type Finding = Report['findings'][number];
type Evidence = Finding['evidence'][number];

const FIRST = 10;

/** The page of the resource that a piece of evidence is about. */
const pageOf = (id: string): string | null =>
  id.startsWith('sec_')
    ? `/secrets/${id}`
    : id.startsWith('apr_')
      ? `/approvals/${id}`
      : id.startsWith('dev_')
        ? `/devices?id=${id}`
        : hrefOfId(id);

function Piece({ evidence }: { evidence: Evidence }) {
  const { id, name, environment, time, detail } = evidence;
  const href = pageOf(id);
  return (
    <li>
      <span class="evidence-name truncate">
        {href ? <Link href={href}>{name ?? id}</Link> : (name ?? id)}{' '}
        {environment && <span class="dim">{environment}</span>}
      </span>
      <span class="grow">{detail}</span>
      {time && (
        <span class="dim">
          <Time at={time} />
        </span>
      )}
    </li>
  );
}

function Body({ finding }: { finding: Finding }) {
  const [all, setAll] = useState(false);
  const { tested, evidence, count, remedy, controls } = finding;
  const shown = all ? evidence : evidence.slice(0, FIRST);
  return (
    <div class="stack finding-body">
      <p>{tested}</p>
      {shown.length > 0 && (
        <ul class="evidence">
          {shown.map((piece, index) => (
            <Piece key={`${piece.id} ${index}`} evidence={piece} />
          ))}
        </ul>
      )}
      {shown.length < evidence.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          Show all {evidence.length}
        </button>
      )}
      {count > evidence.length && (
        <p class="dim">
          Showing the first {evidence.length} of {count.toLocaleString()}.
        </p>
      )}
      {(finding.status === 'fail' || finding.status === 'warn') && (
        <p>
          <strong>What to do:</strong> {remedy}
        </p>
      )}
      <p class="dim small">
        SOC 2 {controls.soc2.join(', ')} · ISO/IEC 27001 {controls.iso27001.join(', ')}
      </p>
    </div>
  );
}

/**
 * How many of what was examined. Without one, a finding that is no pass has another reason, which its text
 * says.
 */
function countOf({ status, count, examined }: Finding): string {
  if (status === 'not_applicable') return '';
  if (count === 0 && status !== 'pass') return `${examined.toLocaleString()} examined`;
  return `${count.toLocaleString()} of ${examined.toLocaleString()}`;
}

export const Findings = ({ findings }: { findings: Finding[] }) => (
  <div class="findings">
    {findings.map((finding) => (
      <details key={finding.id}>
        <summary>
          <StatusBadge status={finding.status} />
          <span class="grow">{finding.title}</span>
          <span class="dim finding-count">{countOf(finding)}</span>
        </summary>
        <Body finding={finding} />
      </details>
    ))}
  </div>
);
