// Every route of the API, in the order in which they are tried.
import { auditRoutes } from './domains/audit/routes';
import { credentialRoutes } from './domains/credentials/routes';
import { deploymentRoutes } from './domains/deployment/routes';
import { incidentRoutes } from './domains/incidents/routes';
import { orgRoutes } from './domains/orgs/routes';
import { secretRoutes } from './domains/secrets/routes';
import type { Route } from './http/route';

export const routes: Route[] = [...orgRoutes, ...credentialRoutes, ...secretRoutes, ...auditRoutes, ...incidentRoutes, ...deploymentRoutes];
