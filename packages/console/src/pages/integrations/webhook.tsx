// One webhook: its deliveries, settings, test and actions.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { at, forget, useRead, vault } from '../../requests/api';
import { type Changing, change } from '../../requests/seen';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { Tabs } from '../../ui/controls/tabs';
import { Confirm } from '../../ui/dialogs/confirm';
import { Crumbs, LoadingPage, Missing } from '../../ui/page';
import { Facts, Id, PageHead, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { Deliveries, DeliveryDialog } from './deliveries';
import type { Delivery } from './delivery';
import { wordsOf } from './events';
import { EditWebhook, RotateSecret, type Webhook } from './webhook-form';
import { WebhookStatus } from './webhooks';

type Doing = 'edit' | 'rotate' | 'disable' | 'delete' | null;

const whyDisabled: Record<string, string> = {
  user: 'A member disabled this webhook. It receives no events until it is enabled.',
  failing:
    'This webhook was disabled because every attempt failed for 5 days. Fix the receiver, enable the webhook, and redeliver failed deliveries.',
  gone: 'This webhook was disabled because the receiver responded with 410 Gone. If that was a mistake, enable it again.',
};

async function setEnabled(webhook: Webhook, enabled: boolean, changing: Changing): Promise<void> {
  const { data } = await changing((header) =>
    vault().api.PATCH('/orgs/{org_id}/webhooks/{id}', { ...at(webhook.id, header), body: { enabled } }),
  );
  await forget('webhooks');
  tell(enabled ? 'Webhook enabled' : 'Webhook disabled', undefined, () =>
    setEnabled(data, !enabled, (call) => change(data, call)),
  );
}

function Doings({ webhook, doing, end }: { webhook: Webhook; doing: Doing; end: () => void }) {
  const [, go] = useLocation();
  const remove = async (changing: Changing) => {
    await changing((header) => vault().api.DELETE('/orgs/{org_id}/webhooks/{id}', at(webhook.id, header)));
    await forget('webhooks');
    tell('Webhook deleted');
    go('/webhooks');
  };
  if (doing === 'edit') return <EditWebhook webhook={webhook} onClose={end} />;
  if (doing === 'rotate') return <RotateSecret webhook={webhook} onClose={end} />;
  if (doing === 'disable')
    return (
      <Confirm
        title="Disable this webhook?"
        action="Disable webhook"
        resource={webhook}
        onConfirm={(changing) => setEnabled(webhook, false, changing)}
        onClose={end}
      >
        <p>
          Pending deliveries to <strong class="mono">{webhook.url}</strong> fail immediately. Events during
          this time are not sent later.
        </p>
      </Confirm>
    );
  if (doing === 'delete')
    return (
      <Confirm
        title="Delete this webhook?"
        action="Delete webhook"
        resource={webhook}
        onConfirm={remove}
        onClose={end}
      >
        <p>
          No more events are sent to <strong class="mono">{webhook.url}</strong>. Its signing secret and
          delivery log are erased.
        </p>
      </Confirm>
    );
  return null;
}

function SetUp({ webhook }: { webhook: Webhook }) {
  const events = webhook.events as '*' | string[];
  return (
    <Facts
      items={[
        ['URL', <span class="mono">{webhook.url}</span>],
        ['Description', webhook.description || <span class="dim">None</span>],
        ['Events', events === '*' ? 'All events' : events.map(wordsOf).join(', ')],
        webhook.old_secret_until !== null && [
          'Old secret signs until',
          <Time at={webhook.old_secret_until} />,
        ],
        ['Created', <Time at={webhook.created_at} />],
        ['Created by', <code>{webhook.created_by}</code>],
        ['Changed', <Time at={webhook.updated_at} />],
        ['ID', <Id id={webhook.id} />],
      ]}
    />
  );
}

export default function WebhookPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const [doing, setDoing] = useState<Doing>(null);
  const [tested, setTested] = useState<Delivery | null>(null);
  const { data, error, refetch } = useRead(['webhooks', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/webhooks/{id}', { ...at(id), signal }),
  );
  if (error)
    return <Missing what="webhook" list={['/webhooks', 'Webhooks']} error={error} onRetry={refetch} />;
  if (!data) return <LoadingPage />;
  const test = async () => {
    const { data: delivery } = await vault().api.POST('/orgs/{org_id}/webhooks/{id}/test', at(id));
    await forget('webhooks');
    setTested(delivery);
  };
  return (
    <>
      <Crumbs places={[['/webhooks', 'Webhooks']]} />
      <PageHead title={data.url} lead={<WebhookStatus {...data} />}>
        <Button onPress={test}>Send test event</Button>
        {!data.enabled && (
          <Button kind="primary" onPress={() => setEnabled(data, true, (call) => change(data, call))}>
            Enable
          </Button>
        )}
        <Menu
          label="More actions"
          actions={[
            { label: 'Edit', onSelect: () => setDoing('edit') },
            { label: 'Rotate signing secret', onSelect: () => setDoing('rotate') },
            data.enabled && { label: 'Disable', onSelect: () => setDoing('disable') },
            { label: 'Delete', danger: true, onSelect: () => setDoing('delete') },
          ]}
        />
      </PageHead>
      {!data.enabled && <p class="note warn spaced">{whyDisabled[data.disabled_reason ?? 'user']}</p>}
      <Tabs
        label="About this webhook"
        items={[
          { id: 'deliveries', label: 'Deliveries', content: () => <Deliveries webhook={data} /> },
          { id: 'setup', label: 'Set-up', content: () => <SetUp webhook={data} /> },
        ]}
      />
      <Doings webhook={data} doing={doing} end={() => setDoing(null)} />
      {tested && <DeliveryDialog delivery={tested} onClose={() => setTested(null)} />}
    </>
  );
}
