// The shell of every HTML page: its stylesheet and its Content-Security-Policy. Invariant: text enters a page only through hono's `html`,
// which escapes it; a page has no inline scripts and loads only this deployment's own files.
import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';

/** HTML, escaped where necessary. */
export type Markup = ReturnType<typeof html>;

export const json = (value: unknown): Markup => html`<pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>`;

const style = `:root{color-scheme:light dark;--ink:light-dark(#1b1f24,#e4e7ea);--dim:light-dark(#5a646f,#98a2ad);--paper:light-dark(#fdfcfa,#14171a);
--line:light-dark(#e3dfd8,#2c3238);--soft:light-dark(#f4f1ec,#1c2025);--link:light-dark(#0b5c8a,#7cc4ef);--warm:light-dark(#9a4b12,#f0a868)}
*{box-sizing:border-box}
html{font:17px/1.6 ui-serif,Charter,"Iowan Old Style",Georgia,serif;background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0 auto;max-width:48rem;padding:2rem 1.25rem 5rem}
h1,h2,h3,h4,nav,dt,th,.facts,summary,footer{font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif}
h1{font-size:clamp(1.7rem,5vw,2.4rem);line-height:1.15;letter-spacing:-.02em;margin:.5rem 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.5rem;line-height:1.2;letter-spacing:-.01em;margin:4rem 0 .5rem;padding-top:1.5rem;border-top:1px solid var(--line)}
h3{font-size:1.12rem;margin:0 0 .25rem}h4{font-size:.78rem;text-transform:uppercase;letter-spacing:.07em;color:var(--dim);margin:1.5rem 0 .4rem}
p{margin:.5rem 0}a{color:var(--link);text-underline-offset:.15em}a:focus-visible,summary:focus-visible,pre:focus-visible{outline:2px solid var(--link);outline-offset:2px}
code,pre,.call{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.84em}
p code,dd code,li code{overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem;overflow-x:auto;line-height:1.45;margin:.5rem 0}pre code{font-size:1em}
section.operation{margin:2.5rem 0;padding-top:.25rem}
.call{overflow-wrap:anywhere;color:var(--dim);margin:0 0 .75rem}.call b{color:var(--warm);text-transform:uppercase;margin-right:.5em}
dl{margin:0;font-size:.94rem}dt{margin-top:.55rem;overflow-wrap:anywhere;font-size:.9rem}dt code{font-size:.95em;font-weight:600}dt span{color:var(--dim)}dd{margin:0 0 0 1rem;color:var(--dim)}
details{margin:.4rem 0;border-left:2px solid var(--line);padding-left:.8rem}summary{cursor:pointer;font-size:.92rem}
nav{font-size:.92rem;margin:1.5rem 0}nav ul,ul.plain{list-style:none;padding:0;margin:.25rem 0 1rem}nav li{margin:.2rem 0}nav strong{display:block;margin-top:.8rem}
.top{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0}.codes{display:flex;flex-wrap:wrap;gap:.2rem .8rem;padding:0;margin:.25rem 0;list-style:none}
.facts{color:var(--dim);font-size:.95rem}footer{margin-top:4rem;color:var(--dim);font-size:.85rem}
button{font:600 1rem ui-sans-serif,system-ui,"Segoe UI",sans-serif;padding:.7rem 1.3rem;border:0;border-radius:8px;background:var(--link);color:var(--paper);cursor:pointer}
button:hover{filter:brightness(1.1)}button:focus-visible{outline:3px solid var(--warm);outline-offset:3px}button[disabled],button[aria-disabled=true]{opacity:.6;cursor:progress}
.card{max-width:27rem;margin:8vh auto 0;background:var(--soft);border:1px solid var(--line);border-radius:12px;padding:1.5rem 1.75rem 1.75rem}.card .facts{margin:0}
.card section:focus{outline:0}.card button{margin-top:.75rem;width:100%}[role=status]:empty{display:none}.error{color:var(--warm)}
label{display:block;margin:.75rem 0 .4rem;font:600 .9rem ui-sans-serif,system-ui,"Segoe UI",sans-serif}input{width:100%;font:inherit;padding:.55rem .7rem;border:1px solid var(--line);border-radius:8px;background:var(--paper);color:var(--ink)}
input:focus-visible{outline:3px solid var(--warm);outline-offset:1px}.shared{max-width:34rem}.shared pre{max-height:50vh;overflow:auto}.shared pre code{white-space:pre-wrap;overflow-wrap:anywhere}.code{font:600 1.7rem ui-monospace,"SF Mono",Menlo,Consolas,monospace;letter-spacing:.08em;text-align:center;margin:.75rem 0}.action{display:block;margin-top:1rem;padding:.7rem 1.3rem;border-radius:8px;background:var(--link);color:var(--paper);font:600 1rem ui-sans-serif,system-ui,"Segoe UI",sans-serif;text-align:center;text-decoration:none}.quiet{background:transparent;color:var(--link);border:1px solid var(--line)}h2.first{margin-top:1rem;border:0;padding:0}
.signed{display:flex;justify-content:space-between;align-items:center;gap:1rem;flex-wrap:wrap}.signed button{padding:.35rem .8rem;font-size:.9rem}
.waiting{list-style:none;padding:0;margin:1rem 0}.waiting li{border:1px solid var(--line);border-radius:8px;background:var(--soft);padding:.8rem 1rem;margin:.6rem 0;overflow-wrap:anywhere}
.waiting span{display:block;color:var(--dim);font-size:.9rem}.pairs{display:grid;grid-template-columns:minmax(7rem,auto) 1fr;gap:.3rem 1.25rem;margin:1.25rem 0}
.pairs dt{margin:0;color:var(--dim)}.pairs dd{margin:0;color:var(--ink);overflow-wrap:anywhere}.actions{display:flex;gap:.75rem;flex-wrap:wrap}section:focus{outline:0}[hidden]{display:none!important}[hidden]{display:none!important}
@media(max-width:30rem){.pairs{grid-template-columns:1fr;gap:0}.pairs dd{margin-bottom:.6rem}.actions button{flex:1}}
@media print{body{max-width:none}details{border:0}}`;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64');
const styleHash = hashOf(style);

