// Texts for a delivery: its status, and why its last attempt failed.
import type { components } from '@secrets-vault/client';
import { Badge, type Tone } from '../../ui/parts';

export type Delivery = components['schemas']['WebhookDelivery'];

const tones: Record<Delivery['status'], Tone> = { pending: 'accent', delivered: 'good', failed: 'bad' };

export const DeliveryStatus = ({ status }: Pick<Delivery, 'status'>) => (
  <Badge tone={tones[status]}>{status}</Badge>
);

const errors: Record<string, string> = {
  http_status: 'The receiver did not respond with a 2xx status.',
  timeout: 'The receiver did not respond within 10 seconds.',
  connection_failed: 'The connection failed.',
  name_not_found: 'The host name does not resolve.',
  private_address: 'The host resolves to an address that is not public.',
  target_refused: 'The URL is not allowed.',
  webhook_disabled: 'The webhook was disabled.',
  backlog_full: 'Too many deliveries were pending.',
};

/** Why the last attempt failed; null if it did not. */
export const failureOf = ({ error }: Pick<Delivery, 'error'>): string | null =>
  error ? (errors[error] ?? error) : null;
