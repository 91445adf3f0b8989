// PEM encoding (RFC 7468) of keys. Lines have one width and end with LF, and so does the last line, which
// readers of OpenSSH keys require.

import { toBase64 } from './bytes';

/**
 * Wraps bytes as one PEM block.
 * @param label the text after BEGIN and END, such as `PRIVATE KEY`
 * @param columns characters per line: 64 in RFC 7468, 70 in OpenSSH
 */
export function pem(label: string, bytes: Uint8Array, columns: number): string {
  const lines = toBase64(bytes).match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
