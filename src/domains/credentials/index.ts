// Credentials: API keys, session tokens, agents, provider tokens and break-glass tokens.

import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { credentialOperations } from './gate/operations';
import { raised } from './gate/raised';
import { credentialRoutes } from './routes';
import { credential } from './rows';

export const credentials = {
  tags: {
    Credentials: 'Information about the calling credential.',
    'API keys':
      'Long-lived credentials for services. A key holds scopes and can be limited to environments, names and IP addresses.',
    'Session tokens':
      "Short-lived credentials that an API key creates. A session token holds a subset of the key's permissions and is revoked together with the key.",
    Agents:
      'Credentials for AI agents. Each is limited to scopes, environments and names, and has its own rate limit. Credentials created by an agent are revoked together with it.',
    'Provider tokens':
      'Credentials for platforms that issue credentials. They work only for the provider routes (/provider/*).',
    'Break-glass':
      'Credentials for emergencies. They give access to all secrets of the organisation for at most four hours, and the audit log marks every use.',
  },
  actions,
  rows: [credential],
  raises: { credential: raised },
  operations: credentialOperations,
  routes: credentialRoutes,
  examples: {
    'AccessToken.hint': 'svcsess_…x7Qd',
    'ApiKey.name': 'deploy',
    'ApiKeyPatch.name': 'deploy',
    'Agent.name': 'triage agent',
    'Agent.rate_limit': 120,
    'AgentPatch.name': 'triage agent',
    'BreakGlass.rate_limit': 60,
    'BreakGlass.reason': 'the primary database is down',
    'BreakGlass.scopes': [
      'secrets:list',
      'secrets:read',
      'secrets:write',
      'secrets:rotate',
      'secrets:delete',
      'audit:read',
    ],
    'BreakGlass.expires_at': '2026-11-21T13:00:00.000Z',
    'BreakGlass.hint': 'svcbg_…x7Qd',
    'BreakGlass.id': exampleId('break_glass'),
    'NewAgent.name': 'triage agent',
    'NewAgent.rate_limit': 120,
    'NewBreakGlass.rate_limit': 60,
    'NewBreakGlass.reason': 'the primary database is down',
    'NewBreakGlass.scopes': [
      'secrets:list',
      'secrets:read',
      'secrets:write',
      'secrets:rotate',
      'secrets:delete',
      'audit:read',
    ],
    'NewBreakGlass.expires_at': '2026-11-21T13:00:00.000Z',
    'NewBreakGlass.hint': 'svcbg_…x7Qd',
    'NewProviderToken.scopes': ['issue', 'rotate', 'revoke'],
    'NewProviderToken.name': 'database provisioner',
    'NewAccessToken.hint': 'svcsess_…x7Qd',
    'NewApiKey.name': 'deploy',
    'ProviderToken.name': 'database provisioner',
    'ProviderToken.scopes': ['issue', 'rotate', 'revoke'],
    'WhoAmI.id': exampleId('api_key'),
    'WhoAmI.name': 'deploy',
  },
} satisfies Domain;
