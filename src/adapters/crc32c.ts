// CRC-32C (Castagnoli), the checksum of Google Cloud payloads.
import library from 'crc-32/crc32c.js';

/** The checksum as an unsigned number. */
export const crc32c = (bytes: Uint8Array): number => library.buf(bytes) >>> 0;
