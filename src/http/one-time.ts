// Values shown once, such as a new token. Invariant: a stored response contains them encrypted with a key
// derived from the caller's token, so only a replay by the same caller shows them again.
import { fromUtf8, utf8 } from '../crypto/bytes';
import { hkdf } from '../crypto/digest';
import { decrypt, encrypt } from '../crypto/envelope';

/** A key that only the holder of the token can derive: the service stores neither. */
const bearerKey = (bearer: string) => hkdf(utf8(bearer), new Uint8Array(), 'svc/v1/key/bearer');

/** Of a caller without a token, nothing is kept. */
export function encryptOneTime(
  bearer: string | null,
  owner: string[],
  once: Record<string, string> | undefined,
): string | null {
  if (!once) return null;
  return JSON.stringify({
    paths: Object.keys(once),
    ...(bearer !== null && {
      sealed: encrypt(bearerKey(bearer), 'one-time value', owner, utf8(JSON.stringify(once))),
    }),
  });
}

/** The one-time values of a stored response: for the original caller, null for anyone else. */
export function decryptOneTime(
  bearer: string | null,
  owner: string[],
  kept: string | null,
): Record<string, string | null> | undefined {
  if (kept === null) return undefined;
  const { paths, sealed } = JSON.parse(kept) as { paths: string[]; sealed?: string };
  const opened =
    sealed === undefined || bearer === null
      ? null
      : decrypt(bearerKey(bearer), 'one-time value', owner, sealed);
  return opened
    ? JSON.parse(fromUtf8(opened) ?? '{}')
    : Object.fromEntries(paths.map((path) => [path, null]));
}

/** Inserts one-time values at their places ("api_key.token") in a response. */
export function withOnce(data: unknown, once: Record<string, string | null> | undefined): unknown {
  if (!once) return data;
  const whole = structuredClone(data) as Record<string, unknown>;
  for (const [path, value] of Object.entries(once)) {
    const parts = path.split('.');
    let at: Record<string, unknown> | null = whole;
    for (const part of parts.slice(0, -1)) at = (at?.[part] ?? null) as Record<string, unknown> | null;
    // What turned out not to be made has no place.
    if (at) at[parts.at(-1) as string] = value;
  }
  return whole;
}
