// The sign-in page, with a passkey.
import { browserSupportsWebAuthn } from '@simplewebauthn/browser';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { ended, signIn } from '../session/session';
import { Button } from '../ui/controls/button';
import { Mark } from '../ui/mark';

export function SignIn() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Secrets Vault';
    heading.current?.focus();
  }, []);
  const usable = browserSupportsWebAuthn();
  return (
    <main class="sign-in">
      <Mark size={40} />
      <h1 ref={heading} tabIndex={-1}>
        Sign in
      </h1>
      {ended.value && (
        <p class="note plain" role="status">
          {ended.value}
        </p>
      )}
      {usable ? (
        <>
          <p class="dim">
            Use the passkey that you created for this service. You do not need to enter a name.
          </p>
          <Button kind="primary" onPress={() => signIn()}>
            Sign in with a passkey
          </Button>
        </>
      ) : (
        <p class="note bad" role="alert">
          This browser does not support passkeys. Use a current version of Chrome, Edge, Firefox or Safari.
        </p>
      )}
      <p class="dim small">
        New here? Open the enrolment link from the person who invited you. Lost your passkey? Ask an owner of
        your organisation for a new link.
      </p>
    </main>
  );
}

/** The sign-in page above a kept page, as a dialog, because a dialog of that page must not keep the focus. */
export function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    return () => dialog.current?.close();
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-label="Sign in" onCancel={(event) => event.preventDefault()}>
      <SignIn />
    </dialog>
  );
}
