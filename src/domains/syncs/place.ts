// The place of a sync: a target together with the environment that is written there. Invariant: the same target and environment are the
// same place, regardless of credentials, options and the order of config fields.
import canonicalize from 'canonicalize';
import type { SyncPlatform } from '../../adapters/platforms';
import { syncAdapters } from '../../adapters/sync';
import { sha256 } from '../../crypto/digest';

/** `config` without its credentials. */
export function placeOf(platform: string, config: Record<string, unknown>, environment: string): string {
  const identity = syncAdapters[platform as SyncPlatform].identity?.(config as never) ?? config;
  return sha256(canonicalize([platform, identity, environment]) as string).slice(0, 43);
}
