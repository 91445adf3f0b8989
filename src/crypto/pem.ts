// The PEM armour (RFC 7468) around the bytes of keys.
// Every PEM made here has lines of one width, LF line ends, and ends with a line end: readers of OpenSSH keys insist on it.

import { toBase64 } from './bytes';

/**
 * Wraps bytes as one PEM block.
 * @param label what stands after BEGIN and END, such as `PRIVATE KEY`
 * @param columns characters per line: 64 in RFC 7468, 70 in OpenSSH
 */
export function pem(label: string, bytes: Uint8Array, columns: number): string {
  const lines = toBase64(bytes).match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
