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
}

/** Over all that a held call sends: method, path, query, the headers that count, and the body. */
export const useDigest = ({ method, path, query, headers, body }: Digested): string =>
  sha256(tuple(method, path, query, tuple(...covered(headers).flat()), body));
