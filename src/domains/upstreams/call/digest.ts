// What an approval of a call is bound to. Pure.
import { tuple } from '../../../crypto/bytes';
import { sha256 } from '../../../crypto/digest';
import { covered, type HeaderList } from './request-headers';

interface Digested {
  method: string;
  path: string;
  query: string;
  headers: HeaderList;
  body: Uint8Array;
  isWebSocket: boolean;
}

/**
 * Over all that a held call sends: method, path, query, the headers that count, and the body. `Upgrade` is
 * not among the headers that are sent on.
 */
export function useDigest({ method, path, query, headers, body, isWebSocket }: Digested): string {
  // safety: approved-get-opens-no-websocket
  const opens = isWebSocket ? `${method} websocket` : method;
  return sha256(tuple(opens, path, query, tuple(...covered(headers).flat()), body));
}
