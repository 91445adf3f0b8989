// What the login of a terminal (RFC 8628) is asked and answers: see `../device-login.ts`.

/** Who asks to be signed in, as the service saw it. */
export interface Started {
  /** SHA-256 of the device code. */
  hash: string;
  /** The id of the session that it may begin. */
  session: string;
  client_name: string;
  ip: string;
  place: string | null;
}

/** What a member is shown, and confirms. */
export interface Asking extends Omit<Started, 'hash'> {
  created_at: number;
  ends_at: number;
  decided: Decision | null;
}

/** The organisation whose member confirmed the login; false once it is denied. */
export type Decision = string | false;

/** What a poll is told: `approved` says whose gate to ask. */
export type Polled =
  | { state: 'pending' | 'denied' | 'ended' }
  | { state: 'early'; interval: number }
  | { state: 'approved'; org: string; session: string };
