// The page of a link. Invariants: it is the same for every link, live or not, and contains no data of one; it
// requests the value only on a click, so link previews and mail scanners do not use up views.
import { html } from 'hono/html';
import { page, type Rendered } from '../http/html-page';

export const sharePage: Rendered = page(
  'A shared secret',
  html`<main class="card shared">
<form id="ask" aria-labelledby="title">
<h1 id="title">Someone shared a secret with you</h1>
<p>Open it only when you are ready: the link may work only once.</p>
<p id="locked" hidden><label for="passphrase">Passphrase</label>
<input id="passphrase" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="256"></p>
<p><button class="button primary" id="act" type="submit" disabled>Show the secret</button></p>
</form>
<section id="shown" tabindex="-1" aria-labelledby="name" hidden>
<h1 id="name"></h1>
<p class="facts">Version <span id="version"></span></p>
<pre tabindex="0" aria-label="Value"><code id="value"></code></pre>
<p><button class="button primary" id="copy" type="button">Copy</button></p>
<p>Store it in a safe place now: the link may not show it again.</p>
</section>
<section id="over" tabindex="-1" aria-labelledby="why" hidden>
<h1 id="why"></h1>
<p id="help"></p>
</section>
<p id="status" role="status" aria-live="polite"></p>
<noscript><p class="note bad">This page needs JavaScript. Allow it for this site and reload the page. It loads no scripts from other sites.</p></noscript>
</main>`,
  { app: { name: 'share', origin: '' }, scripts: ['/assets/share.js'] },
);
