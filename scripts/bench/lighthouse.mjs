// `npm run lighthouse`: measures pages of the console with Lighthouse, signed in, against its own service.
// Lighthouse is not a dependency of this project: LIGHTHOUSE names the folder where `npm install lighthouse`
// was run. Without it, or without Chromium, nothing is measured. It fails if a page's desktop performance is
// below 95; performance on a phone with a slow connection is only printed. The local runtime sends files
// uncompressed and Cloudflare compresses them, so a proxy here compresses them too.
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createGzip } from 'node:zlib';
import { freePort, newOrg, startVault } from '../../test/packages/vault.mjs';

const LEAST = 95;
const CATEGORIES = ['performance', 'accessibility', 'best-practices'];
const PAGES = ['/secrets', '/audit', '/settings'];
const usual = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = usual.find((file) => file && fs.existsSync(file));

/**
 * @returns {Promise<{ lighthouse: (url: string, flags: object, config?: object) => Promise<any>, desktop:
 *   object } | null>}
 */
async function loadLighthouse() {
  const from = process.env.LIGHTHOUSE
    ? path.join(path.resolve(process.env.LIGHTHOUSE), 'package.json')
    : import.meta.filename;
  try {
    const entry = createRequire(from).resolve('lighthouse');
    const [{ default: lighthouse }, { default: desktop }] = await Promise.all([
      import(pathToFileURL(entry).href),
      import(pathToFileURL(path.join(path.dirname(entry), 'config', 'desktop-config.js')).href),
    ]);
    return { lighthouse, desktop };
  } catch {
    return null;
  }
}

/**
 * Forwards to the service, and compresses what Cloudflare would compress.
 * @param {number} from
 * @param {number} to
 */
async function compress(from, to) {
  const server = http.createServer((request, response) => {
    const { method, url, headers } = request;
    const forwarded = http.request({ host: '127.0.0.1', port: to, method, path: url, headers }, (answer) => {
      const isText = /javascript|css|html|json|svg/.test(answer.headers['content-type'] ?? '');
      if (!isText) return answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
      const { 'content-length': _, ...rest } = answer.headers;
      return answer
        .pipe(createGzip())
        .pipe(response.writeHead(answer.statusCode ?? 502, { ...rest, 'content-encoding': 'gzip' }));
    });
    request.pipe(forwarded);
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
  });
  await once(server.listen(from, '127.0.0.1'), 'listening');
  return () => {
    server.closeAllConnections();
    server.close();
  };
}

/** A signed-in member, in a browser that Lighthouse can control. @param {string} url @param {number} port */
async function signedIn(url, port) {
  const { chromium } = await import('playwright-core');
  const profile = fs.mkdtempSync(path.join(process.env.TMPDIR ?? '/tmp', 'lighthouse-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: ['--no-sandbox', `--remote-debugging-port=${port}`],
  });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.goto((await newOrg(url)).enrolmentUrl);
  await page.click('#act');
  await page.waitForSelector('#who:not([hidden])');
  const stop = async () => {
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true });
  };
  return { stop };
}

const loaded = await loadLighthouse();
if (!loaded || !executablePath) {
  console.log(
    `Skipped: ${loaded ? 'there is no Chromium' : 'Lighthouse is not installed (set LIGHTHOUSE to its folder)'}.`,
  );
  process.exit(0);
}
const { lighthouse, desktop } = loaded;
const front = await freePort();
const port = await freePort();
const url = `http://localhost:${front}`;
const vault = await startVault({ variables: { PUBLIC_URL: url } });
const closeProxy = await compress(front, vault.port);
const { stop } = await signedIn(url, port);

/** @param {string} at @param {object} [config] */
async function measure(at, config) {
  // The session's cookie is kept. The event stream never ends, so the network is never idle.
  const flags = {
    port,
    logLevel: 'error',
    onlyCategories: CATEGORIES,
    disableStorageReset: true,
    maxWaitForLoad: 12_000,
  };
  const { lhr } = await lighthouse(`${url}/console${at}`, flags, config);
  return CATEGORIES.map((name) => Math.round(lhr.categories[name].score * 100));
}

let least = 100;
for (const at of PAGES) {
  const [performance = 0, ...others] = await measure(at, desktop);
  const [phone] = await measure(at);
  least = Math.min(least, performance);
  console.log(
    `${at}: performance ${performance} (phone ${phone}), accessibility ${others[0]}, best practices ${others[1]}`,
  );
}
await stop();
closeProxy();
await vault.stop();
process.exit(least < LEAST ? 1 : 0);
