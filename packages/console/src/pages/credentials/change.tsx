// The dialogs that change a credential: edit its name and restrictions, rotate an API key, and revoke it.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { byLine, changedOf } from '../../changes/merge';
import { linesOf } from '../../globs';
import { at, forget, vault } from '../../requests/api';
import { useChange, useEdit } from '../../requests/seen';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { accessKeyTexts, OneTime } from '../../ui/values/one-time';
import { endingWith, type Graph } from './graph';
import { type Credential, nameOf, revoke } from './kinds';
import { LastDay } from './last-day';
import { isCustom, LIFETIMES, PlaceFields, type Reach, ScopeFields } from './reach';
import { nameOfKind } from './words';

interface Props {
  credential: Credential;
  onClose: () => void;
}

interface Draft extends Reach {
  name: string;
  rate: string;
}

type Edited = components['schemas']['ApiKey'] | components['schemas']['Agent'];

const draftOf = ({ name, scopes, environments, secrets, allowed_addresses, rate_limit }: Edited): Draft => ({
  name,
  scopes,
  isCustom: isCustom(scopes),
  environments: environments ?? [],
  isEverywhere: environments === null,
  names: secrets?.join('\n') ?? '',
  addresses: allowed_addresses?.join('\n') ?? '',
  rate: String(rate_limit ?? ''),
  lifetime: '',
});

const listOrNull = (text: string): string[] | null => (linesOf(text).length ? linesOf(text) : null);

/** The fields in the format of the API. */
const fieldsOf = (draft: Draft) => ({
  name: draft.name,
  scopes: draft.scopes,
  environments: draft.isEverywhere ? null : draft.environments,
  secrets: listOrNull(draft.names),
  rate_limit: Number(draft.rate),
  allowed_addresses: listOrNull(draft.addresses),
});

interface AgentFieldsProps {
  reach: Draft;
  change: (part: Partial<Draft>) => void;
  problems: ReturnType<typeof useProblems>;
}

/** What can be changed of an agent alone: scopes, places, expiry and rate. */
function AgentFields(fields: AgentFieldsProps) {
  const { reach: draft, change, problems } = fields;
  return (
    <>
      <ScopeFields {...fields} />
      <PlaceFields {...fields} />
      <div class="columns">
        <SelectField
          label="Expires after"
          value={draft.lifetime}
          onValue={(lifetime) => change({ lifetime })}
          choices={[
            { value: '', label: 'No change' },
            ...LIFETIMES.map(({ value, label }) => ({ value, label: `${label} from now` })),
          ]}
          error={problems.of('ttlSeconds')}
        />
        <TextField
          label="Requests per minute"
          type="number"
          min={1}
          max={6000}
          value={draft.rate}
          onValue={(rate) => change({ rate })}
          error={problems.of('rate_limit')}
        />
      </div>
    </>
  );
}

/** Changes an API key's name and addresses, or all restrictions of an agent. */
export function EditCredential({ credential, onClose }: Props) {
  const { first, draft, setDraft, changing } = useEdit(credential.resource as Edited, draftOf, {
    names: byLine,
    addresses: byLine,
  });
  const problems = useProblems();
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const patch = {
    ...changedOf(fieldsOf(first), fieldsOf(draft)),
    ...(draft.lifetime && { ttlSeconds: Number(draft.lifetime) }),
  };
  const isAgent = credential.kind === 'agent';
  const save = async () => {
    if (isAgent)
      await changing((header) =>
        vault().api.PATCH('/orgs/{org_id}/agent-credentials/{id}', {
          ...at(credential.id, header),
          body: patch,
        }),
      );
    else {
      const { name, allowed_addresses } = patch;
      const body = {
        ...(name !== undefined && { name }),
        ...(allowed_addresses !== undefined && { allowed_addresses }),
      };
      await changing((header) =>
        vault().api.PATCH('/orgs/{org_id}/api-keys/{id}', { ...at(credential.id, header), body }),
      );
    }
    await forget('credentials');
    tell(`${draft.name} saved`, 'The change applies from its next request.');
    onClose();
  };
  return (
    <Dialog side title={`Edit ${credential.name}`} onClose={onClose} dirty={Object.keys(patch).length > 0}>
      <Form
        action="Save changes"
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={!Object.keys(patch).length}
      >
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => change({ name })}
          error={problems.of('name')}
          required
        />
        {isAgent && <AgentFields reach={draft} change={change} problems={problems} />}
        <TextArea
          label="Allowed IP addresses"
          optional
          class="mono"
          rows={3}
          value={draft.addresses}
          onValue={(addresses) => change({ addresses })}
          error={problems.of('allowed_addresses')}
          hint="IP addresses or ranges, one per line. Leave empty to allow any address."
        />
      </Form>
    </Dialog>
  );
}

/** Rotates an API key. */
export function RotateKey({ credential, onClose }: Props) {
  const [overlap, setOverlap] = useState('3600');
  const [made, setMade] = useState<components['schemas']['NewApiKey'] | null>(null);
  const problems = useProblems();
  const changing = useChange(credential.resource);
  const rotate = async () => {
    const { data } = await changing((header) =>
      vault().api.POST('/orgs/{org_id}/api-keys/{id}/rotate', {
        ...at(credential.id, header),
        body: { overlap_seconds: Number(overlap) },
      }),
    );
    await forget('credentials');
    setMade(data);
  };
  if (made?.token)
    return (
      <OneTime
        title="New API key"
        lead="It has the same permissions as the old key. Replace the old key with it."
        text={made.token}
        further={accessKeyTexts(made.aws)}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      title={`Rotate ${credential.name}`}
      lead="Creates a new API key with the same scopes, environments, names and expiry. The old key can stay valid for a while."
      onClose={onClose}
    >
      <Form action="Rotate API key" onSubmit={rotate} onCancel={onClose} problems={problems}>
        <SelectField
          label="Old key stays valid for"
          value={overlap}
          onValue={setOverlap}
          choices={[
            { value: '0', label: 'Revoke it immediately' },
            { value: '3600', label: '1 hour' },
            { value: '43200', label: '12 hours' },
            { value: '86400', label: '1 day' },
          ]}
          hint="Its session tokens expire together with it."
          error={problems.of('overlap_seconds')}
        />
        {overlap === '0' && <LastDay credential={credential} />}
      </Form>
    </Dialog>
  );
}

/** Revokes a credential, and lists the credentials that are revoked with it. */
export function RevokeCredential({ credential, graph, onClose }: Props & { graph: Graph | undefined }) {
  const ending = graph ? endingWith(graph) : [];
  const changing = useChange(credential.resource);
  const end = async () => {
    await changing((header) => revoke(credential.kind, credential.id, header));
    await forget('credentials');
    tell(`${credential.name} revoked`);
  };
  return (
    <Confirm
      title={`Revoke ${credential.name}?`}
      action={`Revoke ${nameOf(credential.kind)}`}
      onConfirm={end}
      onClose={onClose}
    >
      <p>
        Requests with <strong>{credential.name}</strong> ({credential.hint}) will be refused immediately. This
        cannot be undone.
      </p>
      {ending.length > 0 && (
        <p>
          {ending.length === 1 ? 'Also revoked' : `${ending.length} credentials are also revoked`}:{' '}
          {ending
            .slice(0, 8)
            .map(({ kind, name, id }) => `${nameOfKind(kind)} ${name ?? `…${id.slice(-6)}`}`)
            .join(', ')}
          {ending.length > 8 && ` and ${ending.length - 8} more`}
        </p>
      )}
      <LastDay credential={credential} />
    </Confirm>
  );
}
