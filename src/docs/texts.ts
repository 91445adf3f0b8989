// What the OpenAPI document says of the service as a whole: its introduction, its tags and its kinds of credentials.
import type { Components } from './document';

export const introduction = `Stores the secrets of organisations in encrypted form and controls who can read them.

Send a credential with each request: \`Authorization: Bearer TOKEN\`. Bodies are JSON objects. Unknown fields are refused.
Lists are paginated: pass \`next_cursor\` as \`cursor\` while \`has_more\` is true. A POST with an \`Idempotency-Key\` is safe to repeat.
All error responses have the same form. The [pages about errors](/docs/errors) explain each code and what to do about it.`;

export const tagDescriptions: Record<string, string> = {
  Organisations:
    'An organisation is a tenant with its own secrets, members and encryption key. Operators create organisations with the bootstrap token.',
  Environments:
    'Every secret belongs to an environment, such as staging or production. Requests that name no environment use the default one.',
  Credentials: 'Information about the calling credential.',
  Members:
    'Members are people. Each has a role, which is a set of scopes. A new member registers a passkey with an enrolment link and signs in with the passkey.',
  Teams: 'A team is a group of members that shares grants.',
  Grants:
    'A grant gives a member or a team access to secrets in addition to roles: read or write, and optionally limited to environments, names and a lifetime.',
  'API keys': 'Long-lived credentials for services. A key holds scopes and can be limited to environments, names and IP addresses.',
  'Session tokens':
    'Short-lived credentials that an API key creates of itself. A session token holds a subset of what the key holds, and ends with the key.',
  Agents:
    'Credentials for AI agents. Each is limited to scopes, environments and names, and has its own rate limit. Credentials that an agent creates end with it.',
  'Provider tokens': 'Credentials for platforms that issue credentials. They work only for the provider calls (/provider/*).',
  'Break-glass':
    'Credentials for emergencies. They give access to all secrets of the organisation for at most four hours, and the audit log marks every use.',
  Secrets: 'Encrypted values with versions, lifetimes and rotation. Only reads return values.',
  Provider:
    'For platforms that issue credentials, such as a database provisioner or a certificate authority. With a provider token, they issue, rotate and revoke secrets by name.',
  'Sign-in':
    'Members sign in with passkeys. A sign-in starts a browser session: a JWT that is valid for ten minutes and a cookie that refreshes it. The pages /enrol and /sign-in of this deployment use these calls.',
  Passkeys: 'Members sign in with passkeys. A member can have several.',
  'Incident response': 'For leaked credentials: revoke one or all of them, and see what a credential did and what it could reach.',
  Deployment: 'For operators, with the bootstrap token.',
  'Audit log': 'Who did what, when and from where. Entries form a hash chain and never change.',
};

export const securitySchemes: Components['securitySchemes'] = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token of any kind: API key (svc_live_…), session token (svcsess_…), agent credential (svcag_…), provider token (svcprov_…), break-glass token (svcbg_…) or the JWT of a browser session.',
  },
  bootstrap: {
    type: 'http',
    scheme: 'bearer',
    description: 'The bootstrap token of the deployment. It creates and recovers organisations.',
  },
};
