// What pages of secrets share: a secret, a row of the list, the badge of its status, and how to read one.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from '../../requests/api';
import { Badge, type Tone } from '../../ui/parts';

export type Secret = components['schemas']['Secret'];

const tones: Record<string, Tone> = { active: 'good', expired: 'warn', revoked: 'bad', deleted: 'bad' };

export const StatusBadge = ({ status }: { status: string }) => <Badge tone={tones[status]}>{status}</Badge>;

export interface Row {
  /** A folder's path with trailing `/`, or a secret. */
  folder?: string;
  secret?: Secret;
}

/**
 * The metadata of a secret, without reading the value. A deleted secret too, until it can no longer be
 * restored.
 */
export const useSecret = (id: string) =>
  useRead(['secrets', 'one', id], async (signal) => {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', {
      params: { path: here(), query: { id, limit: 1 } },
      signal,
    });
    return { data: { secret: data.data[0] } };
  });
