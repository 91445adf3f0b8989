// What doctor says of a service that does not answer as a vault does: each fault of the network by its name.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { service } from '../../../../scripts/operate/doctor/running-service.mjs';
import { orgsOf } from '../../../../scripts/operate/vault/vault.mjs';

/** What doctor reports of a server. @param {import('node:net').Server} server @param {string} [scheme] */
async function said(server, scheme = 'http') {
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const found = await reported(`${scheme}://127.0.0.1:${port}`);
  server.close();
  return found;
}

/** @param {string} url */
async function reported(url) {
  /** @type {string[]} */
  const lines = [];
  await service(url, 'look there', false, (check, verdict, message) =>
    lines.push(`${verdict} ${check} ${message}`),
  );
  return lines.join('\n');
}

it('doctor: a service that does not respond is told with the reason', async () => {
  const dropped = await said(net.createServer((socket) => socket.destroy()));
  assert.match(dropped, /^fail service does not respond at \S+ \(the connection breaks off\): look there\.$/);
  const cut = http.createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"status":"ok","che');
    setTimeout(() => response.destroy(), 50);
  });
  assert.match(await said(cut), /^fail service does not respond at \S+ \(the connection breaks off\)/);
  assert.match(await reported('http://127.0.0.1:1'), /\(nothing listens there\)/);
  assert.match(
    await reported('http://no-such-host.invalid'),
    /\(its name is not found; does this machine have a network\?\)/,
  );
  assert.match(await reported('nonsense'), /\(that is no URL\)/);
});

it('operators: another server is not taken for a vault without organisations', async () => {
  const call = async () => ({ status: 200, json: {} });
  await assert.rejects(orgsOf(/** @type {any} */ (call)), /is not a vault of this release/);
});

it('doctor: a page of a proxy is not taken for a vault', async () => {
  const page = http.createServer((_request, response) =>
    response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
  );
  assert.match(
    await said(page),
    /fail service the server at \S+ is not a vault of this release \(status 502\): look there/,
  );
});

it('doctor: a TLS certificate that is not accepted is told as such', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-tls-'));
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(dir, name));
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
    '-days',
    '1',
    '-subj',
    '/CN=x',
  ]);
  if (made.status !== 0) return t.skip('openssl is not installed');
  const server = https.createServer(
    { key: fs.readFileSync(key), cert: fs.readFileSync(cert) },
    (_request, response) => response.end('{}'),
  );
  assert.match(
    await said(server, 'https'),
    /\(its TLS certificate is not accepted: DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  );
});

it('doctor: --url names the address of a local service too', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'doctor-'));
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      path.resolve(import.meta.dirname, '../../../../scripts/operate/doctor/doctor.mjs'),
      ...['--url', 'http://127.0.0.1:1/'],
    ],
    { encoding: 'utf8', env: { ...process.env, STATE_DIR: path.join(dir, 'none') } },
  );
  fs.rmSync(dir, { recursive: true });
  assert.match(stdout, /fail +service +does not respond at http:\/\/127\.0\.0\.1:1 /);
  assert.equal(status, 1);
});
