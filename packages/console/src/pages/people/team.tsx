// One team: its members and grants.
import type { components } from '@secrets-vault/client';
import { UserMinus, UserPlus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Team, useMembers, Who } from '../../organisation/people';
import { at, forget, forgetGone, here, useList, useRead, vault } from '../../requests/api';
import { type Changing, useChange } from '../../requests/seen';
import { Button, IconButton } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Listing } from '../../ui/lists/listing';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Empty, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { Grants } from './grants';
import { TeamForm } from './teams';
import '../../styles/access.css';

type TeamMember = components['schemas']['TeamMember'];

function AddMember({ team, present, onClose }: { team: Team; present: TeamMember[]; onClose: () => void }) {
  const { members } = useMembers();
  const [id, setId] = useState('');
  const problems = useProblems();
  const changing = useChange(team);
  const absent = members.filter((member) => !present.some(({ member_id }) => member_id === member.id));
  const add = async () => {
    await changing((header) =>
      vault().api.POST('/orgs/{org_id}/teams/{id}/members', {
        ...at(team.id, header),
        body: { member_id: id },
      }),
    );
    await forget('teams', 'members');
    tell(`${members.find((member) => member.id === id)?.name} added to ${team.name}`);
    onClose();
  };
  return (
    <Dialog
      title={`Add to ${team.name}`}
      lead="The member gets the access of the team's grants from the next request."
      onClose={onClose}
    >
      <Form action="Add to team" onSubmit={add} onCancel={onClose} problems={problems} disabled={!id}>
        <SelectField
          label="Member"
          value={id}
          onValue={setId}
          error={problems.of('member_id')}
          choices={[
            { value: '', label: absent.length ? 'Choose a member' : 'Every member is in this team' },
            ...absent.map((member) => ({ value: member.id, label: `${member.name} (${member.email})` })),
          ]}
        />
      </Form>
    </Dialog>
  );
}

function People({ team }: { team: Team }) {
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<TeamMember | null>(null);
  const list = useList<TeamMember>(['teams', 'people', team.id], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/teams/{id}/members', {
      params: { path: { ...here(), id: team.id }, query: { limit: 100, cursor } },
      signal,
    }),
  );
  const remove = async ({ member_id, name }: TeamMember, changing: Changing) => {
    await changing((header) =>
      vault().api.DELETE('/orgs/{org_id}/teams/{id}/members/{member_id}', {
        params: { path: { ...here(), id: team.id, member_id }, header },
      }),
    );
    await forget('teams', 'members');
    tell(`${name} removed from ${team.name}`);
  };
  return (
    <section>
      <div class="row spaced">
        <h2 class="grow">Members</h2>
        <Button onPress={() => setAdding(true)}>
          <UserPlus size={16} aria-hidden="true" /> Add member
        </Button>
      </div>
      <Listing
        list={list}
        skeleton={3}
        label="Members of the team"
        keyOf={({ member_id }) => member_id}
        hrefOf={({ member_id }) => `/members/${member_id}`}
        columns={[
          {
            label: 'Name',
            width: 'minmax(9rem, 2fr)',
            cell: ({ name }) => <span class="truncate">{name}</span>,
          },
          { label: 'Added', width: '9rem', cell: ({ created_at }) => <Time at={created_at} /> },
          { label: 'By', width: '9rem', wide: true, cell: ({ added_by }) => <Who id={added_by} /> },
        ]}
        actions={(member) => (
          <IconButton label={`Remove ${member.name} from the team`} small onPress={() => setRemoving(member)}>
            <UserMinus size={15} />
          </IconButton>
        )}
        empty={<Empty title="No members yet">Members of the team get the access of its grants.</Empty>}
      />
      {adding && <AddMember team={team} present={list.rows} onClose={() => setAdding(false)} />}
      {removing && (
        <Confirm
          title={`Remove ${removing.name} from ${team.name}?`}
          action="Remove from team"
          resource={team}
          onConfirm={(changing) => remove(removing, changing)}
          onClose={() => setRemoving(null)}
        >
          <p>They lose the access of the team's grants from their next request. Their role is unchanged.</p>
        </Confirm>
      )}
    </section>
  );
}

export default function TeamPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const {
    data: team,
    error,
    isPending,
    refetch,
  } = useRead(['teams', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/teams/{id}', { ...at(id), signal }),
  );
  const [doing, setDoing] = useState<'rename' | 'delete' | null>(null);
  const [, go] = useLocation();
  if (error) return <Missing what="team" list={['/teams', 'Teams']} error={error} onRetry={refetch} />;
  if (isPending || !team) return <LoadingPage />;
  const remove = async (changing: Changing) => {
    await changing((header) => vault().api.DELETE('/orgs/{org_id}/teams/{id}', at(id, header)));
    tell(`${team.name} deleted`);
    go('/teams');
    forgetGone('teams', 'grants', 'members');
  };
  return (
    <>
      <Crumbs places={[['/teams', 'Teams']]} />
      <PageHead title={team.name}>
        <Button onPress={() => setDoing('rename')}>Rename</Button>
        <Menu
          label="More actions"
          actions={[{ label: 'Delete team', danger: true, onSelect: () => setDoing('delete') }]}
        />
      </PageHead>
      <div class="sections">
        <People team={team} />
        <section>
          <Grants grantee={{ type: 'team', id }} />
        </section>
      </div>
      {doing === 'rename' && <TeamForm team={team} onClose={() => setDoing(null)} />}
      {doing === 'delete' && (
        <Confirm
          title={`Delete ${team.name}?`}
          action="Delete team"
          word={team.name}
          resource={team}
          onConfirm={remove}
          onClose={() => setDoing(null)}
        >
          <p>
            This deletes the team and its grants. Its members lose the access of those grants from their next
            request. Policies with this team as approvers will have no approvers.
          </p>
        </Confirm>
      )}
    </>
  );
}
