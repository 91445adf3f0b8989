// The environments of the organisation, and the selected one. The selection is a parameter of the address, so
// links preserve it.
import { signal } from '@preact/signals';
import type { components } from '@secrets-vault/client';
import { useParameter } from '../navigation/router';
import { here, useRead, vault } from '../requests/api';
import { granted, may, mayEverywhere } from '../session/may';

export type Environment = components['schemas']['Environment'];

/** The environments as last read. */
export const environments = signal<Environment[]>([]);
export const defaultEnvironment = signal('');
/** The organisation's name. */
export const organisation = signal('');

/**
 * Reads the environments, the organisation's name and default environment, and the scopes that grants add to
 * a role without `secrets:write` everywhere.
 */
export function useEnvironments() {
  const list = useRead(
    ['environments'],
    async (signal) => {
      const answer = await vault().api.GET('/orgs/{org_id}/environments', {
        params: { path: here(), query: { limit: 100 } },
        signal,
      });
      environments.value = answer.data.data;
      return answer;
    },
    may('environments:read'),
  );
  const org = useRead(['org'], async (signal) => {
    const answer = await vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal });
    defaultEnvironment.value = answer.data.default_environment ?? '';
    organisation.value = answer.data.name;
    return answer;
  });
  const mine = useRead(
    ['me'],
    async (signal) => {
      const answer = await vault().api.GET('/whoami', { signal });
      granted.value = answer.data.granted ?? [];
      return answer;
    },
    !mayEverywhere('secrets:write'),
  );
  return { isPending: [list, org, mine].some(({ isLoading }) => isLoading), error: list.error ?? org.error };
}

/** The default environment, or the first one for a member who does not reach it; '' for none. */
function usualEnvironment(): string {
  const slugs = environments.value.map(({ slug }) => slug);
  return (
    (slugs.includes(defaultEnvironment.value) ? defaultEnvironment.value : slugs[0]) ??
    defaultEnvironment.value
  );
}

/** The slug of the selected environment, and a function to change it. */
export function useEnvironment(): [string, (slug: string) => void] {
  const [chosen, choose] = useParameter('environment', true);
  return [chosen || usualEnvironment(), choose];
}
