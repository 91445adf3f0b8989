// Changes a stored connection. Invariant: only fields that differ from the connection as the dialog opened are sent, so that credentials
// that were not typed are kept, and what a colleague changes meanwhile.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { at, forget, vault } from '../../api';
import { environments } from '../../environments';
import { type Changing, changedOf, useChange } from '../../seen';
import { Confirm } from '../../ui/confirm';
import { Dialog } from '../../ui/dialog';
import { TextField } from '../../ui/field';
import { Form, useProblems } from '../../ui/form';
import { ErrorNote, Skeleton } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { ConfigFields } from './config-fields';
import { USUAL, useConfig } from './draft';
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

/** The name, the options of a sync and the events of a notification: everything but the config. */
const fieldsOf = (stored: Integration) => ({
  name: stored.name,
  options: optionsOf(stored),
  events: (stored.events ?? '*') as ChosenEvents,
});

function EditForm({ stored: current, platform, onClose }: { stored: Integration; platform: Platform; onClose: () => void }) {
  const [stored] = useState(current);
  const [first] = useState(() => fieldsOf(stored));
  const [name, setName] = useState(first.name);
  const [options, setOptions] = useState(first.options);
  const [events, setEvents] = useState(first.events);
  const config = useConfig(platform, stored);
  const problems = useProblems();
  const changing = useChange(stored);
  const patch: Patch = {
    ...changedOf({ name: first.name, events: first.events, ...first.options }, { name, events, ...options }),
    ...(config.dirty && { config: config.patch }),
  };
  const isSame = !Object.keys(patch).length;
  const save = async () => {
    await changing((header) => vault().api.PATCH('/orgs/{org_id}/integrations/{id}', { ...at(stored.id, header), body: patch }));
    await forget('integrations');
    tell(`${name} saved`);
    onClose();
  };
  return (
    <Dialog title={`Edit ${stored.name}`} lead={platformName(stored.platform)} onClose={onClose} dirty={!isSame}>
      <Form action="Save changes" onSubmit={save} onCancel={onClose} problems={problems} disabled={isSame}>
        <TextField label="Name" value={name} onValue={setName} error={problems.of('name')} maxLength={255} required />
        {config.mustComeAlong && (
          <p class="note warn">This changes the target of the connection, which erases its stored credentials. Enter them again.</p>
        )}
        <ConfigFields {...config.shown} problems={problems} />
        {stored.kind === 'sync' ? (
          <SyncFields value={options} onValue={setOptions} error={problems.of('environments')} />
        ) : (
          <EventChoice
            value={events}
            onValue={setEvents}
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

export function RemoveConnection({ stored, onRemoved, onClose }: { stored: Integration; onRemoved?: () => void; onClose: () => void }) {
  const remove = async (changing: Changing) => {
    await changing((header) => vault().api.DELETE('/orgs/{org_id}/integrations/{id}', at(stored.id, header)));
    await forget('integrations');
    tell(`${stored.name} removed`);
    onRemoved?.();
  };
  return (
    <Confirm title={`Remove ${stored.name}?`} action="Remove connection" resource={stored} onConfirm={remove} onClose={onClose}>
      <p>
        {stored.kind === 'sync'
          ? `This connection stops writing to ${platformName(stored.platform)}. Secrets already written there are kept.`
          : `No more messages are sent there. The stored credentials are erased.`}
      </p>
    </Confirm>
  );
}
