// The files that a scan looks at. Invariant: each file that was asked for is either given to the scan, or named in `missed`: what was not
// scanned is never passed over in silence.
import fs from 'node:fs';
import path from 'node:path';
import ignore from 'ignore';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { clean } from '../text.ts';
import { contentOf, inGit, prefixOf, rootOf, sizeOf, split, staged } from './git.ts';
import type { Source } from './text.ts';

/** A larger file is not scanned, and the scan fails. */
const MOST_FILE = 64 * 1024 * 1024;

/** The file with patterns of paths that are not scanned, in the root of the repository or the current directory. */
export const IGNORE_FILE = '.svcscanignore';

/** Files that a scan left out. */
export interface Left {
  /** Left out by the ignore file. */
  ignored: number;
  /** Could not be scanned. */
  missed: string[];
}

/** The files that the next commit contains, as they are staged. */
export function* stagedFiles(context: Context, left: Left): Generator<Source> {
  const isIgnored = ignoring(context);
  for (const entry of staged(context)) {
    const name = entry.name.toString();
    if (isIgnored(name)) left.ignored++;
    else if (sizeOf(context, entry) > MOST_FILE) left.missed.push(`${clean(name)} (over ${MOST_FILE >> 20} MiB)`);
    else yield { path: name, bytes: contentOf(context, entry) };
  }
}

/** The files at these paths, or without paths those that git tracks here. A file that a path names itself is never ignored. */
export function* filesAt(context: Context, paths: string[], left: Left): Generator<Source> {
  const { cwd } = context.host;
  const isIgnored = ignoring(context);
  const prefix = prefixOf(context);
  const listed = paths.length === 0 ? tracked(context) : paths.flatMap((name) => below(cwd, name, paths));
  for (const name of listed) {
    const shown = name.toString();
    const fromRoot = path.posix.join(prefix, path.relative(cwd, path.resolve(cwd, shown)).split(path.sep).join('/'));
    const isNamed = paths.includes(shown);
    if (!isNamed && !fromRoot.startsWith('..') && isIgnored(fromRoot)) {
      left.ignored++;
      continue;
    }
    const bytes = read(
      typeof name === 'string' ? path.resolve(cwd, name) : Buffer.concat([Buffer.from(`${cwd}/`), name]),
      shown,
      left,
      isNamed,
    );
    if (bytes) yield { path: shown, bytes };
  }
}

/** The files that git tracks in the current directory. None is an error: a scan that looked at nothing must not pass. */
function tracked(context: Context): Buffer[] {
  const listed = [...split(inGit(context, ['ls-files', '-z']))];
  // safety: cli-scan-of-nothing
  if (listed.length === 0) throw usage('git tracks no files in this directory, so there is nothing to scan.', 'Name files: svc scan PATH');
  return listed;
}

/** The content of a regular file. A link is followed only if it is named itself: other targets are scanned where they are listed. */
function read(at: string | Buffer, shown: string, left: Left, isNamed: boolean): Buffer | undefined {
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

/** The files below a path, without .git and node_modules. */
function below(cwd: string, name: string, asked: string[]): string[] {
  const stat = fs.lstatSync(path.resolve(cwd, name), { throwIfNoEntry: false });
  if (!stat) {
    if (asked.includes(name)) throw usage(`${clean(name)} does not exist.`);
    return [];
  }
  if (!stat.isDirectory()) return [name];
  const left = ['.git', 'node_modules'];
  return fs
    .readdirSync(path.resolve(cwd, name))
    .flatMap((entry) => (left.includes(entry) ? [] : below(cwd, path.join(name, entry), asked)));
}

/** Whether a path from the root is ignored, by the patterns of .gitignore. */
function ignoring(context: Context): (name: string) => boolean {
  const file = path.join(rootOf(context) ?? context.host.cwd, IGNORE_FILE);
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch {
    return () => false;
  }
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(text);
  return (name) => rules.ignores(name);
}
