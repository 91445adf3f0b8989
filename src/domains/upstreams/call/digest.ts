// What an approval of a call is bound to. Pure.
import { tuple } from '../../../crypto/bytes';
import { sha256 } from '../../../crypto/digest';
import { covered, type HeaderList } from './request-headers';

export interface Digested {
  method: string;
  path: string;
  query: string;
  headers: HeaderList;
  body: Uint8Array;
  isWebSocket: boolean;
}

/**
 * Over all that a held call sends: method, path, query, the headers that count, the body, and whether it
 * opens a WebSocket, whose messages nobody sees.
 */
export const useDigest = ({ method, path, query, headers, body, isWebSocket }: Digested): string =>
  // safety: approval-of-a-websocket
  sha256(tuple(isWebSocket ? 'WebSocket' : method, path, query, tuple(...covered(headers).flat()), body));
