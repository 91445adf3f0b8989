// SCIM tokens, with which an identity provider manages members and teams. Invariant: a token is shown once.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { at, confirmed, forget, here, useList, vault } from '../../requests/api';
import { change } from '../../requests/seen';
import { may } from '../../session/may';
import { me } from '../../session/session';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, SelectField, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Empty, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { OneTime } from '../../ui/values/one-time';
import { useConnections } from './kinds';

type ScimToken = components['schemas']['ScimToken'];
type NewScimToken = components['schemas']['NewScimToken'];

const useScimTokens = () =>
  useList<ScimToken>(['credentials', 'scim'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/scim-tokens', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );

function NewToken({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [isEnding, setEnding] = useState(false);
  const [connection, setConnection] = useState('');
  const { rows: connections } = useConnections();
  const [made, setMade] = useState<NewScimToken | null>(null);
  const problems = useProblems();
  const save = async () => {
    const { data } = await confirmed(() =>
      vault().api.POST('/orgs/{org_id}/scim-tokens', {
        params: { path: here() },
        body: { name, end_credentials: isEnding, ...(connection && { connection_id: connection }) },
      }),
    );
    await forget('credentials');
    setMade(data);
  };
  if (made)
    return (
      <OneTime
        title="SCIM token created"
        lead={`Enter it at ${made.name}, with the address below as the tenant URL.`}
        text={made.token ?? ''}
        further={[{ label: 'Base URL', text: made.base_url ?? '' }]}
        warning="The token is shown only once and cannot be recovered. Whoever has it manages members."
        onClose={onClose}
      />
    );
  return (
    <Dialog title="New SCIM token" onClose={onClose} dirty={!!name}>
      <Form action="Create token" onSubmit={save} onCancel={onClose} problems={problems}>
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          error={problems.of('name')}
          required
          maxLength={255}
          hint="For example, Okta"
        />
        <SelectField
          label="Connection"
          value={connection}
          onValue={setConnection}
          error={problems.of('connection_id')}
          choices={[
            { value: '', label: 'None: members of no connection' },
            ...connections.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          hint="Whose people the token manages. Their roles and teams follow its mappings."
        />
        <Checkbox
          label="Also end credentials"
          hint="Suspending or deleting somebody also ends the API keys and other credentials that they created."
          checked={isEnding}
          onChecked={setEnding}
        />
      </Form>
    </Dialog>
  );
}

function Revocation({ token, onClose }: { token: ScimToken; onClose: () => void }) {
  const { id, name } = token;
  const revoke = async () => {
    await change(token, (header) => vault().api.DELETE('/orgs/{org_id}/scim-tokens/{id}', at(id, header)));
    await forget('credentials');
    tell(`${name} revoked`);
  };
  return (
    <Confirm title={`Revoke ${name}?`} action="Revoke token" onConfirm={revoke} onClose={onClose}>
      <p>
        Your identity provider can no longer use <strong>{name}</strong>: it neither adds nor suspends
        members. Members and teams that it made stay.
      </p>
    </Confirm>
  );
}

export function ScimTokens() {
  const list = useScimTokens();
  const { rows: connections } = useConnections();
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<ScimToken | null>(null);
  return (
    <section class="stack">
      <div class="section-head">
        <h2 class="grow">SCIM tokens</h2>
        {me.value?.role === 'owner' && <Button onPress={() => setMaking(true)}>New SCIM token</Button>}
      </div>
      <Listing
        list={list}
        label="SCIM tokens"
        skeleton={2}
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Name',
            width: 'minmax(10rem, 1fr)',
            cell: ({ name, hint }) => <Lines sub={hint}>{name}</Lines>,
          },
          {
            label: 'Connection',
            width: '10rem',
            cell: ({ connection_id }) =>
              connection_id === null
                ? 'None'
                : (connections.find(({ id }) => id === connection_id)?.name ?? connection_id),
          },
          {
            label: 'Last used',
            width: '10rem',
            cell: ({ last_used_at }) => <Time at={last_used_at} none="Never" />,
          },
          {
            label: 'Suspending ends credentials',
            width: '14rem',
            wide: true,
            cell: ({ end_credentials }) => (end_credentials ? 'Yes' : 'No'),
          },
        ]}
        actions={
          may('tokens:write')
            ? (token) => (
                <Menu
                  label={`Actions for ${token.name}`}
                  actions={[{ label: 'Revoke', danger: true, onSelect: () => setRevoking(token) }]}
                />
              )
            : undefined
        }
        empty={
          <Empty title="No SCIM tokens yet">
            With one, an identity provider adds, changes and suspends members and fills teams.
          </Empty>
        }
      />
      {making && <NewToken onClose={() => setMaking(false)} />}
      {revoking && <Revocation token={revoking} onClose={() => setRevoking(null)} />}
    </section>
  );
}
