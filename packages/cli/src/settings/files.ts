// Files that contain secrets, and files that other users may have created. Invariants: a private file belongs
// to the user, and no one else can read it; it is replaced as a whole or not at all; opening a file of the
// repository never blocks, even if it is a pipe, and nothing is written through a link of the repository.
import fs from 'node:fs';
import path from 'node:path';
import { CliError } from '../errors.ts';
import { clean } from '../text.ts';

const MOST = 1024 * 1024;
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

const refused = (file: string, why: string, next: string) =>
  new CliError(`${clean(file)} ${why}.`, { exit: 'usage', code: 'UNSAFE_FILE', next });

const isCode = (error: unknown, ...codes: string[]) =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '');

interface Limits {
  check?: (stat: fs.Stats) => void;
  /** The most bytes; 1 MiB by default. */
  most?: number;
}

/** Reads an open file, if it is a regular file that is not too large. */
function readOpen(handle: number, file: string, { check, most = MOST }: Limits = {}): string {
  const stat = fs.fstatSync(handle);
  if (!stat.isFile()) throw refused(file, 'is not a regular file', 'Remove or move it');
  if (stat.size > most) throw refused(file, `is over ${most >> 20} MiB`, 'Remove or move it');
  check?.(stat);
  return fs.readFileSync(handle, 'utf8');
}

/** The text of a private file; undefined if it does not exist. */
export function readPrivate(file: string, most?: number): string | undefined {
  let handle: number;
  try {
    handle = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    if (isCode(error, 'ELOOP'))
      throw refused(file, 'is a symbolic link', 'Remove it, and sign in again: svc login');
    throw refused(file, 'cannot be read', 'Check its owner and permissions');
  }
  try {
    return readOpen(handle, file, {
      most,
      check(stat) {
        if (process.platform === 'win32') return;
        // safety: cli-private-file
        if ((stat.mode & 0o077) !== 0)
          throw refused(file, 'can be read by other users', `Run chmod 600 ${clean(file)}`);
        if (stat.uid !== process.getuid?.())
          throw refused(file, 'belongs to another user', 'Remove it, and sign in again: svc login');
      },
    });
  } finally {
    fs.closeSync(handle);
  }
}

/**
 * Replaces a private file atomically: readers see the old text or the new one, and other users see neither.
 */
export function writePrivate(file: string, text: string): void {
  const dir = path.dirname(file);
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const draft = path.join(dir, `.${path.basename(file)}.${crypto.randomUUID()}`);
  const handle = fs.openSync(draft, 'wx', 0o600);
  try {
    fs.writeFileSync(handle, text);
    fs.fsyncSync(handle);
    fs.closeSync(handle);
    fs.renameSync(draft, file);
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * The text of a file that any user may have written, such as a `.svc.json` in a repository; undefined if it
 * does not exist.
 */
export function readForeign(file: string, limits?: Limits): string | undefined {
  let handle: number;
  try {
    handle = fs.openSync(file, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
    throw refused(file, 'cannot be read', 'Remove or move it');
  }
  try {
    return readOpen(handle, file, limits);
  } finally {
    fs.closeSync(handle);
  }
}

/** Writes a file of a repository. A link of that name could lead to any file of the user. */
export function writeForeign(file: string, text: string, flag: 'w' | 'wx' = 'w'): void {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  // safety: cli-write-link
  if (found?.isSymbolicLink()) throw refused(file, 'is a symbolic link', 'Remove it');
  // A pipe would block.
  if (found && !found.isFile()) throw refused(file, 'is not a regular file', 'Remove or move it');
  fs.writeFileSync(file, text, { flag });
}
