// svc scan: credentials in files, before they are committed. Invariant: what is found is shown as a place and a redacted preview.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { components } from '@secrets-vault/client';
import { command } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { EXIT_CODES, usage } from '../errors.ts';
import { merged, type SarifLog } from '../sarif.ts';
import { clean, safeJson } from '../text.ts';

interface Options extends CommonOptions {
  staged?: boolean;
  revokeLive?: boolean;
  sarif?: boolean;
}

interface File {
  path: string;
  content: string;
}

interface Source {
  path: string;
  bytes: Buffer;
}

type Scan = components['schemas']['Scan'];
type Finding = Scan['findings'][number];

/** What one call may hold: less than the 1 MiB of a body. */
const MOST_BYTES = 900_000;
const MOST_FILES = 500;

export default command<Options>({
  needs: 'vault',
  confirms: true,
  args: { '[paths...]': 'files and directories; what git tracks here by default' },
  options: {
    '--staged': 'what git has staged, for a pre-commit hook',
    '--revoke-live': 'revoke live tokens of your organisation that are found',
    '--sarif': 'print the findings as SARIF 2.1.0, for code scanning',
  },
  examples: {
    scan: 'Scan what git tracks in this directory',
    'scan --staged': 'Scan what would be committed',
    'scan logs/app.log': 'Scan one file',
    'scan --sarif > svc.sarif': 'Write a file for code scanning',
  },
  notes: [
    `The exit code is ${EXIT_CODES.findings[0]} if something was found. As a pre-commit hook: printf '#!/bin/sh\\nexec svc scan --staged\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`,
    'The text is sent to your vault, which does not store it. Binary files and files over 900 kB are left out.',
  ],
  async run(context, { rest: paths, options }) {
    if (options.staged && paths.length > 0) throw usage('--staged takes no paths.');
    if (options.revokeLive) await context.confirmDestruction('Live tokens that are found are revoked, the one that svc uses too.');
    const files = options.staged ? stagedFiles(context) : filesAt(context, paths);
    return options.sarif ? printSarif(context, options, files) : printFindings(context, options, files);
  },
});

/** What the vault answers about each batch of files, and how many files that are. */
async function* answers<Answer>(context: Context, { revokeLive }: Options, files: Iterable<Source>, format: 'json' | 'sarif') {
  for (const batch of batches(files, context)) {
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.POST('/orgs/{org_id}/scans', {
      params: { path: { org_id }, query: { format } },
      body: { files: batch, revoke_live: revokeLive },
    });
    yield { answer: data as Answer, count: batch.length };
  }
}

async function printFindings(context: Context, options: Options, files: Iterable<Source>): Promise<number> {
  const findings: Finding[] = [];
  let files_scanned = 0;
  for await (const { answer, count } of answers<Scan>(context, options, files, 'json')) {
    if (answer.truncated) context.out.warn('Not everything was scanned: scan fewer files at a time.');
    findings.push(...answer.findings);
    files_scanned += count;
  }
  context.out.list(
    findings,
    {
      place: (row) => `${row.path}:${row.line}:${row.column}`,
      rule: (row) => row.rule,
      preview: (row) => row.preview,
      state: (row) => (row.revoked ? 'revoked' : row.live === undefined ? undefined : row.live ? 'live' : 'not live'),
    },
    `Nothing was found in ${files_scanned} files.`,
    { files: files_scanned },
  );
  return findings.length > 0 ? EXIT_CODES.findings[0] : 0;
}

/** One log of all files, whose paths are those of the repository. */
async function printSarif(context: Context, options: Options, files: Iterable<Source>): Promise<number> {
  const logs: SarifLog[] = [];
  const named = options.staged ? files : inRepository(context, files);
  for await (const { answer } of answers<SarifLog>(context, options, named, 'sarif')) logs.push(answer);
  const log = merged(logs);
  const [{ results, invocations }] = log.runs;
  for (const { message } of invocations.flatMap((each) => each.toolExecutionNotifications)) context.out.warn(message.text);
  context.out.raw(`${safeJson(log, 2)}\n`);
  return results.length > 0 ? EXIT_CODES.findings[0] : 0;
}

