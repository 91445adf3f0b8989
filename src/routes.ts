// Every route of the API, in the order in which they are tried.
import { auditRoutes } from './domains/audit/routes';
import { credentialRoutes } from './domains/credentials/routes';
import { deploymentRoutes } from './domains/deployment/routes';
import { grantRoutes } from './domains/grants/routes';
import { incidentRoutes } from './domains/incidents/routes';
import { memberRoutes } from './domains/members/routes';
import { orgRoutes } from './domains/orgs/routes';
import { passkeyRoutes } from './domains/passkeys/routes';
import { providerRoutes } from './domains/provider/routes';
import { secretRoutes } from './domains/secrets/routes';
import { signinRoutes } from './domains/signin/routes';
import { teamRoutes } from './domains/teams/routes';
import type { Route } from './http/route';

export const routes: Route[] = [
  ...orgRoutes,
  ...memberRoutes,
  ...passkeyRoutes,
  ...teamRoutes,
  ...grantRoutes,
  ...credentialRoutes,
  ...secretRoutes,
  ...providerRoutes,
  ...auditRoutes,
  ...incidentRoutes,
  ...deploymentRoutes,
  ...signinRoutes,
];
