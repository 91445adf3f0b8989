import { useState } from 'preact/hooks';
import '../../styles/integrations.css';
import { here, useList, vault } from '../../requests/api';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { MakeButton } from '../../ui/controls/make-button';
import { Listing } from '../../ui/lists/listing';
import { Lines } from '../../ui/lists/table';
import { Badge, Empty, PageHead, Time } from '../../ui/parts';
import { eventsInWords } from './events';
import { MOST_STRIPS, Strip } from './strip';
import { type ListedWebhook, NewWebhook, type Webhook } from './webhook-form';

const reasons = { user: 'disabled', failing: 'failing', gone: 'gone' } as const;

/** Whether the webhook is enabled, and if not, why. */
export const WebhookStatus = ({ enabled, disabled_reason }: Pick<Webhook, 'enabled' | 'disabled_reason'>) =>
  enabled ? (
    <Badge tone="good">enabled</Badge>
  ) : (
    <Badge tone={disabled_reason === 'user' ? 'plain' : 'bad'}>
      {disabled_reason ? reasons[disabled_reason] : 'disabled'}
    </Badge>
  );

export default function Webhooks() {
  const [creating, setCreating] = useState(false);
  const list = useList<ListedWebhook>(['webhooks', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/webhooks', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );
  const onCreate = () => setCreating(true);
  return (
    <>
      <PageHead title="Webhooks" lead="Send events of the organisation to your own URL as signed requests.">
        {may('webhooks:write') && <MakeButton onMake={onCreate}>New webhook</MakeButton>}
      </PageHead>
      <Listing<ListedWebhook>
        list={list}
        label="Webhooks"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/webhooks/${id}`}
        columns={[
          {
            label: 'URL',
            width: 'minmax(13.5rem, 2.2fr)',
            cell: ({ url, events, description }) => (
              <Lines mono sub={description || eventsInWords(events as '*' | string[])}>
                {url ?? 'Does not open'}
              </Lines>
            ),
          },
          { label: 'Status', width: '7rem', cell: (webhook) => <WebhookStatus {...webhook} /> },
          ...(list.rows.length <= MOST_STRIPS
            ? [
                {
                  label: 'Deliveries',
                  width: '6rem',
                  wide: true,
                  cell: ({ id }: ListedWebhook) => <Strip id={id} />,
                },
              ]
            : []),
          {
            label: 'Events',
            width: 'minmax(11rem, 1.4fr)',
            wide: true,
            roomy: true,
            cell: ({ events }) => <span class="dim truncate">{eventsInWords(events as '*' | string[])}</span>,
          },
          {
            label: 'Description',
            width: 'minmax(8rem, 1.4fr)',
            wide: true,
            roomy: true,
            cell: ({ description }) => <span class="dim truncate">{description}</span>,
          },
          { label: 'Created', width: '9rem', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={
          <Empty
            title="No webhooks yet"
            action={may('webhooks:write') && <Button onPress={onCreate}>Create a webhook</Button>}
          >
            For example, restart a program when its secret is rotated, or record events elsewhere. Failed
            deliveries are retried for more than a day.
          </Empty>
        }
      />
      {creating && <NewWebhook onClose={() => setCreating(false)} />}
    </>
  );
}
