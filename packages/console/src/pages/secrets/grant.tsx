// The dialog that shares a secret with a member, a team or an agent. Invariant: the default is read access
// for 30 days.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useMembers, useTeams } from '../../organisation/people';
import { forget, here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';
import { me } from '../../session/session';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { RadioField } from '../../ui/forms/options';
import { tell } from '../../ui/toast';
import type { Secret } from './secret';

const DAY = 86_400;
const LIFETIMES = [
  { value: String(DAY), label: '1 day' },
  { value: String(7 * DAY), label: '7 days' },
  { value: String(30 * DAY), label: '30 days' },
  { value: String(365 * DAY), label: '1 year' },
  { value: '', label: 'Never' },
];

/** The possible grantees of a secret, as `type id`. */
function useGrantees() {
  const { members } = useMembers();
  const { teams } = useTeams();
  const agents = useRead(
    ['credentials', 'agents', 'grantees'],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/agent-credentials', {
        params: { path: here(), query: { limit: 100 } },
        signal,
      }),
    may('tokens:read'),
  );
  return [
    { value: '', label: 'Choose a team, member or agent' },
    ...teams.map(({ id, name }) => ({ value: `team ${id}`, label: `Team ${name}` })),
    ...members
      .filter(({ id }) => id !== me.value?.id)
      .map(({ id, name, email }) => ({ value: `member ${id}`, label: `${name} (${email})` })),
    ...(agents.data?.data ?? []).map(({ id, name }) => ({ value: `agent ${id}`, label: `Agent ${name}` })),
  ];
}

export function GrantSecret({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const [grantee, setGrantee] = useState('');
  const [permission, setPermission] = useState<'read' | 'write'>('read');
  const [lifetime, setLifetime] = useState(String(30 * DAY));
  const choices = useGrantees();
  const problems = useProblems();
  const share = async () => {
    const [type, id = ''] = grantee.split(' ') as ['member' | 'team' | 'agent', string];
    await vault().api.POST('/orgs/{org_id}/secrets/{id}/share', {
      params: { path: { ...here(), id: secret.id } },
      body: {
        kind: 'grant',
        grantee: { type, id },
        permission,
        ...(lifetime && { expires_at: new Date(Date.now() + Number(lifetime) * 1000).toISOString() }),
      },
    });
    await forget('secrets', 'grants');
    tell(`${secret.name} shared`);
    onClose();
  };
  return (
    <Dialog
      title={`Share ${secret.name}`}
      lead="Gives access to this secret, including future versions."
      onClose={onClose}
      dirty={grantee !== ''}
    >
      {!may('members:read') ? (
        <p class="note">
          Your role cannot see members and teams. Ask an owner or admin to share it with them, or share it
          with a link.
        </p>
      ) : choices.length === 1 ? (
        <p class="note">
          There is nobody to share with yet. <Link href="/members">Invite a member</Link> first.
        </p>
      ) : null}
      <Form action="Share secret" onSubmit={share} onCancel={onClose} problems={problems} disabled={!grantee}>
        <SelectField
          label="Share with"
          value={grantee}
          onValue={setGrantee}
          choices={choices}
          error={problems.of('grantee')}
        />
        <RadioField
          label="Permission"
          value={permission}
          onValue={(value) => setPermission(value as 'read' | 'write')}
          error={problems.of('permission')}
          options={[
            { value: 'read', label: 'Read', hint: 'Read its value.' },
            { value: 'write', label: 'Write', hint: 'Also change and rotate it.' },
          ]}
        />
        <SelectField
          label="Expires after"
          value={lifetime}
          onValue={setLifetime}
          choices={LIFETIMES}
          error={problems.of('expires_at')}
        />
      </Form>
    </Dialog>
  );
}
