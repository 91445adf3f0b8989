// The Worker as it is deployed: bundled by wrangler, in the real runtime, and called through a service
// binding.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { root, wranglerArgs, wranglerEnv } from '../../../scripts/shared/wrangler.mjs';
import { AUDIENCE, encoded, freshId, newProvider, RECIPIENT } from './provider';

const FLAGS = { compatibilityDate: '2026-10-20', compatibilityFlags: ['nodejs_compat'] };
/** Passes calls on, as the vault makes them. */
const CALLER = `export default {
  async fetch(request, { SAML }) {
    if (request.method === 'GET') return SAML.fetch(request);
    const { method, args } = await request.json();
    return Response.json(await SAML[method](...args));
  },
};`;

let miniflare: Miniflare;
let script = '';
beforeAll(async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'saml-'));
  const config = path.join(root, 'packages/saml/wrangler.toml');
  const args = wranglerArgs(['deploy', '--dry-run', '--config', config, '--outdir', dir]);
  const built = spawnSync(process.execPath, args, {
    env: { ...process.env, ...wranglerEnv },
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(`wrangler said:\n${built.stdout}${built.stderr}`);
  script = fs.readFileSync(path.join(dir, 'index.js'), 'utf8');
  fs.rmSync(dir, { recursive: true });
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        { name: 'caller', modules: true, script: CALLER, serviceBindings: { SAML: 'saml' }, ...FLAGS },
        { name: 'saml', modules: true, script, ...FLAGS },
      ],
    }),
  );
  await miniflare.ready;
});
afterAll(() => miniflare?.dispose());

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
async function call(method: string, ...args: unknown[]): Promise<any> {
  const body = JSON.stringify({ method, args });
  return (await miniflare.dispatchFetch('http://caller/', { method: 'POST', body })).json();
}

it('saml: a sign-in through the Worker', async () => {
  const idp = await newProvider();
  const { ok, value: provider } = await call('metadata', idp.metadata);
  expect([ok, provider.entityId, provider.signInUrl, provider.certificates.length]).toEqual([
    true,
    idp.entityId,
    'https://idp.example/sso?tenant=1',
    1,
  ]);
  const id = freshId();
  const asked = {
    provider,
    id,
    issuer: AUDIENCE,
    recipient: RECIPIENT,
    relayState: 'r',
    force: true,
    persistent: true,
  };
  const url = new URL((await call('request', asked)).value);
  expect([url.origin, url.searchParams.get('tenant'), url.searchParams.get('RelayState')]).toEqual([
    'https://idp.example',
    '1',
    'r',
  ]);
  const inflated = new Response(
    new Blob([Buffer.from(url.searchParams.get('SAMLRequest') as string, 'base64')])
      .stream()
      .pipeThrough(new DecompressionStream('deflate-raw')),
  );
  const request = await inflated.text();
  expect([id, AUDIENCE, RECIPIENT, 'ForceAuthn="true"'].filter((part) => !request.includes(part))).toEqual(
    [],
  );
  const expected = { provider, audience: AUDIENCE, recipient: RECIPIENT, requestId: id };
  expect(await call('response', encoded(idp.respond(id)), expected)).toMatchObject({
    ok: true,
    value: { subject: 'u-1', attributes: { email: ['ann@example.com'] } },
  });
  const forged = idp.respond(id).replace('u-1<', 'u-2<');
  expect(await call('response', encoded(forged), expected)).toEqual({
    ok: false,
    reason: 'its signature or its conditions do not hold',
  });
});

it('saml: the Worker answers no request, and is small', async () => {
  expect((await miniflare.dispatchFetch('http://caller/')).status).toBe(404);
  expect(gzipSync(script).length).toBeLessThan(200_000);
});
