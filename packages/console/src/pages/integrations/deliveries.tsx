// The deliveries of a webhook, with the last attempt of each, and a button to redeliver.
import { useEffect, useState } from 'preact/hooks';
import '../../styles/integrations.css';
import { useParameter } from '../../navigation/router';
import { forget, here, useList, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { FilterSelect } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import { Empty, Facts, Id, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { type Delivery, DeliveryStatus, failureOf } from './delivery';
import { wordsOf } from './events';
import type { Webhook } from './webhook-form';

/** The refresh interval while a delivery is pending. */
const AGAIN = 3000;

async function redeliver({ webhook_id, id }: Delivery): Promise<void> {
  await vault().api.POST('/orgs/{org_id}/webhooks/{id}/deliveries/{delivery_id}/redeliver', {
    params: { path: { ...here(), id: webhook_id, delivery_id: id } },
  });
  await forget('webhooks');
  tell('Redelivery started');
}

export function DeliveryDialog({ delivery, onClose }: { delivery: Delivery; onClose: () => void }) {
  const failure = failureOf(delivery);
  return (
    <Dialog
      side
      title={wordsOf(delivery.event_type)}
      lead={<DeliveryStatus status={delivery.status} />}
      onClose={onClose}
    >
      {failure && <p class="note bad">{failure}</p>}
      <Facts
        items={[
          ['Response status', delivery.response_status ?? <span class="dim">None</span>],
          [
            'Duration',
            delivery.duration_ms === null ? (
              <span class="dim">–</span>
            ) : (
              `${delivery.duration_ms.toLocaleString()} ms`
            ),
          ],
          ['Attempts', delivery.attempts],
          ['Event', <Time at={delivery.created_at} />],
          ['Last attempt', <Time at={delivery.last_attempt_at} none="Not yet" />],
          delivery.next_attempt_at !== null && ['Next attempt', <Time at={delivery.next_attempt_at} />],
          ['webhook-id', <Id id={delivery.event_id} />],
          ['Delivery ID', <Id id={delivery.id} />],
        ]}
      />
      {delivery.response && (
        <section class="stack">
          <h3>First 1 kB of the response</h3>
          <pre class="value-shown" tabIndex={0} aria-label="Response of the receiver">
            <code>{delivery.response}</code>
          </pre>
        </section>
      )}
      <footer class="dialog-foot">
        <Button
          onPress={async () => {
            await redeliver(delivery);
            onClose();
          }}
        >
          Send again
        </Button>
      </footer>
    </Dialog>
  );
}

const SINCE = [
  { value: '3600', label: 'The last hour' },
  { value: '86400', label: 'The last day' },
  { value: '604800', label: 'The last 7 days' },
  { value: '2592000', label: 'The last 30 days' },
];

function RedeliverFailed({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [since, setSince] = useState('86400');
  const problems = useProblems();
  const send = async () => {
    const body = { since: new Date(Date.now() - Number(since) * 1000).toISOString() };
    let sent = 0;
    for (let more = true; more; ) {
      const { data } = await vault().api.POST('/orgs/{org_id}/webhooks/{id}/redeliver', {
        params: { path: { ...here(), id: webhook.id } },
        body,
      });
      sent += data.redelivered;
      more = data.has_more && data.redelivered > 0;
    }
    await forget('webhooks');
    tell(sent ? `Redelivering ${sent.toLocaleString()} deliveries` : 'No failed deliveries in this period');
    onClose();
  };
  return (
    <Dialog
      title="Redeliver failed deliveries"
      lead="Oldest first, with the same webhook-id. Test events are skipped."
      onClose={onClose}
    >
      <Form action="Send again" onSubmit={send} onCancel={onClose} problems={problems}>
        <SelectField
          label="Period"
          value={since}
          onValue={setSince}
          choices={SINCE}
          error={problems.of('since')}
        />
      </Form>
    </Dialog>
  );
}

export function Deliveries({ webhook }: { webhook: Webhook }) {
  const [status, setStatus] = useParameter('status');
  const [shown, setShown] = useState<Delivery | null>(null);
  const [isAll, setAll] = useState(false);
  const list = useList<Delivery>(['webhooks', 'deliveries', webhook.id, status], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/webhooks/{id}/deliveries', {
      params: {
        path: { ...here(), id: webhook.id },
        query: { limit: 50, cursor, status: (status || undefined) as Delivery['status'] | undefined },
      },
      signal,
    }),
  );
  const waits = list.rows.some((delivery) => delivery.status === 'pending');
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => void list.refetch(), AGAIN);
    return () => clearInterval(timer);
  }, [waits, list.refetch]);
  return (
    <>
      <search class="filters">
        <FilterSelect
          label="Status"
          all="All deliveries"
          value={status}
          onValue={setStatus}
          choices={['pending', 'delivered', 'failed']}
        />
        <span class="grow" />
        <Button onPress={() => list.refetch()}>Reload</Button>
        <Button onPress={() => setAll(true)}>Redeliver failed</Button>
      </search>
      <Listing<Delivery>
        list={list}
        label="Deliveries"
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Event',
            width: 'minmax(11rem, 1.6fr)',
            cell: (delivery) => (
              <button type="button" class="row-button truncate" onClick={() => setShown(delivery)}>
                {wordsOf(delivery.event_type)}
              </button>
            ),
          },
          { label: 'Status', width: '7rem', cell: (delivery) => <DeliveryStatus {...delivery} /> },
          {
            label: 'Response',
            width: 'minmax(7rem, 1.4fr)',
            wide: true,
            cell: (delivery) => (
              <span class="dim truncate">{delivery.response_status ?? failureOf(delivery) ?? '–'}</span>
            ),
          },
          {
            label: 'Attempts',
            width: '6rem',
            wide: true,
            cell: ({ attempts }) => <span class="dim">{attempts}</span>,
          },
          {
            label: 'Next attempt',
            width: '9rem',
            wide: true,
            cell: ({ next_attempt_at }) => <Time at={next_attempt_at} none="–" />,
          },
          {
            label: 'Event at',
            width: '9rem',
            wide: true,
            cell: ({ created_at }) => <Time at={created_at} />,
          },
        ]}
        empty={
          <Empty title={status ? `No ${status} deliveries` : 'No deliveries yet'}>
            {status ? 'Choose another status.' : 'Send a test event to check the receiver.'} Deliveries are
            kept for 30 days.
          </Empty>
        }
      />
      {shown && <DeliveryDialog delivery={shown} onClose={() => setShown(null)} />}
      {isAll && <RedeliverFailed webhook={webhook} onClose={() => setAll(false)} />}
    </>
  );
}
