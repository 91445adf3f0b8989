// The page on which members confirm terminal logins. Invariant: it is the same for every code, live or not; a
// code in the address is only filled in, and looked up after the member has signed in.
import { html } from 'hono/html';
import { page, type Rendered } from '../http/html-page';
import { remember } from '../http/remember';
import { ssoForm } from './sso';

const scripts = ['/assets/webauthn.js', '/assets/session.js', '/assets/device.js'];

const confirming = (origin: string): Rendered =>
  page(
    'Sign in a terminal',
    html`<main class="card">
<section id="ask" aria-labelledby="title">
<h1 id="title">Sign in a terminal</h1>
<p>Sign in here first. Then you see which program asks, and from where. This is the vault at <strong>${origin}</strong>.</p>
<p><button class="button primary" id="act" type="button" disabled>Sign in with a passkey</button></p>
${ssoForm}
</section>
<section id="who" hidden>
<form id="enter" aria-labelledby="heading">
<h1 id="heading">Sign in a terminal</h1>
<label for="code">Code shown in your terminal</label>
<input id="code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" required>
<p><button class="button primary" id="find" type="submit">Continue</button></p>
</form>
<section id="one" tabindex="-1" aria-labelledby="question" hidden>
<h1 id="question">Sign in this terminal?</h1>
<p>Your terminal must show this code:</p>
<p id="shown" class="code"></p>
<dl class="pairs">
<dt>Vault</dt><dd id="vault">${origin}</dd>
<dt>Program</dt><dd id="client"></dd>
<dt>Address</dt><dd id="address"></dd>
<dt>Requested</dt><dd id="asked"></dd>
</dl>
<p id="elsewhere" class="note warn" hidden>This terminal has a different address than this browser. Confirm only if you started the login there yourself.</p>
<p>The name of the program is not verified. The program gets a session with your permissions for up to seven days. If someone sent you this code or link, choose Deny.</p>
<p class="actions"><button class="button primary" id="confirm" type="button">Confirm</button> <button id="deny" class="button plain" type="button">Deny</button></p>
</section>
<section id="over" tabindex="-1" aria-labelledby="end" hidden>
<h1 id="end"></h1>
<p id="help"></p>
</section>
</section>
<p id="status" role="status" aria-live="polite"></p>
<p id="signed" class="signed" hidden><span>Signed in as <strong id="name"></strong></span> <button id="out" class="button quiet small" type="button">Sign out</button></p>
<noscript><p class="note bad">This page needs JavaScript. Allow it for this site and reload the page. It loads no scripts from other sites.</p></noscript>
</main>`,
    { app: { name: 'device', origin }, scripts },
  );

/** The page, by the deployment's origin: passkeys work only at that origin. */
export const devicePage = remember(2, confirming);
