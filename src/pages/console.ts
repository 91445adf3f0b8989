// The console: one page for every address below /console, and the files that it loads. Invariants: the page
// runs only its own scripts and styles, cannot turn text into script or markup (trusted types), cannot be
// framed, and calls only this deployment; a file with a content hash in its name may be cached for ever, the
// page never.
import type { Env } from '../env';

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * Without `style-src 'unsafe-inline'`: the console positions elements through the CSSOM, which this allows.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policy,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
};

/** The page, for every address: the console does its own routing. */
export async function consolePage({ ASSETS }: Env): Promise<Response> {
  const found = await ASSETS.fetch('http://assets/console/index.html');
  if (!found.ok) throw new Error(`the page of the console is missing: status ${found.status}`);
  return new Response(found.body, { headers });
}

/** A file of the console, or null if there is none with that name. @param name below /console/assets */
export async function consoleFile({ ASSETS }: Env, name: string): Promise<Response | null> {
  const type = /^[\w-]+\.([a-z]+)$/.exec(name)?.[1];
  if (!type || !types[type]) return null;
  const found = await ASSETS.fetch(`http://assets/console/assets/${name}`);
  if (!found.ok) return null;
  return new Response(found.body, {
    headers: { 'Content-Type': types[type], 'Cache-Control': 'public, max-age=31536000, immutable' },
  });
}
