// The passkeys of a member, with a button to remove a lost one.
import type { components } from '@secrets-vault/client';
import { Trash2 } from 'lucide-preact';
import { useState } from 'preact/hooks';
import type { Member } from '../../organisation/people';
import { confirmed, forget, here, useList, vault } from '../../requests/api';
import { change } from '../../requests/seen';
import { IconButton } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Listing } from '../../ui/lists/listing';
import { Empty, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';

type Passkey = components['schemas']['Passkey'];

export function Passkeys({ member }: { member: Member }) {
  const [removing, setRemoving] = useState<Passkey | null>(null);
  const list = useList<Passkey>(['members', 'passkeys', member.id], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/members/{id}/passkeys', {
      params: { path: { ...here(), id: member.id }, query: { limit: 100, cursor } },
      signal,
    }),
  );
  const remove = async (passkey: Passkey) => {
    const { id, name } = passkey;
    await change(passkey, (header) =>
      confirmed(() =>
        vault().api.DELETE('/orgs/{org_id}/members/{id}/passkeys/{passkey_id}', {
          params: { path: { ...here(), id: member.id, passkey_id: id }, header },
        }),
      ),
    );
    await forget('members');
    tell(`${name} removed`);
  };
  return (
    <section>
      <h2 class="spaced">Passkeys</h2>
      <Listing
        list={list}
        skeleton={2}
        label="Passkeys"
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Name',
            width: 'minmax(8rem, 2fr)',
            cell: ({ name }) => <span class="truncate block">{name}</span>,
          },
          {
            label: 'Storage',
            width: '10rem',
            wide: true,
            cell: ({ backed_up }) => (backed_up ? 'Synced by a password manager' : 'On one device'),
          },
          { label: 'Added', width: '9rem', cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actions={(passkey) => (
          <IconButton label={`Remove ${passkey.name}`} small onPress={() => setRemoving(passkey)}>
            <Trash2 size={15} />
          </IconButton>
        )}
        empty={<Empty title="No passkeys yet">{member.name} registers one with the enrolment link.</Empty>}
      />
      {removing && (
        <Confirm
          title={`Remove ${removing.name}?`}
          action="Remove passkey"
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>
            {member.name} can no longer sign in with <strong>{removing.name}</strong>, and sessions started
            with it end immediately. You confirm with your own passkey.
          </p>
        </Confirm>
      )}
    </section>
  );
}
