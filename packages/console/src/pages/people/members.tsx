// The members of the organisation, with role and enrolment status.
import { UserPlus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { useParameter } from '../../navigation/router';
import type { Member } from '../../organisation/people';
import { here, useList, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { MakeButton } from '../../ui/controls/make-button';
import { StatusFilter } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import type { Column } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time, type Tone } from '../../ui/parts';
import { InviteMember } from './invite';
import { labelOfRole, RolesDialog } from './roles';
import '../../styles/access.css';
import { mayEverywhere } from '../../session/may';

const tones: Record<Member['status'], Tone> = {
  active: 'good',
  invited: 'accent',
  lapsed: 'warn',
  suspended: 'bad',
};
const words: Record<Member['status'], string> = {
  active: 'active',
  invited: 'invited',
  lapsed: 'link ended',
  suspended: 'suspended',
};

/** Whom a provider made, nobody invited. */
const isMade = ({ status, enrolment }: Member) => status === 'lapsed' && !enrolment;

export const MemberStatus = ({ member }: { member: Member }) => (
  <Badge tone={tones[member.status]}>{isMade(member) ? 'not signed in yet' : words[member.status]}</Badge>
);

const columns: Column<Member>[] = [
  {
    label: 'Name',
    width: 'minmax(11.5rem, 2fr)',
    cell: ({ name, email }) => (
      <span class="grow">
        <span class="truncate">
          {name} <span class="dim email">{email}</span>
        </span>
        <span class="sub truncate">{email}</span>
      </span>
    ),
  },
  {
    label: 'Role',
    width: 'minmax(7rem, 1fr)',
    cell: ({ role, environments }) => (
      <span class="grow">
        {labelOfRole(role)}
        {environments && <span class="sub truncate">{environments.join(', ')}</span>}
      </span>
    ),
  },
  { label: 'Status', width: '8rem', wide: true, cell: (member) => <MemberStatus member={member} /> },
  {
    label: 'Passkeys',
    width: '6rem',
    wide: true,
    roomy: true,
    cell: ({ passkeys }) => <span class={passkeys ? undefined : 'dim'}>{passkeys || 'None'}</span>,
  },
  {
    label: 'Joined',
    width: '9rem',
    wide: true,
    cell: ({ enrolled_at }) => <Time at={enrolled_at} none="Not yet" />,
  },
];

export default function Members() {
  const [status, setStatus] = useParameter('status');
  const [open, setOpen] = useState<'invite' | 'roles' | null>(null);
  const list = useList<Member>(['members', 'list', status], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/members', {
      params: {
        path: here(),
        query: { limit: 100, cursor, status: (status || undefined) as Member['status'] | undefined },
      },
      signal,
    }),
  );
  return (
    <>
      <PageHead
        title="Members"
        lead="People who sign in. Each has a role, and grants can add access to secrets."
      >
        <Button onPress={() => setOpen('roles')}>Roles</Button>
        {mayEverywhere('members:write') && (
          <MakeButton icon={UserPlus} onMake={() => setOpen('invite')}>
            Invite member
          </MakeButton>
        )}
      </PageHead>
      <StatusFilter
        value={status}
        onValue={setStatus}
        choices={{ active: 'Active', invited: 'Invited', lapsed: 'Link ended', suspended: 'Suspended' }}
      />
      <Listing
        list={list}
        label="Members"
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/members/${id}`}
        empty={<Empty title="No members">No member has this status.</Empty>}
      />
      {open === 'invite' && <InviteMember onClose={() => setOpen(null)} />}
      {open === 'roles' && <RolesDialog onClose={() => setOpen(null)} />}
    </>
  );
}
