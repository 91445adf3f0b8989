// What an error says to a person. Invariant: the service's own message comes first; nothing of a request or a value is in it.
import { ConnectionError, VaultError } from '@secrets-vault/client';
import { RefusedError } from './public-api';

export interface Explained {
  title: string;
  help?: string;
  /** The page of the error in the documentation. */
  docs?: string;
}

/** By the names of DOMExceptions that WebAuthn and fetch throw. */
const byName: Record<string, Explained> = {
  NotAllowedError: { title: 'The passkey was not used', help: 'The request was cancelled or timed out. Try again when you are ready.' },
  InvalidStateError: { title: 'This device already has a passkey of yours', help: 'Sign in with it.' },
  NotSupportedError: { title: 'This device cannot create a passkey', help: 'Try another device or a security key.' },
  SecurityError: {
    title: 'Passkeys do not work at this address',
    help: 'Open the console at the address that your administrator gave you.',
  },
};

/** Where signing in is refused, the service says the same for every reason. */
const passkeyRefused: Explained = {
  title: 'This passkey was not accepted',
  help: 'Try another one, or ask an owner of your organisation for a new enrolment link.',
};

export function explain(error: unknown): Explained {
  if (error instanceof RefusedError) return error.code === 'UNAUTHENTICATED' ? passkeyRefused : { title: error.message };
  if (error instanceof ConnectionError) return { title: 'The service cannot be reached', help: 'Check your connection and try again.' };
  if (error instanceof VaultError) return { title: error.message, docs: error.docs };
  const { name, cause } = error as { name?: string; cause?: { name?: string } };
  const known = byName[cause?.name ?? ''] ?? byName[name ?? ''];
  if (known) return known;
  if (error instanceof TypeError) return { title: 'The service cannot be reached', help: 'Check your connection and try again.' };
  return { title: 'Something went wrong', help: 'Try again. If it happens again, reload the page.' };
}