/** What a page may load: nothing, unless it has scripts, which may call this deployment's API, or stylesheets, which may contain images. */
function policyOf({ scripts, styles, document }: Options): string {
  return [
    "default-src 'none'",
    styles ? "style-src 'self'; img-src data:" : `style-src 'sha256-${document ? hashOf(document.style) : styleHash}'`,
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ...(scripts ? ["script-src 'self'; connect-src 'self'"] : []),
  ].join('; ');
}

const navigation = html`<nav class="top" aria-label="Documentation"><a href="/docs">API reference</a><a href="/docs/errors">Errors</a><a href="/api/v1/openapi.json">OpenAPI</a><a href="/approvals">Approvals</a><a href="/console">Console</a></nav>`;

/** A response that is served unchanged each time. */
export interface Rendered {
  body: string;
  headers: Record<string, string>;
}

export const responseOf = ({ body, headers }: Rendered): Response => new Response(body, { headers });

interface Options {
  /** For pages with scripts that users interact with: the page's name, and its origin. Such a page has no navigation. */
  app?: { name: string; origin: string };
  /** Scripts of this deployment, by path. */
  scripts?: string[];
  /** Stylesheets of this deployment, by path, instead of the shared one. */
  styles?: string[];
  /**
   * A document to save and print: it has its own stylesheet instead of the shared one, no navigation, and its policy inside, since a file
   * has no headers.
   */
  document?: { style: string };
}

/** The policy inside a document, where `frame-ancestors` has no effect. */
const policyWithin = ({ style }: { style: string }): Markup =>
  html`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${raw(hashOf(style))}'; base-uri 'none'; form-action 'none'">`;

/** A full page. */
export function page(title: string, content: Markup, options: Options = {}): Rendered {
  const { app, scripts = [], styles, document } = options;
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${document && policyWithin(document)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${styles?.map((href) => html`<link rel="stylesheet" href="${href}">`) ?? html`<style>${raw(document?.style ?? style)}</style>`}
</head>
<body${app && html` data-page="${app.name}" data-origin="${app.origin}"`}>
${app || document ? null : navigation}
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
