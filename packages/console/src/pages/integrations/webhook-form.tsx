// A webhook that is created or changed, and the rotation of its signing secret. Invariant: a signing secret is shown once, by `OneTime`.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { forget, here, vault } from '../../api';
import { Dialog } from '../../ui/dialog';
import { SelectField, TextField } from '../../ui/field';
import { Form, useProblems } from '../../ui/form';
import { OneTime } from '../../ui/one-time';
import { tell } from '../../ui/toast';
import { type ChosenEvents, EventChoice } from './event-choice';
import type { EventKind } from './events';

export type Webhook = components['schemas']['Webhook'];

const USUAL: EventKind[] = ['SECRET_ROTATED', 'SECRET_DELETED'];
const ALL = 'Kinds that later releases add are sent too.';

interface Draft {
  url: string;
  events: ChosenEvents;
  description: string;
}

function Fields({
  draft,
  change,
  problems,
  kept,
}: {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: ReturnType<typeof useProblems>;
  /** What is shown of a stored URL that is itself a credential: its origin. */
  kept?: string;
}) {
  return (
    <>
      <TextField
        label="URL"
        type="url"
        class="mono"
        placeholder="https://hooks.example.com/vault"
        value={draft.url}
        onValue={(url) => change({ url })}
        error={problems.of('url')}
        hint={
          kept
            ? `Stored, for ${kept}. Leave it empty to keep it.`
            : 'https on a public host. It is called with a signed POST request for each event.'
        }
        required={!kept}
      />
      <EventChoice value={draft.events} onValue={(events) => change({ events })} usual={USUAL} error={problems.of('events')} all={ALL} />
      <TextField
        label="Description"
        optional
        value={draft.description}
        onValue={(description) => change({ description })}
        error={problems.of('description')}
        maxLength={1024}
      />
    </>
  );
}

export function NewWebhook({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>({ url: '', events: USUAL, description: '' });
  const [secret, setSecret] = useState<string | null>(null);
  const problems = useProblems();
  const create = async () => {
    const { url, events, description } = draft;
    const { data } = await vault().api.POST('/orgs/{org_id}/webhooks', {
      params: { path: here() },
      body: { url, events, ...(description && { description }) },
    });
    await forget('webhooks');
    if (data.secret) setSecret(data.secret);
    else onClose();
  };
  if (secret)
    return (
      <OneTime
        title="The webhook is created"
        lead="This is its signing secret. The receiver verifies with it that a request comes from here."
        text={secret}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      title="New webhook"
      lead="Events carry ids, names and versions, never a value."
      onClose={onClose}
      dirty={draft.url !== '' || draft.description !== ''}
    >
      <Form action="Create webhook" onSubmit={create} onCancel={onClose} problems={problems} disabled={!draft.events.length}>
        <Fields draft={draft} change={(part) => setDraft({ ...draft, ...part })} problems={problems} />
      </Form>
    </Dialog>
  );
}

export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const isHidden = URL.canParse(webhook.url) && new URL(webhook.url).origin === webhook.url;
  const first: Draft = { url: isHidden ? '' : webhook.url, events: webhook.events as ChosenEvents, description: webhook.description ?? '' };
  const [draft, setDraft] = useState(first);
  const problems = useProblems();
  const patch = {
    ...(draft.url !== first.url && { url: draft.url }),
    ...(JSON.stringify(draft.events) !== JSON.stringify(first.events) && { events: draft.events }),
    ...(draft.description !== first.description && { description: draft.description || null }),
  };
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    await vault().api.PATCH('/orgs/{org_id}/webhooks/{id}', { params: { path: { ...here(), id: webhook.id } }, body: patch });
    await forget('webhooks');
    tell('The webhook is changed');
    onClose();
  };
  return (
    <Dialog title="Edit webhook" lead="A new URL is signed with the same secret." onClose={onClose} dirty={!isSame}>
      <Form action="Save changes" onSubmit={save} onCancel={onClose} problems={problems} disabled={isSame || !draft.events.length}>
        <Fields
          draft={draft}
          change={(part) => setDraft({ ...draft, ...part })}
          problems={problems}
          kept={isHidden ? webhook.url : undefined}
        />
      </Form>
    </Dialog>
  );
}

const OVERLAPS = [
  { value: '86400', label: '1 day' },
  { value: '3600', label: '1 hour' },
  { value: '0', label: 'Not at all: it ends now' },
];

export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [overlap, setOverlap] = useState('86400');
  const [secret, setSecret] = useState<string | null>(null);
  const problems = useProblems();
  const rotate = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/webhooks/{id}/rotate-secret', {
      params: { path: { ...here(), id: webhook.id } },
      body: { overlap_seconds: Number(overlap) },
    });
    await forget('webhooks');
    if (data.secret) setSecret(data.secret);
    else onClose();
  };
  if (secret)
    return (
      <OneTime title="The new signing secret" lead="Give it to the receiver before the old one ends." text={secret} onClose={onClose} />
    );
  return (
    <Dialog
      title="Rotate the signing secret?"
      lead="The webhook gets a new secret. While both sign, the receiver may hold either."
      onClose={onClose}
    >
      <Form action="Rotate secret" onSubmit={rotate} onCancel={onClose} problems={problems}>
        <SelectField
          label="The old secret signs too for"
          value={overlap}
          onValue={setOverlap}
          choices={OVERLAPS}
          error={problems.of('overlap_seconds')}
        />
        {overlap === '0' && <p class="note warn">A receiver that holds the old secret refuses every event from now on.</p>}
      </Form>
    </Dialog>
  );
}
