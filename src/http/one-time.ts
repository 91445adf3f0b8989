// Values that are shown once, such as a new token. Invariant: a stored response holds them encrypted with a key that only the token of
// the caller gives, so that only a replay by the same caller shows them again.
import { fromUtf8, utf8 } from '../crypto/bytes';
import { hkdf } from '../crypto/digest';
import { decrypt, encrypt } from '../crypto/envelope';

/** A key that only who holds the token can make: the service stores neither the token nor this. */
const bearerKey = (bearer: string) => hkdf(utf8(bearer), new Uint8Array(), 'svc/v1/key/bearer');

export function encryptOneTime(bearer: string, owner: string[], once: Record<string, string> | undefined): string | null {
  if (!once) return null;
  return JSON.stringify({
    paths: Object.keys(once),
    sealed: encrypt(bearerKey(bearer), 'one-time value', owner, utf8(JSON.stringify(once))),
  });
}

/** One-time values of a stored response: for whoever made the call, null for anyone else. */
export function decryptOneTime(bearer: string, owner: string[], kept: string | null): Record<string, string | null> | undefined {
  if (kept === null) return undefined;
  const { paths, sealed } = JSON.parse(kept) as { paths: string[]; sealed?: string };
  const opened = sealed === undefined ? null : decrypt(bearerKey(bearer), 'one-time value', owner, sealed);
  return opened ? JSON.parse(fromUtf8(opened) ?? '{}') : Object.fromEntries(paths.map((path) => [path, null]));
}

/** Puts one-time values at their places ("api_key.token") in an answer. */
export function withOnce(data: unknown, once: Record<string, string | null> | undefined): unknown {
  if (!once) return data;
  const whole = structuredClone(data) as Record<string, unknown>;
  for (const [path, value] of Object.entries(once)) {
    const parts = path.split('.');
    let at = whole;
    for (const part of parts.slice(0, -1)) at = at[part] as Record<string, unknown>;
    at[parts.at(-1) as string] = value;
  }
  return whole;
}
