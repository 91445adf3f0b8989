// The commands of README.md, the guides and the operations pages. Each document is one script that runs
// exactly as it stands there, in bash, beside one service that `npm start` started on a copy of the project.
// `npm test` runs a few documents that others rest on, and the guide to the API also in zsh, where it is
// installed. With SLOW=1 every document runs, in both shells. Each document has an
// organisation of its own: the blocks of the guide to the API that are marked as set-up come first, except
// in the README. Only the port is another.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { Validator } from '@cfworker/json-schema';
import { env, project, sharedService } from '../service.mjs';
import { blocksOf, markdownFiles, read } from './markdown.mjs';

const documents = [
  'README.md',
  ...markdownFiles().filter((file) => /^docs\/(guides|operations|generate)\//.test(file)),
];
const SET_UP = 'docs/guides/api.md';
const first = ['README.md', SET_UP];
/** What runs without SLOW=1. */
const quick = [...first, 'docs/guides/secrets.md'];
const setUp = blocksOf(read(SET_UP)).filter((block) => block.setUp);
const END = '-- end of block --';
/** While a page is written: `DOCUMENT=cli.md` runs that one alone. */
const only = process.env.DOCUMENT;

/** @param {string} file */
const shellOf = (file) => blocksOf(read(file)).filter(({ language }) => language === 'sh');

const hasZsh = spawnSync('zsh', ['--version']).status === 0;
/** The shells in which a document runs. @param {string} document */
const shellsOf = (document) =>
  hasZsh && (process.env.SLOW || only || document === SET_UP) ? ['bash', 'zsh'] : ['bash'];

/**
 * Runs a script as if it were pasted, in the copy of the project.
 * @param {string} shell @param {string} script @param {string} dir @param {number} port
 * @returns {Promise<{ status: number, stdout: string, stderr: string }>}
 */
const run = (shell, script, dir, port) =>
  new Promise((done) =>
    execFile(
      shell,
      ['-e', '-o', 'pipefail', '-c', script.replaceAll(':8787', `:${port}`)],
      // What svc stores stays in the copy.
      {
        cwd: dir,
        encoding: 'utf8',
        timeout: 300_000,
        env: { ...env, PORT: String(port), XDG_CONFIG_HOME: path.join(dir, '.config'), SVC_KEYCHAIN: 'off' },
      },
      (error, stdout, stderr) => done({ status: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    ),
  );

it('commands: those of the documents work', { timeout: 1_800_000 }, async (t) => {
  for (const document of quick) assert.ok(documents.includes(document), document);
  assert.ok(
    fs.existsSync(path.join(project, 'packages', 'cli', 'dist', 'main.js')),
    'svc is not built: run npm run build first',
  );
  const { dir, port } = await sharedService();
  await organisations(dir, port, 51);
  const chosen = (/** @type {string} */ document) =>
    only ? document.includes(only) : process.env.SLOW || quick.includes(document);
  for (const document of documents)
    for (const shell of shellsOf(document))
      if (chosen(document))
        await t.test(`commands: ${document}, in ${shell}`, async (t) => {
          for (const name of fs.readdirSync(dir))
            if (name.endsWith('.sql') || name === '.svc.json' || name === '.config')
              fs.rmSync(path.join(dir, name), { recursive: true });
          for (const { file, text } of blocksOf(read(document)))
            if (file) fs.writeFileSync(path.join(dir, file), text);
          for (const { skip, line } of shellOf(document))
            if (skip) t.diagnostic(`line ${line} does not run here: ${skip}`);
          const blocks = shellOf(document).filter(({ skip }) => !skip);
          const before = first.includes(document) ? [] : setUp;
          const script = [...before, ...blocks].map(({ text }) => `${text}echo '${END}'\n`).join('');
          const { status, stdout, stderr } = await run(shell, script, dir, port);
          const outputs = stdout.split(`${END}\n`).slice(before.length);
          assert.equal(
            status,
            0,
            `the block at line ${blocks[outputs.length - 1]?.line} failed: ${stderr}\n${outputs.at(-1)}`,
          );
          for (const [at, { line, expect }] of blocks.entries()) {
            const output = outputs[at] ?? '';
            if (expect) assert.ok(output.includes(expect), `line ${line}: no ${expect} in ${output}`);
            else assert.doesNotMatch(output, /"error":/, `line ${line}`);
            assert.doesNotMatch(output, /^undefined$/m, `line ${line}`);
          }
        });
  if (only || !process.env.SLOW) return;
  await t.test(
    'commands: the SARIF file that a guide writes is valid, and its workflow runs what ran here',
    () => {
      const guide = 'docs/guides/leak-scans.md';
      assert.deepEqual(problemsOf(path.join(dir, 'scan.sarif')), []);
      const [, command] =
        /- run: npx (?:--no-install )?(svc scan [^>\n]+) >/.exec(
          blocksOf(read(guide)).find(({ language }) => language === 'yaml')?.text ?? '',
        ) ?? [];
      assert.ok(command && shellOf(guide).some(({ text }) => text.includes(command)));
    },
  );
});

/**
 * Makes more organisations than a page of their list holds: a document must find its own.
 * @param {string} dir @param {number} port @param {number} count
 */
async function organisations(dir, port, count) {
  const [, token] =
    /^BOOTSTRAP_TOKEN=(.*)$/m.exec(fs.readFileSync(path.join(dir, '.dev.vars'), 'utf8')) ?? [];
  const create = async () => {
    const { ok } = await fetch(`http://127.0.0.1:${port}/api/v1/orgs`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'Other', owner: { email: 'ann@example.com', name: 'Ann' } }),
    });
    assert.ok(ok);
  };
  for (let made = 0; made < count; made += 17) await Promise.all(Array.from({ length: 17 }, create));
}

