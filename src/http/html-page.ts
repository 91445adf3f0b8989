// The shell of every HTML page: its header, stylesheets and Content-Security-Policy. Invariant: text enters a
// page only through hono's `html`, which escapes it; a page has no inline scripts or styles, and loads only
// this deployment's own files.
import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';

/** HTML, escaped where necessary. */
export type Markup = ReturnType<typeof html>;

export const json = (value: unknown): Markup =>
  html`<pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>`;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64');

/**
 * What a page may load: its stylesheets and images, and if it has scripts, those and this deployment's API. A
 * document loads nothing.
 */
function policyOf({ scripts, document, imagesInStyles }: Options): string {
  return [
    "default-src 'none'",
    document
      ? `style-src 'sha256-${hashOf(document.style)}'`
      : `style-src 'self'; img-src 'self'${imagesInStyles ? ' data:' : ''}`,
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ...(scripts ? ["script-src 'self'; connect-src 'self'"] : []),
  ].join('; ');
}

const brand = html`<img src="/assets/icon.svg" alt="" width="24" height="24">Secrets Vault`;

/** A page that a person acts on does not lead away from what they do. */
const headerOf = ({ app }: Options): Markup =>
  app
    ? html`<header class="top"><span class="brand">${brand}</span></header>`
    : html`<header class="top"><a class="brand" href="/">${brand}</a>
<nav aria-label="Documentation"><a href="/docs">API reference</a><a href="/docs/errors">Errors</a><a href="/api/v1/openapi.json">OpenAPI</a><a href="/console">Console</a></nav></header>`;

/** A response that is served unchanged each time. */
export interface Rendered {
  body: string;
  headers: Record<string, string>;
}

export const responseOf = ({ body, headers }: Rendered): Response => new Response(body, { headers });

interface Options {
  /**
   * For pages with scripts that people interact with: the page's name, and its origin. Such a page has no
   * navigation.
   */
  app?: { name: string; origin: string };
  /** Scripts of this deployment, by path. */
  scripts?: string[];
  /** More stylesheets of this deployment, by path. They come before the shared ones. */
  styles?: string[];
  /** Whether the stylesheets contain images. */
  imagesInStyles?: boolean;
  /**
   * A document to save and print: it has its own stylesheet, inline, no header, and its policy inside, since
   * a file has no HTTP headers.
   */
  document?: { style: string };
}

/** The policy inside a document, where `frame-ancestors` has no effect. */
const policyWithin = ({ style }: { style: string }): Markup =>
  html`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${raw(hashOf(style))}'; base-uri 'none'; form-action 'none'">`;

const linked = (styles: string[]): Markup =>
  html`<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">${styles.map((href) => html`<link rel="stylesheet" href="${href}">`)}`;

/** A full page. */
export function page(title: string, content: Markup, options: Options = {}): Rendered {
  const { app, scripts = [], styles = [], document } = options;
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${document && policyWithin(document)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${document ? html`<style>${raw(document.style)}</style>` : linked([...styles, '/assets/tokens.css', '/assets/pages.css'])}
</head>
<body${app && html` data-page="${app.name}" data-origin="${app.origin}"`}>
${document ? null : headerOf(options)}
${content}
${scripts.map((src) => html`<script src="${src}"></script>`)}
</body>
</html>
`;
  // hono's `html` returns a promise only if a promise was passed in.
  if (whole instanceof Promise) throw new Error('a page holds a promise');
  return {
    body: whole.toString(),
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyOf(options),
      'Referrer-Policy': 'no-referrer',
      ...(scripts.length > 0 && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
    },
  };
}
