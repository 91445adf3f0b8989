// The dialog that creates a credential of any kind. Invariants: it starts with the least useful permissions,
// and the token is shown once.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { forget, here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, SelectField, TextField } from '../../ui/forms/field';
import { Form, type Problems, useProblems } from '../../ui/forms/form';
import { ChecksField } from '../../ui/forms/options';
import { accessKeyTexts, OneTime } from '../../ui/values/one-time';
import { type Kind, kinds, nameOf } from './kinds';
import {
  AddressField,
  boundsOf,
  LifetimeField,
  leastReach,
  PlaceFields,
  type Reach,
  ScopeFields,
} from './reach';
import '../../styles/access.css';

type MakeableKind = Exclude<Kind, 'session' | 'trust'>;
type ProviderScope = components['schemas']['ProviderTokenIn']['scopes'][number];

interface Draft extends Reach {
  name: string;
  reason: string;
  rate: string;
  does: string[];
  hours: string;
  device: string;
  aws: boolean;
}

const leastDraft = (): Draft => ({
  ...leastReach(),
  name: '',
  reason: '',
  rate: '120',
  does: ['issue'],
  hours: '3600',
  device: '',
  aws: false,
});

interface Made {
  id: string;
  token: string | null;
  /** Of an API key that clients of AWS use. */
  aws?: { access_key_id: string | null; secret_access_key: string | null } | null;
}

async function create(kind: MakeableKind, draft: Draft): Promise<Made> {
  const params = { path: here() };
  const { api } = vault();
  const { name } = draft;
  const bounds = boundsOf(draft);
  const lifetime = draft.lifetime ? { ttlSeconds: Number(draft.lifetime) } : {};
  if (kind === 'api_key')
    return (
      await api.POST('/orgs/{org_id}/api-keys', {
        params,
        body: { name, scopes: draft.scopes, ...bounds, ...lifetime, ...(draft.aws && { aws: true }) },
      })
    ).data;
  if (kind === 'agent') {
    const body = {
      name,
      scopes: draft.scopes,
      rate_limit: Number(draft.rate),
      ...bounds,
      ...lifetime,
      ...(draft.device && { device_id: draft.device }),
    };
    return (await api.POST('/orgs/{org_id}/agent-credentials', { params, body })).data;
  }
  if (kind === 'provider')
    return (
      await api.POST('/orgs/{org_id}/provider-tokens', {
        params,
        body: { name, scopes: draft.does as ProviderScope[], ...bounds },
      })
    ).data;
  const body = { reason: draft.reason, ttlSeconds: Number(draft.hours) };
  return (await api.POST('/orgs/{org_id}/break-glass-tokens', { params, body })).data;
}

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: Problems;
}

const BreakGlassFields = ({ draft, change, problems }: FieldsProps) => (
  <>
    <p class="note warn">
      It can read, write and rotate every secret of the organisation. Owners are notified when it is created
      and first used, and every use is marked in the audit log.
    </p>
    <TextField
      label="Reason"
      value={draft.reason}
      onValue={(reason) => change({ reason })}
      error={problems.of('reason')}
      hint="At least 10 characters. Say what happened and what you are going to do."
      required
      minLength={10}
      maxLength={1024}
    />
    <SelectField
      label="Expires after"
      value={draft.hours}
      onValue={(hours) => change({ hours })}
      choices={[
        { value: '900', label: '15 minutes' },
        { value: '3600', label: '1 hour' },
        { value: '14400', label: '4 hours' },
      ]}
      error={problems.of('ttlSeconds')}
    />
  </>
);

const ProviderFields = (props: FieldsProps) => (
  <ChecksField
    label="Permissions"
    value={props.draft.does}
    onValue={(does) => props.change({ does })}
    error={props.problems.of('scopes')}
    options={[
      { value: 'issue', label: 'Issue', hint: 'Store a new secret or value' },
      { value: 'rotate', label: 'Rotate', hint: 'Replace a value' },
      { value: 'revoke', label: 'Revoke', hint: 'Make every version unreadable' },
    ]}
  />
);

