// The page at `/`: what this deployment is, and links for users and programs. Invariant: it contains only
// public information, the same for everyone.
import { html } from 'hono/html';
import { page, responseOf } from '../http/html-page';
import { remember } from '../http/remember';
import { API } from '../http/route';
import { version } from '../version';

const NAME = 'Secrets Vault Service';
const paths = {
  console: '/console',
  sign_in: '/sign-in',
  approvals: '/console/approvals',
  reference: '/docs',
  openapi: `${API}/openapi.json`,
  status: '/healthz',
};

const rendered = remember(2, (base: string) =>
  page(
    NAME,
    html`<main class="text home">
<h1>${NAME}</h1>
<p class="lead">This deployment stores secrets for applications, CI jobs, AI agents and people.</p>
<p><a class="button primary" href="${paths.console}">Open the console</a></p>
<h2>Sign in from a terminal</h2>
<pre tabindex="0"><code>svc login --url ${base}</code></pre>
<h2>For programs</h2>
<ul class="links">
<li><a href="${paths.reference}">API reference</a> <span>Every operation, with its fields and errors</span></li>
<li><a href="${paths.openapi}">OpenAPI document</a> <span>For client generators and tools</span></li>
<li><a href="${paths.status}">Status</a> <span>Health of this deployment</span></li>
</ul>
<p class="facts">Version ${version}</p>
</main>`,
  ),
);

/** HTML for browsers, JSON for programs. @param base the origin of the links */
export function home(base: string, isBrowser: boolean): Response {
  const links = Object.entries(paths).map(([name, path]) => [name, `${base}${path}`]);
  const response = isBrowser
    ? responseOf(rendered(base))
    : Response.json({ name: NAME, version, ...Object.fromEntries(links) });
  response.headers.set('Vary', 'Accept');
  return response;
}
