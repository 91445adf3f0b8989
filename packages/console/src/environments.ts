// The environments of the organisation, and the one that pages show. The choice is a parameter of the address, so a link keeps it.
import { signal } from '@preact/signals';
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from './api';
import { granted, may, mayByRole } from './may';
import { useParameter } from './router';

export type Environment = components['schemas']['Environment'];

/** As last read. */
export const environments = signal<Environment[]>([]);
export const defaultEnvironment = signal('');

/** Reads the environments, the organisation's default one, and what grants add to a role that may not write secrets. */
export function useEnvironments() {
  const list = useRead(
    ['environments'],
    async (signal) => {
      const answer = await vault().api.GET('/orgs/{org_id}/environments', { params: { path: here(), query: { limit: 100 } }, signal });
      environments.value = answer.data.data;
      return answer;
    },
    may('environments:read'),
  );
  const org = useRead(['org'], async (signal) => {
    const answer = await vault().api.GET('/orgs/{org_id}', { params: { path: here() }, signal });
    defaultEnvironment.value = answer.data.default_environment ?? '';
    return answer;
  });
  const mine = useRead(
    ['me'],
    async (signal) => {
      const answer = await vault().api.GET('/whoami', { signal });
      granted.value = answer.data.granted_scopes ?? [];
      return answer;
    },
    !mayByRole('secrets:write'),
  );
  return { isPending: [list, org, mine].some(({ isLoading }) => isLoading), error: list.error ?? org.error };
}

/** The slug of the environment that the page shows, and how to choose another. */
export function useEnvironment(): [string, (slug: string) => void] {
  const [chosen, choose] = useParameter('environment', true);
  return [chosen || defaultEnvironment.value || environments.value[0]?.slug || '', choose];
}
