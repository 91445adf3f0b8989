// Signatures of deliveries: this service's own, and Standard Webhooks (https://www.standardwebhooks.com).
// Invariant: both sign exactly the bytes of the body that is sent.
import { fromBase64, toBase64, utf8 } from '../../crypto/bytes';
import { hmac, hmacHex } from '../../crypto/digest';

/** The key of Standard Webhooks: the part after `whsec_`, decoded. */
const keyOf = (secret: string): Uint8Array => fromBase64(secret.slice('whsec_'.length)) as Uint8Array;

/**
 * The headers of a delivery. While two secrets sign, `X-Svc-Signature`, which has room for one signature,
 * uses the old secret.
 */
export function signedHeaders(
  id: string,
  time: number,
  body: string,
  secret: string,
  old: string | null,
): Record<string, string> {
  const timestamp = String(Math.floor(time / 1000));
  const content = utf8(`${id}.${timestamp}.${body}`);
  const signatures = [secret, ...(old === null ? [] : [old])].map(
    (one) => `v1,${toBase64(hmac(keyOf(one), content))}`,
  );
  return {
    'Content-Type': 'application/json',
    'X-Svc-Signature': hmacHex(utf8(old ?? secret), utf8(body)),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
