// What git knows of a repository, for scans. Invariants: git runs no program that the repository's
// configuration names and fetches nothing; names and contents are taken as bytes, from the index itself,
// whatever `diff.*` and `core.*` settings the repository has.
import { execFileSync } from 'node:child_process';
import type { Context } from '../context.ts';
import { CliError, usage } from '../errors.ts';
import { searchPath } from '../run/search-path.ts';

/** Settings that would run a program of the repository while its index is read. */
const SAFE = [
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.untrackedCache=false',
  '-c',
  'core.sshCommand=false',
];
/**
 * A blob that is missing must not be fetched: that would run the transport that the repository names. And no
 * object may stand in for another (refs/replace): a commit has the original.
 */
const AS_STORED = {
  // safety: cli-scan-replaced
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
};

export function git(context: Context, args: string[], input?: Buffer): Buffer {
  return execFileSync('git', [...SAFE, ...args], {
    cwd: context.host.cwd,
    maxBuffer: 2 ** 31 - 1,
    input,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...context.host.env, ...AS_STORED, PATH: searchPath(context.host.env) },
  });
}

/** The same; a usage error outside a repository. */
export function inGit(context: Context, args: string[], input?: Buffer): Buffer {
  try {
    return git(context, args, input);
  } catch {
    throw usage(
      'git failed in this directory.',
      'Run svc scan in a git repository, or pass files: svc scan FILE',
    );
  }
}

/**
 * The path of the current directory below the repository's root, with a final `/`; empty outside a
 * repository.
 */
export function prefixOf(context: Context): string {
  try {
    return lineOf(git(context, ['rev-parse', '--show-prefix']));
  } catch {
    return '';
  }
}

/** The root of the repository; undefined outside one. */
export function rootOf(context: Context): string | undefined {
  try {
    return lineOf(git(context, ['rev-parse', '--show-toplevel']));
  } catch {
    return undefined;
  }
}

const lineOf = (output: Buffer) => output.toString().replace(/\r?\n$/, '');

/** Splits a list at its NUL bytes. A name may be any other bytes. */
export function* split(listed: Buffer): Generator<Buffer> {
  for (let at = 0; at < listed.length; ) {
    const end = listed.indexOf(0, at);
    yield listed.subarray(at, end < 0 ? listed.length : end);
    at = end < 0 ? listed.length : end + 1;
  }
}

/** A staged entry: a file or a link, whose content is its target. */
export interface Staged {
  name: Buffer;
  id: string;
}

/**
 * The entries that the next commit adds or changes, whatever their type was. A submodule has no content of
 * its own.
 */
export function staged(context: Context): Staged[] {
  const head = headOrEmpty(context);
  const fields = [
    ...split(
      inGit(context, [
        'diff-index',
        '--cached',
        '--raw',
        '-z',
        '--no-renames',
        '--no-relative',
        '--full-index',
        head,
      ]),
    ),
  ];
  const entries: Staged[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = '', , id = '', status] = String(fields[at]).split(' ');
    if (status?.startsWith('U'))
      throw usage(
        'The index has unmerged files.',
        'Resolve the conflicts and stage the files, then scan again',
      );
    if (status !== 'D' && mode !== '160000') entries.push({ name: fields[at + 1] as Buffer, id });
  }
  return entries;
}

function headOrEmpty(context: Context): string {
  try {
    return lineOf(git(context, ['rev-parse', '--verify', '--quiet', 'HEAD^{tree}']));
  } catch {
    return lineOf(inGit(context, ['hash-object', '-t', 'tree', '--stdin'], Buffer.alloc(0)));
  }
}

/**
 * The size of a staged entry in bytes. Throws if its content is missing, as in a damaged or a partial clone.
 */
export const sizeOf = (context: Context, { id }: Staged): number =>
  Number(lineOf(git(context, ['cat-file', '-s', id])));

/** The content of a staged entry, without filters. */
export const contentOf = (context: Context, { id }: Staged): Buffer => git(context, ['cat-file', 'blob', id]);

/**
 * The content of a file in the root of the repository, as the index has it; undefined if it has none, or a
 * link.
 */
export function stagedFile(context: Context, name: string): Buffer | undefined {
  const [entry] = split(inGit(context, ['ls-files', '--stage', '-z', '--', `:(top,literal)${name}`]));
  const [, mode = '', id = ''] = /^(\d+) ([0-9a-f]+) 0\t/.exec(String(entry)) ?? [];
  if (!mode.startsWith('100')) return undefined;
  try {
    return contentOf(context, { name: Buffer.from(name), id });
  } catch {
    throw new CliError(`The content of ${name} is not in the repository.`, {
      exit: 'failure',
      next: 'Check the repository: git fsck',
    });
  }
}
