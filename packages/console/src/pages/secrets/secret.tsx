// What pages of secrets share: a secret, a row of the list, and the badge of its status.
import type { components } from '@secrets-vault/client';
import { Badge, type Tone } from '../../ui/parts';

export type Secret = components['schemas']['Secret'];

const tones: Record<string, Tone> = { active: 'good', expired: 'warn', revoked: 'bad', deleted: 'bad' };

export const StatusBadge = ({ status }: { status: string }) => <Badge tone={tones[status]}>{status}</Badge>;

export interface Row {
  /** A folder's path with trailing `/`, or a secret. */
  folder?: string;
  secret?: Secret;
}
