// The published keys of an issuer: one Durable Object per issuer. Invariants: an issuer is asked at most once
// a minute, regardless of demand; known keys are used for up to a day while it does not respond; newly
// published keys replace them as a whole.
import { DurableObject } from 'cloudflare:workers';
import type { IssuerKey } from '../db/trusts';
import { type Egress, guardedFetch, type Unreachable } from '../delivery/egress';
import { readIssuerKey } from '../domains/trusts/keys';
import { type DeployedEnv, settingsOf } from '../env';
import { withStoredSecrets } from '../stored-secrets';

/**
 * How long keys are fresh, how long they are used while the issuer does not respond, and how often it is
 * asked at most.
 */
const FRESH = 600_000;
const SERVES = 86_400_000;
const ASKED_EVERY = 60_000;

/**
 * The most bytes of the discovery document and the key set, the most keys, and the timeout of each request in
 * milliseconds.
 */
const MOST_DISCOVERY = 65_536;
const MOST_JWKS = 262_144;
const MOST_KEYS = 100;
const TIMEOUT = 4000;

interface Known {
  keys: IssuerKey[];
  at: number;
}

const why: Record<Unreachable, string> = {
  target_refused: 'its address is not allowed',
  name_not_found: 'its name is not found',
  private_address: 'its address is private',
  connection_failed: 'no connection',
  withheld: 'not asked',
  timeout: 'no response in time',
};

const noKeys = (of: string, reason: string) => `the ${of} of the issuer cannot be read: ${reason}`;

/** A JSON object from an address, or why there is none. */
async function readJson(
  egress: Egress,
  of: string,
  url: string,
  most: number,
): Promise<Record<string, unknown> | string> {
  const got = await guardedFetch(egress, url, {
    method: 'GET',
    headers: { Accept: 'application/json' },
    read: most,
    timeout: TIMEOUT,
  });
  if ('unreachable' in got) return noKeys(of, why[got.unreachable]);
  // Redirects are not followed.
  if (got.status !== 200) return noKeys(of, `status ${got.status}`);
  try {
    const value: unknown = JSON.parse(got.text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  return noKeys(of, `no JSON object of at most ${most} bytes`);
}

/**
 * Fetches the keys of an issuer through its discovery document (OpenID Connect Discovery). Unusable keys are
 * left out.
 */
async function fetchKeys(egress: Egress, issuer: string): Promise<IssuerKey[] | string> {
  const discovery = 'discovery document';
  const document = await readJson(
    egress,
    discovery,
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    MOST_DISCOVERY,
  );
  if (typeof document === 'string') return document;
  // safety: discovery-of-this-issuer
  if (document.issuer !== issuer) return noKeys(discovery, 'it names a different issuer');
  if (typeof document.jwks_uri !== 'string') return noKeys(discovery, 'it has no jwks_uri');
  const jwks = await readJson(egress, 'key set', document.jwks_uri, MOST_JWKS);
  if (typeof jwks === 'string') return jwks;
  // safety: issuer-keys-bounded
  if (!Array.isArray(jwks.keys) || jwks.keys.length > MOST_KEYS)
    return noKeys('key set', `no list of at most ${MOST_KEYS} keys`);
  const read = await Promise.all(jwks.keys.map(readIssuerKey));
  return read.flatMap((one) => (typeof one === 'string' ? [] : [one.key]));
}

export class IssuerKeys extends DurableObject<DeployedEnv> {
  /** The running fetch, shared by concurrent callers. */
  private fetching: Promise<void> | null = null;

  /**
   * The keys of the issuer, including the one with this `kid` if the issuer publishes it; or why there are
   * none.
   */
  async keys(issuer: string, kid: string | undefined, now = Date.now()): Promise<IssuerKey[] | string> {
    const { storage } = this.ctx;
    const known = await storage.get<Known>('known');
    const isFresh = known !== undefined && Math.abs(now - known.at) < FRESH;
    if (isFresh && (kid === undefined || known.keys.some((key) => key.kid === kid))) return known.keys;
    return this.renewed(issuer, now);
  }

  /**
   * The keys that the issuer publishes now, as far as it may be asked: a key that verifies no signature may
   * have been replaced under its `kid`.
   */
  async renewed(issuer: string, now = Date.now()): Promise<IssuerKey[] | string> {
    const { storage } = this.ctx;
    const asked = (await storage.get<number>('asked')) ?? 0;
    // safety: issuer-asked-once-a-minute
    if (Math.abs(now - asked) >= ASKED_EVERY) this.fetching ??= this.renew(issuer, now);
    await this.fetching;
    const after = await storage.get<Known>('known');
    // safety: issuer-keys-served-for-a-day
    if (after && Math.abs(now - after.at) < SERVES) return after.keys;
    return (
      (await storage.get<string>('failure')) ?? noKeys('key set', 'it was requested within the last minute')
    );
  }

  /** Asks the issuer and stores the keys it publishes. */
  private async renew(issuer: string, now: number): Promise<void> {
    const { storage } = this.ctx;
    try {
      await storage.put('asked', now);
      const settings = settingsOf(await withStoredSecrets(this.env));
      const found = 'problem' in settings ? settings.problem : await fetchKeys(settings, issuer);
      if (typeof found === 'string') await storage.put('failure', found);
      else await storage.put({ known: { keys: found, at: now } satisfies Known });
      await storage.setAlarm(Date.now() + 2 * SERVES);
    } finally {
      this.fetching = null;
    }
  }

  /** No one has asked for longer than keys are used. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
