// The compliance report over HTTP.
import type { z } from '@hono/zod-openapi';
import type { RenderContext } from '../../http/context';
import { type Input, type Rendered, route } from '../../http/route';
import { csvOf } from './csv';
import { htmlOf } from './html';
import type { Overview } from './parts';
import { reportOf } from './report';
import * as wire from './wire';

type Query = z.output<typeof wire.ReportQuery>;

/** What a browser that saves the report calls it. */
const fileName = ({ org, generated_at }: wire.Report, type: string) => `compliance-${org.id}-${generated_at.slice(0, 10)}.${type}`;

async function render(overview: Overview, { query }: Input<Query>, context: RenderContext): Promise<Rendered> {
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
    summary: 'Make the compliance report',
    description:
      'Tests the organisation against thresholds, and lists what was found with evidence, a remedy and the controls of SOC 2 and ISO/IEC 27001:2022 that each finding is about. Secrets, credentials, members and devices are reported as they are now; what comes from the audit log and from approvals is of the period. The report never holds a value or a token. It covers the whole organisation, so a credential that is limited to environments or names is refused.',
    query: wire.ReportQuery,
    answers: { 200: wire.Report },
    alsoAs: ['text/csv', 'text/html'],
    prepare: ({ query }) => ({ input: { part: 'overview', from: query.from ?? null, to: query.to ?? null } }),
    render,
  }),
];
