// Texts for policies.
import type { components } from '@secrets-vault/client';
import { counted } from '../../counted';

type Schemas = components['schemas'];
export type Policy = Schemas['Policy'];
export type Kind = Policy['kind'];
export type Naming = Schemas['NamingConfig'];
export type Rotation = Schemas['RotationConfig'];
export type Approving = Schemas['ApprovalConfig'];
export type HeldOperation = Approving['operations'][number];

export const kindLabels: Record<Kind, string> = {
  naming: 'Naming',
  rotation: 'Rotation',
  approval: 'Approval',
};

export const kindLeads: Record<Kind, string> = {
  naming: 'Refuses new names that do not match a pattern. Existing names are kept, and listed as violations.',
  rotation: 'Sets the maximum age of values. The console and events show when a rotation is due.',
  approval: 'Holds requests until they are approved. Nothing happens before then.',
};

/** Labels for the operations that an approval policy can hold. */
export const operationWords: Record<HeldOperation, string> = {
  'secret.read': 'Read a value, by any means',
  'secret.update': 'Change a value or details',
  'secret.rotate': 'Rotate a secret',
  'secret.delete': 'Delete a secret',
  'secret.share': 'Share a secret',
  'secret.use': 'Use a secret through an upstream',
  'break_glass.create': 'Create a break-glass token',
  'provider_token.create': 'Create a provider token',
  'policy.change': 'Change policies',
  'team.change': 'Change teams',
  'member.change': 'Change members',
};

export const isNaming = (config: Policy['config']): config is Naming => 'pattern' in config;
export const isApproving = (config: Policy['config']): config is Approving => 'operations' in config;

/** A short description of the rule. */
export function doesWhat({ config }: Policy): string {
  if (isNaming(config)) return config.pattern;
  if (isApproving(config)) {
    const [first, ...rest] = config.operations;
    const held = `${first ? operationWords[first] : ''}${rest.length ? ` and ${rest.length} more` : ''}`;
    return `${held}: ${counted(config.required, 'approval')}`;
  }
  return config.cron ? `At ${config.cron} (UTC)` : `Every ${counted(config.max_age_days ?? 0, 'day')}`;
}

/** The secrets that a policy applies to. */
export function appliesWhere({ applies_to: { environments, types, names } }: Policy): string {
  const bounds = [environments?.join(', '), types?.join(', '), names?.join(', ')].filter(Boolean);
  return bounds.length ? bounds.join(' · ') : 'All secrets';
}
