// The dialogs that invite and change a member. Invariant: an enrolment link is shown once, to the member who created it.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { at, confirmed, forget, here, vault } from '../../api';
import type { Member } from '../../people';
import { useChange } from '../../seen';
import { Dialog } from '../../ui/dialog';
import { TextField } from '../../ui/field';
import { Form, type Problems, useProblems } from '../../ui/form';
import { OneTime } from '../../ui/one-time';
import { RadioField } from '../../ui/options';
import { tell } from '../../ui/toast';
import { type Role, roles } from './roles';

interface Draft {
  name: string;
  email: string;
  role: Role;
}

const Fields = ({ draft, change, problems }: { draft: Draft; change: (part: Partial<Draft>) => void; problems: Problems }) => (
  <>
    <div class="columns">
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => change({ name })}
        error={problems.of('name')}
        required
        maxLength={255}
      />
      <TextField
        label="E-mail address"
        type="email"
        value={draft.email}
        onValue={(email) => change({ email })}
        error={problems.of('email')}
        required
        maxLength={254}
      />
    </div>
    <RadioField
      label="Role"
      value={draft.role}
      onValue={(role) => change({ role: role as Role })}
      options={roles}
      error={problems.of('role')}
    />
  </>
);

/** Shows the enrolment link of a member once. */
export const EnrolmentLink = ({ name, url, onClose }: { name: string; url: string; onClose: () => void }) => (
  <OneTime
    title={`Enrolment link for ${name}`}
    lead={`Send it to ${name} through a channel you trust. It works once, within 24 hours, and registers the passkey that ${name} signs in with.`}
    text={url}
    onClose={onClose}
    warning="This link is shown only once. The first person who opens it becomes this member. If it is lost, create a new one."
  />
);

export function InviteMember({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>({ name: '', email: '', role: 'viewer' });
  const [made, setMade] = useState<{ id: string; url: string } | null>(null);
  const problems = useProblems();
  const [, go] = useLocation();
  const invite = async () => {
    const { data } = await confirmed(() => vault().api.POST('/orgs/{org_id}/members', { params: { path: here() }, body: draft }));
    await forget('members');
    if (data.enrolment_url) setMade({ id: data.id, url: data.enrolment_url });
    else go(`/members/${data.id}`);
  };
  if (made) return <EnrolmentLink name={draft.name} url={made.url} onClose={() => go(`/members/${made.id}`)} />;
  return (
    <Dialog
      side
      title="Invite member"
      lead="You get a link to send to the member. The service does not send e-mail."
      onClose={onClose}
      dirty={draft.name !== '' || draft.email !== ''}
    >
      <Form action="Create invitation" onSubmit={invite} onCancel={onClose} problems={problems}>
        <Fields draft={draft} change={(part) => setDraft((before) => ({ ...before, ...part }))} problems={problems} />
      </Form>
    </Dialog>
  );
}

export function EditMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const [first] = useState<Draft>({ name: member.name, email: member.email, role: member.role });
  const changing = useChange(member);
  const [draft, setDraft] = useState(first);
  const problems = useProblems();
  const patch = Object.fromEntries(
    (Object.keys(first) as (keyof Draft)[]).filter((key) => draft[key] !== first[key]).map((key) => [key, draft[key]]),
  );
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    await changing((header) =>
      confirmed(() => vault().api.PATCH('/orgs/{org_id}/members/{id}', { ...at(member.id, header), body: patch })),
    );
    await forget('members');
    tell(`${draft.name} saved`, patch.role ? 'The new role applies from the next request.' : undefined);
    onClose();
  };
  return (
    <Dialog side title={`Edit ${member.name}`} onClose={onClose} dirty={!isSame}>
      <Form action="Save changes" onSubmit={save} onCancel={onClose} problems={problems} disabled={isSame}>
        <Fields draft={draft} change={(part) => setDraft((before) => ({ ...before, ...part }))} problems={problems} />
      </Form>
    </Dialog>
  );
}
