// `npm run deploy` and `npm run doctor -- --remote` in a copy of the project, against the stand-in of
// cloudflare.mjs. What every process of a run was started with is recorded, so that a test can look for
// secrets in it.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readDevVars } from '../../../scripts/operate/vault/dev-vars.mjs';
import { copyOfProject, env, scriptOf } from '../service.mjs';
import { ACCOUNT, API_TOKEN, cloudflare } from './cloudflare.mjs';

/** A copy of the project beside an empty account. */
export async function deployment() {
  const dir = copyOfProject();
  const { account, requests, base } = await cloudflare();
  const recorder = path.join(dir, 'recorder.mjs');
  const started = path.join(dir, 'started');
  fs.writeFileSync(
    recorder,
    `import fs from 'node:fs'; fs.appendFileSync(${JSON.stringify(started)}, JSON.stringify(process.argv) + '\\n');`,
  );
  fs.writeFileSync(started, '');
  /** @param {string} command @param {string[]} args @param {Record<string, string | undefined>} variables */
  const run = (command, args, variables = {}) =>
    new Promise((done) => {
      const shell = {
        ...env,
        CI: undefined,
        NODE_OPTIONS: `--import ${recorder}`,
        // Wrangler starts many times.
        NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
        CLOUDFLARE_API_BASE_URL: `${base}/client/v4`,
        CLOUDFLARE_API_TOKEN: API_TOKEN,
        CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
        ...variables,
      };
      const child = spawn(process.execPath, [scriptOf(command), ...args], {
        cwd: dir,
        env: shell,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '';
      let said = '';
      child.stdout.on('data', (data) => {
        out += data;
        said += data;
      });
      child.stderr.on('data', (data) => {
        said += data;
      });
      child.on('close', (code) => done({ code, out, said }));
    });
  return {
    dir,
    account,
    requests,
    base,
    /** @param {string[]} args @param {Record<string, string | undefined>} [variables] */
    deploy: (args, variables) => run('deploy', args, variables),
    /** @param {string[]} args @param {Record<string, string | undefined>} [variables] */
    deadLetters: (args, variables) => run('dead-letters', args, variables),
    /** @param {string[]} args @param {Record<string, string | undefined>} [variables] */
    doctor: (args, variables) => run('doctor', args, variables),
    /** The arguments of every process so far, a line each. */
    started: () => fs.readFileSync(started, 'utf8'),
    /** What was asked for that changes something; D1's queries by whether they only read. */
    changes: () =>
      requests
        .filter(
          ({ method, path: at, body }) =>
            method !== 'GET' &&
            !(at.endsWith('/query') && /^\s*(select|create table if not exists)/i.test(JSON.parse(body).sql)),
        )
        .map(
          ({ method, path: at }) =>
            `${method} ${at.replace(`/accounts/${ACCOUNT}`, '').replace(/[0-9a-f-]{36}|0{29}[0-9]aa/, 'ID')}`,
        ),
    /** What .production.vars holds, or the file of another deployment; nothing where there is none. */
    vars: (name = 'production') => ({ ...readDevVars(path.join(dir, `.${name}.vars`))?.vars }),
  };
}
