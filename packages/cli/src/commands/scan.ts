// svc scan: finds credentials in files before they are committed. Invariant: a finding is shown as a location and a redacted preview.
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

/** Limits of one request: a body must be under 1 MiB. */
const MOST_BYTES = 900_000;
const MOST_FILES = 500;

export default command<Options>({
  needs: 'vault',
  confirms: true,
  args: { '[paths...]': 'files and directories; default: the files that git tracks here' },
  options: {
    '--staged': 'scan the files staged in git, for a pre-commit hook',
    '--revoke-live': 'revoke live tokens of your organisation that the scan finds',
    '--sarif': 'print findings as SARIF 2.1.0, for code scanning',
  },
  examples: {
    scan: 'Scan the files that git tracks in this directory',
    'scan --staged': 'Scan the files of the next commit',
    'scan logs/app.log': 'Scan one file',
    'scan --sarif > svc.sarif': 'Write a SARIF file for code scanning',
  },
  notes: [
    `The exit code is ${EXIT_CODES.findings[0]} if the scan found credentials. To install a pre-commit hook: printf '#!/bin/sh\\nexec svc scan --staged\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`,
    'File contents are sent to your vault, which does not store them. Binary files and files over 900 kB are skipped.',
  ],
  async run(context, { rest: paths, options }) {
    if (options.staged && paths.length > 0) throw usage('--staged and paths cannot be combined.');
    if (options.revokeLive)
      await context.confirmDestruction('This revokes every live token that the scan finds, including the token that svc uses.');
    const files = options.staged ? stagedFiles(context) : filesAt(context, paths);
    return options.sarif ? printSarif(context, options, files) : printFindings(context, options, files);
  },
});

/** The responses of the vault for all batches, and the number of files. */
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
    if (answer.truncated) context.out.warn('The scan is incomplete. Scan fewer files at a time.');
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
    `No credentials found in ${files_scanned} files.`,
    { files: files_scanned },
  );
  return findings.length > 0 ? EXIT_CODES.findings[0] : 0;
}

/** One log for all files, with paths relative to the repository. */
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

/** The same files with paths from the root of the repository, which code scanning requires. */
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

/** The output of git; undefined without git or outside a repository. */
function gitOrNothing(context: Context, args: string[]): Buffer {
  try {
    return git(context, args);
  } catch {
    return Buffer.alloc(0);
  }
}

/** The output of git. Throws outside a repository. */
function inGit(context: Context, args: string[]): Buffer {
  try {
    return git(context, args);
  } catch {
    throw usage('git failed in this directory.', 'Run svc scan in a git repository, or pass files: svc scan FILE');
  }
}

const namesOf = (listed: Buffer) => listed.toString().split('\0').filter(Boolean);

function* stagedFiles(context: Context): Generator<Source> {
  const names = namesOf(inGit(context, ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z']));
  // `:0:PATH` names the staged content by its path from the root, regardless of the current directory and of how the path begins.
  for (const name of names) if (isFileMode(context, name)) yield { path: name, bytes: inGit(context, ['cat-file', 'blob', `:0:${name}`]) };
}

/** Whether the staged entry is a regular file: a submodule has no content, and the content of a link is a path. */
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

/** The files below a path, without .git and node_modules. */
function below(cwd: string, name: string): string[] {
  const stat = fs.lstatSync(path.resolve(cwd, name), { throwIfNoEntry: false });
  if (!stat) throw usage(`${clean(name)} does not exist.`);
  if (!stat.isDirectory()) return [name];
  const left = ['.git', 'node_modules'];
  return fs.readdirSync(path.resolve(cwd, name)).flatMap((entry) => (left.includes(entry) ? [] : below(cwd, path.join(name, entry))));
}

/** Batches for requests of less than 1 MiB. */
function* batches(files: Iterable<Source>, context: Context): Generator<File[]> {
  let batch: File[] = [];
  let size = 0;
  for (const { path: name, bytes } of files) {
    if (bytes.includes(0)) continue;
    const file = { path: clean(name), content: bytes.toString('utf8') }; // the vault refuses control characters in a path
    const length = Buffer.byteLength(JSON.stringify(file));
    if (length > MOST_BYTES) {
      context.out.warn(`${clean(name)} was skipped: it is too large.`);
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
