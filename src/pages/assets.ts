// The files that pages load, and their media types. Invariant: only files in this table are served.
import type { Env } from '../env';

const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

/** By name. `scripts/build/assets.mjs` copies the same files to where the platform serves them. */
export const assetTypes: Record<string, string> = {
  'device.js': script,
  'icon.svg': 'image/svg+xml',
  'pages.css': style,
  'link.js': script,
  'passkey.js': script,
  'reference.css': style,
  'reference.js': script,
  'session.js': script,
  'share.js': script,
  'swagger-ui.css': style,
  'swagger-ui.js': script,
  'tokens.css': style,
  'webauthn.js': script,
};

export async function asset({ ASSETS }: Env, name: string): Promise<Response> {
  const found = await ASSETS.fetch(`http://assets/${name}`);
  if (!found.ok) throw new Error(`the file ${name} of the pages is missing: status ${found.status}`);
  return new Response(found.body, { headers: { 'Content-Type': assetTypes[name] as string } });
}
