// Approvals of one credential alone: those that may be repeated, and those of workloads, since the sessions
// of a trust may be those of others. Pure. Invariant: such an approval is found by the credential that asked
// alone, so that another one of the same root can ask for its own.
import { idStart } from '../../db/ids';
import type { ApprovalRow } from '../../db/schema';

/** For how many seconds a request may be repeated: what everyone who approved it allows; 0 for once. */
export function validFor({ decisions }: Pick<ApprovalRow, 'decisions'>): number {
  const given = decisions.filter(({ decision }) => decision === 'approve');
  return given.length ? Math.min(...given.map(({ valid_for }) => valid_for ?? 0)) : 0;
}

/** Whether an approval may be repeated by the credential that asked, and used by no other. */
export const isRepeatable = (row: Pick<ApprovalRow, 'status' | 'decisions'>): boolean =>
  row.status === 'approved' && validFor(row) > 0;

type Asked = Pick<ApprovalRow, 'status' | 'decisions' | 'requester'>;

/** Whether a session of a trust or a bound Worker asked: deciders saw which workload. */
const isOfWorkload = ({ requester }: Asked): boolean =>
  // safety: approval-of-workload-alone
  requester.kind === 'workload' ||
  (requester.kind === 'session' && (requester.parent_id?.startsWith(idStart('trust')) ?? false));

/** Whether only the credential that asked may use an approval, not the others of its root. */
export const isOfOneCredential = (row: Asked): boolean => isRepeatable(row) || isOfWorkload(row);

/** The credential or the member whose end makes an approval void. */
export const askedBy = (row: Asked & Pick<ApprovalRow, 'root'>): string =>
  isOfWorkload(row) ? (row.requester.credential ?? row.root) : row.root;

/** Whether a caller made a request itself, or may act for the one that did. */
export const isAsker = (
  row: Asked & Pick<ApprovalRow, 'root'>,
  { root, credential }: { root: string; credential: string },
): boolean => row.root === root && (!isOfWorkload(row) || row.requester.credential === credential);

/** The key, within a root, of what may be repeated by a credential. */
export const repeatedBy = (digest: string, credential: string | undefined): string =>
  `${digest} ${credential ?? ''}`;
