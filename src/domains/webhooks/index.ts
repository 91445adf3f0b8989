// Webhooks: endpoints that events are delivered to.
import type { Domain } from '../domain';
import { actions } from './actions';
import { deliver } from './deliver';
import { webhookOperations } from './gate/operations';
import { webhookRoutes } from './routes';

export const webhooks = {
  tags: {
    Webhooks: 'Endpoints that receive events as signed POST requests, with retries, a delivery log and redelivery.',
  },
  actions,
  rows: ['webhook'],
  operations: webhookOperations,
  routes: webhookRoutes,
  jobs: { deliver },
  examples: {
    'Webhook.url': 'https://hooks.example.com/vault',
    'Webhook.description': 'Restarts the payment service',
    'Webhook.disabled_reason': null,
    'Webhook.old_secret_until': null,
  },
} satisfies Domain;
