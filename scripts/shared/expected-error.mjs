// An expected failure of a script: its message is one line that names the next step. Any other error is a bug
// in the script, except what the system refuses, such as a full disk.

export class ExpectedError extends Error {}

/** What the system refuses, and what to do. */
const REFUSALS = {
  ENOSPC: 'the disk is full: free some space, or use another disk',
  EDQUOT: 'the disk quota is used up: free some space, or use another disk',
  EFBIG: 'the file would be too large for its file system: use another one',
  EISDIR: 'it is a directory: name a file',
  ENOTDIR: 'a part of its path is not a directory: correct the path',
  ENOENT: 'there is no such file or directory: correct the path',
  EACCES: 'this user may not use it: change its permissions, or run this as another user',
  EPERM: 'this user may not use it: change its permissions, or run this as another user',
  EROFS: 'the file system is read-only: use another one',
  EIO: 'the disk reports an error: check it',
  EMFILE: 'too many files are open: raise the limit (ulimit -n)',
};
/** SQLite's numbers for the same, by their lowest byte: https://www.sqlite.org/rescode.html */
const SQLITE = {
  5: 'another process has locked the database: wait, or stop that process',
  6: 'another process has locked the database: wait, or stop that process',
  8: 'the database is read-only: change its permissions',
  10: 'the disk reports an error: check it, and whether it is full',
  11: 'the database is damaged: restore a backup with npm run restore -- FILE --replace',
  13: 'the disk is full: free some space, or use another disk',
  14: 'the database cannot be opened: check its path and permissions',
  26: 'the file is not a database: restore a backup with npm run restore -- FILE --replace',
};

/**
 * Why the system or SQLite refuses, and what to do; undefined if it is another error.
 * @param {any} error
 * @returns {string | undefined}
 */
export const refusalOf = (error) =>
  error?.errcode === undefined ? REFUSALS[error?.code] : SQLITE[error.errcode & 0xff];

/**
 * The line for an error, if it is not a bug of the script.
 * @param {any} error
 * @returns {string | undefined}
 */
export function reported(error) {
  if (error instanceof ExpectedError) return error.message;
  const refusal = refusalOf(error);
  return (
    refusal &&
    `${error.path ?? (error.errcode === undefined ? 'A file' : 'The database')} cannot be used, because ${refusal}.`
  );
}

/**
 * Runs a command: an expected error becomes its line and exit code 1.
 * @param {() => Promise<void>} main
 */
export async function runs(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/**
 * Nobody reads the output any more, as with `| head`: the script goes on, so that what it began is finished.
 */
export function goOnWithoutReader() {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error) => {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPIPE') throw error;
    });
}
