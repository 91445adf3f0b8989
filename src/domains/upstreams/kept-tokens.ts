// Tokens that the service got for upstreams, kept in this isolate alone. Invariant: a token serves the very
// `auth` and values that it was got with.
import QuickLRU from 'quick-lru';
import { tuple } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';
import { namesIn } from './call/place';
import type { UsePlan, UsePorts } from './call/plan';

/** A token that ends sooner is not used any more, in milliseconds. */
const MARGIN = 60_000;

const kept = new QuickLRU<string, { token: string; expires_at: number }>({ maxSize: 500 });

function keyOf(org: string, { upstream, auth, values }: UsePlan, index: number): string {
  const entry = auth[index];
  const used = entry ? namesIn(entry).map((name) => values[name]?.value ?? '') : [];
  return sha256(tuple(org, upstream.id, upstream.base_url, JSON.stringify(entry), ...used));
}

export const keptTokens = (org: string, plan: UsePlan): Pick<UsePorts, 'keptToken' | 'keepToken'> => ({
  async keptToken(index) {
    const found = kept.get(keyOf(org, plan, index));
    return found && found.expires_at - MARGIN > Date.now() ? found.token : null;
  },
  async keepToken(index, token, expires_at) {
    kept.set(keyOf(org, plan, index), { token, expires_at });
  },
});
