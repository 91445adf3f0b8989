// The controls that the findings relate to, by framework.
import { type Report, StatusBadge } from './status';

const frameworks: [Report['controls'][number]['framework'], string][] = [
  ['soc2', 'SOC 2 Trust Services Criteria'],
  ['iso27001', 'ISO/IEC 27001:2022 Annex A'],
];

export const Controls = ({ report }: { report: Report }) => (
  <div class="sections">
    {frameworks.map(([framework, name]) => (
      <section key={framework}>
        <h2 class="spaced">{name}</h2>
        <div class="table-scroll" tabIndex={0} role="region" aria-label={name}>
          <table class="plain-table">
            <thead>
              <tr>
                <th scope="col">Control</th>
                <th scope="col">Title</th>
                <th scope="col">Status</th>
                <th scope="col">Findings</th>
              </tr>
            </thead>
            <tbody>
              {report.controls
                .filter((control) => control.framework === framework)
                .map(({ id, title, status, findings }) => (
                  <tr key={id}>
                    <th scope="row">{id}</th>
                    <td>{title}</td>
                    <td>
                      <StatusBadge status={status} />
                    </td>
                    <td class="dim">
                      {findings
                        .map((one) => report.findings.find(({ id }) => id === one)?.title ?? one)
                        .join(', ')}
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </section>
    ))}
  </div>
);
