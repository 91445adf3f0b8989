// The decision on an approval request. Invariant: who approves confirms it with their passkey.
import { at, confirmed, forget, vault } from '../../requests/api';
import { tell } from '../../ui/toast';
import type { Approval } from './badge';

/** Approves, rejects or cancels a request, and invalidates the list. */
export async function decide(approval: Approval, verb: 'approve' | 'reject' | 'cancel'): Promise<void> {
  const { api } = vault();
  if (verb === 'approve')
    await confirmed(() => api.POST('/orgs/{org_id}/approvals/{id}/approve', at(approval.id)));
  else if (verb === 'reject') await api.POST('/orgs/{org_id}/approvals/{id}/reject', at(approval.id));
  else await api.POST('/orgs/{org_id}/approvals/{id}/cancel', at(approval.id));
  await forget('approvals');
  tell({ approve: 'Request approved', reject: 'Request rejected', cancel: 'Request cancelled' }[verb]);
}
