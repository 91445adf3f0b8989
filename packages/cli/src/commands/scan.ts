// svc scan: credentials in files, before they are committed. Invariant: what is found is shown as a place and a redacted preview.
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
  },
  examples: {
    scan: 'Scan what git tracks in this directory',
    'scan --staged': 'Scan what would be committed',
    'scan logs/app.log': 'Scan one file',
  },
  notes: [
    `The exit code is ${EXIT_CODES.findings[0]} if something was found. As a pre-commit hook: printf '#!/bin/sh\\nexec svc scan --staged\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`,
    'The text is sent to your vault, which does not store it. Binary files and files over 900 kB are left out.',
  ],
  async run(context, { rest: paths, options }) {
    if (options.staged && paths.length > 0) throw usage('--staged takes no paths.');
    if (options.revokeLive) await context.confirmDestruction('Live tokens that are found are revoked, the one that svc uses too.');
    const files = options.staged ? stagedFiles(context) : filesAt(context, paths);
    const findings: Finding[] = [];
    let count = 0;
    for (const batch of batches(files, context)) {
      const { vault, org_id } = await context.vault();
      const { data } = await vault.api.POST('/orgs/{org_id}/scans', {
        params: { path: { org_id } },
        body: { files: batch, revoke_live: options.revokeLive },
      });
      if ('truncated' in data && data.truncated) context.out.warn('Not everything was scanned: scan fewer files at a time.');
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
      `Nothing was found in ${count} files.`,
      { files: count },
    );
    return findings.length > 0 ? EXIT_CODES.findings[0] : 0;
  },
});

function git(context: Context, args: string[]): Buffer {
  try {
    return execFileSync('git', args, { cwd: context.host.cwd, maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'ignore'], env: context.host.env });
  } catch {
    throw usage('git has no answer here.', 'Run svc scan in a git repository, or name files: svc scan FILE');
  }
}

const namesOf = (listed: Buffer) => listed.toString().split('\0').filter(Boolean);

function* stagedFiles(context: Context): Generator<{ path: string; bytes: Buffer }> {
  const names = namesOf(git(context, ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z']));
  // A colon and a path from the root name what is staged, whatever the directory and however the path begins.
  for (const name of names) if (isFileMode(context, name)) yield { path: name, bytes: git(context, ['cat-file', 'blob', `:0:${name}`]) };
}

/** Whether what is staged is a file: a submodule has no content, and that of a link is a path. */
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

/** The files of a path, without what git and package managers keep. */
function below(cwd: string, name: string): string[] {
  const stat = fs.lstatSync(path.resolve(cwd, name), { throwIfNoEntry: false });
  if (!stat) throw usage(`${clean(name)} is not there.`);
  if (!stat.isDirectory()) return [name];
  const left = ['.git', 'node_modules'];
  return fs.readdirSync(path.resolve(cwd, name)).flatMap((entry) => (left.includes(entry) ? [] : below(cwd, path.join(name, entry))));
}

/** Calls of less than 1 MiB. */
function* batches(files: Iterable<{ path: string; bytes: Buffer }>, context: Context): Generator<File[]> {
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
