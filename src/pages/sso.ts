// Single sign-on in pages: the form that begins it, and the page that asks for the passkey of whom a provider
// named. Invariant: they show no data of an organisation before sign-in.
import { html } from 'hono/html';
import { page, type Rendered } from '../http/html-page';
import { remember } from '../http/remember';

/** Begins a sign-in by single sign-on. Its script is session.js. */
export const ssoForm = html`<form id="sso">
<label for="work">Or sign in with single sign-on</label>
<input id="work" type="email" autocomplete="username" placeholder="Work e-mail address" maxlength="254" required>
<p><button class="button" id="leave" type="submit">Continue</button></p>
</form>`;

const linking = (origin: string): Rendered =>
  page(
    'Confirm it is you',
    html`<main class="card">
<section id="ask" aria-labelledby="title">
<h1 id="title">Confirm it is you</h1>
<p>You signed in with single sign-on for the first time. Use your passkey once, to link that sign-in to you. After that, single sign-on is enough.</p>
<p>If you did not start this, close the page.</p>
<p><button class="button primary" id="act" type="button" disabled>Use your passkey</button></p>
</section>
<p id="status" role="status" aria-live="polite"></p>
<noscript><p class="note bad">Passkeys need JavaScript. Allow it for this site and reload the page. The page loads no scripts from other sites.</p></noscript>
</main>`,
    {
      app: { name: 'link', origin },
      scripts: ['/assets/webauthn.js', '/assets/session.js', '/assets/link.js'],
    },
  );

/** The page, by the deployment's origin: passkeys work only at that origin. */
export const linkPage = remember(2, linking);
