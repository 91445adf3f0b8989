// Single sign-on: domains, and connections to identity providers.
import { useState } from 'preact/hooks';
import { at, confirmed, forget, vault } from '../../requests/api';
import { change } from '../../requests/seen';
import { may } from '../../session/may';
import { me } from '../../session/session';
import { MakeButton } from '../../ui/controls/make-button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Badge, Empty, PageHead } from '../../ui/parts';
import { report, tell } from '../../ui/toast';
import { Addresses } from './addresses';
import { Domains } from './domains';
import { ConnectionForm } from './form';
import { type Connection, labelOfKind, useConnections } from './kinds';
import { ScimTokens } from './scim';

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

/** Leads this browser to the provider, which sends it back to a page with the result. */
async function test({ id }: Connection) {
  const { data } = await confirmed(() =>
    vault().api.POST('/orgs/{org_id}/sso-connections/{id}/test', at(id)),
  );
  location.assign(data.url);
}

function Connections() {
  const list = useConnections();
  const [editing, setEditing] = useState<Connection | 'new' | null>(null);
  const [shown, setShown] = useState<Connection | null>(null);
  const [removing, setRemoving] = useState<Connection | null>(null);
  const isOwner = me.value?.role === 'owner';
  return (
    <section class="stack">
      <div class="section-head">
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
            label: 'Members',
            width: '14rem',
            cell: ({ jit, enforce, stopped_at }) => (
              <span class="chips">
                {stopped_at && <Badge tone="bad">Stopped by a panic</Badge>}
                {enforce && <Badge tone="accent">Required</Badge>}
                {jit && <Badge>Makes members</Badge>}
              </span>
            ),
          },
          {
            label: 'Issuer',
            width: 'minmax(10rem, 1fr)',
            wide: true,
            cell: ({ issuer }) => <code class="truncate">{issuer}</code>,
          },
          {
            label: 'Protocol',
            width: '10rem',
            wide: true,
            cell: ({ kind }) => labelOfKind(kind),
          },
        ]}
        actions={(connection) => (
          <Menu
            label={`Actions for ${connection.name}`}
            actions={[
              { label: 'Addresses for the provider', onSelect: () => setShown(connection) },
              isOwner && { label: 'Test sign-in', onSelect: () => void test(connection).catch(report) },
              isOwner && { label: 'Edit', onSelect: () => setEditing(connection) },
              isOwner && { label: 'Delete', danger: true, onSelect: () => setRemoving(connection) },
            ]}
          />
        )}
        empty={
          <Empty title="No connections yet">
            An owner connects an identity provider that speaks OpenID Connect or SAML 2.0.
          </Empty>
        }
      />
      {editing && (
        <ConnectionForm
          connection={editing === 'new' ? undefined : editing}
          onCreated={(made) => {
            setEditing(null);
            setShown(made);
          }}
          onClose={() => setEditing(null)}
        />
      )}
      {shown && <Addresses connection={shown} onClose={() => setShown(null)} />}
      {removing && <Removal connection={removing} onClose={() => setRemoving(null)} />}
    </section>
  );
}

export default function SingleSignOn() {
  return (
    <>
      <PageHead title="Single sign-on" lead="Members of your domains sign in with your identity provider." />
      <div class="sections">
        <Domains />
        <Connections />
        {may('tokens:read') && <ScimTokens />}
      </div>
    </>
  );
}