/** Of a log, what is wrong by the schema of SARIF 2.1.0. @param {string} file */
const problemsOf = (file) => {
  const schema = JSON.parse(read('test/support/vectors/sarif-2.1.0.json'));
  return new Validator(schema, '4', false).validate(JSON.parse(fs.readFileSync(file, 'utf8'))).errors;
};

it('commands: every block that does not run says why', () => {
  for (const document of documents)
    for (const { skip, line, text } of shellOf(document)) {
      assert.ok(skip === undefined || skip.length >= 15, `${document}:${line}: say why`);
      const remote =
        /--remote|wrangler (?!d1 migrations apply DB --local)/.test(text) ||
        /npm run deploy(?! -- --dry-run)/.test(text);
      assert.ok(
        !remote || skip,
        `${document}:${line} needs a Cloudflare account: mark it with <!-- skip: why -->`,
      );
    }
});

it('commands: every block can be pasted into bash and zsh', () => {
  for (const document of markdownFiles())
    for (const { line, text } of shellOf(document)) {
      const at = `${document}:${line}`;
      // An interactive zsh takes # for a word unless told otherwise.
      assert.doesNotMatch(text, /(^|\s)#/m, `${at} has a comment`);
      // Interactive shells expand it as history.
      assert.doesNotMatch(text.replace(/'[^']*'/gs, ''), /!/, `${at} has a ! outside single quotes`);
      assert.doesNotMatch(text, /(^|[;|&]\s*)read\b/m, `${at}: bash and zsh have different options of read`);
      // In zsh these are read-only or tied to other variables.
      assert.doesNotMatch(
        text,
        /(^|\s)(status|path|options|argv|UID|GID|EUID)=/m,
        `${at} sets a variable that zsh uses itself`,
      );
      assert.doesNotMatch(text, /(^|\s)(declare|mapfile|shopt)\b/m, `${at} has a command that zsh lacks`);
      // Unquoted ? and [ are patterns, and zsh fails where they match no file.
      assert.doesNotMatch(
        text.replace(/'[^']*'|"(?:\\.|[^"\\])*"/gs, ''),
        /[?[]/,
        `${at} has an unquoted pattern`,
      );
    }
});
