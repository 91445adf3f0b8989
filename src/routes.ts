// Every route of the API, in the order in which they are tried.
import { auditRoutes } from './domains/audit/routes';
import { credentialRoutes } from './domains/credentials/routes';
import { deploymentRoutes } from './domains/deployment/routes';
import { orgRoutes } from './domains/orgs/routes';
import { passkeyRoutes } from './domains/passkeys/routes';
import { secretRoutes } from './domains/secrets/routes';
import { signinRoutes } from './domains/signin/routes';
import type { Route } from './http/route';

export const routes: Route[] = [
  ...orgRoutes,
  ...credentialRoutes,
  ...secretRoutes,
  ...auditRoutes,
  ...deploymentRoutes,
  ...signinRoutes,
  ...passkeyRoutes,
];
