// The dialog that grants a member or a team access to secrets. Invariant: the default is read access to one
// environment for 30 days.
import { useState } from 'preact/hooks';
import { linesOf } from '../../globs';
import { useMembers, useTeams } from '../../organisation/people';
import { forget, here, vault } from '../../requests/api';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { RadioField } from '../../ui/forms/options';
import { tell, warn } from '../../ui/toast';
import { LIFETIMES, leastReach, PlaceFields } from '../credentials/reach';

type Grantee = { type: 'member' | 'team'; id: string };

export function NewGrant({ grantee, onClose }: { grantee?: Grantee; onClose: () => void }) {
  const [reach, setReach] = useState(leastReach);
  const [first] = useState(() => JSON.stringify(reach));
  // Once per dialog: a policy's approval is valid only for exactly the same body.
  const [begun] = useState(() => Date.now());
  const [permission, setPermission] = useState<'read' | 'write'>('read');
  const [id, setId] = useState(grantee?.id ?? '');
  const { members } = useMembers();
  const { teams } = useTeams();
  const problems = useProblems();
  const change = (part: Partial<typeof reach>) => setReach((before) => ({ ...before, ...part }));
  const save = async () => {
    const names = linesOf(reach.names);
    const { data } = await vault().api.POST('/orgs/{org_id}/grants', {
      params: { path: here() },
      body: {
        grantee: { type: id.startsWith('team_') ? 'team' : 'member', id },
        permission,
        ...(!reach.isEverywhere && { environments: reach.environments }),
        ...(names.length && { secrets: names }),
        ...(reach.lifetime && { expires_at: new Date(begun + Number(reach.lifetime) * 1000).toISOString() }),
      },
    });
    await forget('grants', 'members', 'teams');
    if (data.warning) warn('Grant created', data.warning);
    else tell('Grant created');
    onClose();
  };
  return (
    <Dialog
      side
      title="New grant"
      lead="Gives access to secrets in addition to a role."
      onClose={onClose}
      dirty={JSON.stringify(reach) !== first}
    >
      <Form action="Create grant" onSubmit={save} onCancel={onClose} problems={problems} disabled={!id}>
        {!grantee && (
          <SelectField
            label="To"
            value={id}
            onValue={setId}
            error={problems.of('grantee')}
            choices={[
              { value: '', label: 'Choose a team or member' },
              ...teams.map((team) => ({ value: team.id, label: `Team ${team.name}` })),
              ...members.map((member) => ({ value: member.id, label: `${member.name} (${member.email})` })),
            ]}
          />
        )}
        <RadioField
          label="Permission"
          value={permission}
          onValue={(value) => setPermission(value as 'read' | 'write')}
          error={problems.of('permission')}
          options={[
            { value: 'read', label: 'Read', hint: 'See names and read values.' },
            { value: 'write', label: 'Write', hint: 'Also create, change and rotate.' },
          ]}
        />
        <PlaceFields reach={reach} change={change} problems={problems} />
        <SelectField
          label="Expires after"
          value={reach.lifetime}
          onValue={(lifetime) => change({ lifetime })}
          choices={[...LIFETIMES, { value: '', label: 'Never' }]}
          error={problems.of('expires_at')}
        />
      </Form>
    </Dialog>
  );
}
