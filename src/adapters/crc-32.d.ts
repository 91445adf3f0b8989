// crc-32 has no types for its Castagnoli variant.
declare module 'crc-32/crc32c.js' {
  const crc32c: { buf(bytes: Uint8Array): number };
  export default crc32c;
}
