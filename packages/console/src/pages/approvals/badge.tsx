// The number of requests that wait for the signed-in member, beside Approvals in the navigation.
import type { components } from '@secrets-vault/client';
import { here, streamed, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';

export type Approval = components['schemas']['Approval'];

/** How often a member who sees no events of approvals asks again, in milliseconds. */
const EVERY = 60_000;

export function WaitingBadge() {
  const { data } = useRead(
    ['approvals', 'waiting'],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/approvals', {
        params: { path: here(), query: { waiting_for: 'me', limit: 100 } },
        signal,
      }),
    may('approvals:decide'),
    // The stream tells of approvals only those who see all events, and not a role that is limited to
    // environments.
    () => streamed.peek() !== 'all' && EVERY,
  );
  const count = data?.data.length ?? 0;
  if (!count) return null;
  return (
    <span class="count attention">
      {count}
      {data?.has_more && '+'} <span class="unseen">waiting for you</span>
    </span>
  );
}
