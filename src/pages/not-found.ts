// The page for an address that nothing is served at. Programs get the same refusal as JSON.
import { html } from 'hono/html';
import { page, type Rendered } from '../http/page';

export const notFoundPage: Rendered = page(
  'Page not found',
  html`<main class="text">
<p class="kicker">404</p>
<h1>Page not found</h1>
<p>Nothing is served at this address. Check it, or start from one of these pages:</p>
<ul class="links">
<li><a href="/console">Console</a> <span>Manage secrets, access and approvals</span></li>
<li><a href="/docs">API reference</a> <span>Every operation, with its fields and errors</span></li>
<li><a href="/">Start page</a> <span>What this deployment is, and its version</span></li>
</ul>
</main>`,
);