/** A device whose key must sign each request. */
function DeviceField({ draft, change, problems }: FieldsProps) {
  const { data } = useRead(
    ['devices', 'with-key'],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/devices', {
        params: { path: here(), query: { limit: 100, status: 'active' } },
        signal,
      }),
    may('devices:read'),
  );
  const bound = data?.data.filter(({ public_key }) => public_key) ?? [];
  return (
    <SelectField
      label="Device"
      value={draft.device}
      onValue={(device) => change({ device })}
      error={problems.of('device_id')}
      choices={[{ value: '', label: 'Any' }, ...bound.map(({ id, name }) => ({ value: id, label: name }))]}
      hint="Each request then needs a proof signed with the private key of the device. Devices without a key are not listed."
    />
  );
}

const Bounds = ({ kind, ...props }: FieldsProps & { kind: MakeableKind }) => {
  const rest = { reach: props.draft, change: props.change, problems: props.problems };
  return (
    <>
      {kind === 'provider' ? <ProviderFields {...props} /> : <ScopeFields {...rest} />}
      <PlaceFields {...rest} withHits={kind !== 'provider'} />
      <div class="columns">
        {kind !== 'provider' && <LifetimeField {...rest} canStay={kind === 'api_key'} />}
        {kind === 'agent' && (
          <TextField
            label="Requests per minute"
            type="number"
            min={1}
            max={6000}
            required
            value={props.draft.rate}
            onValue={(rate) => props.change({ rate })}
            error={props.problems.of('rate_limit')}
          />
        )}
      </div>
      {kind === 'api_key' && (
        <Checkbox
          label="For AWS clients"
          hint="Also makes an access key, with which AWS’s SDKs and command line read secrets from this service."
          checked={props.draft.aws}
          onChecked={(aws) => props.change({ aws })}
        />
      )}
      <details>
        <summary>
          {kind === 'agent' ? 'Restrict to IP addresses or a device' : 'Restrict to IP addresses'}
        </summary>
        <div class="stack below-summary">
          <AddressField {...rest} />
          {kind === 'agent' && <DeviceField {...props} />}
        </div>
      </details>
    </>
  );
};

const leads: Record<MakeableKind, string> = {
  api_key: 'Store it where your program reads it. Programs exchange it for session tokens.',
  agent: 'Give it to the agent. You can change or revoke it at any time.',
  provider: 'Give it to the service that issues secrets. It works only with the provider API.',
  break_glass: 'Use it now. It expires automatically and cannot be extended.',
};

export function NewCredential({ kind, onClose }: { kind: Kind; onClose: () => void }) {
  const [draft, setDraft] = useState(leastDraft);
  const [first] = useState(() => JSON.stringify(draft));
  const [made, setMade] = useState<Made | null>(null);
  const problems = useProblems();
  const [, go] = useLocation();
  if (kind === 'session' || kind === 'trust') return null;
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const { label } = kinds[kind];
  const save = async () => {
    const answer = await create(kind, draft);
    await forget('credentials');
    setMade(answer);
  };
  const end = () => {
    onClose();
    if (made) go(`/credentials/${made.id}`);
  };
  // The response to a repeated request whose first response was lost contains no token.
  if (made)
    return (
      <OneTime
        title={`${label} created`}
        lead={leads[kind]}
        text={
          made.token ?? 'The credential was created, but its token was lost. Revoke it and create another.'
        }
        further={accessKeyTexts(made.aws)}
        onClose={end}
      />
    );
  const words = nameOf(kind);
  return (
    <Dialog
      side
      title={`New ${words}`}
      lead={kinds[kind].lead}
      onClose={onClose}
      dirty={JSON.stringify(draft) !== first}
    >
      <Form
        action={`Create ${words}`}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        danger={kind === 'break_glass'}
      >
        {kind === 'break_glass' ? (
          <BreakGlassFields draft={draft} change={change} problems={problems} />
        ) : (
          <>
            <TextField
              label="Name"
              value={draft.name}
              onValue={(name) => change({ name })}
              error={problems.of('name')}
              hint="Name the program that uses it, such as billing worker"
              required
              maxLength={255}
            />
            <Bounds kind={kind} draft={draft} change={change} problems={problems} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
