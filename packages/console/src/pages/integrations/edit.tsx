// Changes a stored connection. Invariant: only fields that differ from the connection that the dialog shows a
// change of are sent, so that credentials that were not typed are kept, and what a colleague changes
// meanwhile.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { changedOf, type Lines } from '../../changes/merge';
import { environments } from '../../organisation/environments';
import { at, forget, vault } from '../../requests/api';
import { type Changing, useEdit } from '../../requests/seen';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { ErrorNote, Skeleton } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { ConfigFields } from './config-fields';
import { configDraftOf, configOfDraft, linesIn, USUAL } from './draft';
import { type ChosenEvents, EventChoice } from './event-choice';
import { SyncFields, type SyncOptions } from './new';
import { type Integration, type Platform, platformName, usePlatforms } from './platforms';

type Patch = components['schemas']['IntegrationPatch'];

/** The environments of a connection, by slug; all of them if it lists none. */
export const slugsOf = (named: string[] | null | undefined): string[] =>
  environments.value.map(({ slug }) => slug).filter((slug) => !named || named.includes(slug));

const optionsOf = ({ environments: named, auto = false, prune = false }: Integration): SyncOptions => ({
  environments: slugsOf(named),
  auto,
  prune,
});

/** The name, the options of a sync, the events of a notification, and the config. */
const draftOf = (stored: Integration, platform: Platform) => ({
  name: stored.name,
  options: optionsOf(stored),
  events: (stored.events ?? '*') as ChosenEvents,
  config: configDraftOf(platform, stored),
});
type Draft = ReturnType<typeof draftOf>;

/** The fields in the format of the API, without the config. */
const fieldsOf = ({ name, events, options }: Draft) => ({ name, events, ...options });

function EditForm({
  stored,
  platform,
  onClose,
}: {
  stored: Integration;
  platform: Platform;
  onClose: () => void;
}) {
  const [lines] = useState<Lines<Draft>>(() => ({ config: { fields: linesIn(platform) } }));
  const { seen, first, draft, setDraft, changing } = useEdit(stored, (of) => draftOf(of, platform), lines);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const { name, options, events } = draft;
  const config = configOfDraft(platform, draft.config, (input) => change({ config: input }), seen);
  const problems = useProblems();
  const patch: Patch = {
    ...changedOf(fieldsOf(first), fieldsOf(draft)),
    ...(config.dirty && { config: config.patch }),
  };
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/integrations/{id}', { ...at(stored.id, header), body: patch }),
    );
    await forget('integrations');
    tell(`${name} saved`);
    onClose();
  };
  return (
    <Dialog
      title={`Edit ${stored.name}`}
      lead={platformName(stored.platform)}
      onClose={onClose}
      dirty={!isSame}
    >
      <Form action="Save changes" onSubmit={save} onCancel={onClose} problems={problems} disabled={isSame}>
        <TextField
          label="Name"
          value={name}
          onValue={(text) => change({ name: text })}
          error={problems.of('name')}
          maxLength={255}
          required
        />
        {config.mustComeAlong && (
          <p class="note warn">
            This changes the target of the connection, which erases its stored credentials. Enter them again.
          </p>
        )}
        <ConfigFields {...config.shown} problems={problems} />
        {stored.kind === 'sync' ? (
          <SyncFields
            value={options}
            onValue={(chosen) => change({ options: chosen })}
            error={problems.of('environments')}
          />
        ) : (
          <EventChoice
            value={events}
            onValue={(chosen) => change({ events: chosen })}
            usual={USUAL}
            error={problems.of('events')}
            all="Includes event types added in later releases."
          />
        )}
      </Form>
    </Dialog>
  );
}

export function EditConnection({ stored, onClose }: { stored: Integration; onClose: () => void }) {
  const { data, error, refetch } = usePlatforms();
  const platform = data?.data.find((one) => one.platform === stored.platform && one.kind === stored.kind);
  if (platform) return <EditForm stored={stored} platform={platform} onClose={onClose} />;
  return (
    <Dialog title={`Edit ${stored.name}`} onClose={onClose}>
      {error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={3} />}
    </Dialog>
  );
}

export function RemoveConnection({
  stored,
  onRemoved,
  onClose,
}: {
  stored: Integration;
  onRemoved?: () => void;
  onClose: () => void;
}) {
  const remove = async (changing: Changing) => {
    await changing((header) => vault().api.DELETE('/orgs/{org_id}/integrations/{id}', at(stored.id, header)));
    await forget('integrations');
    tell(`${stored.name} removed`);
    onRemoved?.();
  };
  return (
    <Confirm
      title={`Remove ${stored.name}?`}
      action="Remove connection"
      resource={stored}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>
        {stored.kind === 'sync'
          ? `This connection stops writing to ${platformName(stored.platform)}. Secrets already written there are kept.`
          : `No more messages are sent there. The stored credentials are erased.`}
      </p>
    </Confirm>
  );
}
