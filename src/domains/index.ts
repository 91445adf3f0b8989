// The domains of the vault and everything derived from them. A new domain is a folder and one line in
// `domains`.
import { type Action, type FullNeed, fullNeed, type Needs } from '../auth/actions';
import type { Job } from '../delivery/job';
import { type Rules, rulesOf } from '../gate/core';
import { areas } from '../gate/declarations';
import type { JobName } from '../gate/queue-messages';
import type { Operation } from '../gate/request/call';
import type { Route } from '../http/route';
import { approvals } from './approvals';
import { audit } from './audit';
import { compliance } from './compliance';
import { credentials } from './credentials';
import { deployment } from './deployment';
import { devices } from './devices';
import type { Domain } from './domain';
import { events } from './events';
import { generate } from './generate';
import { grants } from './grants';
import { imports } from './imports';
import { incidents } from './incidents';
import { integrations } from './integrations';
import { logStreams } from './log-streams';
import { members } from './members';
import { orgs } from './orgs';
import { overview } from './overview';
import { passkeys } from './passkeys';
import { policies } from './policies';
import { promotions } from './promotions';
import { provider } from './provider';
import { scans } from './scans';
import { scim } from './scim';
import { secrets } from './secrets';
import { shares } from './shares';
import { signin } from './signin';
import { sso } from './sso';
import { ssoSignin } from './sso-signin';
import { syncs } from './syncs';
import { teams } from './teams';
import { terminals } from './terminals';
import { trusts } from './trusts';
import { upstreams } from './upstreams';
import { webhooks } from './webhooks';

/**
 * In OpenAPI order. Of two paths, the one with a literal segment comes before the one with a parameter in its
 * place.
 */
export const domains: readonly Domain[] = [
  orgs,
  overview,
  members,
  passkeys,
  teams,
  scim,
  grants,
  credentials,
  secrets,
  promotions,
  provider,
  policies,
  approvals,
  devices,
  audit,
  compliance,
  events,
  webhooks,
  logStreams,
  generate,
  imports,
  integrations,
  syncs,
  upstreams,
  shares,
  scans,
  sso,
  incidents,
  deployment,
  signin,
  ssoSignin,
  terminals,
  trusts,
];

/**
 * What a gate uses of a list of domains: what actions need, operations by name, and what follows from rows.
 */
export interface Catalogue {
  actions: Record<Action, FullNeed>;
  operations: Record<string, Operation>;
  rules: Rules;
}

export const catalogueOf = (all: readonly Domain[]): Catalogue => ({
  actions: Object.fromEntries(
    all.flatMap((domain) =>
      Object.entries(domain.actions satisfies Needs).map(([action, need]) => [action, fullNeed(need)]),
    ),
  ) as Record<Action, FullNeed>,
  operations: Object.assign({}, ...all.map((domain) => domain.operations)),
  rules: rulesOf([...areas, ...all]),
});

export const vault = catalogueOf(domains);
export const { actions, operations } = vault;

export const routes: Route[] = domains.flatMap((domain) =>
  domain.routes.map((route) => ({
    ...route,
    need: actions[route.action],
    ...(operations[route.operation ?? route.action]?.byReplica && { byReplica: true as const }),
  })),
);

/** What the Worker does at a gate's request. */
export const jobs = Object.assign({}, ...domains.map((domain) => domain.jobs)) as Record<JobName, Job>;

/** Descriptions of the OpenAPI document's tags. */
export const tags: Record<string, string> = Object.assign({}, ...domains.map((domain) => domain.tags));

/** Examples of the OpenAPI document, by `Schema.field`. */
export const examples: Record<string, unknown> = Object.assign(
  {},
  ...domains.map((domain) => domain.examples),
);
