// The pages for registering a first passkey and for signing in. Invariant: they load nothing from other
// hosts, and show no data of an organisation before sign-in.
import { html } from 'hono/html';
import { type Markup, page, type Rendered } from '../http/html-page';
import { remember } from '../http/remember';
import { ssoForm } from './sso';

const scripts = ['/assets/webauthn.js', '/assets/session.js', '/assets/passkey.js'];

const shell = (
  origin: string,
  name: 'enrol' | 'sign-in',
  title: string,
  lead: Markup,
  action: string,
  more: Markup | null = null,
): Rendered =>
  page(
    title,
    html`<main class="card">
<section id="ask" aria-labelledby="title">
<h1 id="title">${title}</h1>
${lead}
<p><button class="button primary" id="act" type="button" disabled>${action}</button></p>
${more}
</section>
<section id="who" tabindex="-1" aria-labelledby="hello" hidden>
<h1 id="hello">Signed in</h1>
<dl class="pairs"><dt>Name</dt><dd id="name"></dd><dt>Email</dt><dd id="email"></dd><dt>Role</dt><dd id="role"></dd></dl>
<p class="actions"><a class="button primary" id="console" href="/console">Open the console</a> <button id="out" class="button plain" type="button">Sign out</button></p>
</section>
<p id="status" role="status" aria-live="polite"></p>
<noscript><p class="note bad">Passkeys need JavaScript. Allow it for this site and reload the page. The page loads no scripts from other sites.</p></noscript>
</main>`,
    { app: { name, origin }, scripts },
  );

const enrolling = (origin: string) =>
  shell(
    origin,
    'enrol',
    'Set up your passkey',
    html`<p>With a passkey, you sign in the way you unlock this device: with your fingerprint, your face or a PIN. You need no password.</p>
<p>Your browser asks you where to save the passkey.</p>`,
    'Set up a passkey',
  );

const signingIn = (origin: string) =>
  shell(
    origin,
    'sign-in',
    'Sign in',
    html`<p>Use the passkey that you created for this service. You do not need to enter a name.</p>`,
    'Sign in with a passkey',
    ssoForm,
  );

/** The pages, by the deployment's origin: passkeys work only at that origin. */
export const enrolPage = remember(2, enrolling);
export const signInPage = remember(2, signingIn);
