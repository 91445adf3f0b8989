// Single sign-on: domains, and connections to identity providers.
import { useState } from 'preact/hooks';
import { at, confirmed, forget, vault } from '../../api';
import { change } from '../../seen';
import { me } from '../../session';
import { Confirm } from '../../ui/confirm';
import { Listing } from '../../ui/listing';
import { MakeButton } from '../../ui/make-button';
import { Menu } from '../../ui/menu';
import { Badge, CopyButton, Empty, PageHead } from '../../ui/parts';
import { Lines } from '../../ui/table';
import { tell } from '../../ui/toast';
import { Domains } from './domains';
import { ConnectionForm } from './form';
import { type Connection, useConnections } from './kinds';

function Removal({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { id, name } = connection;
  const remove = async () => {
    await confirmed(() =>
      change(connection, (header) =>
        vault().api.DELETE('/orgs/{org_id}/sso-connections/{id}', at(id, header)),
      ),
    );
    await forget('sso-connections');
    tell(`${name} deleted`);
  };
  return (
    <Confirm title={`Delete ${name}?`} action="Delete connection" onConfirm={remove} onClose={onClose}>
      <p>
        Sessions that began with <strong>{name}</strong> end immediately. Its members then need a passkey to
        sign in.
      </p>
    </Confirm>
  );
}

function Connections() {
  const list = useConnections();
  const [editing, setEditing] = useState<Connection | 'new' | null>(null);
  const [removing, setRemoving] = useState<Connection | null>(null);
  const isOwner = me.value?.role === 'owner';
  return (
    <section>
      <div class="row">
        <h2 class="grow">Connections</h2>
        {isOwner && <MakeButton onMake={() => setEditing('new')}>New connection</MakeButton>}
      </div>
      <Listing
        list={list}
        label="Connections"
        skeleton={2}
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Name',
            width: 'minmax(10rem, 1fr)',
            cell: ({ name, issuer }) => <Lines sub={issuer}>{name}</Lines>,
          },
          {
            label: 'Redirect URI or ACS URL',
            width: 'minmax(10rem, 1fr)',
            wide: true,
            cell: ({ redirect_uri, acs_url }) => (
              <span class="row">
                <code class="truncate grow">{redirect_uri ?? acs_url}</code>
                <CopyButton
                  text={redirect_uri ?? acs_url ?? ''}
                  label={redirect_uri ? 'Copy redirect URI' : 'Copy ACS URL'}
                />
              </span>
            ),
          },
          {
            label: 'Members',
            width: '10rem',
            cell: ({ jit, enforce }) => (
              <>
                {enforce && <Badge tone="accent">Required</Badge>} {jit && <Badge>Makes members</Badge>}
              </>
            ),
          },
        ]}
        actions={
          isOwner
            ? (connection) => (
                <Menu
                  label={`Actions for ${connection.name}`}
                  actions={[
                    { label: 'Edit', onSelect: () => setEditing(connection) },
                    { label: 'Delete', danger: true, onSelect: () => setRemoving(connection) },
                  ]}
                />
              )
            : undefined
        }
        empty={
          <Empty title="No connections yet">
            An owner connects an identity provider that speaks OpenID Connect.
          </Empty>
        }
      />
      {editing && (
        <ConnectionForm
          connection={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(null)}
        />
      )}
      {removing && <Removal connection={removing} onClose={() => setRemoving(null)} />}
    </section>
  );
}

export default function SingleSignOn() {
  return (
    <>
      <PageHead title="Single sign-on" lead="Members of your domains sign in with your identity provider." />
      <Domains />
      <Connections />
    </>
  );
}
