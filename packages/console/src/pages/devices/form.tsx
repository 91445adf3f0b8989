// The dialog that registers or changes a device.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { changedOf } from '../../changes/merge';
import { at, forget, here, vault } from '../../requests/api';
import { useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import type { Device } from './device';

type Key = NonNullable<components['schemas']['DeviceIn']['public_key']>;

/** The key as JSON, or the text itself if it is not JSON, so that the service reports the error. */
function keyOf(text: string): Key | undefined {
  if (!text.trim()) return undefined;
  try {
    return JSON.parse(text) as Key;
  } catch {
    return text as unknown as Key;
  }
}

const draftOf = (device?: Device) => ({
  name: device?.name ?? '',
  platform: device?.platform ?? '',
  serial: device?.serial ?? '',
});

/** The fields in the format of the API. */
const fieldsOf = ({ serial, ...others }: ReturnType<typeof draftOf>) => ({
  ...others,
  serial: serial || null,
});

const register = ({ name, platform, serial }: ReturnType<typeof draftOf>, public_key: Key | undefined) =>
  vault().api.POST('/orgs/{org_id}/devices', {
    params: { path: here() },
    body: { name, platform, ...(serial && { serial }), ...(public_key && { public_key }) },
  });

export function DeviceForm({ device, onClose }: { device?: Device; onClose: () => void }) {
  const { first, draft, setDraft, changing } = useEdit(device, draftOf);
  const { name, platform, serial } = draft;
  const change = (part: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...part }));
  const [key, setKey] = useState('');
  const problems = useProblems();
  const patch = changedOf(fieldsOf(first), fieldsOf(draft));
  const save = async () => {
    if (device)
      await changing((header) =>
        vault().api.PATCH('/orgs/{org_id}/devices/{id}', { ...at(device.id, header), body: patch }),
      );
    else await register(draft, keyOf(key));
    await forget('devices');
    tell(device ? `${name} saved` : `${name} registered`);
    onClose();
  };
  const isSame = !Object.keys(patch).length && !key;
  return (
    <Dialog side title={device ? `Edit ${device.name}` : 'Register device'} onClose={onClose} dirty={!isSame}>
      <Form
        action={device ? 'Save changes' : 'Register device'}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={isSame && !!device}
      >
        <TextField
          label="Name"
          value={name}
          onValue={(text) => change({ name: text })}
          error={problems.of('name')}
          required
          maxLength={255}
          hint="For example, ann-laptop"
        />
        <div class="columns">
          <TextField
            label="Platform"
            value={platform}
            onValue={(text) => change({ platform: text })}
            error={problems.of('platform')}
            required
            maxLength={64}
            hint="For example, macOS or Ubuntu"
          />
          <TextField
            label="Serial number"
            optional
            value={serial}
            onValue={(text) => change({ serial: text })}
            error={problems.of('serial')}
            maxLength={128}
          />
        </div>
        {!device && (
          <TextArea
            label="Public key"
            optional
            class="mono"
            rows={5}
            spellcheck={false}
            value={key}
            onValue={setKey}
            error={problems.of('public_key')}
            hint="A P-256 or Ed25519 JWK. Requests with credentials bound to the device then need a proof signed with its private key."
          />
        )}
      </Form>
    </Dialog>
  );
}
