// What stored connections need to know about a platform of either kind: its config, its credentials and its
// target address.
import type { z } from '@hono/zod-openapi';
import { adapters } from './notify';
import type { Message } from './notify/adapter';
import { type NotifyPlatform, notifyPlatforms, type SyncPlatform } from './platforms';
import { syncAdapters } from './sync';

export interface Configured {
  kind: 'sync' | 'notify';
  config: z.ZodType<Record<string, unknown>>;
  /** Fields that are encrypted and never shown. */
  credentials: readonly string[];
  /** Groups of fields of which exactly one must be set. */
  oneOf: readonly (readonly string[])[];
  /** The vendor URLs that the config determines, each with its field. */
  urls(config: Record<string, unknown>): { field: string; url: string }[];
  /** Well-known ports that its targets may use. */
  ports: readonly number[];
}

/** Any message: the address does not depend on it. */
const SAMPLE: Message = { severity: 'info', title: '', text: '', event: null, link: null, key: '', time: 0 };

/** Notify config fields that are URLs and also credentials: only their host is shown. */
export const SECRET_URLS: readonly string[] = ['webhookUrl', 'url'];

function notify(platform: NotifyPlatform): Configured {
  const { config, credentials, request } = adapters[platform];
  return {
    kind: 'notify',
    config: config as unknown as Configured['config'],
    credentials,
    oneOf: [],
    urls: (given) => [
      { field: SECRET_URLS.find((name) => name in given) ?? '', url: request(given as never, SAMPLE).url },
    ],
    ports: [],
  };
}

function sync(platform: SyncPlatform): Configured {
  const { config, credentials, oneOf = [], urls, ports = [] } = syncAdapters[platform];
  return { kind: 'sync', config, credentials, oneOf, urls: (given) => urls?.(given as never) ?? [], ports };
}

/** A platform by its name. */
export const platformOf = (platform: string): Configured =>
  (notifyPlatforms as readonly string[]).includes(platform)
    ? notify(platform as NotifyPlatform)
    : sync(platform as SyncPlatform);
