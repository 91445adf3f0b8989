// What the test of the packed packages has: the tarballs, a machine with an empty home on which they are
// installed, the owner in a real browser with a virtual authenticator, and the issuer of a CI platform over
// HTTPS. Nothing here reads the packages' source.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { chromium } from 'playwright-core';
import { project } from '../service.mjs';

const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
];
const macOS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const executablePath = process.env.CHROMIUM ?? [...usual, ...macOS].find((file) => fs.existsSync(file));

/** A directory that is removed after the test. @param {string} what */
export function scratch(what) {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `${what}-`)));
  after(() => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }));
  return dir;
}

/**
 * Waits until something holds, and answers it.
 * @template T
 * @param {() => T | Promise<T>} holds
 * @param {number} [within]
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(holds, within = 30_000) {
  for (const end = Date.now() + within; Date.now() < end; await sleep(10)) {
    const held = await holds();
    if (held) return held;
  }
  throw new Error(`it did not come to hold: ${holds}`);
}

/** What `npm pack` makes of a package: the path of its tarball. @param {string} name @param {string} dir */
export function packed(name, dir) {
  const said = execFileSync('npm', ['pack', '--json', '-w', name, '--pack-destination', dir], {
    cwd: project,
    encoding: 'utf8',
  });
  const [{ filename, files }] = Object.values(JSON.parse(said.slice(said.search(/^[[{]/m))));
  return {
    file: path.join(dir, path.basename(filename)),
    files: files.map((/** @type {{ path: string }} */ { path }) => path),
  };
}

/**
 * What homes that are empty have of this machine: where packages come from, what is downloaded already, and
 * which authorities are trusted.
 */
const ofMachine = {
  ...Object.fromEntries(
    ['registry', 'cache'].map((name) => [
      `npm_config_${name}`,
      execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim(),
    ]),
  ),
  ...(process.env.NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS }),
};

/**
 * A machine of somebody: an empty home, no variables, and no directory of the project among those with
 * programs.
 */
export class Machine {
  home = scratch('home');
  work = scratch('work');
  bin = path.join(this.home, 'npm', 'bin');

  constructor(/** @type {Record<string, string>} */ env = {}) {
    const elsewhere = (process.env.PATH ?? '')
      .split(path.delimiter)
      .filter((dir) => !dir.startsWith(project));
    const PATH = [path.dirname(process.execPath), this.bin, ...elsewhere].join(path.delimiter);
    this.env = {
      PATH,
      HOME: this.home,
      SVC_KEYCHAIN: 'off',
      npm_config_update_notifier: 'false',
      npm_config_fund: 'false',
      ...ofMachine,
      ...env,
    };
  }

  /**
   * Runs a program to its end.
   * @param {string} program
   * @param {string[]} args
   * @param {{ stdin?: string, env?: Record<string, string> }} [given]
   */
  run(program, args, { stdin = '', env = {} } = {}) {
    const child = this.start(program, args, env);
    child.stdin.end(stdin);
    return child.done;
  }

  /** Installs packages for all of the home's directories. @param {string[]} files */
  install(...files) {
    return this.run('npm', [
      'install',
      '--global',
      '--prefix',
      path.join(this.home, 'npm'),
      '--no-audit',
      ...files,
    ]);
  }

  /** @param {string[]} args @param {{ stdin?: string, env?: Record<string, string> }} [given] */
  svc(args, given) {
    return this.run('svc', args, given);
  }

  /**
   * Runs svc, which has to succeed, and answers its stdout.
   * @param {string[]} args
   * @param {string} [stdin]
   */
  async ok(args, stdin) {
    const { code, stdout, stderr } = await this.svc(args, { stdin });
    if (code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** The same with --json. @param {string[]} args @param {string} [stdin] */
  async json(args, stdin) {
    return JSON.parse(await this.ok([...args, '--json'], stdin));
  }

  /**
   * Starts a program.
   * @param {string} program
   * @param {string[]} args
   * @param {Record<string, string>} [env]
   */
  start(program, args, env = {}) {
    const child = spawn(program, args, { cwd: this.work, env: { ...this.env, ...env }, stdio: 'pipe' });
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (data) => (said.stdout += data));
    child.stderr.on('data', (data) => (said.stderr += data));
    const done = new Promise((ended) => child.once('close', (code) => ended({ code, ...said })));
    after(() => child.kill('SIGKILL'));
    return Object.assign(child, {
      said,
      done: /** @type {Promise<{ code: number, stdout: string, stderr: string }>} */ (done),
    });
  }

  /** @param {string} name @param {string} text */
  write(name, text) {
    fs.writeFileSync(path.join(this.work, name), text);
  }
}

/** Somebody at a browser, with an authenticator; undefined where there is no Chromium. */
export async function personInBrowser() {
  if (!executablePath) return undefined;
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  after(() => browser.close());
  const context = await browser.newContext();
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
  return {
    page,
    /** Opens an enrolment link and sets up a passkey. @param {string} url */
    async enrol(url) {
      await page.goto(url);
      await page.click('#act');
      await page.waitForFunction(() => /set up/.test(document.getElementById('status')?.textContent ?? ''));
    },
    /**
     * Confirms a terminal: opens what it named, compares the code and accepts.
     * @param {string} said what the terminal shows
     */
    async confirm(said) {
      const [, address = '', code = ''] = /Open (\S+) and confirm the code (\S+)/.exec(said) ?? [];
      await page.goto(`${address}#${code}`);
      await page.locator('#one').waitFor();
      if ((await page.locator('#shown').textContent()) !== code)
        throw new Error('the page shows another code');
      await page.click('#confirm');
      await page.locator('#over').waitFor();
    },
  };
}

/** A certificate of an authority of its own for localhost. @param {string} dir */
function certificate(dir) {
  const key = path.join(dir, 'key.pem');
  const cert = path.join(dir, 'cert.pem');
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    key,
    '-out',
    cert,
  ];
  execFileSync('openssl', [...args, ...subject], { stdio: 'ignore' });
  return { key, cert };
}

/**
 * A CI platform: it publishes its keys over HTTPS, and gives a job its token as GitHub Actions does
 * (https://docs.github.com/actions/reference/security/oidc).
 */
export async function ciPlatform() {
  const { key, cert } = certificate(scratch('issuer'));
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', use: 'sig', alg: 'RS256' };
  let asked = 0;
  const server = https.createServer(
    { key: fs.readFileSync(key), cert: fs.readFileSync(cert) },
    (request, response) => {
      asked++;
      const documents = {
        '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/jwks` },
        '/jwks': { keys: [jwk] },
      };
      const found = documents[request.url ?? ''];
      response
        .writeHead(found ? 200 : 404, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(found ?? {}));
    },
  );
  // Beside the job, over HTTP: it gives tokens for the subject of the path.
  const jobs = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://jobs');
    if (request.headers.authorization !== 'bearer job-token') return response.writeHead(401).end();
    const claims = {
      sub: decodeURIComponent(pathname.slice(1)),
      jti: crypto.randomUUID(),
      ref: 'refs/heads/main',
    };
    const value = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(searchParams.get('audience') ?? '')
      .setIssuedAt()
      .setNotBefore('-5s')
      .setExpirationTime('5m')
      .sign(privateKey);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ value }));
  });
  for (const one of [server, jobs]) {
    await new Promise((done) => one.listen(0, '127.0.0.1', () => done(undefined)));
    after(() => {
      one.closeAllConnections();
      one.close();
    });
  }
  /** @param {http.Server | https.Server} one */
  const portOf = (one) => /** @type {import('node:net').AddressInfo} */ (one.address()).port;
  const issuer = `https://localhost:${portOf(server)}`;
  return {
    issuer,
    certificate: cert,
    asked: () => asked,
    /** The variables of a job. @param {string} sub */
    job: (sub) => ({
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'job-token',
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${portOf(jobs)}/${encodeURIComponent(sub)}`,
    }),
  };
}

/** A platform that secrets are sent to (Heroku's config vars): what it was asked. */
export async function targetPlatform() {
  /** @type {string[]} */
  const asked = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  after(() => server.close());
  return {
    asked,
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
  };
}

/**
 * Whether a file's text has none of some texts, anywhere below a directory.
 * @param {string} dir
 * @param {string[]} texts
 */
export function holdsNone(dir, texts) {
  for (const entry of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const text = fs.readFileSync(path.join(entry.parentPath, entry.name), 'utf8');
    for (const one of texts)
      if (text.includes(one)) throw new Error(`${path.join(entry.parentPath, entry.name)} holds it`);
  }
}
