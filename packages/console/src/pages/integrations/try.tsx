// Tests a connection before it is stored: a test message, or a preview of a sync. Invariant: nothing is
// stored, and only the input of the form is used.
import type { components } from '@secrets-vault/client';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { forget, here, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { tell } from '../../ui/toast';
import { changesIn, Plan } from './plan';
import { type Platform, platformName } from './platforms';
import type { Config } from './schema';

type NotifyIn = components['schemas']['NotifyIn'];
type SyncIn = components['schemas']['SyncIn'];
type DryRun = components['schemas']['SyncDryRun'];

interface TryProps {
  platform: Platform;
  config: Config;
  /** For a sync: the environment to preview. */
  environment?: string;
}

/** The form shows errors at its fields. */
type TryFirstProps = TryProps & { onError: (error: unknown) => void };

/** Sends a test message, with one attempt. */
async function sendTest({ platform: { platform }, config }: TryProps): Promise<void> {
  const { data } = await vault().api.POST('/orgs/{org_id}/integrations/notify', {
    params: { path: here() },
    body: { platform: platform as NotifyIn['platform'], config },
  });
  tell(
    `${platformName(platform)} accepted the message`,
    `Response status ${data.status}. Check that it arrived.`,
  );
}

async function sync({ platform: { platform }, config, environment = '' }: TryProps, dryRun: boolean) {
  const body = { platform: platform as SyncIn['platform'], config, environmentId: environment, dryRun };
  return (await vault().api.POST('/orgs/{org_id}/integrations/sync', { params: { path: here() }, body }))
    .data;
}

export function TryFirst({ onError, ...props }: TryFirstProps) {
  const { platform, config, environment } = props;
  const [, go] = useLocation();
  const [plan, setPlan] = useState<DryRun | null>(null);
  useEffect(() => setPlan(null), [JSON.stringify(config), environment]);
  const ask = async (work: () => Promise<unknown>) => {
    onError(null);
    await work().catch(onError);
  };
  const preview = async () => {
    const answer = await sync(props, true);
    if ('dryRun' in answer) setPlan(answer);
  };
  const once = async () => {
    const answer = await sync(props, false);
    await forget('syncs');
    if ('syncId' in answer) go(`/syncs/${answer.syncId}`);
  };
  const count = plan ? changesIn(plan.results) : 0;
  return (
    <section class="stack" aria-label="Test before storing">
      <div class="row">
        {platform.kind === 'notify' ? (
          <Button small onPress={() => ask(() => sendTest(props))}>
            Send test message
          </Button>
        ) : (
          <Button small disabled={!environment} onPress={() => ask(preview)}>
            Preview changes from {environment}
          </Button>
        )}
        <span class="hint">This stores nothing.</span>
      </div>
      {plan && <Plan results={plan.results} isPlan />}
      {plan && count > 0 && (
        <div class="row">
          <Button small onPress={() => ask(once)}>
            Sync once without storing the connection
          </Button>
        </div>
      )}
    </section>
  );
}
