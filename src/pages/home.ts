// The page at `/`: what this deployment is, and links for users and programs. Invariant: it is the same for everyone and contains only
// public information.
import { html } from 'hono/html';
import { page, responseOf } from '../http/page';
import { API } from '../http/route';
import { version } from '../version';

const NAME = 'Secrets Vault Service';
const paths = {
  console: '/console',
  sign_in: '/sign-in',
  approvals: '/approvals',
  reference: '/docs',
  openapi: `${API}/openapi.json`,
  status: '/healthz',
};

const rendered = page(
  NAME,
  html`<main>
<h1>${NAME}</h1>
<p class="facts">Version ${version}</p>
<p>This service stores secrets for applications, CI jobs, AI agents and people.</p>
<ul>
<li><a href="${paths.console}">Console</a>: sign in with a passkey</li>
<li><a href="/console${paths.approvals}">Approvals</a> waiting for you</li>
<li><a href="${paths.reference}">API reference</a></li>
<li><a href="${paths.openapi}">OpenAPI document</a></li>
<li><a href="${paths.status}">Status</a> of this deployment</li>
</ul>
</main>`,
);

/** HTML for browsers, JSON for programs. @param base the origin of the links in JSON */
export function home(base: string, isBrowser: boolean): Response {
  const links = Object.entries(paths).map(([name, path]) => [name, `${base}${path}`]);
  const response = isBrowser ? responseOf(rendered) : Response.json({ name: NAME, version, ...Object.fromEntries(links) });
  response.headers.set('Vary', 'Accept');
  return response;
}
