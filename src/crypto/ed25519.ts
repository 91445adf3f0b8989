// Whether 32 bytes are a usable Ed25519 public key (RFC 8032 §5.1.3). Web Crypto imports any 32 bytes. For a
// point of small order anyone can create valid signatures, so such a key proves nothing.

const P = 2n ** 255n - 19n;
const mod = (value: bigint): bigint => ((value % P) + P) % P;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * factor);
    factor = mod(factor * factor);
  }
  return result;
}
const inverse = (value: bigint): bigint => power(value, P - 2n);

/** The curve: -x² + y² = 1 + D x² y². */
const D = mod(-121665n * inverse(121666n));

/** Whether the bytes are the canonical encoding of a curve point whose order is not 1, 2, 4 or 8. */
export function isStrongPoint(bytes: Uint8Array): boolean {
  const number = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const y = number & ((1n << 255n) - 1n);
  if (y >= P) return false;
  const yy = mod(y * y);
  const xx = mod((yy - 1n) * inverse(D * yy + 1n));
  // Euler's criterion: x exists if x² is a square. x = 0 has order 1 or 2.
  if (power(xx, (P - 1n) / 2n) !== 1n) return false;
  // y of the doubled point is (y² + x²) / (1 - D x² y²). It is 0, 1 or -1 if the point has order 8, 4 or
  // less.
  const above = mod(yy + xx);
  const below = mod(1n - D * xx * yy);
  return above !== 0n && above !== below && above !== mod(-below);
}
