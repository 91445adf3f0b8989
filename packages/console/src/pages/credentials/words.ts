// Labels for the kinds of actors in the API.
const names: Record<string, string> = {
  api_key: 'API key',
  agent: 'Agent',
  provider: 'Provider token',
  session: 'Session token',
  break_glass: 'Break-glass token',
  scim: 'SCIM token',
  browser: 'Browser session',
  member: 'Member',
  trust: 'Trust',
  system: 'The service',
};

export const nameOfKind = (kind: string): string => names[kind] ?? kind.replaceAll('_', ' ');
