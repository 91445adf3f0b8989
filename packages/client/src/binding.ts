// Vaults that a Worker reaches through a service binding. Invariant: the binding says who calls, so no
// credential is sent.
import { bindingOf } from './checks.js';
import type { BoundOptions, VaultBinding, VaultOptions } from './options.js';
import type { Fetch } from './transport/attempt.js';

/** What a bound vault is addressed as: the binding ignores the origin. */
export const BOUND_URL = 'https://vault.internal';

/** Organisations that bindings said to belong to. An isolate gives the same objects to each request. */
const known = new WeakMap<VaultBinding, string>();

/** The binding among the options of a vault; null for a vault with an address. */
export interface Bound {
  fetch: Fetch;
  /** Empty while it is not known. */
  org(): string;
  learn(org: string): void;
}

export function boundBy(options: VaultOptions | BoundOptions): Bound | null {
  const binding = bindingOf(options);
  if (!binding) return null;
  const { org } = options;
  return {
    // A method: a binding's `fetch` needs its object.
    fetch: (url, init) => binding.fetch(url, init) as Promise<Response>,
    org: () => org ?? known.get(binding) ?? '',
    learn: (found) => void known.set(binding, found),
  };
}

/** A request for the organisation's resources, of which the id was not known when it was made. */
export const withOrg = (request: Request, org: string): Request =>
  new Request(request.url.replace('/api/v1/orgs//', `/api/v1/orgs/${org}/`), request);
