// What tests of single sign-on in a browser share: a resolver, and people with browsers of their own.
import http from 'node:http';
import { after } from 'node:test';

/** A server on a port of its own. @param {http.RequestListener} listener */
export async function listening(listener) {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', () => done(null)));
  after(() => void server.close());
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}

/** A resolver with the TXT records in `records`. */
export async function newResolver() {
  const records = /** @type {Record<string, string>} */ ({});
  const dns = await listening((request, answer) => {
    const name = new URL(request.url ?? '', 'http://x').searchParams.get('name');
    if (name === null) return void answer.writeHead(400).end();
    const found = records[name] ? [{ name, type: 16, data: `"${records[name]}"` }] : [];
    answer
      .writeHead(200, { 'Content-Type': 'application/dns-json' })
      .end(JSON.stringify({ Status: 0, Answer: found }));
  });
  return { url: `http://127.0.0.1:${dns}/dns-query`, records };
}

const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
};

/**
 * A person's browser, with an authenticator.
 * @param {import('playwright-core').Browser} browser
 * @param {{ at: string, domain: string, logIn: (page: import('playwright-core').Page, name: string) =>
 *   Promise<void> }} where `logIn` fills the forms of the provider
 */
export async function newPerson(browser, { at, domain, logIn }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: /** @type {any} */ (AUTHENTICATOR) });
  /** @param {RegExp} words */
  const says = (words) =>
    page.waitForFunction(
      (source) => new RegExp(source).test(document.getElementById('status')?.textContent ?? ''),
      words.source,
      { timeout: 30_000 },
    );
  /** The JWT of the session of this page. */
  const token = () =>
    page.evaluate(async () => (await (await fetch('/api/v1/auth/refresh', { method: 'POST' })).json()).token);
  const isHere = (/** @type {URL} */ url) => url.origin === at;
  /** Signs in at the provider, where the page is. @param {string} name */
  const atProvider = async (name) => {
    await logIn(page, name);
    await page.waitForURL(isHere);
  };
  /** Goes to the provider of an address. @param {string} name */
  const leave = async (name) => {
    await page.goto(`${at}/sign-in`);
    await page.fill('#work', `${name}@${domain}`);
    await page.click('#leave');
    await page.waitForURL((url) => !isHere(url));
  };
  /** @param {string} name */
  const signIn = async (name) => {
    await leave(name);
    await atProvider(name);
  };
  /** Signs in where the provider still knows the person: it sends them straight back. @param {string} name */
  const comeBack = async (name) => {
    await page.goto(`${at}/sign-in`);
    await page.fill('#work', `${name}@${domain}`);
    const back = page.waitForResponse((answer) =>
      /^[/]sso[/](callback|acs)$/.test(new URL(answer.url()).pathname),
    );
    await page.click('#leave');
    await back;
    await page.waitForLoadState();
  };
  return { context, page, says, token, atProvider, leave, signIn, comeBack };
}
