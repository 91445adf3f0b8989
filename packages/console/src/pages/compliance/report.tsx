// The compliance report: findings, the controls they relate to, and downloads for auditors.
import { Download } from 'lucide-preact';
import { useMemo } from 'preact/hooks';
import { useParameter } from '../../navigation/router';
import { here, useRead, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Tabs } from '../../ui/controls/tabs';
import { Late } from '../../ui/late';
import { Segments } from '../../ui/lists/filters';
import { Empty, ErrorNote, PageHead, Skeleton } from '../../ui/parts';
import { download } from '../../ui/values/download';
import { Controls } from './controls';
import { Findings } from './findings';
import { Inventory } from './inventory';
import { type Report, statuses } from './status';
import '../../styles/compliance.css';

const DAY = 86_400_000;
const PERIODS = ['30', '90', '365'];

/** The number of findings with each status. Selecting one filters the list. */
function Summary({
  report,
  chosen,
  onChoose,
}: {
  report: Report;
  chosen: string;
  onChoose: (status: string) => void;
}) {
  return (
    <div class="tiles" role="group" aria-label="Findings by status">
      {statuses.map(([status, label, tone]) => (
        <button
          key={status}
          type="button"
          class={`tile ${report.summary[status] ? tone : ''}`}
          aria-pressed={chosen === status}
          onClick={() => onChoose(chosen === status ? '' : status)}
        >
          <strong>{report.summary[status]}</strong>
          <span>{label}</span>
        </button>
      ))}
    </div>
  );
}

const Loaded = ({ report }: { report: Report }) => {
  const [status, choose] = useParameter('status');
  const rank = (finding: Report['findings'][number]) => statuses.findIndex(([one]) => one === finding.status);
  const findings = report.findings
    .filter((finding) => !status || finding.status === status)
    .sort((one, other) => rank(one) - rank(other));
  return (
    <>
      <Late answers={[report]} />
      <Summary report={report} chosen={status} onChoose={choose} />
      <Tabs
        label="Report sections"
        items={[
          {
            id: 'findings',
            label: 'Findings',
            count: findings.length,
            content: () =>
              findings.length ? (
                <Findings findings={findings} />
              ) : (
                <Empty title="No findings have this status">Choose another status above.</Empty>
              ),
          },
          {
            id: 'controls',
            label: 'Controls',
            count: report.controls.length,
            content: () => <Controls report={report} />,
          },
          { id: 'inventory', label: 'Inventory', content: () => <Inventory inventory={report.inventory} /> },
        ]}
      />
    </>
  );
};

export default function Compliance() {
  const [days, setDays] = useParameter('days');
  const period = PERIODS.includes(days) ? days : '90';
  const from = useMemo(() => new Date(Date.now() - Number(period) * DAY).toISOString(), [period]);
  const { data, error, isPending, refetch } = useRead(['compliance', period], (signal) =>
    vault().api.GET('/orgs/{org_id}/compliance/report', {
      params: { path: here(), query: { from } },
      signal,
    }),
  );
  const save = async (format: 'csv' | 'html') => {
    const { data: text } = await vault().api.GET('/orgs/{org_id}/compliance/report', {
      params: { path: here(), query: { format, from } },
      parseAs: 'text',
    });
    const day = new Date().toISOString().slice(0, 10);
    download(
      `compliance-${day}.${format}`,
      format === 'csv' ? 'text/csv' : 'text/html',
      text as unknown as string,
    );
  };
  return (
    <>
      <PageHead title="Compliance" lead="Automatic tests with evidence for SOC 2 and ISO/IEC 27001.">
        <Button onPress={() => save('csv')}>
          <Download size={16} aria-hidden="true" /> CSV
        </Button>
        <Button onPress={() => save('html')}>
          <Download size={16} aria-hidden="true" /> HTML
        </Button>
      </PageHead>
      <div class="filters">
        <Segments
          label="Period"
          value={period}
          onValue={setDays}
          choices={PERIODS.map((value) => ({ value, label: `${value} days` }))}
        />
      </div>
      {error ? (
        <ErrorNote error={error} onRetry={refetch} />
      ) : isPending || !data ? (
        <Skeleton rows={10} />
      ) : (
        <Loaded report={data as Report} />
      )}
    </>
  );
}
