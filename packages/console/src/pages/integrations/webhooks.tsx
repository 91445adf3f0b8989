// Webhooks: where events are sent as signed requests.
import { Plus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import '../../styles/integrations.css';
import { here, useList, vault } from '../../api';
import { may } from '../../may';
import { useMaker } from '../../shortcuts';
import { Button } from '../../ui/button';
import { Listing } from '../../ui/listing';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { eventsInWords } from './events';
import { NewWebhook, type Webhook } from './webhook-form';

const reasons = { user: 'disabled', failing: 'failing', gone: 'gone' } as const;

/** Whether it gets events, and if not, why. */
export const WebhookStatus = ({ enabled, disabled_reason }: Pick<Webhook, 'enabled' | 'disabled_reason'>) =>
  enabled ? (
    <Badge tone="good">enabled</Badge>
  ) : (
    <Badge tone={disabled_reason === 'user' ? 'plain' : 'bad'}>{disabled_reason ? reasons[disabled_reason] : 'disabled'}</Badge>
  );

export default function Webhooks() {
  const [creating, setCreating] = useState(false);
  const list = useList<Webhook>(['webhooks', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/webhooks', { params: { path: here(), query: { limit: 100, cursor } }, signal }),
  );
  const onCreate = () => setCreating(true);
  useMaker(onCreate, may('webhooks:write'));
  return (
    <>
      <PageHead title="Webhooks" lead="Events of the organisation, sent to a URL of yours as signed requests.">
        {may('webhooks:write') && (
          <Button kind="primary" onPress={onCreate}>
            <Plus size={16} aria-hidden="true" /> New webhook
          </Button>
        )}
      </PageHead>
      <Listing<Webhook>
        list={list}
        label="Webhooks"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/webhooks/${id}`}
        columns={[
          { label: 'URL', width: 'minmax(14rem, 2.2fr)', cell: ({ url }) => <span class="mono truncate">{url}</span> },
          { label: 'Status', width: '7rem', cell: (webhook) => <WebhookStatus {...webhook} /> },
          {
            label: 'Events',
            width: 'minmax(11rem, 1.4fr)',
            wide: true,
            cell: ({ events }) => <span class="dim truncate">{eventsInWords(events as '*' | string[])}</span>,
          },
          {
            label: 'Description',
            width: 'minmax(8rem, 1.4fr)',
            wide: true,
            cell: ({ description }) => <span class="dim truncate">{description}</span>,
          },
          { label: 'Created', width: '9rem', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={
          <Empty
            title="No webhooks yet"
            action={
              may('webhooks:write') && (
                <Button kind="primary" onPress={onCreate}>
                  Create the first webhook
                </Button>
              )
            }
          >
            Restart a program when its secret is rotated, or keep a record elsewhere. Failed deliveries are repeated for more than a day.
          </Empty>
        }
      />
      {creating && <NewWebhook onClose={() => setCreating(false)} />}
    </>
  );
}
