// Error texts for people. Invariant: the service's own message comes first; a text never contains part of a
// request or a value.
import { ConnectionError, VaultError } from '@secrets-vault/client';
import { ChangedError } from '../changes/changed-error';
import { counted } from '../counted';
import { RefusedError, UnreachableError } from '../session/public-api';

export interface Explained {
  title: string;
  help?: string;
  /** The documentation page of the error. */
  docs?: string;
}

/** By the name of the DOMException that WebAuthn or fetch throws. */
const byName: Record<string, Explained> = {
  NotAllowedError: {
    title: 'The passkey was not used',
    help: 'The request was cancelled or timed out. Try again when you are ready.',
  },
  InvalidStateError: { title: 'This device already has one of your passkeys', help: 'Sign in with it.' },
  NotSupportedError: {
    title: 'This device cannot create a passkey',
    help: 'Try another device or a security key.',
  },
  SecurityError: {
    title: 'Passkeys do not work at this address',
    help: 'Open the console at the address your administrator gave you.',
  },
};

/** The service gives the same error for every reason to refuse a sign-in. */
const passkeyRefused: Explained = {
  title: 'This passkey was not accepted',
  help: 'Try another passkey, or ask an owner of your organisation for a new enrolment link.',
};

export function explain(error: unknown): Explained {
  if (error instanceof RefusedError)
    return error.code === 'UNAUTHENTICATED' ? passkeyRefused : { title: error.message };
  if (error instanceof ConnectionError || error instanceof UnreachableError)
    return navigator.onLine === false
      ? { title: 'You are offline', help: 'The page goes on when the connection is back.' }
      : { title: 'Cannot reach the service', help: 'Check your connection and try again.' };
  if (error instanceof ChangedError)
    return { title: error.message, help: 'Nothing was done. Check the current state, then try again.' };
  if (error instanceof VaultError) {
    const { message, docs, retryAfter } = error;
    return {
      title: message,
      docs,
      ...(retryAfter && { help: `Try again in ${counted(retryAfter, 'second')}.` }),
    };
  }
  const { name, cause } = error as { name?: string; cause?: { name?: string } };
  const known = byName[cause?.name ?? ''] ?? byName[name ?? ''];
  if (known) return known;
  // A fault of the console itself. Its message may contain a value, so the page does not show it.
  return {
    title: 'Something went wrong in the console',
    help: 'Try again. If it happens again, reload the page.',
  };
}
