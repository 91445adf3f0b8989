// The same program in every runtime, against the real vault. `npm test` runs it in this Node.js, in workerd
// and in Chromium; Node.js 20, Bun and Deno are installed by `npm run test:runtimes`.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../../../test/packages/slow.ts';
import { newVault } from '../support.ts';
import { bundle, run } from './bundle.ts';

const folder = path.join(import.meta.dirname, 'runtimes');
const installed = path.resolve(import.meta.dirname, '../../../../.sdks/runtimes/node_modules');
const browsers = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = browsers.find((file) => file && fs.existsSync(file));
const HOLDS = 'all of it holds';

let at: Awaited<ReturnType<typeof newVault>>;
let module: string;
let n = 0;
const what = (watch = true) => ({ url: at.url, org: at.org, key: at.key, name: `RUNTIME_${++n}`, watch });
beforeAll(async () => {
  at = await newVault();
  module = await bundle(folder);
});

describe('runtime', () => {
  const programs: [string, string, string[]][] = [
    ['this Node.js', process.execPath, []],
    ['Node.js 20', path.join(installed, 'node/bin/node'), []],
    ['Bun', path.join(installed, '.bin/bun'), ['run']],
    [
      'Deno',
      path.join(installed, '.bin/deno'),
      ['run', '--allow-all', '--node-modules-dir=manual', '--no-lock'],
    ],
  ];
  for (const [name, program, args] of programs)
    it.skipIf(!fs.existsSync(program))(`${name}: the whole program holds`, { tags: 'slow' }, async () => {
      const { stdout } = await promisify(execFile)(program, [
        ...args,
        path.join(folder, 'run.mjs'),
        JSON.stringify(what()),
      ]);
      expect(stdout.trim()).toBe(HOLDS);
    });

  slow('Workers: the whole program passes in workerd', async () => {
    const worker = run(module, {});
    const answer = await worker.dispatchFetch('http://worker/', {
      method: 'POST',
      body: JSON.stringify(what()),
    });
    expect(await answer.text()).toBe(HOLDS);
    await worker.dispose();
  });

  it.skipIf(!executablePath)(
    'browsers: the whole program passes in Chromium, on the vault’s own origin',
    async () => {
      // The vault does not allow CORS, so this server adds the page to the vault's origin.
      const server = http.createServer((request, response) => {
        const page = {
          '/page': ['text/html', '<!doctype html>'],
          '/check.js': ['text/javascript', fs.readFileSync(module)],
        }[request.url ?? ''];
        if (page) return response.writeHead(200, { 'Content-Type': page[0] as string }).end(page[1]);
        const onward = http.request(
          new URL(request.url ?? '/', at.target),
          { method: request.method, headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers);
            answer.pipe(response);
          },
        );
        response.on('close', () => onward.destroy());
        onward.on('error', () => response.destroy());
        request.pipe(onward);
      });
      await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
      const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      try {
        const page = await browser.newPage();
        await page.goto(`${url}/page`);
        const input = { ...what(), url };
        const source = `import('/check.js').then(({ check }) => check(${JSON.stringify(input)}))`;
        expect(await page.evaluate(source)).toBe(HOLDS);
      } finally {
        await browser.close();
        server.closeAllConnections();
        server.close();
      }
    },
  );
});