/** The same files, named from the root of the repository that the directory is in: code scanning knows them by that. */
function* inRepository(context: Context, files: Iterable<Source>): Generator<Source> {
  const { cwd } = context.host;
  const prefix = gitOrNothing(context, ['rev-parse', '--show-prefix'])
    .toString()
    .replace(/\r?\n$/, '');
  for (const { path: name, bytes } of files) {
    const below = path.relative(cwd, path.resolve(cwd, name)).split(path.sep).join('/');
    yield { path: path.posix.join(prefix, below), bytes };
  }
}

const git = (context: Context, args: string[]): Buffer =>
  execFileSync('git', args, { cwd: context.host.cwd, maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'ignore'], env: context.host.env });

/** What git answers; nothing where there is no git or no repository. */
function gitOrNothing(context: Context, args: string[]): Buffer {
  try {
    return git(context, args);
  } catch {
    return Buffer.alloc(0);
  }
}

/** What git answers in a repository. */
function inGit(context: Context, args: string[]): Buffer {
  try {
    return git(context, args);
  } catch {
    throw usage('git has no answer here.', 'Run svc scan in a git repository, or name files: svc scan FILE');
  }
}

const namesOf = (listed: Buffer) => listed.toString().split('\0').filter(Boolean);

function* stagedFiles(context: Context): Generator<Source> {
  const names = namesOf(inGit(context, ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z']));
  // A colon and a path from the root name what is staged, whatever the directory and however the path begins.
  for (const name of names) if (isFileMode(context, name)) yield { path: name, bytes: inGit(context, ['cat-file', 'blob', `:0:${name}`]) };
}

/** Whether what is staged is a file: a submodule has no content, and that of a link is a path. */
const isFileMode = (context: Context, name: string) =>
  /^100/.test(inGit(context, ['ls-files', '--stage', '-z', '--', `:(top,literal)${name}`]).toString());

function* filesAt(context: Context, paths: string[]): Generator<Source> {
  const { cwd } = context.host;
  const names = paths.length === 0 ? namesOf(inGit(context, ['ls-files', '-z'])) : paths.flatMap((name) => below(cwd, name));
  for (const name of names) {
    const at = path.resolve(cwd, name);
    const stat = fs.lstatSync(at, { throwIfNoEntry: false });
    if (stat?.isFile()) yield { path: name, bytes: stat.size > MOST_BYTES ? Buffer.alloc(MOST_BYTES + 1, 'x') : fs.readFileSync(at) };
  }
}

/** The files of a path, without what git and package managers keep. */
function below(cwd: string, name: string): string[] {
  const stat = fs.lstatSync(path.resolve(cwd, name), { throwIfNoEntry: false });
  if (!stat) throw usage(`${clean(name)} is not there.`);
  if (!stat.isDirectory()) return [name];
  const left = ['.git', 'node_modules'];
  return fs.readdirSync(path.resolve(cwd, name)).flatMap((entry) => (left.includes(entry) ? [] : below(cwd, path.join(name, entry))));
}

/** Calls of less than 1 MiB. */
function* batches(files: Iterable<Source>, context: Context): Generator<File[]> {
  let batch: File[] = [];
  let size = 0;
  for (const { path: name, bytes } of files) {
    if (bytes.includes(0)) continue;
    const file = { path: clean(name), content: bytes.toString('utf8') }; // the vault takes no control characters in a path
    const length = Buffer.byteLength(JSON.stringify(file));
    if (length > MOST_BYTES) {
      context.out.warn(`${clean(name)} is too large, and was not scanned.`);
      continue;
    }
    if (batch.length === MOST_FILES || (batch.length > 0 && size + length > MOST_BYTES)) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(file);
    size += length;
  }
  if (batch.length > 0) yield batch;
}
