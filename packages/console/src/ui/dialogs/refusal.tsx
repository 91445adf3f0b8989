// Why a change was not made: an error, the approval that it waits for, or what someone else changed
// meanwhile. Invariant: a held change says that nothing was done, and what to do once the request is decided.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { Link } from 'wouter-preact';
import { ChangedError } from '../../changes/changed-error';
import { here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';
import { ErrorNote, intoView } from '../parts';
import { Changed } from './changed';

/**
 * The current status of an approval. The event stream reports a decision; a role that cannot read approvals
 * sees none.
 */
const useStatus = (id: string): string | undefined =>
  useRead(
    ['approvals', 'one', id],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/approvals/{id}', { params: { path: { ...here(), id } }, signal }),
    Boolean(id) && may('approvals:read'),
  ).data?.status;

const CLOSED = ['rejected', 'expired', 'cancelled'];

/**
 * A note about an action that a policy holds, with a link to the request. It changes when the request is
 * decided.
 */
export function Held({ error: { approval, message } }: { error: ApprovalRequiredError }) {
  const status = useStatus(approval.id ?? '');
  const link = <Link href={`/approvals/${approval.id}`}>View request</Link>;
  if (status === 'approved')
    return (
      <p class="note good" role="status">
        <strong>Approved.</strong> Do this again now to complete it. {link}
      </p>
    );
  return (
    <p ref={intoView} class="note warn" role="alert">
      {status && CLOSED.includes(status) ? (
        <>
          <strong>This request is {status}.</strong> Nothing was done. {link}
        </>
      ) : (
        <>
          <strong>{message}</strong> Do it again once it is approved. {link}
        </>
      )}
    </p>
  );
}

export function Refusal({ error }: { error: unknown }) {
  if (error instanceof ApprovalRequiredError) return <Held error={error} />;
  if (error instanceof ChangedError) return <Changed error={error} />;
  return error ? <ErrorNote error={error} /> : null;
}
