// The messages of a terminal login (RFC 8628), which the Durable Object in `../device-login.ts` keeps.

/** A login as a terminal starts it. */
export interface Started {
  /** SHA-256 of the device code. */
  hash: string;
  /** The id of the session that it may begin. */
  session: string;
  client_name: string;
  ip: string;
  place: string | null;
}

/** A login as a member sees it. */
export interface Asking extends Omit<Started, 'hash'> {
  created_at: number;
  ends_at: number;
  decided: Decision | null;
}

/** The organisation whose member confirmed the login, or false if it was denied. */
export type Decision = string | false;

/** The answer to a poll. `approved` names the organisation whose gate has the session. */
export type Polled =
  | { state: 'pending' | 'denied' | 'ended' }
  | { state: 'early'; interval: number }
  | { state: 'approved'; org: string; session: string };
