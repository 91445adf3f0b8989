// Webhooks: endpoints that events are delivered to.

import { deliveries } from '../../delivery/gate/deliveries';
import { followWebhook, runDeliveries } from '../../delivery/gate/task';
import type { Domain } from '../domain';
import { actions } from './actions';
import { deliver } from './deliver';
import { webhookOperations } from './gate/operations';
import { webhookRoutes } from './routes';
import { webhook } from './rows';

export const webhooks = {
  tags: {
    Webhooks:
      'Endpoints that receive events as signed POST requests, with retries, a delivery log and redelivery.',
  },
  actions,
  rows: [webhook],
  follows: { webhook: followWebhook },
  tasks: { deliveries: runDeliveries },
  sweep: (core, now) => deliveries(core).sweep(now),
  bringForward: (core, now) => deliveries(core).bringForward(now),
  clear: (core) => deliveries(core).clear(),
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
