import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import type { Team } from '../../organisation/people';
import { at, forget, here, useList, vault } from '../../requests/api';
import { useEdit } from '../../requests/seen';
import { may } from '../../session/may';
import { MakeButton } from '../../ui/controls/make-button';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Listing } from '../../ui/lists/listing';
import { Empty, PageHead, Time } from '../../ui/parts';

/** Creates a team, or renames one. */
export function TeamForm({ team, onClose }: { team?: Team; onClose: () => void }) {
  const { draft, setDraft, isSame, changing } = useEdit(team, (of) => ({ name: of?.name ?? '' }));
  const problems = useProblems();
  const [, go] = useLocation();
  const save = async () => {
    const { data } = team
      ? await changing((header) =>
          vault().api.PATCH('/orgs/{org_id}/teams/{id}', { ...at(team.id, header), body: draft }),
        )
      : await vault().api.POST('/orgs/{org_id}/teams', { params: { path: here() }, body: draft });
    await forget('teams');
    onClose();
    if (!team) go(`/teams/${data.id}`);
  };
  return (
    <Dialog title={team ? `Rename ${team.name}` : 'New team'} onClose={onClose} dirty={!isSame}>
      <Form
        action={team ? 'Rename team' : 'Create team'}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
      >
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => setDraft({ name })}
          error={problems.of('name')}
          required
          maxLength={255}
        />
      </Form>
    </Dialog>
  );
}

export default function Teams() {
  const [creating, setCreating] = useState(false);
  const list = useList<Team>(['teams', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/teams', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );
  const add = may('teams:write') && <MakeButton onMake={() => setCreating(true)}>New team</MakeButton>;
  return (
    <>
      <PageHead title="Teams" lead="Groups of members that share grants and can approve requests.">
        {add}
      </PageHead>
      <Listing
        list={list}
        label="Teams"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/teams/${id}`}
        columns={[
          {
            label: 'Name',
            width: 'minmax(10rem, 1fr)',
            cell: ({ name }) => <span class="truncate">{name}</span>,
          },
          { label: 'Created', width: '10rem', cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={<Empty title="No teams yet">With a team, you grant access once for all of its members.</Empty>}
      />
      {creating && <TeamForm onClose={() => setCreating(false)} />}
    </>
  );
}
