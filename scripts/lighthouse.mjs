// `npm run lighthouse`: measures pages of the console with Lighthouse, signed in, against a service of its own. Lighthouse is not a dependency of
// this project: LIGHTHOUSE names the folder where `npm install lighthouse` was run. Without it, or without Chromium, nothing is measured. It
// fails when a page's performance is below 95.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort, newOrg, startVault } from '../test/packages/vault.mjs';

const LEAST = 95;
const CATEGORIES = ['performance', 'accessibility', 'best-practices'];
const PAGES = ['/secrets', '/audit', '/credentials', '/settings'];
const usual = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = usual.find((file) => file && fs.existsSync(file));

/** @returns {Promise<((url: string, flags: object) => Promise<any>) | null>} */
async function loadLighthouse() {
  const from = process.env.LIGHTHOUSE ? path.join(path.resolve(process.env.LIGHTHOUSE), 'package.json') : import.meta.filename;
  try {
    const entry = createRequire(from).resolve('lighthouse');
    return (await import(pathToFileURL(entry).href)).default;
  } catch {
    return null;
  }
}

/** Somebody who is signed in, in a browser that Lighthouse can drive. @param {string} url @param {number} port */
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
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
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

const lighthouse = await loadLighthouse();
if (!lighthouse || !executablePath) {
  console.log(`Skipped: ${lighthouse ? 'there is no Chromium' : 'Lighthouse is not installed (set LIGHTHOUSE to its folder)'}.`);
  process.exit(0);
}
const vault = await startVault();
const port = await freePort();
const { stop } = await signedIn(vault.url, port);
let least = 100;
for (const at of PAGES) {
  const { lhr } = await lighthouse(`${vault.url}/console${at}`, {
    ...{ port, logLevel: 'error', onlyCategories: CATEGORIES },
    // The session's cookie stays.
    disableStorageReset: true,
  });
  const scores = CATEGORIES.map((name) => `${name} ${Math.round(lhr.categories[name].score * 100)}`);
  least = Math.min(least, Math.round(lhr.categories.performance.score * 100));
  console.log(`${at}: ${scores.join(', ')}`);
  for (const { id, title } of Object.values(lhr.audits).filter(
    ({ score, scoreDisplayMode }) => score === 0 && scoreDisplayMode === 'binary',
  ))
    console.log(`  ${id}: ${title}`);
}
await stop();
await vault.stop();
process.exit(least < LEAST ? 1 : 0);
