// The rows of webhooks.
import { rowKind } from '../../db/rows';
import { type WebhookRow, webhooks } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    webhook: WebhookRow;
  }
}

export const webhook = rowKind('webhook', {
  table: webhooks,
  space: () => '',
  key: (row) => row.id,
  maker: ({ created_by }) => created_by,
  // The API promises this number to an organisation, whoever uses it.
  quota: lasting(100, 100, 'webhooks', REMOVE),
});
