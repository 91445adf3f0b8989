/** Thrown where a replica would need what only the gate has: the gate answers the request. */
export class AskGate extends Error {
  override name = 'AskGate';
}

/** Why: a ciphertext is not cached. */
export const CIPHERTEXT = 'ciphertext';
/** Why: the gate has lent no request of the credential. */
export const NO_LOAN = 'no loan';
