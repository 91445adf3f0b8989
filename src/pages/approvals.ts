// The page on which members decide approvals. Invariant: it contains no data of an organisation; it reads everything it shows as the
// signed-in member.
import { html } from 'hono/html';
import { page, type Rendered } from '../http/page';
import { remember } from '../http/remember';

const scripts = ['/assets/webauthn.js', '/assets/session.js', '/assets/approvals.js'];

const deciding = (origin: string): Rendered =>
  page(
    'Approvals',
    html`<main>
<p class="facts">Secrets Vault Service</p>
<section id="ask" class="card" aria-labelledby="title">
<h1 id="title">Approvals</h1>
<p>Sign in to see the requests waiting for you. The <a href="/console/approvals">console</a> shows them too.</p>
<p><button id="act" type="button" disabled>Sign in with a passkey</button></p>
</section>
<section id="who" tabindex="-1" aria-labelledby="heading" hidden>
<p class="signed facts"><span>Signed in as <strong id="name"></strong></span> <a href="/console/approvals">Open in the console</a> <button id="out" class="quiet" type="button">Sign out</button></p>
<h1 id="heading">Approvals</h1>
<section id="all">
<p id="empty" hidden>No requests are waiting for you.</p>
<ul id="list" class="waiting"></ul>
</section>
<section id="one" tabindex="-1" aria-labelledby="summary" hidden>
<p><a href="#">All requests waiting for you</a></p>
<h2 id="summary" class="first"></h2>
<dl id="facts" class="pairs"></dl>
<p id="barred" hidden>You cannot decide this request.</p>
<p id="decide" class="actions" hidden><button id="approve" type="button">Approve</button> <button id="reject" class="quiet" type="button">Reject</button></p>
</section>
</section>
<p id="status" role="status" aria-live="polite"></p>
<noscript><p class="error">This page needs JavaScript. Allow it for this site and reload the page. It loads no scripts from other sites.</p></noscript>
</main>`,
    { app: { name: 'approvals', origin }, scripts },
  );

/** The page, by the deployment's origin: passkeys work only at that origin. */
export const approvalsPage = remember(2, deciding);
