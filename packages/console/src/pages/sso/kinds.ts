// What the pages of single sign-on share.
import type { components } from '@secrets-vault/client';
import { here, useList, vault } from '../../requests/api';

export type Domain = components['schemas']['Domain'];
export type Connection = components['schemas']['SsoConnection'];

export const kinds = [
  { value: 'oidc', label: 'OpenID Connect' },
  { value: 'saml', label: 'SAML 2.0' },
];
export const labelOfKind = (kind: Connection['kind']) => kinds.find(({ value }) => value === kind)?.label;

export const useDomains = () =>
  useList<Domain>(['domains', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/domains', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );

export const useConnections = () =>
  useList<Connection>(['sso-connections', 'list'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/sso-connections', {
      params: { path: here(), query: { limit: 100, cursor } },
      signal,
    }),
  );
