// The place of a sync: a target together with the environment whose secrets stand there. Invariant: the same platform, config and environment are the same
// place, whatever credentials are used and in whatever order the config was written.
import canonicalize from 'canonicalize';
import { sha256 } from '../../crypto/digest';

/** `config` without its credentials. */
export const placeOf = (platform: string, config: Record<string, unknown>, environment: string): string =>
  sha256(canonicalize([platform, config, environment]) as string).slice(0, 43);
