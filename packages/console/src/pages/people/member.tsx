// One member: role, passkeys, grants, an access check, and removal.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { at, confirmed, forget, forgetGone, here, useRead, vault } from '../../api';
import { may, mayEverywhere } from '../../may';
import { type Member, Who } from '../../people';
import { useChange } from '../../seen';
import { me } from '../../session';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Checkbox } from '../../ui/field';
import { Form, useProblems } from '../../ui/form';
import { Menu } from '../../ui/menu';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Badge, Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { nameOfKind } from '../credentials/words';
import { Grants } from './grants';
import { EditMember, EnrolmentLink } from './invite';
import { MayThey } from './may';
import { MemberStatus } from './members';
import { Passkeys } from './passkeys';
import { labelOfRole } from './roles';
import '../../styles/access.css';

type Removed = components['schemas']['Removed'];

/** Credentials that a removed member created and that stay valid. */
function Left({ name, removed, onClose }: { name: string; removed: Removed; onClose: () => void }) {
  return (
    <Dialog
      title={`${name} removed`}
      lead="They created these credentials, which still work. Revoke any that are no longer needed."
      onClose={onClose}
    >
      <ul class="timeline">
        {removed.credentials.map(({ kind, id, name: credential }) => (
          <li key={id}>
            <Badge>{nameOfKind(kind)}</Badge>
            <Link href={`/credentials/${id}`} class="grow truncate">
              {credential ?? id}
            </Link>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const [withCredentials, setWithCredentials] = useState(false);
  const [removed, setRemoved] = useState<Removed | null>(null);
  const problems = useProblems();
  const changing = useChange(member);
  const [, go] = useLocation();
  const leave = () => {
    go('/members');
    forgetGone('members', 'credentials', 'grants', 'teams');
  };
  const remove = async () => {
    const { data } = await changing((header) =>
      confirmed(() =>
        vault().api.DELETE('/orgs/{org_id}/members/{id}', {
          params: {
            path: { ...here(), id: member.id },
            query: { revoke_credentials: withCredentials ? 'true' : 'false' },
            header,
          },
        }),
      ),
    );
    if (!withCredentials && data.credentials.length) return setRemoved(data);
    tell(
      `${member.name} removed`,
      data.credentials.length
        ? `${data.credentials.length} of their credentials were revoked too.`
        : undefined,
    );
    leave();
  };
  if (removed) return <Left name={member.name} removed={removed} onClose={leave} />;
  return (
    <Dialog title={`Remove ${member.name}?`} onClose={onClose}>
      <Form action="Remove member" danger onSubmit={remove} onCancel={onClose} problems={problems}>
        <p>
          This immediately removes the sessions, passkeys, grants and share links of{' '}
          <strong>{member.name}</strong> ({member.email}). Their actions stay in the audit log.
        </p>
        <Checkbox
          label="Also revoke credentials they created"
          hint="Programs that use them will fail. Otherwise the credentials stay valid, and you get a list of them."
          checked={withCredentials}
          onChecked={setWithCredentials}
        />
      </Form>
    </Dialog>
  );
}

function NewLink({ member, onClose }: { member: Member; onClose: () => void }) {
  const [url, setUrl] = useState<string | null>(null);
  const problems = useProblems();
  const changing = useChange(member);
  const make = async () => {
    const { data } = await changing((header) =>
      confirmed(() => vault().api.POST('/orgs/{org_id}/members/{id}/enrolments', at(member.id, header))),
    );
    await forget('members');
    setUrl(data.enrolment_url);
  };
  if (url) return <EnrolmentLink name={member.name} url={url} onClose={onClose} />;
  return (
    <Dialog title={`New enrolment link for ${member.name}`} onClose={onClose}>
      <Form action="Create link" onSubmit={make} onCancel={onClose} problems={problems}>
        <p>
          For a member who lost their passkeys or whose link expired. Anyone who opens the link can sign in as{' '}
          <strong>{member.name}</strong>. Existing passkeys stay valid. Earlier links stop working.
        </p>
      </Form>
    </Dialog>
  );
}

const factsOf = (member: Member): [string, preact.ComponentChildren][] => [
  ['E-mail address', member.email],
  ['Role', labelOfRole(member.role)],
  ['Environments', member.environments?.join(', ') ?? 'All'],
  ['Joined', <Time at={member.enrolled_at} none="Not yet" />],
  ['Invited by', <Who id={member.invited_by} />],
  ['ID', <Id id={member.id} />],
];

type Doing = 'edit' | 'remove' | 'link' | null;

export default function MemberPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const {
    data: member,
    error,
    isPending,
    refetch,
  } = useRead(['members', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/members/{id}', { ...at(id), signal }),
  );
  const [doing, setDoing] = useState<Doing>(null);
  const end = () => setDoing(null);
  if (error) return <Missing what="member" list={['/members', 'Members']} error={error} onRetry={refetch} />;
  if (isPending || !member) return <LoadingPage />;
  return (
    <>
      <Crumbs places={[['/members', 'Members']]} />
      <PageHead
        title={member.name}
        lead={
          <>
            <MemberStatus member={member} /> {me.value?.id === id && <Badge tone="accent">you</Badge>}
          </>
        }
      >
        {may('members:write') && (
          <>
            <Button onPress={() => setDoing('edit')}>Edit</Button>
            <Menu
              label="More actions"
              actions={[
                me.value?.role === 'owner' && {
                  label: 'New enrolment link',
                  onSelect: () => setDoing('link'),
                },
                mayEverywhere('members:write') && {
                  label: 'Remove member',
                  danger: true,
                  onSelect: () => setDoing('remove'),
                },
              ]}
            />
          </>
        )}
      </PageHead>
      <div class="sections">
        <Facts items={factsOf(member)} />
        <MayThey member={member} />
        <section>
          <Grants grantee={{ type: 'member', id }} />
        </section>
        <Passkeys member={member} />
      </div>
      {doing === 'edit' && <EditMember member={member} onClose={end} />}
      {doing === 'remove' && <RemoveMember member={member} onClose={end} />}
      {doing === 'link' && <NewLink member={member} onClose={end} />}
    </>
  );
}
