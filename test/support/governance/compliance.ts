// Compliance reports in tests.
import type { FindingId } from '../../../src/domains/compliance/catalogue';
import type { Finding, Report } from '../../../src/domains/compliance/wire';
import type { Caller } from '../world';

/** The report, as JSON. */
export async function newReport(o: Caller, query = ''): Promise<Report> {
  const { json, status, text } = await o.get(`/compliance/report${query}`);
  if (status !== 200) throw new Error(`no report: ${status} ${text}`);
  return json;
}

export const finding = ({ findings }: Pick<Report, 'findings'>, id: FindingId): Finding => {
  const found = findings.find((one) => one.id === id);
  if (!found) throw new Error(`no finding ${id}`);
  return found;
};

/** Status, and the names or ids of what was found. */
export const found = (report: Pick<Report, 'findings'>, id: FindingId) => {
  const { status, evidence } = finding(report, id);
  return { status, of: evidence.map(({ name, id }) => name ?? id) };
};
