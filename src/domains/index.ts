// The domains of the vault, and all that is derived from them. A new domain is a folder and a line of `domains`.
import { type Action, type FullNeed, fullNeed, type Needs } from '../auth/actions';
import type { Operation } from '../gate/types';
import type { Route } from '../http/route';
import { audit } from './audit';
import { credentials } from './credentials';
import { deployment } from './deployment';
import type { Domain } from './domain';
import { grants } from './grants';
import { incidents } from './incidents';
import { members } from './members';
import { orgs } from './orgs';
import { passkeys } from './passkeys';
import { provider } from './provider';
import { secrets } from './secrets';
import { signin } from './signin';
import { teams } from './teams';

/** In the order in which the OpenAPI document shows them. */
export const domains: readonly Domain[] = [
  orgs,
  members,
  passkeys,
  teams,
  grants,
  credentials,
  secrets,
  provider,
  audit,
  incidents,
  deployment,
  signin,
];

/** What each action needs. */
export const actions = Object.fromEntries(
  domains.flatMap((domain) => Object.entries(domain.actions satisfies Needs).map(([action, need]) => [action, fullNeed(need)])),
) as Record<Action, FullNeed>;

export const routes: Route[] = domains.flatMap((domain) => domain.routes.map((route) => ({ ...route, need: actions[route.action] })));

export const operations: Record<string, Operation> = Object.assign({}, ...domains.map((domain) => domain.operations));

/** Descriptions of the OpenAPI document's tags. */
export const tags: Record<string, string> = Object.assign({}, ...domains.map((domain) => domain.tags));

/** Examples of the OpenAPI document, by `Schema.field`. */
export const examples: Record<string, unknown> = Object.assign({}, ...domains.map((domain) => domain.examples));
