// The dialogs that change a secret: edit details, set a new value, rotate.
import { VaultError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { changedOf } from '../../changes/merge';
import { useDrop } from '../../changes/unsaved';
import { linesOf } from '../../globs';
import { at, forget, vault } from '../../requests/api';
import { useChange, useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { SecretValue } from '../../ui/values/secret-value';
import { Affected } from './affected';
import { amount, GENERATED } from './create';
import type { Secret } from './secret';
import { typeChoices } from './type-names';

interface Props {
  secret: Secret;
  onClose: () => void;
}

const DAY = 86_400;
const seconds = (days: string): number | null => (days.trim() ? Math.round(Number(days) * DAY) : null);

/** `key: value` lines as a map. */
export const tagsOf = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines
      .split('\n')
      .filter((line) => line.trim())
      .map((line) => {
        const colon = line.indexOf(':');
        return colon < 0
          ? [line.trim(), 'true']
          : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
      }),
  );

interface Details {
  name: string;
  type: string;
  description: string;
  tags: string;
  every: string;
}

const detailsOf = (secret: Secret): Details => ({
  name: secret.name,
  type: secret.type,
  description: secret.description ?? '',
  tags: Object.entries(secret.tags)
    .map(([key, value]) => `${key}: ${value}`)
    .join('\n'),
  every: secret.rotate_every_seconds ? String(secret.rotate_every_seconds / DAY) : '',
});

/** Refuses lines that would be dropped, or get a value that nobody typed. */
export function checkTags(text: string): void {
  const lines = linesOf(text);
  const keys = lines.map(tagOf);
  const twice = keys.find((key, index) => keys.indexOf(key) < index);
  const bare = lines.find((line) => !line.includes(':'));
  const message = bare
    ? `${bare} has no value: write it as key: value`
    : twice !== undefined
      ? `${twice} has two values`
      : undefined;
  if (message)
    throw new VaultError(message, {
      code: 'VALIDATION_FAILED',
      status: 400,
      details: [{ path: 'tags', message }],
    });
}

/** The key of a line of tags. */
const tagOf = (line: string): string => Object.keys(tagsOf(line)).join();

/** The fields in the format of the API. */
const fieldsOf = ({ name, type, description, tags, every }: Details) => ({
  name,
  type: type as Secret['type'],
  description: description || null,
  tags: tagsOf(tags),
  rotate_every_seconds: seconds(every),
});

export function EditSecret({ secret, onClose }: Props) {
  const { first, draft, setDraft, changing } = useEdit(secret, detailsOf, { tags: tagOf });
  const problems = useProblems();
  const change = (part: Partial<Details>) => setDraft({ ...draft, ...part });
  const patch = changedOf(fieldsOf(first), fieldsOf(draft));
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    checkTags(draft.tags);
    await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/secrets/{id}', { ...at(secret.id, header), body: patch }),
    );
    await forget('secrets');
    tell(`${draft.name} saved`);
    onClose();
  };
  return (
    <Dialog title={`Edit ${secret.name}`} onClose={onClose} dirty={!isSame}>
      <Form action="Save changes" onSubmit={save} onCancel={onClose} problems={problems} disabled={isSame}>
        <TextField
          label="Name"
          class="mono"
          value={draft.name}
          onValue={(name) => change({ name })}
          error={problems.of('name')}
          hint="Programs that read the old name will fail."
          required
        />
        <SelectField
          label="Type"
          value={draft.type}
          onValue={(type) => change({ type })}
          choices={typeChoices}
        />
        <TextField
          label="Description"
          optional
          value={draft.description}
          onValue={(description) => change({ description })}
          error={problems.of('description')}
        />
        <TextArea
          label="Tags"
          optional
          class="mono"
          value={draft.tags}
          onValue={(tags) => change({ tags })}
          error={problems.of('tags')}
          hint="One per line, such as team: core"
        />
        <TextField
          label="Rotate every (days)"
          optional
          value={draft.every}
          onValue={(every) => change({ every })}
          error={problems.of('rotate_every_seconds')}
          hint="Leave empty for never. The console and events show when a rotation is due."
          {...amount}
        />
      </Form>
    </Dialog>
  );
}

export function NewValue({ secret, onClose }: Props) {
  const [value, setValue] = useState('');
  const problems = useProblems();
  const changing = useChange(secret);
  const save = async () => {
    const { data } = await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/secrets/{id}', { ...at(secret.id, header), body: { value } }),
    );
    await forget('secrets');
    tell(
      data.version === secret.version
        ? 'The value is unchanged, so there is no new version'
        : `Version ${data.version} is current`,
    );
    onClose();
  };
  return (
    <Dialog
      title="New value"
      lead={`Creates version ${secret.version + 1} of ${secret.name}. Earlier versions stay in the history.`}
      onClose={onClose}
      dirty={value !== ''}
    >
      <Form action="Store value" onSubmit={save} onCancel={onClose} problems={problems}>
        <TextArea
          label="Value"
          secret
          class="mono"
          rows={6}
          spellcheck={false}
          value={value}
          onValue={setValue}
          error={problems.of('value')}
          hint="Up to 64 KiB. Line breaks are stored as LF."
          required
        />
      </Form>
    </Dialog>
  );
}

export function Rotate({ secret, onClose }: Props) {
  const canGenerate = GENERATED.includes(secret.type) || secret.generated;
  const [generated, setGenerated] = useState(canGenerate);
  const [value, setValue] = useState('');
  const [made, setMade] = useState<string | null>(null);
  const problems = useProblems();
  const changing = useChange(secret);
  const rotate = async () => {
    const { data } = await changing((header) =>
      vault().api.POST('/orgs/{org_id}/secrets/{id}/rotate', {
        ...at(secret.id, header),
        body: generated ? { generate: {} } : { value },
      }),
    );
    await forget('secrets');
    tell(`${secret.name} rotated`, `Version ${data.version} is current.`);
    if (data.value) setMade(data.value);
    else onClose();
  };
  useDrop('read', () => made !== null && onClose());
  if (made !== null)
    return (
      <Dialog
        title={`${secret.name} rotated`}
        lead="This is the generated value. You can read it again at any time."
        onClose={onClose}
      >
        <SecretValue name={secret.name} read={async () => made} />
      </Dialog>
    );
  return (
    <Dialog
      title={`Rotate ${secret.name}`}
      lead={`Creates version ${secret.version + 1}, and programs get it with their next read. ${
        secret.rotate_every_seconds ? 'The rotation interval starts again. ' : ''
      }Earlier versions stay in the history.`}
      onClose={onClose}
      dirty={value !== ''}
    >
      <Form action="Rotate secret" onSubmit={rotate} onCancel={onClose} problems={problems}>
        {canGenerate && (
          <Checkbox
            label="Generate value"
            hint="The service generates a random value that fits the type. Set the same value where the secret is used, such as in the database."
            checked={generated}
            onChecked={setGenerated}
          />
        )}
        {!generated && (
          <TextArea
            label="Value"
            secret
            class="mono"
            rows={5}
            spellcheck={false}
            value={value}
            onValue={setValue}
            error={problems.of('value')}
            hint="The value that its issuer gave you"
            required
          />
        )}
        <Affected
          secrets={[secret]}
          outcome="They have the old value until they read it again."
          fails={false}
        />
      </Form>
    </Dialog>
  );
}
