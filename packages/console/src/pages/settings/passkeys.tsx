// The member's own passkeys: add, rename, remove. Invariant: each change asks for a passkey if the last
// confirmation is older than five minutes.
import type { components } from '@secrets-vault/client';
import { startRegistration } from '@simplewebauthn/browser';
import { Plus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { confirmed, forget, here, useRead, vault } from '../../requests/api';
import { change, useChange } from '../../requests/seen';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Table } from '../../ui/lists/table';
import { Badge, Empty, ErrorNote, Skeleton, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';

type Passkey = components['schemas']['Passkey'];

const mine = () => ({ ...here(), id: me.value?.id ?? '' });

export const usePasskeys = () =>
  useRead(['passkeys'], (signal) =>
    vault().api.GET('/orgs/{org_id}/members/{id}/passkeys', {
      params: { path: mine(), query: { limit: 100 } },
      signal,
    }),
  );

/** Creates a passkey on this device, and registers it. */
async function add(name: string): Promise<void> {
  const { api } = vault();
  const options = await confirmed(() =>
    api.POST('/orgs/{org_id}/members/{id}/passkeys/options', { params: { path: mine() } }),
  );
  const response = await startRegistration({
    optionsJSON: options.data as unknown as Parameters<typeof startRegistration>[0]['optionsJSON'],
  });
  await confirmed(() =>
    api.POST('/orgs/{org_id}/members/{id}/passkeys', {
      params: { path: mine() },
      body: { response: response as never, ...(name.trim() && { name: name.trim() }) },
    }),
  );
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const problems = useProblems();
  const save = async () => {
    await add(name);
    await forget('passkeys');
    tell('Passkey added');
    onClose();
  };
  return (
    <Dialog
      title="Add a passkey"
      lead="A second passkey on another device lets you sign in if you lose the first."
      onClose={onClose}
      dirty={name !== ''}
    >
      <Form action="Add passkey" onSubmit={save} onCancel={onClose} problems={problems}>
        <TextField
          label="Name"
          optional
          value={name}
          onValue={setName}
          error={problems.of('name')}
          hint="For example, “Security key in the safe”. Your browser then asks where to save it."
          maxLength={255}
        />
      </Form>
    </Dialog>
  );
}

function Rename({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const [name, setName] = useState(passkey.name);
  const problems = useProblems();
  const changing = useChange(passkey);
  const save = async () => {
    await changing((header) =>
      confirmed(() =>
        vault().api.PATCH('/orgs/{org_id}/members/{id}/passkeys/{passkey_id}', {
          params: { path: { ...mine(), passkey_id: passkey.id }, header },
          body: { name },
        }),
      ),
    );
    await forget('passkeys');
    onClose();
  };
  return (
    <Dialog title={`Rename ${passkey.name}`} onClose={onClose}>
      <Form
        action="Rename passkey"
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={name === passkey.name}
      >
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          error={problems.of('name')}
          required
          maxLength={255}
        />
      </Form>
    </Dialog>
  );
}

type Doing = { kind: 'add' } | { kind: 'rename' | 'remove'; passkey: Passkey } | null;

function Doings({ doing, end }: { doing: Doing; end: () => void }) {
  if (!doing) return null;
  if (doing.kind === 'add') return <AddPasskey onClose={end} />;
  const { passkey } = doing;
  if (doing.kind === 'rename') return <Rename passkey={passkey} onClose={end} />;
  const remove = async () => {
    await change(passkey, (header) =>
      confirmed(() =>
        vault().api.DELETE('/orgs/{org_id}/members/{id}/passkeys/{passkey_id}', {
          params: { path: { ...mine(), passkey_id: passkey.id }, header },
        }),
      ),
    );
    await forget('passkeys', 'sessions');
    tell(`${passkey.name} removed`);
  };
  return (
    <Confirm title={`Remove ${passkey.name}?`} action="Remove passkey" onConfirm={remove} onClose={end}>
      <p>
        You can no longer sign in with <strong>{passkey.name}</strong>, and sessions started with it end
        immediately. Also delete it in your device’s settings.
      </p>
    </Confirm>
  );
}

export function Passkeys() {
  const [doing, setDoing] = useState<Doing>(null);
  const { data, error, isPending, refetch } = usePasskeys();
  const rows = data?.data ?? [];
  return (
    <section class="stack" aria-labelledby="passkeys">
      <div class="section-head">
        <div class="grow">
          <h2 id="passkeys">Your passkeys</h2>
          <p class="dim">
            {rows.length === 1
              ? 'You have one passkey. Add another on a second device, so that losing this one does not lock you out.'
              : 'You sign in with these.'}
          </p>
        </div>
        <Button kind="primary" onPress={() => setDoing({ kind: 'add' })}>
          <Plus size={16} aria-hidden="true" /> Add a passkey
        </Button>
      </div>
      {error ? (
        <ErrorNote error={error} onRetry={refetch} />
      ) : isPending ? (
        <Skeleton rows={2} />
      ) : (
        <Table<Passkey>
          label="Your passkeys"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            {
              label: 'Name',
              width: 'minmax(10rem, 2fr)',
              cell: ({ name }) => <span class="truncate">{name}</span>,
            },
            {
              label: 'Storage',
              width: '10rem',
              cell: ({ backed_up }) => (
                <Badge tone={backed_up ? 'plain' : 'accent'}>{backed_up ? 'synced' : 'on one device'}</Badge>
              ),
            },
            { label: 'Added', width: '9rem', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
          ]}
          actions={(passkey) => (
            <Menu
              label={`Actions for ${passkey.name}`}
              actions={[
                { label: 'Rename', onSelect: () => setDoing({ kind: 'rename', passkey }) },
                rows.length > 1 && {
                  label: 'Remove',
                  danger: true,
                  onSelect: () => setDoing({ kind: 'remove', passkey }),
                },
              ]}
            />
          )}
          empty={<Empty title="You have no passkeys" />}
        />
      )}
      <Doings doing={doing} end={() => setDoing(null)} />
    </section>
  );
}
