// The mutants of egress and webhooks. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'egress-public-address': 'unit/delivery/egress: egress: https://10.0.0.1/ is refused',
    'egress-no-user-info': 'unit/delivery/egress: egress: https://user@hooks.example.com/ is refused',
    'egress-checked-before-request': 'unit/delivery/egress: egress: https://127.0.0.1/ is refused',
    'egress-name-looked-up': 'unit/delivery/egress: egress: a name that leads to 10.0.0.1 is refused',
    'webhook-target-checked': 'api/webhooks/webhooks: webhooks: egress: no hostile target is stored',
    'lasting-rows-bounded': 'api/webhooks/webhooks: webhooks: an organisation has at most 100',
    'deliveries-pending-bounded':
      'api/webhooks/delivery: webhooks: deliveries beyond the backlog limit of an endpoint are dead letters immediately',
    'delivery-leased': 'api/webhooks/delivery: webhooks: a failure that is reported late changes nothing',
    'late-failure-ignored':
      'api/webhooks/delivery: webhooks: a failure that is reported late changes nothing',
    'events-before-endpoint-changes': 'api/webhooks/delivery: webhooks: an event from before a webhook',
    'delivery-cursor-with-deliveries': 'api/webhooks/delivery: webhooks: an event arrives once',
    'events-kept-until-delivered':
      'api/webhooks/delivery: webhooks: each event is delivered, regardless of concurrency',
  }),
  {
    name: 'one URL that does not open fails a whole list of webhooks',
    tag: 'webhook-list-names-what-does-not-open',
    change: { from: '!(error instanceof ApiError && error.violation)', to: 'true' },
    notice: 'api/webhooks/webhooks: webhooks: a list names a URL that does not open',
  },
  {
    name: 'a target may have any port',
    tag: 'egress-ports',
    change: 'never',
    notice: 'unit/delivery/egress: egress: https://hooks.example.com:6379/ is refused',
  },
  {
    name: 'a target may be a name without a domain',
    tag: 'egress-private-names',
    change: { from: 'labels.length < 2', to: 'labels.length < 0' },
    notice: 'unit/delivery/egress: egress: https://kubernetes/ is refused',
  },
  {
    name: 'a gate that began again from D1 skips its first event',
    tag: 'new-gate-delivers-its-first-event',
    change: { from: '?? 0', to: '?? core.outbox.head()' },
    notice: 'api/webhooks/delivery: webhooks: the first event of a gate that began again from D1 arrives',
  },
  {
    name: 'one public address of a name is enough',
    tag: 'egress-every-address-public',
    change: { from: 'found.every(', to: 'found.some(' },
    notice: 'unit/delivery/egress: egress: a name that leads to a public and a private address is refused',
  },
  {
    name: 'redirects are followed',
    tag: 'egress-redirects-not-followed',
    change: { from: "'manual'", to: "'follow'" },
    notice: 'unit/delivery/egress: egress: only the headers given and User-Agent are sent',
  },
  {
    name: 'a credential that is limited uses webhooks',
    tag: 'webhooks-by-unlimited-callers',
    change: { from: "mustReachAll(caller, need.scopes, 'use webhooks')", to: 'null' },
    notice:
      'api/webhooks/webhooks: webhooks: a credential that is limited to environments or names cannot use them',
  },
  {
    name: 'rows that stay are not bounded',
    tag: 'lasting-rows-bounded',
    change: { from: '> quota.most', to: '< 0' },
    notice: 'api/limits/quotas: environment: ten created at once succeed as far as there is room',
  },
  {
    name: 'a URL that is a credential is shown',
    tag: 'credential-url-shown-as-host',
    change: 'never',
    notice:
      'api/webhooks/webhooks: webhooks: https://hooks.slack.com/services/T0/B0/abc is shown as its host alone',
  },
  {
    name: 'two concurrent rotations lose a signing secret',
    tag: 'old-secret-is-the-current-one',
    change: { from: 'made?.from !== secret_sealed', to: '!made' },
    notice:
      'api/webhooks/delivery: webhooks: each secret of two concurrent rotations signs during its overlap',
  },
  {
    name: 'an old signing secret signs for ever',
    tag: 'old-secret-ends',
    change: { from: '> now', to: '> 0' },
    notice: 'api/webhooks/delivery: webhooks: both secrets sign while they overlap',
  },
  {
    name: 'a redirect counts as delivered',
    tag: 'success-is-2xx',
    change: { from: ' && got.status < 300', to: '' },
    notice: 'api/webhooks/delivery: webhooks: 301 is a failure',
  },
  {
    name: 'an endpoint that fails is never disabled',
    tag: 'webhook-disabled-after-failing',
    change: { from: 'now - since >= FAILING_FOR', to: 'false' },
    notice: 'api/webhooks/delivery: webhooks: an endpoint that fails for 5 days is disabled',
  },
  {
    name: 'an endpoint has any number of deliveries in flight',
    tag: 'deliveries-in-flight-bounded',
    change: { from: '(isFailing(webhook) ? 1 : MOST_IN_FLIGHT) - count(webhook, now)', to: 'MOST_IN_FLIGHT' },
    notice: 'api/webhooks/delivery: webhooks: a slow or dead endpoint delays no other',
  },
  {
    name: 'pending deliveries of a disabled endpoint are sent',
    tag: 'disabled-webhook-not-delivered',
    change: { from: 'webhook.disabled !== null', to: 'false' },
    notice: 'api/webhooks/delivery: webhooks: deliveries pending when a webhook is disabled are dead letters',
  },
  {
    name: 'an agent with a parent agent is given grants',
    tag: 'grant-to-agent-at-the-top',
    change: { from: ' && takesGrants(lineageOf(core, row))', to: '' },
    notice: 'api/shares/grants: an agent below another is given none',
  },
  {
    name: 'grants go beyond the agents above',
    tag: 'grants-within-agents-above',
    change: { from: " && above.every(({ kind }) => kind !== 'agent')", to: '' },
    notice: 'api/shares/grants: an agent below another is given none',
  },
  {
    name: 'a credential that was made without a confirmation does what needs one',
    tag: 'confirmation-not-delegated',
    change: 'always',
    notice: 'api/signin/confirmation: is required of every credential that somebody can make without one',
  },
  {
    name: 'a member lifts the limits of an API key that then acts as an owner, without a confirmation',
    tag: 'lifted-limits-confirmed',
    change: { from: 'isLifted && wouldOwn', to: 'false && wouldOwn' },
    notice: 'api/signin/confirmation: is required to lift the limits of an API key',
  },
  {
    name: 'an API key whose limits an admin lifted acts as an owner',
    tag: 'lifted-by-owner',
    change: { from: '!caller.isOwner &&', to: 'false &&' },
    notice: 'api/signin/confirmation: is required to lift the limits of an API key',
  },
];
