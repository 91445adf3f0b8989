// The published keys of an issuer, cached in this isolate. Invariant: cached keys are used for a minute; a
// missing key is requested from the issuer's Durable Object, which fetches at most once a minute
// (`objects/issuer-keys.ts`).
import QuickLRU from 'quick-lru';
import type { IssuerKey } from '../../db/trusts';
import type { Env } from '../../env';

/** How long an isolate uses keys without asking, in milliseconds. */
const KNOWN_FOR = 60_000;
const known = new QuickLRU<string, { keys: IssuerKey[]; until: number }>({ maxSize: 200 });

/**
 * The keys of an issuer, including the one with this `kid` if the issuer publishes it; or why there are none.
 * With `isDoubted`, the known ones did not verify a token: the issuer is asked again.
 */
export async function keysOfIssuer(
  { ISSUER_KEYS }: Pick<Env, 'ISSUER_KEYS'>,
  issuer: string,
  kid: string | undefined,
  isDoubted: boolean,
  now = Date.now(),
): Promise<IssuerKey[] | string> {
  const here = known.get(issuer);
  if (
    !isDoubted &&
    here &&
    here.until > now &&
    (kid === undefined || here.keys.some((key) => key.kid === kid))
  )
    return here.keys;
  const issuerKeys = ISSUER_KEYS.getByName(issuer);
  const keys = (await (isDoubted ? issuerKeys.renewed(issuer) : issuerKeys.keys(issuer, kid)).catch(
    () => 'the keys of the issuer cannot be looked up',
  )) as IssuerKey[] | string;
  if (typeof keys !== 'string') known.set(issuer, { keys, until: now + KNOWN_FOR });
  return keys;
}
