// Labels for the types of secrets.
import { type components, secretTypes } from '@secrets-vault/client';

type Type = components['schemas']['Secret']['type'];

const names: Record<Type, string> = {
  generic: 'Generic',
  api_key: 'API key',
  password: 'Password',
  database_url: 'Database URL',
  certificate: 'Certificate',
  private_key: 'Private key',
  ssh_key: 'SSH key',
  oauth_token: 'OAuth token',
  webhook_secret: 'Webhook secret',
  env_var: 'Environment variable',
  json: 'JSON',
};

export const nameOfType = (type: string): string => names[type as Type] ?? type;

/** The choices for a form or a filter. */
export const typeChoices = secretTypes.map((value) => ({ value, label: names[value] }));
