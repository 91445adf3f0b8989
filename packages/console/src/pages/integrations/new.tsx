// A new connection: choose a platform, fill in its form, store the connection. A preview of the sync is shown
// afterwards, on the page of the connection, before anything is written.
import type { components } from '@secrets-vault/client';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useParameter } from '../../navigation/router';
import { defaultEnvironment, environments } from '../../organisation/environments';
import { forget, here, vault } from '../../requests/api';
import { Choices } from '../../ui/forms/choices';
import { Checkbox, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Crumbs } from '../../ui/page';
import { Empty, ErrorNote, PageHead, Skeleton } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { ConfigFields } from './config-fields';
import { USUAL, useConfig } from './draft';
import { EventChoice } from './event-choice';
import { Gallery } from './gallery';
import { aboutPlatform, type Kind, type Platform, usePlatforms } from './platforms';
import { TryFirst } from './try';

type IntegrationIn = components['schemas']['IntegrationIn'];
type Of<Each> = Extract<IntegrationIn, { kind: Each }>;

const listOf = (kind: Kind) => (kind === 'sync' ? '/syncs' : '/notifications');

/** The environments of a sync connection, and whether it runs automatically. */
export interface SyncOptions {
  environments: string[];
  auto: boolean;
  prune: boolean;
}

export function SyncFields({
  value,
  onValue,
  error,
}: {
  value: SyncOptions;
  onValue: (value: SyncOptions) => void;
  error?: string;
}) {
  return (
    <>
      <Choices
        label="Environments to sync"
        hint="The connection can sync only these environments."
        error={error}
        choices={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
        value={value.environments}
        onValue={(chosen) => onValue({ ...value, environments: chosen })}
      />
      <Checkbox
        label="Sync automatically"
        hint="Runs a few seconds after a secret changes. Secrets held by an approval policy are not sent."
        checked={value.auto}
        onChecked={(auto) => onValue({ ...value, auto })}
      />
      {value.auto && (
        <Checkbox
          label="Delete removed secrets"
          hint="If a secret is deleted here, its copy on the platform is deleted too, if this service wrote it."
          checked={value.prune}
          onChecked={(prune) => onValue({ ...value, prune })}
        />
      )}
    </>
  );
}

function NewForm({ platform }: { platform: Platform }) {
  const { name: known, advice } = aboutPlatform(platform.platform);
  const [, go] = useLocation();
  const [name, setName] = useState(known);
  const [events, setEvents] = useState<'*' | typeof USUAL>(USUAL);
  const [options, setOptions] = useState<SyncOptions>({ environments: [], auto: false, prune: false });
  const config = useConfig(platform);
  const problems = useProblems();
  const isSync = platform.kind === 'sync';
  useEffect(() => {
    if (defaultEnvironment.value)
      setOptions((before) => ({ ...before, environments: [defaultEnvironment.value] }));
  }, [defaultEnvironment.value]);
  const store = async () => {
    const common = { name, config: config.config() };
    const body: IntegrationIn = isSync
      ? {
          kind: 'sync',
          platform: platform.platform as Of<'sync'>['platform'],
          ...common,
          ...options,
          prune: options.auto && options.prune,
        }
      : { kind: 'notify', platform: platform.platform as Of<'notify'>['platform'], ...common, events };
    const { data } = await vault().api.POST('/orgs/{org_id}/integrations', {
      params: { path: here() },
      body,
    });
    await forget('integrations');
    tell(
      `${data.name} stored`,
      isSync ? 'Preview the changes before you run it.' : 'Send a test message to check that it arrives.',
    );
    go(isSync ? `/syncs/connections/${data.id}` : '/notifications');
  };
  const isEmpty = isSync ? !options.environments.length : !events.length;
  return (
    <div class="narrow">
      <Form action="Store connection" onSubmit={store} problems={problems} disabled={isEmpty}>
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          error={problems.of('name')}
          maxLength={255}
          required
        />
        {advice && <p class="note small">{advice}</p>}
        <ConfigFields {...config.shown} problems={problems} />
        {isSync ? (
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
        <TryFirst
          platform={platform}
          config={config.config()}
          environment={isSync ? options.environments[0] : undefined}
          onError={problems.set}
        />
        <p class="hint">Credentials are encrypted and cannot be read again.</p>
      </Form>
    </div>
  );
}

function New({ kind }: { kind: Kind }) {
  const [chosen] = useParameter('platform', true);
  const { data, error, refetch } = usePlatforms();
  const platform = data?.data.find((one) => one.platform === chosen && one.kind === kind);
  const list = listOf(kind);
  const isSync = kind === 'sync';
  return (
    <>
      <Crumbs
        places={[
          [list, isSync ? 'Syncs' : 'Notifications'],
          ...(chosen ? ([[`${list}/new`, 'Platforms']] as const) : []),
        ]}
      />
      {chosen ? (
        <PageHead title={`Connect ${aboutPlatform(chosen).name}`} lead={aboutPlatform(chosen).what} />
      ) : (
        <PageHead
          title={isSync ? 'Choose a platform to sync to' : 'Choose where messages go'}
          lead={
            isSync
              ? 'The secrets of an environment are written there.'
              : 'Messages contain names and times, never values.'
          }
        />
      )}
      {!chosen && <Gallery kind={kind} hrefOf={(one) => `${list}/new?platform=${one}`} />}
      {chosen && error && <ErrorNote error={error} onRetry={refetch} />}
      {chosen && !error && !data && <Skeleton />}
      {chosen && data && !platform && (
        <Empty title="Unknown platform">Choose a platform from the list.</Empty>
      )}
      {platform && <NewForm key={chosen} platform={platform} />}
    </>
  );
}

export const NewSync = () => <New kind="sync" />;
export const NewNotification = () => <New kind="notify" />;
