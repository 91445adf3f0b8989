// Creates or changes a webhook, and rotates its signing secret. Invariant: a signing secret is shown once, by
// `OneTime`.
import type { components, EventType } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { changedOf } from '../../changes/merge';
import { at, forget, here, vault } from '../../requests/api';
import { useChange, useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { OneTime } from '../../ui/values/one-time';
import { type ChosenEvents, EventChoice } from './event-choice';

export type Webhook = components['schemas']['Webhook'];
export type ListedWebhook = components['schemas']['ListedWebhook'];

const USUAL: EventType[] = ['SECRET_ROTATED', 'SECRET_DELETED'];
const ALL = 'Includes event types added in later releases.';

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
  /** The visible part of a stored URL that is itself a credential: its origin. */
  kept?: string;
}) {
  return (
    <>
      <TextField
        label="URL"
        secret
        type="url"
        class="mono"
        placeholder="https://hooks.example.com/vault"
        value={draft.url}
        onValue={(url) => change({ url })}
        error={problems.of('url')}
        hint={
          kept
            ? `Stored, for ${kept}. Leave empty to keep it.`
            : 'An https URL on a public host. It receives a signed POST request for each event.'
        }
        required={!kept}
      />
      <EventChoice
        value={draft.events}
        onValue={(events) => change({ events })}
        usual={USUAL}
        error={problems.of('events')}
        all={ALL}
      />
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
        title="Webhook created"
        lead="This is its signing secret. The receiver uses it to verify that requests come from this service."
        text={secret}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      title="New webhook"
      lead="Events contain IDs, names and versions, never values."
      onClose={onClose}
      dirty={draft.url !== '' || draft.description !== ''}
    >
      <Form
        action="Create webhook"
        onSubmit={create}
        onCancel={onClose}
        problems={problems}
        disabled={!draft.events.length}
      >
        <Fields draft={draft} change={(part) => setDraft({ ...draft, ...part })} problems={problems} />
      </Form>
    </Dialog>
  );
}

/** Whether the API shows only the origin of the URL, which is itself a credential. */
const isHidden = ({ url }: Webhook): boolean => URL.canParse(url) && new URL(url).origin === url;

const draftOf = (webhook: Webhook): Draft => ({
  url: isHidden(webhook) ? '' : webhook.url,
  events: webhook.events as ChosenEvents,
  description: webhook.description ?? '',
});

export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { seen, first, draft, setDraft, changing } = useEdit(webhook, draftOf);
  const problems = useProblems();
  const bodyOf = ({ description, ...others }: Draft) => ({ ...others, description: description || null });
  const patch = changedOf(bodyOf(first), bodyOf(draft));
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/webhooks/{id}', { ...at(webhook.id, header), body: patch }),
    );
    await forget('webhooks');
    tell('Webhook saved');
    onClose();
  };
  return (
    <Dialog
      title="Edit webhook"
      lead="Requests to a new URL are signed with the same secret."
      onClose={onClose}
      dirty={!isSame}
    >
      <Form
        action="Save changes"
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={isSame || !draft.events.length}
      >
        <Fields
          draft={draft}
          change={(part) => setDraft({ ...draft, ...part })}
          problems={problems}
          kept={isHidden(seen) ? seen.url : undefined}
        />
      </Form>
    </Dialog>
  );
}

const OVERLAPS = [
  { value: '86400', label: '1 day' },
  { value: '3600', label: '1 hour' },
  { value: '0', label: 'No overlap' },
];

export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [overlap, setOverlap] = useState('86400');
  const [secret, setSecret] = useState<string | null>(null);
  const problems = useProblems();
  const changing = useChange(webhook);
  const rotate = async () => {
    const { data } = await changing((header) =>
      vault().api.POST('/orgs/{org_id}/webhooks/{id}/rotate-secret', {
        ...at(webhook.id, header),
        body: { overlap_seconds: Number(overlap) },
      }),
    );
    await forget('webhooks');
    if (data.secret) setSecret(data.secret);
    else onClose();
  };
  if (secret)
    return (
      <OneTime
        title="New signing secret"
        lead="Give it to the receiver before the old secret expires."
        text={secret}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      title="Rotate signing secret?"
      lead="The webhook gets a new secret. During the overlap, requests are signed with both, so the receiver can use either."
      onClose={onClose}
    >
      <Form action="Rotate secret" onSubmit={rotate} onCancel={onClose} problems={problems}>
        <SelectField
          label="Keep signing with the old secret for"
          value={overlap}
          onValue={setOverlap}
          choices={OVERLAPS}
          error={problems.of('overlap_seconds')}
        />
        {overlap === '0' && (
          <p class="note warn">A receiver with the old secret will reject every event immediately.</p>
        )}
      </Form>
    </Dialog>
  );
}
