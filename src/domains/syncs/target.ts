// An opened target of a sync: its adapter with the effective config, and a client that reaches it through the
// egress guard. Invariant: credentials are decrypted only here, for one job, and are never stored.

import type { SyncPlatform } from '../../adapters/platforms';
import { syncAdapters } from '../../adapters/sync';
import type { SyncAdapter, Target } from '../../adapters/sync/adapter';
import type { Permit } from '../../adapters/sync/call';
import { type Client, createClient } from '../../adapters/sync/client';
import { tuple } from '../../crypto/bytes';
import { hmacHex } from '../../crypto/digest';
import type { RowTypes } from '../../db/rows';
import { guardedFetch } from '../../delivery/egress';
import type { Settings } from '../../env';
import type { OrgKeys } from '../../keys/keyring';
import { type Config, checked } from '../integrations/config';
import { credentialsOf } from '../integrations/encryption';

export interface Opened {
  adapter: SyncAdapter;
  config: Config;
  target: Target;
  client: Client & { calls(): number };
}

/**
 * Opens a target, under the permit of a job; without one, with one attempt per call. Null if the config
 * breaks the rules for targets, which may have changed since it was stored.
 */
export function openTarget(
  platform: string,
  config: Config,
  settings: Settings,
  permit: Permit | null,
): Opened | null {
  // safety: sync-target-checked-again
  const found = checked(platform, config, settings);
  if ('details' in found) return null;
  const adapter = syncAdapters[platform as SyncPlatform];
  const client = createClient({
    vendor: adapter.vendor(found.config as never),
    base: settings.platformBaseUrls[platform],
    fetch: (url, request) => guardedFetch({ ...settings, ports: adapter.ports ?? [] }, url, request),
    ...(permit ? { permit } : { once: true }),
  });
  return { adapter, config: found.config, client, target: adapter.open(client, found.config as never) };
}

/** The full config of a stored connection, or that sent with a sync. */
export const configOf = <K extends 'integration' | 'sync'>(
  keys: OrgKeys,
  org: string,
  kind: K,
  row: RowTypes[K],
): Config => ({ ...row.config, ...credentialsOf(keys, org, kind, row) });

/** Computes keyed digests of values at a place, by their names at the target. */
export const digestsAt =
  (keys: OrgKeys, place: string, { folds }: Pick<SyncAdapter, 'folds'>) =>
  (target: string, value: string): string =>
    hmacHex(keys.digest, tuple('svc/v1/sync', place, folds ? target.toUpperCase() : target, value));

/** A UUID for one write, the same in every attempt: RFC 9562 §5.8. */
export function tokenOf(keys: OrgKeys, sync: string, target: string, digest: string): string {
  const hex = hmacHex(keys.digest, tuple('svc/v1/sync write', sync, target, digest));
  const variant = '89ab'[Number.parseInt(hex[16] as string, 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
