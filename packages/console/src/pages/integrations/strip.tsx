// The last deliveries of a webhook as a strip, oldest first. Only a short list of webhooks has it, because
// each strip is a request.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from '../../api';
import { counted } from '../../counted';

type Delivery = components['schemas']['WebhookDelivery'];

/** The most webhooks whose deliveries their list reads. */
export const MOST_STRIPS = 4;
const SHOWN = 12;
const WIDTH = 6;

/** Whether it failed, or failed so far and is tried again. */
const isFailing = ({ status, attempts }: Delivery): boolean =>
  status === 'failed' || (status === 'pending' && attempts > 0);

/** In words, for a screen reader and on hover. */
const wordsOf = (deliveries: Delivery[]): string => {
  const failed = deliveries.filter(isFailing).length;
  return `Last ${counted(deliveries.length, 'delivery', 'deliveries')}: ${failed || 'none'} failed`;
};

export function Strip({ id }: { id: string }) {
  const { data } = useRead(['webhooks', 'deliveries', id, 'strip'], (signal) =>
    vault().api.GET('/orgs/{org_id}/webhooks/{id}/deliveries', {
      params: { path: { ...here(), id }, query: { limit: SHOWN } },
      signal,
    }),
  );
  if (!data) return null;
  if (!data.data.length) return <span class="dim">None yet</span>;
  const words = wordsOf(data.data);
  return (
    <svg class="strip" role="img" aria-label={words} width={SHOWN * WIDTH} height="20">
      <title>{words}</title>
      {data.data.toReversed().map((delivery, index) => {
        const height = isFailing(delivery) ? 20 : 12;
        return (
          <rect
            key={delivery.id}
            class={isFailing(delivery) ? 'strip-failed' : `strip-${delivery.status}`}
            x={index * WIDTH}
            y={20 - height}
            width={WIDTH - 2}
            height={height}
          />
        );
      })}
    </svg>
  );
}
