// Bytes as hexadecimal text.
export const fromHex = (hex: string) =>
  Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
export const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
