// The approval inbox. Requests that wait for the signed-in member come first.
import { Link } from 'wouter-preact';
import { useParameter } from '../../navigation/router';
import { here, useList, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Segments } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import type { Column } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time, type Tone } from '../../ui/parts';
import type { Approval } from './badge';

const tones: Record<Approval['status'], Tone> = {
  pending: 'warn',
  approved: 'good',
  rejected: 'bad',
  cancelled: 'plain',
  used: 'plain',
  expired: 'plain',
  void: 'plain',
};

export const ApprovalStatus = ({ status }: { status: Approval['status'] }) => (
  <Badge tone={tones[status]}>{status}</Badge>
);

const columns: Column<Approval>[] = [
  {
    label: 'Request',
    width: 'minmax(14rem, 3fr)',
    cell: ({ summary, created_at, approvals, required }) => (
      <span class="grow">
        <span class="truncate" title={summary}>
          {summary}
        </span>
        <span class="sub">
          <Time at={created_at} /> · {approvals.length} of {required}
        </span>
      </span>
    ),
  },
  { label: 'Status', width: '6.5rem', cell: ({ status }) => <ApprovalStatus status={status} /> },
  {
    label: 'Approved by',
    width: '6.5rem',
    wide: true,
    cell: ({ approvals, required }) => (
      <span>
        {approvals.length} of {required}
      </span>
    ),
  },
  { label: 'Requested', width: '8.5rem', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    label: 'Expires',
    width: '8.5rem',
    wide: true,
    cell: ({ status, expires_at }) =>
      status === 'pending' || status === 'approved' ? (
        <Time at={expires_at} />
      ) : (
        <span class="dim">Closed</span>
      ),
  },
];

const views = ['pending', 'approved', 'rejected', 'used', 'expired', 'void'] as const;
const nothing: Record<string, [title: string, words: string]> = {
  me: ['Nothing is waiting for you', 'Requests that need your approval appear here.'],
  pending: [
    'No pending requests',
    'A request is pending until enough members approve it, or one rejects it.',
  ],
};

export default function Approvals() {
  const [chosen, choose] = useParameter('status');
  const view = chosen || (may('approvals:decide') ? 'me' : 'pending');
  const status = views.find((one) => one === view);
  const list = useList<Approval>(['approvals', 'list', view], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/approvals', {
      params: {
        path: here(),
        query: { limit: 100, cursor, status, waiting_for: view === 'me' ? 'me' : undefined },
      },
      signal,
    }),
  );
  const [title, words] = nothing[view] ?? ['No requests', 'No request has this status.'];
  return (
    <>
      <PageHead
        title="Approvals"
        lead="Requests that a policy holds until they are approved. Nothing happens before then."
      />
      <search class="filters">
        <Segments
          label="Filter requests"
          value={view}
          onValue={choose}
          choices={[
            ...(may('approvals:decide') ? [{ value: 'me', label: 'Waiting for me' }] : []),
            { value: 'pending', label: 'Pending' },
            { value: 'approved', label: 'Approved' },
            { value: 'used', label: 'Used' },
            { value: 'rejected', label: 'Rejected' },
            { value: 'expired', label: 'Expired' },
            { value: 'all', label: 'All' },
          ]}
        />
      </search>
      <Listing
        list={list}
        label="Approvals"
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/approvals/${id}`}
        empty={
          <Empty
            title={title}
            action={
              may('policies:read') && (
                <Link href="/policies" class="button plain">
                  View policies
                </Link>
              )
            }
          >
            {words}
          </Empty>
        }
      />
    </>
  );
}
