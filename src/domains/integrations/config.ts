// Configs of connections: validated by the platform's schema and split into fields that are shown and
// credentials that are encrypted. The target address is checked too. Invariants: no error message quotes a
// field's value; a credential is never sent to an address it was not given for.
import { platformOf, SECRET_URLS } from '../../adapters/configured';
import { adapters } from '../../adapters/notify';
import type { Adapter, Message, Sent } from '../../adapters/notify/adapter';
import { type NotifyPlatform, rebased } from '../../adapters/platforms';
import { checkTarget } from '../../delivery/egress';
import type { Settings } from '../../env';
import type { Detail } from '../../http/input/shape';
import { detailsOf } from '../../http/input/validate';
import { messageOf } from '../../http/input/wording';

export type Config = Record<string, unknown>;

/** A valid config, split in two. */
export interface Parts {
  /** What may be shown: fields that are not credentials, and the host of a URL that is one. */
  shown: Config;
  credentials: Config;
}

type Deployment = Pick<Settings, 'allowPrivate' | 'platformBaseUrls'>;

export const adapterOf = (platform: string): Adapter => adapters[platform as NotifyPlatform];

/** The request for a message, with the address override of the deployment. */
export function requestOf(
  platform: string,
  config: Config,
  message: Message,
  { platformBaseUrls }: Deployment,
): Sent {
  const sent = adapterOf(platform).request(config as never, message);
  return { ...sent, url: rebased(sent.url, platformBaseUrls[platform]) };
}

/** Validates a whole config: the config, or the problems. */
export function checked(
  platform: string,
  given: Config,
  deployment: Deployment,
): { config: Config } | { details: Detail[] } {
  const { config, urls, ports } = platformOf(platform);
  const parsed = config.safeParse(given, { error: messageOf });
  if (!parsed.success) {
    const details = detailsOf(parsed.error, 'is not a known field');
    return {
      details: details.map(({ path, message }) => ({ path: path ? `config.${path}` : 'config', message })),
    };
  }
  for (const { field, url } of urls(parsed.data)) {
    // The override replaces the host, so it would hide one that no URL can have.
    // safety: connection-target-checked
    const problem = URL.canParse(url)
      ? checkTarget(rebased(url, deployment.platformBaseUrls[platform]), { ...deployment, ports })
      : 'must name a valid host';
    if (problem !== null)
      return { details: [{ path: field ? `config.${field}` : 'config', message: problem }] };
  }
  return { config: parsed.data };
}

/** Splits a valid config. */
export function partsOf(platform: string, config: Config): Parts {
  const { credentials } = platformOf(platform);
  const parts: Parts = { shown: {}, credentials: {} };
  for (const [name, value] of Object.entries(config)) {
    // safety: connection-credentials-apart
    const isCredential = credentials.includes(name);
    if (isCredential) parts.credentials[name] = value;
    if (!isCredential) parts.shown[name] = value;
    else if (SECRET_URLS.includes(name)) parts.shown[name] = new URL(String(value)).host;
  }
  return parts;
}

/** The shown fields that are not credentials. */
const openFields = (platform: string, shown: Config): Config =>
  Object.fromEntries(
    Object.entries(shown).filter(([name]) => !platformOf(platform).credentials.includes(name)),
  );

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * A stored config with fields replaced. Changing a field that is not a credential drops the stored
 * credentials, so they cannot be sent elsewhere.
 */
export function merged(platform: string, stored: Parts, given: Config): Config {
  const open = openFields(platform, stored.shown);
  const { credentials } = platformOf(platform);
  const isMoved = Object.entries(given).some(
    ([name, value]) => !credentials.includes(name) && !same(value ?? undefined, open[name]),
  );
  // safety: connection-credentials-stay
  const all: Config = { ...open, ...(isMoved ? {} : stored.credentials), ...given };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}
