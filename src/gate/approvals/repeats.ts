// Approvals that may be repeated. Pure. Invariant: such an approval is found by the credential that asked
// alone, so that another one of the same root can ask for its own.
import type { ApprovalRow } from '../../db/schema';

/** For how many seconds a request may be repeated: what everyone who approved it allows; 0 for once. */
export function validFor({ decisions }: Pick<ApprovalRow, 'decisions'>): number {
  const given = decisions.filter(({ decision }) => decision === 'approve');
  return given.length ? Math.min(...given.map(({ valid_for }) => valid_for ?? 0)) : 0;
}

/** Whether an approval may be repeated by the credential that asked, and used by no other. */
export const isRepeatable = (row: Pick<ApprovalRow, 'status' | 'decisions'>): boolean =>
  row.status === 'approved' && validFor(row) > 0;

/** The key, within a root, of what may be repeated by a credential. */
export const repeatedBy = (digest: string, credential: string | undefined): string =>
  `${digest} ${credential ?? ''}`;
