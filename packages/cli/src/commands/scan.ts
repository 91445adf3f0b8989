// svc scan: finds credentials in files before they are committed. Invariant: a finding is shown as a location and a redacted preview.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { command } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { EXIT_CODES, usage } from '../errors.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  staged?: boolean;
  revokeLive?: boolean;
}

interface File {
  path: string;
  content: string;
}

interface Finding {
  rule: string;
  path: string | null;
  line: number;
  column: number;
  preview: string;
  secret_id?: string;
  live?: boolean;
  revoked?: boolean;
}

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
  },
  examples: {
    scan: 'Scan the files that git tracks in this directory',
    'scan --staged': 'Scan the files of the next commit',
    'scan logs/app.log': 'Scan one file',
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
    const findings: Finding[] = [];
    let count = 0;
    for (const batch of batches(files, context)) {
      const { vault, org_id } = await context.vault();
      const { data } = await vault.api.POST('/orgs/{org_id}/scans', {
        params: { path: { org_id } },
        body: { files: batch, revoke_live: options.revokeLive },
      });
      if ('truncated' in data && data.truncated) context.out.warn('The scan is incomplete. Scan fewer files at a time.');
      findings.push(...((data as { findings: Finding[] }).findings ?? []));
      count += batch.length;
    }
    context.out.list(
      findings,
      {
        place: (row) => `${row.path}:${row.line}:${row.column}`,
        rule: (row) => row.rule,
        preview: (row) => row.preview,
        state: (row) => (row.revoked ? 'revoked' : row.live === undefined ? undefined : row.live ? 'live' : 'not live'),
      },
      `No credentials found in ${count} files.`,
      { files: count },
    );
    return findings.length > 0 ? EXIT_CODES.findings[0] : 0;
  },
});

function git(context: Context, args: string[]): Buffer {
  try {
    return execFileSync('git', args, { cwd: context.host.cwd, maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'ignore'], env: context.host.env });
  } catch {
    throw usage('git failed in this directory.', 'Run svc scan in a git repository, or pass files: svc scan FILE');
  }
}

const namesOf = (listed: Buffer) => listed.toString().split('\0').filter(Boolean);

function* stagedFiles(context: Context): Generator<{ path: string; bytes: Buffer }> {
  const names = namesOf(git(context, ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z']));
  // `:0:PATH` names the staged content by its path from the root, regardless of the current directory and of how the path begins.
  for (const name of names) if (isFileMode(context, name)) yield { path: name, bytes: git(context, ['cat-file', 'blob', `:0:${name}`]) };
}

/** Whether the staged entry is a regular file: a submodule has no content, and the content of a link is a path. */
const isFileMode = (context: Context, name: string) =>
  /^100/.test(git(context, ['ls-files', '--stage', '-z', '--', `:(top,literal)${name}`]).toString());

function* filesAt(context: Context, paths: string[]): Generator<{ path: string; bytes: Buffer }> {
  const { cwd } = context.host;
  const names = paths.length === 0 ? namesOf(git(context, ['ls-files', '-z'])) : paths.flatMap((name) => below(cwd, name));
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
function* batches(files: Iterable<{ path: string; bytes: Buffer }>, context: Context): Generator<File[]> {
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
