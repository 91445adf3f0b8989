// Runs a connection. Invariant: a run can be started only after its preview is shown, and changing an option
// hides the preview.
import { ApprovalRequiredError, type components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { counted } from '../../counted';
import { defaultEnvironment, environments } from '../../organisation/environments';
import { forget, here, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Held } from '../../ui/dialogs/refusal';
import { Checkbox, SelectField, TextArea } from '../../ui/forms/field';
import { ErrorNote } from '../../ui/parts';
import { slugsOf } from './edit';
import { changesIn, Plan } from './plan';
import { type Integration, platformName } from './platforms';

type DryRun = components['schemas']['SyncDryRun'];

interface Asked {
  environment: string;
  names: string;
  prune: boolean;
}

function Ask({
  asked,
  slugs,
  change,
}: {
  asked: Asked;
  slugs: string[];
  change: (part: Partial<Asked>) => void;
}) {
  return (
    <>
      <SelectField
        label="Environment"
        value={asked.environment}
        onValue={(environment) => change({ environment })}
        choices={environments.value
          .filter(({ slug }) => slugs.includes(slug))
          .map(({ slug, name }) => ({ value: slug, label: name }))}
      />
      <details>
        <summary>Select names</summary>
        <TextArea
          label="Names"
          optional
          class="mono"
          rows={3}
          spellcheck={false}
          value={asked.names}
          onValue={(names) => change({ names })}
          hint="One per line. Leave empty for all secrets of the environment."
        />
      </details>
      <Checkbox
        label="Delete removed secrets"
        hint="Deletes secrets on the platform that were deleted from this environment, if this service wrote them. Nothing else is deleted."
        checked={asked.prune}
        onChecked={(prune) => change({ prune })}
      />
    </>
  );
}

function usePlan(connection: Integration, asked: Asked) {
  const [, go] = useLocation();
  const [plan, setPlan] = useState<DryRun | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ask = async (dryRun: boolean) => {
    setError(null);
    const names = asked.names.split(/\s+/).filter(Boolean);
    const body = {
      integrationId: connection.id,
      environmentId: asked.environment,
      ...(names.length && { names }),
      prune: asked.prune,
      dryRun,
    };
    try {
      const { data } = await vault().api.POST('/orgs/{org_id}/integrations/sync', {
        params: { path: here() },
        body,
      });
      if ('dryRun' in data) return setPlan(data);
      await forget('syncs');
      go(`/syncs/${data.syncId}`);
    } catch (refused) {
      setError(refused);
    }
  };
  return { plan, error, forgetPlan: () => setPlan(null), preview: () => ask(true), run: () => ask(false) };
}

export function RunPanel({ connection }: { connection: Integration }) {
  const slugs = slugsOf(connection.environments);
  const first = slugs.includes(defaultEnvironment.value) ? defaultEnvironment.value : (slugs[0] ?? '');
  const [chosen, setAsked] = useState<Asked>({ environment: '', names: '', prune: false });
  // The environments may load after the connection.
  const asked = { ...chosen, environment: chosen.environment || first };
  const { plan, error, forgetPlan, preview, run } = usePlan(connection, asked);
  const change = (part: Partial<Asked>) => {
    setAsked((before) => ({ ...before, ...part }));
    forgetPlan();
  };
  const count = plan ? changesIn(plan.results) : 0;
  return (
    <div class="stack">
      <div class="stack narrow">
        <Ask asked={asked} slugs={slugs} change={change} />
        {error instanceof ApprovalRequiredError ? (
          <Held error={error} />
        ) : error ? (
          <ErrorNote error={error} />
        ) : null}
        <div class="row">
          <Button kind={plan ? 'plain' : 'primary'} disabled={!asked.environment} onPress={preview}>
            Preview
          </Button>
          {plan && (
            <Button kind={asked.prune ? 'danger' : 'primary'} disabled={!count} onPress={run}>
              {count
                ? `Sync ${counted(count, 'change')} to ${platformName(connection.platform)}`
                : 'Nothing to sync'}
            </Button>
          )}
        </div>
      </div>
      {plan && (
        <section class="stack" aria-live="polite">
          <h2>Preview</h2>
          <Plan results={plan.results} isPlan />
          {plan.redeployRequired && (
            <p class="note">
              Changes take effect with the next deployment on the platform. This service does not deploy.
            </p>
          )}
        </section>
      )}
    </div>
  );
}
