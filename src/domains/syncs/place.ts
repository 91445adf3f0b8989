// The place of a sync: a target together with the environment that is written there. Invariant: the same
// target and environment are the same place, regardless of credentials, options and the order of config
// fields; the places of one target begin with the same digest.
import canonicalize from 'canonicalize';
import type { SyncPlatform } from '../../adapters/platforms';
import { syncAdapters } from '../../adapters/sync';
import { sha256 } from '../../crypto/digest';
import type { SyncRow } from '../../db/schema';
import { type Place, targetIn } from './gate/store';

/** `config` without its credentials. */
export function placeOf(platform: string, config: Record<string, unknown>, environment: string): string {
  const identity = syncAdapters[platform as SyncPlatform].identity?.(config as never) ?? config;
  return `${sha256(canonicalize([platform, identity]) as string).slice(0, 43)}:${environment}`;
}

/** Where a sync writes, for the record of written names. */
export const recordedAt = ({
  place,
  platform,
  environment_id,
}: Pick<SyncRow, 'place' | 'platform' | 'environment_id'>): Place => ({
  target: targetIn(place),
  environment: environment_id,
  folds: syncAdapters[platform as SyncPlatform]?.folds ?? false,
});
