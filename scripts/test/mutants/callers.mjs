// The mutants of callers: who asks, and their budgets. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- who asks
  ...checks({
    'part-needs-the-scope-of-its-list':
      'api/overview/search: permission: answers the same bytes to a viewer, whether or not there is one of members',
    'break-glass-use-notified':
      'api/credentials/break-glass: events: one for the creation, one for the first use, then one a minute',
    'metrics-token': 'api/requests/metrics: the token is needed, and nothing else is accepted',
    'fetched-credential-mac': 'faults/tampering: is refused: planted without a genuine tag, for another org',
  }),
  {
    name: 'a bound Worker runs the queue handler with messages of its own',
    tag: 'handlers-for-the-platform',
    change: {
      from: 'new Handlers()',
      to: '{ fetch: Handlers.prototype.fetch, queue: Handlers.prototype.queue, scheduled: Handlers.prototype.scheduled }',
    },
    notice: 'api/bindings/handlers: bindings: a bound Worker calls no handler that is for the platform',
  },
  {
    name: 'the audit log has the address that a bound Worker names',
    tag: 'address-by-the-platform',
    change: { from: 'cf ? headers', to: 'true ? headers' },
    notice: "api/bindings/handlers: audit log: a Worker's own request has no address, whatever it sends",
  },
  {
    name: 'a credential can access another organisation',
    tag: 'tenant-isolation',
    change: { from: 'path_org !== org', to: 'false' },
    notice: 'api/access/permissions: tenant isolation: answers 404 for another org, whether it exists or not',
  },
  {
    name: 'callers of any deployment choose the region that answers',
    tag: 'test-region-in-development',
    change: { from: 'isLocal(env)', to: 'true' },
    notice: 'unit/http/region: attack: nobody plays a region at https://vault.example.com',
  },
  {
    name: 'a child does not die with its parent',
    tag: 'ends-with-parent',
    change: { from: 'parent !== null', to: 'false' },
    notice: 'faults/changes: revocation: reads in flight are refused once their credential',
  },
  {
    name: 'a child outlives a parent that has been cleared away',
    tag: 'ends-with-missing-parent',
    change: { from: 'row.revoked_at ?? 0', to: 'row.revoked_at' },
    notice: 'faults/tampering: refuses a child whose parent is not in D1',
  },
  {
    name: 'credentials created by a session token outlive it',
    tag: 'created-ends-with-creator',
    change: { from: 'caller.isDependent', to: 'false' },
    notice: 'faults/lifecycle: revocation: credentials created by a session token are revoked with it',
  },
  {
    name: 'an agent issues a break-glass token through an API key that it creates',
    tag: 'break-glass-by-independent-callers',
    change: { from: 'caller.isDependent', to: 'false' },
    notice: 'api/credentials/break-glass: no API key that one of these creates',
  },
  {
    name: 'credentials created by an agent keep permissions that the agent has lost',
    tag: 'permissions-within-ancestors',
    change: { from: 'overlap(narrower, permissionsOf(link))', to: 'narrower' },
    notice: 'api/credentials/agents: narrows its descendants too',
  },
  {
    name: 'an agent raises its own rate limit',
    tag: 'own-rate-limit',
    change: { from: ' ?? raisesOwn(call, row, call.input.rate_limit)', to: '' },
    notice: 'api/credentials/agents: privilege escalation: an agent cannot give itself',
  },
  {
    name: 'any caller who may update a credential raises its rate limit',
    tag: 'rate-limit-raised-within-permissions',
    change: { from: 'after.rate_limit > row.rate_limit', to: 'false as boolean' },
    notice: 'api/credentials/agents: tokens:write can narrow an agent; no one can give more than they hold',
  },
  {
    name: 'a credential with a parent widens one that outlives it',
    tag: 'widening-within-lifetime',
    change: { from: 'mayOutlive(call, row) ?? ', to: '' },
    notice: 'api/credentials/agents: privilege escalation: an agent cannot give itself',
  },
  {
    name: 'a credential is widened by any caller who may update it',
    tag: 'widening-within-permissions',
    change: 'always',
    notice: 'api/credentials/agents: tokens:write can narrow an agent; no one can give more than they hold',
  },
  {
    name: 'an action is open to every kind of caller',
    tag: 'credential-kind',
    notice: 'api/credentials/break-glass: allow nothing else: every other route refuses the token',
  },
  {
    name: 'an owners-only action is open to any caller with its scopes',
    tag: 'owner-required',
    notice:
      "unit/auth/authorize: owner: an action for owners requires one, regardless of the caller's permissions",
  },
  {
    name: 'two permission sets combine to permit what neither permits',
    tag: 'scopes-and-limits-of-one-permission-set',
    change: {
      from: 'holds(permissionSet, scopes, place)',
      to: 'permissionSets.some((one) => gives(one, scopes)) && holds({ ...permissionSet, scopes }, scopes, place)',
    },
    notice: 'unit/auth/authorize: nothing by combination of two permission sets',
  },
  {
    name: 'the address of a caller is not looked at',
    tag: 'allowed-addresses',
    notice: 'api/access/addresses: is accepted only from its IPv4 and IPv6 ranges',
  },
  {
    name: 'only the first link of a lineage is limited by address',
    tag: 'allowed-addresses-of-lineage',
    change: { from: 'lineage.flatMap', to: 'lineage.slice(0, 1).flatMap' },
    notice:
      'api/access/addresses: limits its descendants from the next request on, regardless of their own ranges',
  },
  {
    name: 'a break-glass token destroys',
    tag: 'break-glass-cannot-purge',
    change: 'never',
    notice: 'api/credentials/break-glass: do not allow to purge a secret, live, deleted or missing',
  },
  {
    name: 'a revocation is compared with the clock',
    tag: 'revoked-credential',
    change: { from: 'revoked_at !== null', to: 'revoked_at !== null && revoked_at <= now' },
    notice: 'faults/lifecycle: revocation: a credential stays revoked after the clock is set back',
  },
  {
    name: 'a credential does not end by time',
    tag: 'expired-credential',
    notice: 'faults/lifecycle: revocation: a credential is refused when its time is over',
  },
  {
    name: 'a secret does not end by time',
    tag: 'expired-secret',
    change: 'never',
    notice: 'faults/lifecycle: revocation: a credential is refused when its time is over',
  },
  {
    name: 'a read is not checked again after D1',
    tag: 'read-rechecked-after-fetch',
    change: { from: ' ?? (fetched && call.recheck())', to: '' },
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a bulk read is not checked again after D1',
    tag: 'bulk-read-rechecked-after-fetch',
    change: 'never',
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a list of versions is not checked again after D1',
    tag: 'versions-rechecked-after-fetch',
    change: { from: 'call.recheck()', to: 'null' },
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'the tokens of a deleted organisation are admitted',
    tag: 'deleted-org',
    change: 'never',
    notice:
      'faults/lifecycle: refuses its credentials and destroys its key immediately, and purges the rest later',
  },

  // ---------------------------------------------------------------- budgets
  ...checks({
    'rate-limit-restored': 'faults/lifecycle: is counted exactly, and survives eviction of the gate',
  }),
  {
    name: "a session token takes nothing from its parent's budget",
    tag: 'rate-limit-of-lineage',
    change: { from: 'lineage.map', to: 'lineage.slice(0, 1).map' },
    notice: 'faults/lifecycle: session tokens share that of their parent; the lower one is shown',
  },
];
