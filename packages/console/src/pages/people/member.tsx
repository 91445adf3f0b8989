// One member: role, passkeys, grants, an access check, suspension and removal.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { type Member, Who } from '../../organisation/people';
import { at, confirmed, forget, forgetGone, here, useList, useRead, vault } from '../../requests/api';
import { useChange } from '../../requests/seen';
import { may, mayEverywhere } from '../../session/may';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
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

/** Credentials that a removed or suspended member created and that stay valid. */
function Left({ title, removed, onClose }: { title: string; removed: Removed; onClose: () => void }) {
  return (
    <Dialog
      title={title}
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

const WithCredentials = (props: { checked: boolean; onChecked: (checked: boolean) => void }) => (
  <Checkbox
    label="Also revoke credentials they created"
    hint="Programs that use them will fail. Otherwise the credentials stay valid, and you get a list of them."
    {...props}
  />
);

function SuspendMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const [withCredentials, setWithCredentials] = useState(false);
  const [left, setLeft] = useState<Removed | null>(null);
  const problems = useProblems();
  const changing = useChange(member);
  const suspend = async () => {
    const { data } = await changing((header) =>
      confirmed(() =>
        vault().api.POST('/orgs/{org_id}/members/{id}/suspend', {
          params: {
            path: { ...here(), id: member.id },
            query: { revoke_credentials: withCredentials ? 'true' : 'false' },
            header,
          },
        }),
      ),
    );
    await forget('members', 'devices', ...(withCredentials ? (['credentials'] as const) : []));
    if (!withCredentials && data.credentials.length) return setLeft(data);
    tell(`${member.name} suspended`);
    onClose();
  };
  if (left) return <Left title={`${member.name} suspended`} removed={left} onClose={onClose} />;
  return (
    <Dialog title={`Suspend ${member.name}?`} onClose={onClose}>
      <Form action="Suspend member" danger onSubmit={suspend} onCancel={onClose} problems={problems}>
        <p>
          <strong>{member.name}</strong> ({member.email}) can do nothing until somebody resumes them. Their
          sessions, share links, decisions and devices end immediately and for good. Role, teams, grants and
          passkeys are kept.
        </p>
        <WithCredentials checked={withCredentials} onChecked={setWithCredentials} />
      </Form>
    </Dialog>
  );
}

function ResumeMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const problems = useProblems();
  const changing = useChange(member);
  const resume = async () => {
    await changing((header) =>
      confirmed(() => vault().api.POST('/orgs/{org_id}/members/{id}/resume', at(member.id, header))),
    );
    await forget('members');
    tell(`${member.name} resumed`);
    onClose();
  };
  return (
    <Dialog title={`Resume ${member.name}?`} onClose={onClose}>
      <Form action="Resume member" onSubmit={resume} onCancel={onClose} problems={problems}>
        <p>
          <strong>{member.name}</strong> gets the role {labelOfRole(member.role)}, teams, grants and passkeys
          from before, and signs in again. For seven days you cannot decide each other's requests.
        </p>
      </Form>
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
  if (removed) return <Left title={`${member.name} removed`} removed={removed} onClose={leave} />;
  return (
    <Dialog title={`Remove ${member.name}?`} onClose={onClose}>
      <Form action="Remove member" danger onSubmit={remove} onCancel={onClose} problems={problems}>
        <p>
          This immediately removes the sessions, passkeys, grants and share links of{' '}
          <strong>{member.name}</strong> ({member.email}). Their actions stay in the audit log.
        </p>
        <WithCredentials checked={withCredentials} onChecked={setWithCredentials} />
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
  ...(member.suspended_at === null
    ? []
    : [['Suspended', <Time at={member.suspended_at} />] as [string, preact.ComponentChildren]]),
  ['Joined', <Time at={member.enrolled_at} none="Not yet" />],
  ['Invited by', <Who id={member.invited_by} />],
  ['ID', <Id id={member.id} />],
];

function Unlink({ member, onClose }: { member: Member; onClose: () => void }) {
  const { rows: links } = useList<components['schemas']['SsoLink']>(
    ['members', 'links', member.id],
    (cursor, signal) =>
      vault().api.GET('/orgs/{org_id}/members/{id}/links', {
        params: { path: { ...here(), id: member.id }, query: { limit: 100, cursor } },
        signal,
      }),
  );
  const unlink = async () => {
    await confirmed(() => vault().api.DELETE('/orgs/{org_id}/members/{id}/links', at(member.id)));
    await forget('members');
    tell(`${member.name} links anew at the next sign-in`);
  };
  return (
    <Confirm
      title={`Free ${member.name} from single sign-on?`}
      action="Free links"
      onConfirm={unlink}
      onClose={onClose}
    >
      <p>
        Sessions that <strong>{member.name}</strong> began by single sign-on end immediately. At the next
        sign-in as {member.email}, they are linked anew.
      </p>
      {links.length > 0 && (
        <ul class="bullets">
          {links.map(({ id, issuer, subject, live }) => (
            <li key={id}>
              <code>{subject}</code> of {issuer}
              {!live && ', of a deleted connection'}
            </li>
          ))}
        </ul>
      )}
    </Confirm>
  );
}

type Doing = 'edit' | 'suspend' | 'resume' | 'remove' | 'link' | 'unlink' | null;

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
  const [, go] = useLocation();
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
                may('tokens:read') && { label: 'Blast radius', onSelect: () => go(`/blast/${id}`) },
                me.value?.role === 'owner' &&
                  member.suspended_at === null && {
                    label: 'New enrolment link',
                    onSelect: () => setDoing('link'),
                  },
                me.value?.role === 'owner' && {
                  label: 'Free links of single sign-on',
                  onSelect: () => setDoing('unlink'),
                },
                mayEverywhere('members:write') &&
                  (member.suspended_at === null
                    ? { label: 'Suspend member', danger: true, onSelect: () => setDoing('suspend') }
                    : { label: 'Resume member', onSelect: () => setDoing('resume') }),
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
      {doing === 'suspend' && <SuspendMember member={member} onClose={end} />}
      {doing === 'resume' && <ResumeMember member={member} onClose={end} />}
      {doing === 'remove' && <RemoveMember member={member} onClose={end} />}
      {doing === 'unlink' && <Unlink member={member} onClose={end} />}
      {doing === 'link' && <NewLink member={member} onClose={end} />}
    </>
  );
}
