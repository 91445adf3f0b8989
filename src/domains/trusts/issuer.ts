// The published keys of an issuer, as this isolate knows them. Invariant: an isolate uses known keys for a minute, and asks the Durable Object of the
// issuer for others, which fetches at most once a minute (`issuer-keys.ts`).
import QuickLRU from 'quick-lru';
import type { IssuerKey } from '../../db/trusts';
import type { Env } from '../../env';

/** For how long an isolate uses keys without asking, in milliseconds. */
const KNOWN_FOR = 60_000;
const known = new QuickLRU<string, { keys: IssuerKey[]; until: number }>({ maxSize: 200 });

/** The keys of an issuer, with that of the `kid` if the issuer publishes it; or why there are none. */
export async function keysOfIssuer(
  { ISSUER_KEYS }: Pick<Env, 'ISSUER_KEYS'>,
  issuer: string,
  kid: string | undefined,
  now = Date.now(),
): Promise<IssuerKey[] | string> {
  const here = known.get(issuer);
  if (here && here.until > now && (kid === undefined || here.keys.some((key) => key.kid === kid))) return here.keys;
  const keys = (await ISSUER_KEYS.getByName(issuer)
    .keys(issuer, kid)
    .catch(() => 'the keys of the issuer cannot be looked up')) as IssuerKey[] | string;
  if (typeof keys !== 'string') known.set(issuer, { keys, until: now + KNOWN_FOR });
  return keys;
}
