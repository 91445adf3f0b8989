// Creates an upstream, from the catalogue or by hand, or changes one. Invariant: nothing here is a value:
// `auth` names secrets.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { CATALOGUE } from '../../../../cli/src/proxy/upstream-catalogue';
import { defaultEnvironment, environments } from '../../organisation/environments';
import { at, forget, here, vault } from '../../requests/api';
import { useChange } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { type Fields, fieldsOf, parsed, textOf, type Upstream } from './kinds';

const OTHER = 'other';
const APIS = [
  ...Object.entries(CATALOGUE).map(([value, { what }]) => ({ value, label: `${value}: ${what}` })),
  { value: OTHER, label: 'Another API' },
];
const exampleOf = (secret: string): Fields => ({
  base_url: 'https://api.example.com',
  auth: [{ type: 'header', name: 'Authorization', value: `Bearer {{${secret}}}` }],
  allow: [{ methods: ['GET'], paths: ['/v1/*'] }],
});

/** The fields of an API whose credential is this secret. */
const readyOf = (api: string, secret: string): Fields => CATALOGUE[api]?.fields(secret) ?? exampleOf(secret);

interface RequestsProps {
  text: string;
  onText: (text: string) => void;
  problems: ReturnType<typeof useProblems>;
}

function Requests({ text, onText, problems: { of } }: RequestsProps) {
  const refused = of('base_url') ?? of('auth') ?? of('allow');
  return (
    <TextArea
      label="Requests"
      class="mono"
      rows={12}
      value={text}
      onValue={onText}
      error={parsed(text) ? refused : 'Not a JSON object.'}
      hint="Where it sends (base_url), how it places secrets (auth), and what it lets through (allow)."
      required
    />
  );
}

const Name = ({ name, onName, error }: { name: string; onName: (name: string) => void; error?: string }) => (
  <TextField
    label="Name"
    value={name}
    onValue={onName}
    error={error}
    hint="Callers name it by this."
    required
    maxLength={63}
  />
);

const LEAD =
  'Whoever may use the secrets can then make these requests, and no others. Secrets are named, never written here.';

export function NewUpstream({ onClose }: { onClose: () => void }) {
  const [, go] = useLocation();
  const [api, setApi] = useState('stripe');
  const [name, setName] = useState('stripe');
  const [environment, setEnvironment] = useState(defaultEnvironment.value);
  const [secret, setSecret] = useState(CATALOGUE.stripe?.secret ?? '');
  const [own, setOwn] = useState<string | null>(null);
  const problems = useProblems();
  const text = own ?? textOf(readyOf(api, secret));
  const choose = (to: string) => {
    setApi(to);
    setName(to === OTHER ? '' : to);
    setSecret(CATALOGUE[to]?.secret ?? 'API_KEY');
    setOwn(null);
  };
  const create = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/upstreams', {
      params: { path: here() },
      body: { name, environment, ...(parsed(text) as Fields) },
    });
    await forget('upstreams');
    tell('Upstream created');
    onClose();
    go(`/upstreams/${data.id}`);
  };
  return (
    <Dialog title="New upstream" lead={LEAD} onClose={onClose} dirty={own !== null}>
      <Form
        action="Create upstream"
        onSubmit={create}
        onCancel={onClose}
        problems={problems}
        disabled={!parsed(text)}
      >
        <SelectField label="API" value={api} onValue={choose} choices={APIS} />
        <Name name={name} onName={setName} error={problems.of('name')} />
        <SelectField
          label="Environment"
          value={environment}
          onValue={setEnvironment}
          choices={environments.value.map(({ slug, name: label }) => ({ value: slug, label }))}
          error={problems.of('environment')}
        />
        {own === null && (
          <TextField
            label="Secret"
            value={secret}
            onValue={setSecret}
            hint="The name of the secret with the API's credential."
            required
            maxLength={255}
          />
        )}
        <Requests text={text} onText={setOwn} problems={problems} />
      </Form>
    </Dialog>
  );
}

export function ChangeUpstream({ upstream, onClose }: { upstream: Upstream; onClose: () => void }) {
  const before = textOf(fieldsOf(upstream));
  const [name, setName] = useState(upstream.name);
  const [text, setText] = useState(before);
  const problems = useProblems();
  const changing = useChange(upstream);
  const save = async () => {
    await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/upstreams/{id}', {
        ...at(upstream.id, header),
        body: { name, ...(parsed(text) as Fields) },
      }),
    );
    await forget('upstreams');
    tell('Upstream saved');
    onClose();
  };
  return (
    <Dialog
      title="Change upstream"
      lead={LEAD}
      onClose={onClose}
      dirty={text !== before || name !== upstream.name}
    >
      <Form
        action="Save upstream"
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={!parsed(text)}
      >
        <Name name={name} onName={setName} error={problems.of('name')} />
        <Requests text={text} onText={setText} problems={problems} />
      </Form>
    </Dialog>
  );
}
