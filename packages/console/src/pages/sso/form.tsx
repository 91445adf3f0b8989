// The dialog that makes or changes a connection to an identity provider. Invariant: a client secret is sent,
// and never shown.
import { changedOf } from '../../changes/merge';
import { linesOf } from '../../globs';
import { environments } from '../../organisation/environments';
import { useTeams } from '../../organisation/people';
import { at, confirmed, forget, here, vault } from '../../requests/api';
import { useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, type Problems, useProblems } from '../../ui/forms/form';
import { ChecksField } from '../../ui/forms/options';
import { tell } from '../../ui/toast';
import { type Connection, kinds, useDomains } from './kinds';
import { type Mapping, Mappings } from './mappings';

const ROLES = ['viewer', 'auditor', 'developer', 'admin'] as const;
type GivenRole = (typeof ROLES)[number];
const roleChoices = ROLES.map((value) => ({ value, label: value }));

const draftOf = (row?: Connection) => ({
  kind: (row?.kind ?? 'oidc') as 'oidc' | 'saml',
  name: row?.name ?? '',
  issuer: row?.issuer ?? '',
  client_id: row?.client_id ?? '',
  client_secret: '',
  scopes: row?.scopes.join('\n') ?? '',
  groups_claim: row?.groups_claim ?? '',
  metadata_xml: '',
  metadata_url: '',
  subject_attribute: row?.subject_attribute ?? '',
  domains: row?.domains ?? [],
  jit: row?.jit ?? false,
  enforce: row?.enforce ?? false,
  default_role: (row?.default_role ?? 'viewer') as GivenRole,
  default_environments: row?.default_environments ?? null,
  roles: (row?.role_mappings ?? []).map(({ group, role }): Mapping => ({ group, gives: role })),
  teams: (row?.team_mappings ?? []).map(({ group, team_id }): Mapping => ({ group, gives: team_id })),
});
type Draft = ReturnType<typeof draftOf>;

/** What a draft says of the provider, in the format of the API. */
function providerOf(draft: Draft) {
  const { kind, issuer, client_id, client_secret, scopes, metadata_xml, metadata_url, subject_attribute } =
    draft;
  return kind === 'saml'
    ? {
        ...(metadata_xml && { metadata_xml }),
        ...(metadata_url && { metadata_url }),
        subject_attribute: subject_attribute || null,
      }
    : {
        issuer,
        client_id,
        ...(client_secret && { client_secret }),
        ...(linesOf(scopes).length > 0 && { scopes: linesOf(scopes) }),
      };
}

/** The draft in the format of the API. A mapping keeps its environments while its group and role stay. */
function bodyOf(draft: Draft, row?: Connection) {
  const { name, groups_claim, domains, jit, enforce, default_role, roles, teams } = draft;
  const { default_environments } = draft;
  const boundsOf = ({ group, gives }: Mapping) =>
    row?.role_mappings.find((one) => one.group === group && one.role === gives)?.environments;
  return {
    name,
    domains,
    jit,
    enforce,
    default_role,
    default_environments,
    ...providerOf(draft),
    ...(groups_claim && { groups_claim }),
    role_mappings: roles.map((one) => {
      const environments = boundsOf(one);
      return { group: one.group, role: one.gives as GivenRole, ...(environments && { environments }) };
    }),
    team_mappings: teams.map(({ group, gives }) => ({ group, team_id: gives })),
  };
}

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: Problems;
  isNew: boolean;
}

const Oidc = ({ draft, change, problems, isNew }: FieldsProps) => (
  <>
    <TextField
      label="Issuer"
      class="mono"
      type="url"
      value={draft.issuer}
      onValue={(issuer) => change({ issuer })}
      error={problems.of('issuer')}
      required
      hint="Exactly as the discovery document of the provider has it."
    />
    <div class="columns">
      <TextField
        label="Client ID"
        class="mono"
        value={draft.client_id}
        onValue={(client_id) => change({ client_id })}
        error={problems.of('client_id')}
        required
        maxLength={512}
      />
      <TextField
        label="Client secret"
        class="mono"
        type="password"
        autocomplete="off"
        value={draft.client_secret}
        onValue={(client_secret) => change({ client_secret })}
        error={problems.of('client_secret')}
        required={isNew}
        optional={!isNew}
        hint={isNew ? undefined : 'Leave it empty to keep the stored one.'}
      />
    </div>
    <TextArea
      label="Scopes"
      optional
      class="mono"
      rows={3}
      value={draft.scopes}
      onValue={(scopes) => change({ scopes })}
      error={problems.of('scopes')}
      hint="One per line. Default: openid, email and profile."
    />
  </>
);

const Saml = ({ draft, change, problems, isNew }: FieldsProps) => (
  <>
    <TextField
      label="Metadata URL"
      optional
      class="mono"
      type="url"
      value={draft.metadata_url}
      onValue={(metadata_url) => change({ metadata_url })}
      error={problems.of('metadata_url')}
      maxLength={1024}
      hint="Read once, when you save. Enter it again to read new certificates."
    />
    <TextArea
      label="Metadata"
      class="mono"
      rows={6}
      value={draft.metadata_xml}
      onValue={(metadata_xml) => change({ metadata_xml })}
      error={problems.of('metadata_xml')}
      optional
      hint={
        isNew
          ? 'The XML of the provider (EntityDescriptor), where it has no URL.'
          : 'Leave it empty to keep the stored one.'
      }
    />
    <TextField
      label="Subject attribute"
      optional
      class="mono"
      value={draft.subject_attribute}
      onValue={(subject_attribute) => change({ subject_attribute })}
      error={problems.of('subject_attribute')}
      maxLength={255}
      hint="Identifies a person for good. Default: a persistent NameID."
    />
  </>
);

