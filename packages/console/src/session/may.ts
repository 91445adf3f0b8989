// The permissions of the signed-in member, so that pages do not offer what would be refused. The service
// decides.
import { signal } from '@preact/signals';
import { type components, covers } from '@secrets-vault/client';
import { matches } from '../globs';
import { roleScopes } from './role-scopes';
import { me } from './session';

/** What a grant adds, and where: `null` for everywhere. */
type Granted = NonNullable<components['schemas']['WhoAmI']['granted']>[number];

/** The member's grants. Read only for roles without their scopes, or limited to environments. */
export const granted = signal<readonly Granted[]>([]);

me.subscribe((member) => {
  if (!member) granted.value = [];
});

/**
 * Scopes that a role gives only if it is not limited to environments, because they concern the whole
 * organisation.
 */
const WHOLE: ReadonlySet<string> = new Set([
  '*',
  'compliance:read',
  'org:write',
  'policies:write',
  'sso:write',
  'webhooks:read',
  'webhooks:write',
]);

/** Whether the signed-in member's role holds in all environments. */
export const isEverywhere = (): boolean => me.value?.environments === null;

/** Whether the signed-in member's role has a scope, without grants; in an environment if one is given. */
const mayByRole = (scope: string, environment?: string): boolean =>
  me.value !== null &&
  covers(roleScopes[me.value.role] ?? [], scope) &&
  (isEverywhere() ||
    (!WHOLE.has(scope) && (!environment || me.value.environments?.includes(environment) === true)));

/**
 * Whether the role has a scope in all environments: for inviting members, and for what else a limited role
 * does not do.
 */
export const mayEverywhere = (scope: string): boolean => isEverywhere() && mayByRole(scope);

/** Whether a grant gives a scope in an environment, for a name. */
const gives = (
  { scopes, environments, secrets }: Granted,
  scope: string,
  environment?: string,
  name?: string,
): boolean =>
  covers(scopes, scope) &&
  (!environment || !environments || environments.includes(environment)) &&
  (!name || !secrets || secrets.some((pattern) => matches(pattern, name)));

/**
 * Whether the signed-in member has a scope: by their role, or for some secrets by a grant.
 * @param environment where; by default somewhere
 * @param name for which secret; by default for some
 */
export const may = (scope: string, environment?: string, name?: string): boolean =>
  mayByRole(scope, environment) ||
  (scope.startsWith('secrets:') && granted.value.some((one) => gives(one, scope, environment, name)));

/** Whether the signed-in member has every scope of a list that is separated by spaces. */
export const mayAll = (scopes: string): boolean => scopes.split(' ').every((scope) => may(scope));
