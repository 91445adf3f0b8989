// HTTP routes of the compliance report.
import type { z } from '@hono/zod-openapi';
import type { RenderContext } from '../../http/context';
import { type Input, type Rendered, route } from '../../http/route';
import { csvOf } from './csv';
import { htmlOf } from './html';
import type { Overview } from './payloads';
import { reportOf } from './report';
import * as wire from './wire';

type Query = z.output<typeof wire.ReportQuery>;

/** The file name under which a browser saves the report. */
const fileName = ({ org, generated_at }: wire.Report, type: string) =>
  `compliance-${org.id}-${generated_at.slice(0, 10)}.${type}`;

async function render(
  overview: Overview,
  { query }: Input<Query>,
  context: RenderContext,
): Promise<Rendered> {
  const report = await reportOf(context, overview);
  if (query.format === 'csv')
    return new Response(csvOf(report), {
      headers: {
        'Content-Type': 'text/csv; charset=utf-8; header=present',
        'Content-Disposition': `attachment; filename="${fileName(report, 'csv')}"`,
      },
    });
  if (query.format === 'html') {
    const page = htmlOf(report);
    page.headers.set('Content-Disposition', `inline; filename="${fileName(report, 'html')}"`);
    return page;
  }
  return { json: report };
}

export const complianceRoutes = [
  route({
    method: 'get',
    path: '/orgs/{org_id}/compliance/report',
    action: 'compliance.report',
    tag: 'Compliance',
    summary: 'Create the compliance report',
    description:
      'Tests the organisation against thresholds and lists the findings, each with evidence, a remedy and the SOC 2 and ISO/IEC 27001:2022 controls it relates to. Secrets, credentials, members and devices are reported as they are now; data from the audit log and approvals covers the period. The report never contains a value or a token. It covers the whole organisation, so a credential limited to environments or names is refused.',
    query: wire.ReportQuery,
    answers: { 200: wire.Report },
    alsoAs: ['text/csv', 'text/html'],
    prepare: ({ query }) => ({ input: { part: 'overview', from: query.from ?? null, to: query.to ?? null } }),
    render,
  }),
];
