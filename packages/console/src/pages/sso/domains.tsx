// Domains: adding one, the DNS record to copy, and looking it up.
import { useState } from 'preact/hooks';
import { at, forget, here, vault } from '../../requests/api';
import { change } from '../../requests/seen';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Badge, Empty, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { type Domain, useDomains } from './kinds';
import { Part } from './part';

function AddForm({ onAdded, onClose }: { onAdded: (domain: Domain) => void; onClose: () => void }) {
  const [domain, setDomain] = useState('');
  const problems = useProblems();
  const save = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/domains', {
      params: { path: here() },
      body: { domain },
    });
    await forget('domains');
    onAdded(data);
  };
  return (
    <Dialog title="Add domain" onClose={onClose} dirty={!!domain}>
      <Form action="Add domain" onSubmit={save} onCancel={onClose} problems={problems}>
        <TextField
          label="Domain"
          value={domain}
          onValue={setDomain}
          error={problems.of('domain')}
          required
          maxLength={255}
          hint="For example, example.com. Each subdomain is a domain of its own."
        />
      </Form>
    </Dialog>
  );
}

/** The record of a domain, and looking it up. */
function RecordDialog({ domain: { id, domain, record }, onClose }: { domain: Domain; onClose: () => void }) {
  const problems = useProblems();
  const verify = async () => {
    await vault().api.POST('/orgs/{org_id}/domains/{id}/verify', at(id));
    await forget('domains');
    tell(`${domain} verified`);
    onClose();
  };
  return (
    <Dialog
      title={`Verify ${domain}`}
      lead="Create this record where the DNS of the domain is managed, and keep it: it is looked up daily."
      onClose={onClose}
    >
      <Form action="Verify domain" onSubmit={verify} onCancel={onClose} problems={problems}>
        <Part label="Type" text={record.type} />
        <Part label="Name" text={record.name} />
        <Part label="Value" text={record.value} />
      </Form>
    </Dialog>
  );
}

function Removal({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const remove = async () => {
    await change(domain, (header) =>
      vault().api.DELETE('/orgs/{org_id}/domains/{id}', at(domain.id, header)),
    );
    await forget('domains', 'sso-connections');
    tell(`${domain.domain} deleted`);
  };
  return (
    <Confirm title={`Delete ${domain.domain}?`} action="Delete domain" onConfirm={remove} onClose={onClose}>
      <p>
        Nobody signs in with addresses of <strong>{domain.domain}</strong> any more, and another organisation
        can verify it.
      </p>
    </Confirm>
  );
}

const Status = ({ domain: { status, missing_since } }: { domain: Domain }) =>
  missing_since ? (
    <Badge tone="warn">Record missing</Badge>
  ) : (
    <Badge tone={status === 'verified' ? 'good' : 'plain'}>
      {status === 'verified' ? 'Verified' : 'Pending'}
    </Badge>
  );

export function Domains() {
  const list = useDomains();
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState<Domain | null>(null);
  const [removing, setRemoving] = useState<Domain | null>(null);
  const mayWrite = may('sso:write');
  return (
    <section class="stack">
      <div class="section-head">
        <h2 class="grow">Domains</h2>
        {mayWrite && <Button onPress={() => setAdding(true)}>Add domain</Button>}
      </div>
      <Listing
        list={list}
        label="Domains"
        skeleton={2}
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Domain',
            width: 'minmax(10rem, 1fr)',
            cell: ({ domain, record }) => <Lines sub={record.name}>{domain}</Lines>,
          },
          { label: 'Status', width: '9rem', cell: (domain) => <Status domain={domain} /> },
          {
            label: 'Verified',
            width: '10rem',
            wide: true,
            cell: ({ verified_at }) => <Time at={verified_at} none="Not yet" />,
          },
        ]}
        actions={
          mayWrite
            ? (domain) => (
                <Menu
                  label={`Actions for ${domain.domain}`}
                  actions={[
                    { label: 'Show record and verify', onSelect: () => setShown(domain) },
                    { label: 'Delete', danger: true, onSelect: () => setRemoving(domain) },
                  ]}
                />
              )
            : undefined
        }
        empty={<Empty title="No domains yet">Prove a domain before its members can sign in.</Empty>}
      />
      {adding && (
        <AddForm
          onAdded={(domain) => {
            setAdding(false);
            setShown(domain);
          }}
          onClose={() => setAdding(false)}
        />
      )}
      {shown && <RecordDialog domain={shown} onClose={() => setShown(null)} />}
      {removing && <Removal domain={removing} onClose={() => setRemoving(null)} />}
    </section>
  );
}
