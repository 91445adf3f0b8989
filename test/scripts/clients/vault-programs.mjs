// What tests of Vault's clients share: where `npm run test:vault-clients` installs them, organisations of
// their own, workloads that log in, and the configurations of the guide.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { blocksOf, read } from '../docs/markdown.mjs';
import { env, freePort, project } from '../service.mjs';

export const folder = path.join(project, '.sdks/vault');
export const tools = path.join(project, 'test/tools');
/** A program of a package of Python. @param {string} name */
export const inVenv = (name) => path.join(folder, 'venv/bin', name);

/** Why a test is skipped; false if its program is there. @param {string} file */
export const missing = (file) =>
  fs.existsSync(file) ? false : `${path.basename(file)} is not installed: npm run test:vault-clients`;

/**
 * A new organisation, and calls with the key of its owner.
 * @param {Awaited<ReturnType<typeof import('../service.mjs').sharedService>>} service
 */
export async function newOrganisation(service) {
  const owner = { email: 'ann@example.com', name: 'Ann' };
  const made = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'clients',
    owner,
  });
  const { org, api_key: key } = made.json;
  /** @param {string} method @param {string} at @param {unknown} [body] @param {number} [status] */
  const call = async (method, at, body, status) => {
    const answer = await service.call(method, `/orgs/${org.id}${at}`, key.token, body);
    assert.ok(status ? answer.status === status : answer.status < 300, JSON.stringify(answer.json));
    return answer.json;
  };
  /** @param {string} name @param {string} value */
  const put = (name, value) => call('PUT', `/secrets/by-name/${name}?environment=production`, { value });
  return { id: org.id, token: key.token, call, put };
}

/**
 * A platform that signs tokens of workloads, and a trust in it.
 * @param {Awaited<ReturnType<typeof newOrganisation>>} org @param {string} name @param {string} sub
 */
export async function workload(org, name, sub) {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', use: 'sig', alg: 'RS256' };
  const issuer = `https://${name}.example`;
  await org.call('POST', '/trusts', {
    name,
    issuer,
    claims: { sub },
    audiences: ['vault'],
    reuse: true,
    jwks: { keys: [jwk] },
    scopes: ['secrets:read'],
    environments: ['production'],
  });
  return new SignJWT({ sub, jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience('vault')
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
}

/** A folder for a test, removed after it. */
export function scratch() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-client-'));
  after(() => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
}

/**
 * Runs a program to its end, in a home of its own.
 * @param {string} file @param {string[]} args
 * @param {{ cwd: string, variables?: Record<string, string>, input?: string }} how
 */
export async function ran(file, args, { cwd, variables = {}, input }) {
  const running = promisify(execFile)(file, args, {
    cwd,
    env: { ...env, HOME: cwd, LC_ALL: 'C.UTF-8', ...variables },
    maxBuffer: 2 ** 24,
  });
  if (input !== undefined) running.child.stdin?.end(input);
  return running.catch((error) => {
    throw new Error(`${path.basename(file)} ${args.join(' ')}: ${error.stdout}${error.stderr}`);
  });
}

/** Waits until a file has a text. @param {string} file @param {string} text */
export async function until(file, text) {
  for (let tries = 0; ; tries++) {
    const found = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 'nothing';
    if (found === text) return;
    assert.ok(tries < 600, `the file has ${found}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/**
 * A configuration of the guide, with the address of the service and the id of an organisation.
 * @param {string} language @param {string} part of its text @param {string} base @param {string} [org]
 */
export function ofGuide(language, part, base, org = '') {
  const found = blocksOf(read('docs/guides/vault-clients.md')).find(
    (block) => block.language === language && block.text.includes(part),
  );
  assert.ok(found, `the guide has ${part}`);
  return found.text.replaceAll('https://vault.example.com', base).replaceAll('org_EXAMPLE', org);
}

/**
 * Starts a development server of OpenBao with a mount of KV version 2, until the end of the test.
 * @param {string} binary @param {string} mount
 */
export async function startOpenBao(binary, mount) {
  const base = `http://127.0.0.1:${await freePort()}`;
  const token = 'root-of-a-test';
  const args = ['server', '-dev', '-dev-no-store-token', `-dev-root-token-id=${token}`];
  const child = spawn(binary, [...args, `-dev-listen-address=${new URL(base).host}`], {
    env: { PATH: process.env.PATH, HOME: scratch() },
    stdio: 'ignore',
  });
  after(() => child.kill());
  for (let tries = 0; ; tries++) {
    const health = await fetch(`${base}/v1/sys/health`).catch(() => null);
    if (health?.ok) break;
    assert.ok(tries < 300 && child.exitCode === null, 'OpenBao does not start');
    await new Promise((done) => setTimeout(done, 200));
  }
  const mounted = await fetch(`${base}/v1/sys/mounts/${mount}`, {
    method: 'POST',
    headers: { 'X-Vault-Token': token },
    body: JSON.stringify({ type: 'kv', options: { version: '2' } }),
  });
  assert.equal(mounted.status, 204);
  // The engine upgrades itself for a moment.
  await new Promise((done) => setTimeout(done, 2000));
  return { base, token };
}
