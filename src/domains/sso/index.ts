// Domains of an organisation, and its connections to identity providers.
import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { checkRecords } from './check';
import { claims } from './gate/claims';
import { connectionOperations } from './gate/connections';
import { checkDomains, domainOperations, scheduleCheck } from './gate/domains';
import { connectionRaised, domainRaised } from './gate/raised';
import { ssoRoutes } from './routes';
import { connection, domain } from './rows';

export const sso = {
  tags: {
    'Single sign-on':
      'Members sign in with an identity provider. A domain is proved by a DNS record, and a connection says which provider its members use.',
  },
  actions,
  rows: [domain, connection],
  raises: { domain: domainRaised, sso_connection: connectionRaised },
  follows: {
    domain(core, { id, after }, now) {
      if (after === null) claims(core).forget(id);
      else if (after.verified_at !== null) core.schedule.at('domains', now + 86_400_000);
    },
  },
  tasks: { domains: checkDomains },
  sweep(core, now) {
    scheduleCheck(core, now);
    return false;
  },
  clear: (core) => claims(core).clear(),
  operations: { ...domainOperations, ...connectionOperations },
  routes: ssoRoutes,
  jobs: { domains: checkRecords },
  examples: {
    'SsoConnection.name': 'Okta',
    'SsoConnection.client_id': '0oa1b2c3d4',
    'SsoConnection.domains': [exampleId('domain')],
    'SsoConnection.scopes': ['openid', 'email', 'profile'],
  },
} satisfies Domain;
