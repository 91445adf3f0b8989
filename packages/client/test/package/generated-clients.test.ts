// Clients in other languages, generated from the OpenAPI document with the commands of
// docs/guides/other-languages.md, read from the real vault. `npm run test:generated-clients` installs the
// generators; `npm test` skips this.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { newVault } from '../support.ts';

const run = promisify(execFile);
const examples = path.resolve(import.meta.dirname, '../../examples');
const tools = path.resolve(import.meta.dirname, '../../../../.sdks/generators/bin');
const guide = fs.readFileSync(
  path.resolve(import.meta.dirname, '../../../../docs/guides/other-languages.md'),
  'utf8',
);
const has = (tool: string) => Boolean(process.env.SLOW) && fs.existsSync(path.join(tools, tool));

/** The commands of the guide that start with these words, in order. */
const commands = (words: string) => guide.split('\n').filter((line) => line.startsWith(words));

let at: Awaited<ReturnType<typeof newVault>>;
let env: Record<string, string>;
let refused: Record<string, string>;
beforeAll(async () => {
  at = await newVault();
  await at.put('REPORT_TOKEN', 'twelve chars');
  const may = await at.agent();
  const mayNot = await at.agent({ secrets: ['OTHER'] });
  const PATH = `${tools}${path.delimiter}${process.env.PATH}`;
  env = {
    ...(process.env as Record<string, string>),
    PATH,
    VAULT_URL: at.target,
    VAULT_ORG: at.org,
    VAULT_TOKEN: may.token,
  };
  refused = { ...env, VAULT_TOKEN: mayNot.token };
});

/** A copy of the example project, with the document from the service. */
async function project(name: string): Promise<string> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), `${name}-`));
  fs.cpSync(path.join(examples, name), dir, { recursive: true });
  const document = await (await fetch(`${at.target}/api/v1/openapi.json`)).text();
  fs.writeFileSync(path.join(dir, 'openapi.json'), document);
  return dir;
}

const SAYS = 'REPORT_TOKEN, version 1, has 12 characters\n';

// Generators and compilers of other languages take their time on a busy machine.
describe('OpenAPI', { timeout: 300_000 }, () => {
  it.skipIf(!has('openapi-python-client'))(
    'Python: a generated client reads a secret and gets a refusal as an error',
    async () => {
      const cwd = await project('python');
      const [generate] = commands('openapi-python-client generate');
      const { stdout, stderr } = await run('sh', ['-c', generate as string], { cwd, env });
      expect(stdout + stderr).not.toMatch(/warning|unable/i);
      expect((await run('python3', ['report.py'], { cwd, env })).stdout).toBe(SAYS);
      const error = await run('python3', ['report.py'], { cwd, env: refused }).catch((thrown) => thrown);
      expect(error.stderr).toContain('SECRET_ACCESS_DENIED');
    },
  );

  it.skipIf(!has('oapi-codegen'))(
    'Go: a generated client reads a secret and gets a refusal as an error',
    async () => {
      const cwd = await project('go');
      const [generate] = commands('oapi-codegen -config');
      await run('sh', ['-c', `mkdir -p vault && ${generate} && go build -o report .`], { cwd, env });
      expect((await run('./report', [], { cwd, env })).stdout).toBe(SAYS);
      const error = await run('./report', [], { cwd, env: refused }).catch((thrown) => thrown);
      expect(error.stderr).toContain('403');
    },
  );
});
