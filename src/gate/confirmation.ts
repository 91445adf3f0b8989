// Which JWTs of a browser session count as confirmed with a passkey, and which a panic has refused. JWTs and refresh cookies of a session
// share one numbering. Invariant: a confirmation voids every earlier cookie, so a JWT with its number or a later one was issued to whoever
// confirmed; a copy of an earlier JWT gains nothing.
import type { CredentialRow } from '../db/schema';

/** How long a confirmation is valid, in milliseconds. */
export const CONFIRMED_FOR = 300_000;

type Session = Pick<CredentialRow, 'confirmed_at' | 'refresh'>;

/** Whether a request with this JWT counts as confirmed. `jwt` is undefined for other credentials and for the refresh cookie. */
export const isConfirmed = ({ confirmed_at, refresh }: Session, jwt: number | undefined, now: number): boolean =>
  confirmed_at !== null &&
  refresh?.confirmed !== undefined &&
  jwt !== undefined &&
  // safety: confirmation-of-this-jwt
  jwt >= refresh.confirmed &&
  // safety: confirmation-expires
  now <= confirmed_at + CONFIRMED_FOR;

/** Whether a panic refused this JWT of a session that it spared. A cookie is checked by its own number. */
export function isRefused({ refresh }: Session, jwt: number | undefined): boolean {
  if (jwt === undefined || !refresh?.jwts) return false;
  const [first, last] = refresh.jwts;
  return jwt < first || (last !== null && jwt > last);
}
