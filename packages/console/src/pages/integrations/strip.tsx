// The last deliveries of a webhook as a strip, oldest first. Only a short list of webhooks has it, because
// each strip is a request.
import type { components } from '@secrets-vault/client';
import { counted } from '../../counted';
import { here, useRead, vault } from '../../requests/api';
import { Strip as Marks } from '../../ui/chart';

type Delivery = components['schemas']['WebhookDelivery'];

/** The most webhooks whose deliveries their list reads. */
export const MOST_STRIPS = 4;
const SHOWN = 12;

/** Whether it failed, or failed so far and is tried again. */
const isFailing = ({ status, attempts }: Delivery): boolean =>
  status === 'failed' || (status === 'pending' && attempts > 0);

export function Strip({ id }: { id: string }) {
  const { data } = useRead(['webhooks', 'deliveries', id, 'strip'], (signal) =>
    vault().api.GET('/orgs/{org_id}/webhooks/{id}/deliveries', {
      params: { path: { ...here(), id }, query: { limit: SHOWN } },
      signal,
    }),
  );
  if (!data) return null;
  if (!data.data.length) return <span class="dim">None yet</span>;
  const failed = data.data.filter(isFailing).length;
  return (
    <Marks
      label={`Last ${counted(data.data.length, 'delivery', 'deliveries')}: ${failed || 'none'} failed`}
      room={SHOWN}
      marks={data.data
        .toReversed()
        .map((one) => (isFailing(one) ? 'bad' : one.status === 'delivered' ? 'good' : 'plain'))}
    />
  );
}
