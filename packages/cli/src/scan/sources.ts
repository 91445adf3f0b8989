// The files that a scan looks at. Invariant: each file that was asked for is either given to the scan, or
// named in `missed`: what was not scanned is never passed over in silence.
import fs from 'node:fs';
import path from 'node:path';
import ignore from 'ignore';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { readForeign } from '../settings/files.ts';
import { clean } from '../text.ts';
import { contentOf, inGit, prefixOf, rootOf, type Staged, sizeOf, split, staged, stagedFile } from './git.ts';
import type { Source } from './text.ts';

/** A larger file is not scanned, and the scan fails. */
const MOST_FILE = 64 * 1024 * 1024;

/**
 * The file with patterns of paths that are not scanned, in the root of the repository or the current
 * directory.
 */
export const IGNORE_FILE = '.svcscanignore';

/** Files that a scan left out. */
export interface Left {
  /** Left out by the ignore file. */
  ignored: number;
  /** Could not be scanned. */
  missed: string[];
}

/** A path as bytes, because a name may be no UTF-8, and as text. */
interface Listed {
  at: Buffer;
  shown: string;
}

/** The files that the next commit contains, as they are staged. The ignore file is that of the commit too. */
export function* stagedFiles(context: Context, left: Left): Generator<Source> {
  // safety: cli-scan-staged-ignore
  const isIgnored = ignoring(stagedFile(context, IGNORE_FILE)?.toString());
  for (const entry of staged(context)) {
    const name = textOfName(entry.name);
    if (isIgnored(name)) left.ignored++;
    else {
      const bytes = stagedContent(context, entry, name, left);
      if (bytes) yield { path: name, bytes };
    }
  }
}

function stagedContent(context: Context, entry: Staged, name: string, left: Left): Buffer | undefined {
  try {
    if (sizeOf(context, entry) <= MOST_FILE) return contentOf(context, entry);
    left.missed.push(`${clean(name)} (over ${MOST_FILE >> 20} MiB)`);
  } catch {
    left.missed.push(`${clean(name)} (its content is not in the repository)`);
  }
  return undefined;
}

/**
 * The files at these paths, or without paths those that git tracks here. A file that a path names itself is
 * never ignored.
 */
export function* filesAt(context: Context, paths: string[], left: Left): Generator<Source> {
  const { cwd } = context.host;
  const isIgnored = ignoring(readForeign(path.join(rootOf(context) ?? cwd, IGNORE_FILE)));
  const prefix = prefixOf(context);
  const listed = paths.length === 0 ? tracked(context) : paths.flatMap((name) => named(cwd, name, left));
  for (const { at, shown } of listed) {
    const fromRoot = path.posix.join(
      prefix,
      path.relative(cwd, path.resolve(cwd, shown)).split(path.sep).join('/'),
    );
    const isNamed = paths.includes(shown);
    if (!isNamed && !fromRoot.startsWith('..') && isIgnored(fromRoot)) {
      left.ignored++;
      continue;
    }
    const bytes = read(at, shown, left, isNamed);
    if (bytes) yield { path: shown, bytes };
  }
}

/** A name as text; if it is not UTF-8, with escapes, so that two names are not one text. */
function textOfName(name: Buffer): string {
  const text = name.toString();
  if (Buffer.from(text).equals(name)) return text;
  return [...name]
    .map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`))
    .join('');
}

const within = (directory: Buffer, name: Buffer) => Buffer.concat([directory, Buffer.from('/'), name]);

/**
 * The files that git tracks in the current directory. None is an error: a scan that looked at nothing must
 * not pass.
 */
function tracked(context: Context): Listed[] {
  const names = [...split(inGit(context, ['ls-files', '-z']))];
  // safety: cli-scan-of-nothing
  if (names.length === 0)
    throw usage(
      'git tracks no files in this directory, so there is nothing to scan.',
      'Name files: svc scan PATH',
    );
  const cwd = Buffer.from(context.host.cwd);
  return names.map((name) => ({ at: within(cwd, name), shown: textOfName(name) }));
}

/**
 * The content of a regular file. A link is followed only if it is named itself: other targets are scanned
 * where they are listed.
 */
function read(at: Buffer, shown: string, left: Left, isNamed: boolean): Buffer | undefined {
  try {
    const stat = isNamed ? fs.statSync(at) : fs.lstatSync(at, { throwIfNoEntry: false });
    const isFile = stat?.isFile() ?? false;
    if (!isFile && !isNamed) return undefined;
    if (stat && isFile && stat.size <= MOST_FILE) return fs.readFileSync(at);
    // safety: cli-scan-named
    left.missed.push(`${clean(shown)} (${isFile ? `over ${MOST_FILE >> 20} MiB` : 'not a file'})`);
  } catch {
    left.missed.push(`${clean(shown)} (cannot be read)`);
  }
  return undefined;
}

/** The files at a path that an argument names. */
function named(cwd: string, shown: string, left: Left): Listed[] {
  const at = path.resolve(cwd, shown);
  if (!fs.lstatSync(at, { throwIfNoEntry: false })) throw usage(`${clean(shown)} does not exist.`);
  return below({ at: Buffer.from(at), shown }, left);
}

/** The file at a path, or the files below it, without .git and node_modules. */
function below(listed: Listed, left: Left): Listed[] {
  const { at, shown } = listed;
  try {
    if (!fs.lstatSync(at).isDirectory()) return [listed];
    return fs.readdirSync(at, { encoding: 'buffer' }).flatMap((entry) => {
      const name = textOfName(entry);
      return NEVER.includes(name)
        ? []
        : below({ at: within(at, entry), shown: path.join(shown, name) }, left);
    });
  } catch {
    // safety: cli-scan-unreadable
    left.missed.push(`${clean(shown)} (cannot be read)`);
    return [];
  }
}

/** Directories that are not looked into. */
const NEVER = ['.git', 'node_modules'];

/** The characters of a line of the ignore file. No path that git can check out needs a longer pattern. */
const LONGEST_PATTERN = 4096;

/** Whether a path from the root is ignored, by patterns in the format of .gitignore. */
function ignoring(patterns = ''): (name: string) => boolean {
  // A longer one takes long to compile, or is no regular expression any more.
  const long = patterns.split('\n').findIndex((line) => line.length > LONGEST_PATTERN);
  if (long !== -1)
    throw usage(`Line ${long + 1} of ${IGNORE_FILE} has more than ${LONGEST_PATTERN} characters.`);
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(patterns);
  return (name) => rules.ignores(name);
}
