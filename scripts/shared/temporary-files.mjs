// Imported for its effect: this process and its children keep temporary files in one directory per run.
// Invariant: it is removed when the process ends; if the process was killed, the next run removes it.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const NAME = /^svs-(\d+)-\w+$/;

const base = os.tmpdir();
for (const name of fs.readdirSync(base)) {
  const owner = NAME.exec(name)?.[1];
  if (owner && !isRunning(Number(owner))) remove(path.join(base, name));
}
const scratch = fs.mkdtempSync(path.join(base, `svs-${process.pid}-`));
fs.chmodSync(scratch, 0o711); // a PostgreSQL of the tests runs as another user, and has its own directory in here
process.env.TMPDIR = scratch;
process.on('exit', () => remove(scratch));

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

/** A directory that is still in use or belongs to another user stays. @param {string} dir */
function remove(dir) {
  try {
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  } catch {}
}
