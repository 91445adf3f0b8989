// The dialogs that invite and change a member. Invariant: an enrolment link is shown once, to the member who
// created it.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { changedOf } from '../../changes/merge';
import { environments } from '../../organisation/environments';
import type { Member } from '../../organisation/people';
import { at, confirmed, forget, here, vault } from '../../requests/api';
import { useEdit } from '../../requests/seen';
import { mayEverywhere } from '../../session/may';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, TextField } from '../../ui/forms/field';
import { Form, type Problems, useProblems } from '../../ui/forms/form';
import { ChecksField, RadioField } from '../../ui/forms/options';
import { tell } from '../../ui/toast';
import { OneTime } from '../../ui/values/one-time';
import { type Role, roles } from './roles';

interface Draft {
  name: string;
  email: string;
  role: Role;
  /** Where the role holds; null for all environments. */
  environments: string[] | null;
}

/** The environments of a role as a request has them. An owner is not limited to any. */
const boundsOf = ({ role, environments }: Draft): string[] | null => (role === 'owner' ? null : environments);

/** Where the role holds. */
const Where = ({ draft, change, problems }: FieldsProps) => (
  <div class="stack tight">
    {draft.environments && (
      <ChecksField
        label="Environments"
        value={draft.environments}
        onValue={(chosen) => change({ environments: chosen })}
        options={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
        error={problems.of('environments')}
      />
    )}
    <Checkbox
      label="All environments"
      hint="Including environments created later. Otherwise the role holds in the environments that you choose, and grants can add to it in others."
      checked={draft.environments === null}
      onChecked={(isAll) =>
        change({ environments: isAll ? null : environments.value.slice(0, 1).map(({ slug }) => slug) })
      }
    />
  </div>
);

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: Problems;
}

const Fields = ({ draft, change, problems }: FieldsProps) => (
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
    {mayEverywhere('members:write') && (
      <>
        <RadioField
          label="Role"
          value={draft.role}
          onValue={(role) => change({ role: role as Role })}
          options={roles}
          error={problems.of('role')}
        />
        {draft.role !== 'owner' && <Where draft={draft} change={change} problems={problems} />}
      </>
    )}
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
  const [draft, setDraft] = useState<Draft>({ name: '', email: '', role: 'viewer', environments: null });
  const [made, setMade] = useState<{ id: string; url: string } | null>(null);
  const problems = useProblems();
  const [, go] = useLocation();
  const invite = async () => {
    const { name, email, role } = draft;
    const bounds = boundsOf(draft);
    const body = { name, email, role, ...(bounds && { environments: bounds }) };
    const { data } = await confirmed(() =>
      vault().api.POST('/orgs/{org_id}/members', { params: { path: here() }, body }),
    );
    await forget('members');
    if (data.enrolment_url) setMade({ id: data.id, url: data.enrolment_url });
    else go(`/members/${data.id}`);
  };
  if (made)
    return <EnrolmentLink name={draft.name} url={made.url} onClose={() => go(`/members/${made.id}`)} />;
  return (
    <Dialog
      side
      title="Invite member"
      lead="You get a link to send to the member. The service does not send e-mail."
      onClose={onClose}
      dirty={draft.name !== '' || draft.email !== ''}
    >
      <Form action="Create invitation" onSubmit={invite} onCancel={onClose} problems={problems}>
        <Fields
          draft={draft}
          change={(part) => setDraft((before) => ({ ...before, ...part }))}
          problems={problems}
        />
      </Form>
    </Dialog>
  );
}

export function EditMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const { first, draft, setDraft, changing } = useEdit(
    member,
    ({ name, email, role, environments: bounds }): Draft => ({ name, email, role, environments: bounds }),
  );
  const problems = useProblems();
  const patch = changedOf(first, { ...draft, environments: boundsOf(draft) });
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    const { data } = await changing((header) =>
      confirmed(() =>
        vault().api.PATCH('/orgs/{org_id}/members/{id}', { ...at(member.id, header), body: patch }),
      ),
    );
    await forget('members');
    const hasMoved = patch.role || 'environments' in patch;
    // A link that somebody else has serves only for the role that they gave.
    const isLinkEnded = member.status === 'invited' && data.status === 'lapsed';
    tell(
      `${draft.name} saved`,
      isLinkEnded
        ? 'Their enrolment link no longer works. Create a new one.'
        : hasMoved
          ? 'The change applies from the next request.'
          : undefined,
    );
    onClose();
  };
  return (
    <Dialog side title={`Edit ${member.name}`} onClose={onClose} dirty={!isSame}>
      <Form action="Save changes" onSubmit={save} onCancel={onClose} problems={problems} disabled={isSame}>
        <Fields
          draft={draft}
          change={(part) => setDraft((before) => ({ ...before, ...part }))}
          problems={problems}
        />
      </Form>
    </Dialog>
  );
}
