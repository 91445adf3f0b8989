// The dialog that stores a new secret: with a typed value, or one that the service generates and shows once.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useDrop } from '../../changes/unsaved';
import { environments } from '../../organisation/environments';
import { forget, here, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, type Problems, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { SecretValue } from '../../ui/values/secret-value';
import type { Secret } from './secret';
import { typeChoices } from './type-names';

/**
 * Days that need not be whole, up to the longest time of the API. A field of text would turn `30 days` into
 * no number, and a huge number has no seconds: the API takes both for none.
 */
export const amount = { type: 'number', min: 0, max: 365, step: 'any' } as const;

/** The types whose values the service can generate. */
export const GENERATED = ['password', 'ssh_key', 'private_key', 'webhook_secret'];

interface Draft {
  name: string;
  environment: string;
  type: string;
  value: string;
  generated: boolean;
  description: string;
  days: string;
}

/** Where this member may store secrets. */
const writable = () =>
  environments.value
    .filter(({ slug }) => may('secrets:write', slug))
    .map(({ slug, name }) => ({ value: slug, label: name }));

function Body({
  draft,
  change,
  problems,
}: {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: Problems;
}) {
  const canGenerate = GENERATED.includes(draft.type);
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => change({ name })}
        error={problems.of('name')}
        hint="Letters, digits, _ . - and / for folders, such as billing/STRIPE_KEY"
        class="mono"
        spellcheck={false}
        required
        maxLength={255}
      />
      <div class="columns">
        <SelectField
          label="Environment"
          value={draft.environment}
          onValue={(environment) => change({ environment })}
          choices={writable()}
          error={problems.of('environment')}
        />
        <SelectField
          label="Type"
          value={draft.type}
          onValue={(type) => change({ type, generated: draft.generated && GENERATED.includes(type) })}
          choices={typeChoices}
          error={problems.of('type')}
        />
      </div>
      {canGenerate && (
        <Checkbox
          label="Generate value"
          hint="The service generates a random value that fits the type, and shows it once."
          checked={draft.generated}
          onChecked={(generated) => change({ generated })}
        />
      )}
      {!draft.generated && (
        <TextArea
          label="Value"
          secret
          value={draft.value}
          onValue={(value) => change({ value })}
          error={problems.of('value')}
          hint="Up to 64 KiB. Line breaks are stored as LF."
          class="mono"
          spellcheck={false}
          required
        />
      )}
      <TextField
        label="Description"
        optional
        value={draft.description}
        onValue={(description) => change({ description })}
        error={problems.of('description')}
        maxLength={1000}
      />
      <TextField
        label="Expires after (days)"
        optional
        value={draft.days}
        onValue={(days) => change({ days })}
        error={problems.of('ttlSeconds')}
        hint="Leave empty for never. An expired secret cannot be read."
        {...amount}
      />
    </>
  );
}

interface NewSecretProps {
  environment: string;
  /** The folder prefix of the name. */
  path: string;
  onClose: () => void;
  /** Called once it is stored. By default, its page opens. */
  onStored?: (id: string) => void;
}

export function NewSecret({ environment, path, onClose, onStored }: NewSecretProps) {
  const [draft, setDraft] = useState<Draft>({
    name: path,
    environment,
    type: 'generic',
    value: '',
    generated: false,
    description: '',
    days: '',
  });
  const problems = useProblems();
  const [made, setMade] = useState<{ id: string; name: string; value: string } | null>(null);
  const [, go] = useLocation();
  const open = onStored ?? ((id: string) => go(`/secrets/${id}`));
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));

  const store = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/secrets', {
      params: { path: here() },
      body: {
        name: draft.name,
        type: draft.type as Secret['type'],
        environment: draft.environment,
        ...(draft.generated ? { generate: {} } : { value: draft.value }),
        ...(draft.description && { description: draft.description }),
        ...(draft.days && { ttlSeconds: Math.round(Number(draft.days) * 86_400) }),
      },
    });
    void forget('secrets');
    tell(`${data.name} stored`);
    if (draft.generated && data.value) return setMade({ id: data.id, name: data.name, value: data.value });
    onClose();
    open(data.id);
  };

  const leave = () => {
    onClose();
    if (made) open(made.id);
  };
  useDrop('read', () => made && onClose());
  if (made)
    return (
      <Dialog
        title={`${made.name} stored`}
        lead="This is the generated value. You can read it again at any time."
        onClose={leave}
      >
        <SecretValue read={async () => made.value} name={made.name} />
      </Dialog>
    );
  return (
    <Dialog
      title="New secret"
      onClose={onClose}
      dirty={Boolean(draft.value || draft.description || draft.name !== path)}
    >
      <Form action="Store secret" onSubmit={store} onCancel={onClose} problems={problems}>
        <Body draft={draft} change={change} problems={problems} />
      </Form>
    </Dialog>
  );
}
