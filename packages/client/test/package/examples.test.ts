// The examples of the guide, run unchanged: a script and Express as processes, the Worker in workerd, and for
// Next.js the route handler and the server component, which are functions; Next.js itself is not run.
import { execFile, spawn } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { freePort } from '../../../../test/packages/vault.mjs';
import { newVault, until } from '../support.ts';
import { bundle, run } from './bundle.ts';

const examples = path.resolve(import.meta.dirname, '../../examples');
/** The service that the secrets are for, and the values it received. */
const given: (string | undefined)[] = [];
const target = http.createServer((request, response) => {
  given.push(request.headers.authorization);
  response.end('{}');
});
let at: Awaited<ReturnType<typeof newVault>>;
let env: Record<string, string>;
beforeAll(async () => {
  await new Promise((done) => target.listen(0, '127.0.0.1', () => done(null)));
  const url = `http://127.0.0.1:${(target.address() as { port: number }).port}`;
  at = await newVault();
  await at.put('REPORT_TOKEN', 'report-one');
  await at.put('PAYMENT_KEY', 'pay-one');
  const token = (await at.agent({ secrets: ['REPORT_TOKEN', 'PAYMENT_KEY'] })).token;
  env = {
    VAULT_URL: at.url,
    VAULT_ORG: at.org,
    VAULT_KEY: token,
    VAULT_TOKEN: token,
    REPORT_URL: url,
    PAYMENT_URL: url,
  };
});
afterAll(() => target.close());

describe('example', () => {
  it('script: reads a secret, uses it and exits', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [path.join(examples, 'script.mjs')], {
      env,
    });
    expect(stdout).toBe('REPORT_TOKEN, version 1, is [redacted]: the report is 200.\n');
    expect(given.at(-1)).toBe('Bearer report-one');
  });

  slow('Express: requests use the latest key, without a restart', async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [path.join(examples, 'express.mjs')], {
      env: { ...env, PORT: String(port) },
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
    await until(() => said.includes('listening'));
    const limit = { signal: AbortSignal.timeout(20_000) };
    const charge = async () =>
      (await fetch(`http://127.0.0.1:${port}/charge`, limit)).json() as Promise<{ version: number }>;
    expect(await charge()).toEqual({ charged: true, version: 1 });
    await at.put('PAYMENT_KEY', 'pay-two');
    await until(async () => (await charge()).version === 2);
    expect(given.at(-1)).toBe('Bearer pay-two');
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(said).not.toContain('pay-');
  });

  it('Next.js: the route handler and the server component read the secret', async () => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const { GET } = await import(path.join(examples, 'next/app/report/route.mjs'));
    expect(await (await GET()).json()).toEqual({ status: 200, version: 1 });
    const { default: Page } = await import(path.join(examples, 'next/app/page.mjs'));
    expect(await Page()).toBe('The report is 200, by version 1.');
    vi.unstubAllEnvs();
  });

  slow('Worker: each request uses its own client', async () => {
    const worker = run(await bundle(path.join(examples, 'worker')), env);
    const answers = await Promise.all(
      [1, 2, 3].map(async () => (await worker.dispatchFetch('http://worker/')).json()),
    );
    expect(answers).toEqual(Array(3).fill({ status: 200, version: 1 }));
    expect(given.at(-1)).toBe('Bearer report-one');
    await worker.dispose();
  });
});
