// Trusts of Workers that are bound to the service: a service binding of the same account, with `props` that
// name the organisation, the trust and the Worker. Pure. Invariant: such a trust takes no tokens, and gives
// what makes people and credentials only where it names that itself.
import type { CredentialRow } from '../../db/schema';
import type { Workload } from '../../db/trusts';
import { covers } from '../covers';
import { allScopes } from '../scopes';

/** The issuer of such a trust, which issues no tokens. */
export const BINDING = 'cloudflare:service-binding';

/** Requests a minute: of one name, and of all names of a trust. */
export const BINDING_RATES = { name: 600, trust: 6000 };
/** How many names of a trust have requests in one minute. */
export const MOST_NAMES = 20;

/** The same for every binding that is not accepted. */
export const UNKNOWN_BINDING =
  'The binding is not accepted. Check org, trust and name in its props, and the trust.';

export const BINDING_WARNING =
  'Whoever may deploy Workers to the Cloudflare account that runs this service can use this trust, under any name that its claims allow.';

/** The names that a Worker may have. */
export const isBindingName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(name);

/** Whether a credential is such a trust. */
export const isBinding = (row: Pick<CredentialRow, 'trust'> | null): boolean =>
  row?.trust?.issuer === BINDING;

/** What a Worker is accepted for. */
export const boundWorkload = (name: string): Workload => ({
  issuer: BINDING,
  audiences: [BINDING],
  claims: { name: [name] },
  key: null,
});

/** Who shares Idempotency-Keys and approvals: a trust and a name. */
export const bindingRoot = (trust: string, name: string): string => `${trust}:${name}`;

/** The credential of a root. */
export const credentialOfRoot = (root: string): string => root.split(':', 1)[0] as string;

/** Scopes that a wildcard of such a trust does not give. */
const NAMED_ALONE = new Set(['tokens:write', 'members:write', 'sso:write', 'policies:write']);

/** What the scopes of such a trust give. */
export const bindingScopes = (held: readonly string[]): string[] =>
  allScopes.filter(
    (scope) =>
      !scope.endsWith('*') &&
      covers(held, scope) &&
      // safety: binding-names-powers
      (!NAMED_ALONE.has(scope) || held.includes(scope)),
  );
