// The calls to a terminal login (RFC 8628): see `objects/terminal-login.ts`.

/** How long a code is valid, in milliseconds, and the polling interval, in seconds. */
export const CODE_LIVES = 600_000;
export const INTERVAL = 5;

/** The requesting client, as the service saw it. */
export interface Started {
  /** SHA-256 of the device code. */
  hash: string;
  /** The id of the session that it may begin. */
  session: string;
  client_name: string;
  ip: string;
  place: string | null;
}

/** What a member sees and confirms. */
export interface Asking extends Omit<Started, 'hash'> {
  created_at: number;
  ends_at: number;
  decided: Decision | null;
}

/** The organisation whose member confirmed the login; false if it was denied. */
export type Decision = string | false;

/** The result of a poll: `approved` names the organisation whose gate to ask. */
export type Polled =
  | { state: 'pending' | 'denied' | 'ended' }
  | { state: 'early'; interval: number }
  | { state: 'approved'; org: string; session: string };
