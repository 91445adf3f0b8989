// Why a change was not made: an error, or the approval that it waits for. Invariant: a held change says that nothing was done, and what to
// do once the request is decided.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { Link } from 'wouter-preact';
import { here, useRead, vault } from '../api';
import { may } from '../may';
import { ErrorNote } from './parts';

/** The current status of an approval. The event stream reports a decision; a role that cannot read approvals sees none. */
const useStatus = (id: string): string | undefined =>
  useRead(
    ['approvals', 'one', id],
    (signal) => vault().api.GET('/orgs/{org_id}/approvals/{id}', { params: { path: { ...here(), id } }, signal }),
    Boolean(id) && may('approvals:read'),
  ).data?.status;

const CLOSED = ['rejected', 'expired', 'cancelled'];

/** A note about an action that a policy holds, with a link to the request. It changes when the request is decided. */
export function Held({ error: { approval } }: { error: ApprovalRequiredError }) {
  const status = useStatus(approval.id ?? '');
  const link = <Link href={`/approvals/${approval.id}`}>View request</Link>;
  if (status === 'approved')
    return (
      <p class="note good" role="status">
        <strong>Approved.</strong> Do this again now to complete it. {link}
      </p>
    );
  return (
    <p class="note warn" role="alert">
      {status && CLOSED.includes(status) ? (
        <>
          <strong>This request is {status}.</strong> Nothing was done. {link}
        </>
      ) : (
        <>
          <strong>A policy requires approval for this.</strong> Nothing is done yet. Do it again once it is approved. {link}
        </>
      )}
    </p>
  );
}

export const Refusal = ({ error }: { error: unknown }) =>
  error instanceof ApprovalRequiredError ? <Held error={error} /> : error ? <ErrorNote error={error} /> : null;