const Provider = (props: FieldsProps) => (
  <>
    {props.isNew && (
      <SelectField
        label="Protocol"
        value={props.draft.kind}
        onValue={(kind) => props.change({ kind: kind as Draft['kind'] })}
        error={props.problems.of('kind')}
        choices={kinds}
      />
    )}
    <TextField
      label="Name"
      value={props.draft.name}
      onValue={(name) => props.change({ name })}
      error={props.problems.of('name')}
      required
      maxLength={255}
      hint="For example, Okta"
    />
    {props.draft.kind === 'saml' ? <Saml {...props} /> : <Oidc {...props} />}
    <TextField
      label={props.draft.kind === 'saml' ? 'Groups attribute' : 'Groups claim'}
      optional
      class="mono"
      value={props.draft.groups_claim}
      onValue={(groups_claim) => props.change({ groups_claim })}
      error={props.problems.of('groups_claim')}
      maxLength={255}
      hint="Default: groups."
    />
  </>
);

function Members({ draft, change, problems }: FieldsProps) {
  const { rows: domains } = useDomains();
  const { teams } = useTeams();
  return (
    <>
      <ChecksField
        label="Domains"
        hint="Whose members sign in here. A domain counts once it is verified."
        value={draft.domains}
        onValue={(chosen) => change({ domains: chosen })}
        error={problems.of('domains')}
        options={domains.map(({ id, domain }) => ({ value: id, label: domain }))}
      />
      <Checkbox
        label="Make members at their first sign-in"
        hint="With an address that the provider verified, in a verified domain."
        checked={draft.jit}
        onChecked={(jit) => change({ jit })}
      />
      <Checkbox
        label="Require it for members of the domains"
        hint="Their passkey sessions end. Owners can always use their passkeys."
        checked={draft.enforce}
        onChecked={(enforce) => change({ enforce })}
      />
      <SelectField
        label="Default role"
        value={draft.default_role}
        onValue={(role) => change({ default_role: role as GivenRole })}
        error={problems.of('default_role')}
        choices={roleChoices}
        hint="Of those whose groups give none."
      />
      {draft.default_environments && (
        <ChecksField
          label="Environments of the default role"
          value={draft.default_environments}
          onValue={(chosen) => change({ default_environments: chosen })}
          options={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
          error={problems.of('default_environments')}
        />
      )}
      <Checkbox
        label="The default role holds in all environments"
        hint="Including environments created later."
        checked={draft.default_environments === null}
        onChecked={(isAll) =>
          change({
            default_environments: isAll ? null : environments.value.slice(0, 1).map(({ slug }) => slug),
          })
        }
      />
      <Mappings
        label="Roles by group"
        of="Role"
        choices={roleChoices}
        value={draft.roles}
        onValue={(roles) => change({ roles })}
        errorAt={(index) => problems.of(`role_mappings.${index}.group`)}
      />
      <Mappings
        label="Teams by group"
        of="Team"
        choices={teams.map(({ id, name }) => ({ value: id, label: name }))}
        value={draft.teams}
        onValue={(mapped) => change({ teams: mapped })}
        errorAt={(index) =>
          problems.of(`team_mappings.${index}.group`) ?? problems.of(`team_mappings.${index}.team_id`)
        }
      />
    </>
  );
}

/** What saving does to members when it makes single sign-on required. */
const Requiring = () => (
  <p class="note warn">
    When you save, members of the domains who signed in with a passkey are signed out immediately, and can
    then sign in here only. Check that you can sign in here first.
  </p>
);

export function ConnectionForm({
  connection,
  onCreated,
  onClose,
}: {
  connection?: Connection;
  onCreated: (made: Connection) => void;
  onClose: () => void;
}) {
  const { seen, first, draft, setDraft, isSame, changing } = useEdit(connection, draftOf);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const problems = useProblems();
  const save = async () => {
    const body = bodyOf(draft, seen);
    let made: Connection | null = null;
    if (connection)
      await confirmed(() =>
        changing((header) =>
          vault().api.PATCH('/orgs/{org_id}/sso-connections/{id}', {
            ...at(connection.id, header),
            body: changedOf(bodyOf(first, seen), body),
          }),
        ),
      );
    else
      made = (
        await confirmed(() =>
          vault().api.POST('/orgs/{org_id}/sso-connections', {
            params: { path: here() },
            body: { kind: draft.kind, ...body },
          }),
        )
      ).data;
    await forget('sso-connections');
    tell(`${draft.name} saved`);
    if (made) onCreated(made);
    else onClose();
  };
  const isRequiring = draft.enforce && !seen?.enforce;
  const fields = { draft, change, problems, isNew: !connection };
  return (
    <Dialog
      side
      title={connection ? `Edit ${connection.name}` : 'New connection'}
      onClose={onClose}
      dirty={!isSame}
    >
      <Form
        action={connection ? (isRequiring ? 'Save and require' : 'Save changes') : 'Create connection'}
        danger={isRequiring}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={isSame && !!connection}
      >
        <Provider {...fields} />
        <Members {...fields} />
        {isRequiring && <Requiring />}
      </Form>
    </Dialog>
  );
}
