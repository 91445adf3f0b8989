// One approval request: the operation, the requester, the reason, what approval means, and the decision.
import { Check } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Who } from '../../organisation/people';
import { at, useRead, vault } from '../../requests/api';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Badge, Facts, Id, PageHead, Time } from '../../ui/parts';
import { asked, Target } from './asked';
import type { Approval } from './badge';
import { decide } from './decide';
import { ApprovalStatus } from './list';
import { Shown } from './shown';
import '../../styles/access.css';
import { counted } from '../../counted';

/** Whether the signed-in member made the request, or is accountable for the credential that made it. */
const isOwn = ({ requester }: Approval): boolean =>
  requester.accountable.some(({ member_id }) => member_id === me.value?.id) || requester.id === me.value?.id;

function Waiting({ approval, onReject }: { approval: Approval; onReject: () => void }) {
  const missing = approval.required - approval.approvals.length;
  const isDecided = approval.decisions.some(({ member_id }) => member_id === me.value?.id);
  if (approval.may_decide && !isDecided)
    return (
      <section class="card stack" aria-label="Your decision">
        <p>
          {missing <= 1
            ? 'Yours is the last approval required. After it, exactly this request can be made once, within 24 hours.'
            : `This request needs ${missing} more approvals. Yours is one of them.`}{' '}
          You confirm with your passkey, unless you have in the last five minutes. A single rejection closes
          the request.
        </p>
        <div class="row">
          <Button kind="primary" decides onPress={() => decide(approval, 'approve')}>
            <Check size={16} aria-hidden="true" /> Approve
          </Button>
          <Button onPress={onReject}>Reject</Button>
        </div>
      </section>
    );
  return (
    <p class="note">
      {isDecided
        ? missing > 0
          ? `You have approved this request. ${counted(missing, 'more approval is', 'more approvals are')} required.`
          : 'You have approved this request. It also needs approval by the approvers of another policy.'
        : isOwn(approval)
          ? 'You made this request, or are accountable for the credential that did, so someone else must decide it.'
          : 'You cannot decide this request: you are not an approver, or you and the requester are connected: one of you invited or promoted the other in the last 7 days, directly or through others, or has a grant from the other.'}
    </p>
  );
}

const Approved = ({ approval }: { approval: Approval }) => (
  <div class="note good stack tight">
    <p>
      {isOwn(approval) ? (
        <>
          Do it again now to complete it, once: <Target target={approval.target} />.
        </>
      ) : (
        `${approval.requester.name ?? 'The requester'} can now do this once.`
      )}{' '}
      The approval expires <Time at={approval.expires_at} />.
    </p>
    <p class="small dim">
      A program repeats the request with the header <code>Approval-Id: {approval.id}</code>.
    </p>
  </div>
);

const factsOf = (approval: Approval): [string, ComponentChildren][] => {
  const { request, policies, id, created_at, ended_at, expires_at } = approval;
  return [
    ...asked(approval),
    ['IP address', [request.ip, request.place].filter(Boolean).join(' · ')],
    ['User agent', request.user_agent ?? <span class="dim">Unknown</span>],
    [
      'Request',
      <code>
        {request.method} {request.path}
      </code>,
    ],
    [
      'Policy',
      policies.map((policy) => (
        <span key={policy.id} class="block">
          <Link href={`/policies/${policy.id}`}>{policy.name}</Link>{' '}
          <span class="dim">needs {counted(policy.required, 'approval')}</span>{' '}
        </span>
      )),
    ],
    ['Requested', <Time at={created_at} />],
    [ended_at ? 'Closed' : 'Expires', <Time at={ended_at ?? expires_at} />],
    ['ID', <Id id={id} />],
  ];
};

const Decisions = ({ approval }: { approval: Approval }) =>
  approval.decisions.length ? (
    <section class="stack">
      <h2>Decisions</h2>
      <ul class="timeline">
        {approval.decisions.map(({ member_id, name, decision, time }) => (
          <li key={member_id}>
            <Badge tone={decision === 'approve' ? 'good' : 'bad'}>
              {decision === 'approve' ? 'approved' : 'rejected'}
            </Badge>
            <Who id={member_id} name={name} />
            <span class="dim">
              <Time at={time} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  ) : null;

export default function ApprovalPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const {
    data: approval,
    error,
    isPending,
    refetch,
  } = useRead(['approvals', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/approvals/{id}', { ...at(id), signal }),
  );
  const [asking, setAsking] = useState<'reject' | 'cancel' | null>(null);
  if (error)
    return <Missing what="approval" list={['/approvals', 'Approvals']} error={error} onRetry={refetch} />;
  if (isPending || !approval) return <LoadingPage />;
  const isOpen = approval.status === 'pending' || approval.status === 'approved';
  return (
    <>
      <Crumbs places={[['/approvals', 'Approvals']]} />
      <PageHead
        title={approval.summary}
        lead={
          <>
            <ApprovalStatus status={approval.status} /> {approval.approvals.length} of{' '}
            {counted(approval.required, 'approval')}
          </>
        }
      >
        {isOpen && isOwn(approval) && <Button onPress={() => setAsking('cancel')}>Cancel request</Button>}
      </PageHead>
      <div class="sections">
        {approval.status === 'pending' && (
          <Waiting approval={approval} onReject={() => setAsking('reject')} />
        )}
        {approval.status === 'approved' && <Approved approval={approval} />}
        <Shown shown={approval.shown} />
        <Decisions approval={approval} />
        <Facts items={factsOf(approval)} />
      </div>
      {asking && (
        <Confirm
          title={asking === 'reject' ? 'Reject this request?' : 'Cancel this request?'}
          action={asking === 'reject' ? 'Reject request' : 'Cancel request'}
          onConfirm={() => decide(approval, asking)}
          onClose={() => setAsking(null)}
        >
          <p>{approval.summary}</p>
          <p>
            {asking === 'reject'
              ? 'This closes the request for all approvers. '
              : 'Approvers can no longer decide it. '}
            The requester can make a new request.
          </p>
        </Confirm>
      )}
    </>
  );
}
